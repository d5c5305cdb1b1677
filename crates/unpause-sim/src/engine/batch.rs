//! Packets and flows that one shard sends another between windows.

use serde::{Deserialize, Serialize};
use unpause_protocols::units::Time;

use crate::engine::repeat::Repeat;
use crate::fabric::packet::Packet;
use crate::fabric::ports::GlobalPort;
use crate::fabric::telemetry::{Record, Telemetry};
use crate::outcome::deadlock::Blocked;
use crate::traffic::FlowSpec;

/// A flow to come.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct FlowStart {
    /// Flow.
    pub id: u32,
    /// Its settings.
    pub spec: FlowSpec,
    /// Its place in the receiver's table.
    pub receiver_slot: u32,
    /// Its place among the flows of its entry.
    pub number: u32,
}

/// All that one shard sends another between two windows.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Batch {
    /// Packets, and the ports that they arrive at; those of a port in the order of arrival.
    #[serde(skip)]
    pub packets: Vec<(GlobalPort, Packet)>,
    /// Of those packets that have some, in order: what switches have written.
    pub(crate) records: Vec<Record>,
    /// Flows to come.
    pub(crate) starts: Vec<FlowStart>,
    /// Jobs that have failed, by their place, and when their ranks stop.
    pub(crate) failed: Vec<(usize, Time)>,
    /// Queues that are blocked, when a deadlock is looked for.
    pub(crate) blocked: Vec<Blocked>,
    /// How the shard repeats itself, if it does, when that is looked for.
    pub(crate) repeats: Vec<Repeat>,
}

impl Batch {
    /// True if there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
            && self.starts.is_empty()
            && self.failed.is_empty()
            && self.blocked.is_empty()
            && self.repeats.is_empty()
    }
    /// Adds what `other` has, which is left empty.
    pub fn append(&mut self, other: &mut Self) {
        self.packets.append(&mut other.packets);
        self.records.append(&mut other.records);
        self.starts.append(&mut other.starts);
        self.failed.append(&mut other.failed);
        self.blocked.append(&mut other.blocked);
        self.repeats.append(&mut other.repeats);
    }
    /// Forgets what is in it.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.records.clear();
        self.starts.clear();
        self.failed.clear();
        self.blocked.clear();
        self.repeats.clear();
    }
}

/// One shard among all, and the batches that it has for the others.
pub struct Outgoing<'w> {
    /// This shard.
    pub own: u16,
    /// The shard of each node.
    pub shard_of: &'w [u16],
    /// By shard.
    pub outboxes: &'w mut [Batch],
    /// When the first of the packets in them arrives.
    pub first_sent: &'w mut Time,
}

impl Outgoing<'_> {
    /// Adds a packet to `port` of another shard to the batch for that shard, with what switches have written into it.
    #[inline(always)]
    pub fn send(&mut self, to: u16, port: GlobalPort, packet: &Packet, telemetry: &mut Telemetry) {
        *self.first_sent = (*self.first_sent).min(packet.time);
        let batch = &mut self.outboxes[to as usize];
        batch.packets.push((port, *packet));
        if packet.has_telemetry() {
            batch.records.extend(telemetry.take(packet));
        }
    }
}
