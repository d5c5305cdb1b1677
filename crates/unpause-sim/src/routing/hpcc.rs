//! HPCC's choice among equal next hops, as its simulator makes it (`Ecmp::Hpcc`).

use super::entropy::Entropy;
use crate::config::Config;
use crate::fabric::{NodeId, hpcc_address};
use crate::followers::{self, Followers};
use crate::traffic::{DESTINATION_PORT, TrafficSpec};

/// The fields that [`crate::fabric::Ecmp::Hpcc`] reads of a flow beside its addresses and its source port.
#[derive(Debug)]
pub(super) struct HpccEcmp {
    /// Destination ports by flow; empty if all are the same.
    ports: Vec<u16>,
    same: u16,
}

impl HpccEcmp {
    pub fn new(config: &Config) -> Self {
        let mut ports: Vec<u16> = Vec::new();
        let named = |spec: &TrafficSpec| match spec {
            TrafficSpec::Flows(flows) => flows.iter().map(|flow| flow.destination_port).collect(),
            _ => vec![DESTINATION_PORT],
        };
        let mut all = config.traffic.iter().flat_map(named);
        let same = all.next().unwrap_or(DESTINATION_PORT);
        if all.any(|port| port != same)
            && let Ok(flows) = followers::leaders(config)
            && let Ok(followers) = Followers::of(config)
        {
            let flows = flows.take_while(|flow| flow.start < config.stop);
            let followers = followers.flows.iter().map(|(flow, _)| *flow);
            let flows = flows.chain(followers);
            ports = flows.map(|flow| flow.destination_port).collect();
        }
        Self { ports, same }
    }

    /// A number for a packet from `src` to `dst`, at switch `switch`, or at `src` itself. Feedback goes from the destination port
    /// to the source port.
    #[cold]
    pub fn hash(&self, switch: NodeId, (src, dst): (NodeId, NodeId), way: &impl Entropy) -> u32 {
        let of_flow = way.flow().and_then(|flow| self.ports.get(flow as usize));
        let destination = u32::from(*of_flow.unwrap_or(&self.same));
        let source = u32::from(way.source_port());
        let (low, high) = if way.is_feedback() {
            (destination, source)
        } else {
            (source, destination)
        };
        let seed = if switch == src {
            HPCC_HOST_SEED
        } else {
            switch
        };
        murmur3(
            [hpcc_address(src), hpcc_address(dst), low | high << 16],
            seed,
        )
    }
}

/// The seed of ns-3's own hash (`hash-murmur3.cc`), by which HPCC's simulator chooses the NIC of a queue pair
/// (`RdmaHw::GetNicIdxOfQp`).
const HPCC_HOST_SEED: u32 = 0x8bad_f00d;

/// MurmurHash3 for x86, 32 bits, of three words (A. Appleby, public domain).
fn murmur3(words: [u32; 3], seed: u32) -> u32 {
    let mut hash = words.iter().fold(seed, |hash, word| {
        let mixed = word
            .wrapping_mul(0xcc9e_2d51)
            .rotate_left(15)
            .wrapping_mul(0x1b87_3593);
        (hash ^ mixed)
            .rotate_left(13)
            .wrapping_mul(5)
            .wrapping_add(0xe654_6b64)
    });
    hash ^= 12;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}
