//! Packets that were lost to links that are down, to errors, and to routes that lead nowhere.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use unpause_protocols::state_visitor::{Show, StateVisitor};

use crate::fabric::packet::Packet;
use crate::fabric::{NodeId, PortId};
use crate::outcome::results::LossPlace;

/// Whose losses: where, and which change of links was the last before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LossKey {
    /// How many changes of links and routes there had been.
    pub changes: u32,
    /// Node that would have sent the packets on.
    pub node: NodeId,
    /// Its port to the link that is down or has errors; where there is no route the port by which they came in.
    pub port: PortId,
    /// Their priority.
    pub priority: u8,
    /// Where they were.
    pub place: LossPlace,
}

/// How many were lost.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, Show)]
pub struct Lost {
    /// Packets of any kind.
    #[show(total)]
    pub packets: u64,
    /// Their bytes, without framing.
    #[show(total)]
    pub bytes: u64,
    /// Those that carry data.
    #[show(total)]
    pub data_packets: u64,
}

/// All losses of a shard.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Losses(pub BTreeMap<LossKey, Lost>);

impl Losses {
    /// Counts a packet that is lost; answers how many data packets that is.
    #[cold]
    pub fn add(&mut self, key: LossKey, packet: &Packet) -> u64 {
        let lost = self.0.entry(key).or_default();
        let is_data = u64::from(packet.kind.is_data());
        lost.packets += 1;
        lost.bytes += u64::from(packet.bytes);
        lost.data_packets += is_data;
        is_data
    }

    /// Adds those of another shard.
    pub fn merge(&mut self, other: Self) {
        for (key, more) in other.0 {
            let lost = self.0.entry(key).or_default();
            lost.packets += more.packets;
            lost.bytes += more.bytes;
            lost.data_packets += more.data_packets;
        }
    }

    /// Shows how many there are.
    pub fn show<L: StateVisitor>(&mut self, visitor: &mut L) {
        visitor.same(self.0.len() as u64);
        self.0.values_mut().for_each(|lost| lost.show(visitor));
    }
}
