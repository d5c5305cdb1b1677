//! What one shard sends another between windows.

use serde::{Deserialize, Serialize};

use crate::engine::repeat::Repeat;
use crate::fabric::packet::Packet;
use crate::fabric::ports::GlobalPort;
use crate::fabric::telemetry::Record;
use crate::outcome::deadlock::Blocked;
use crate::traffic::FlowSpec;

/// A flow to come.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct FlowStart {
    /// Flow.
    pub id: u32,
    /// What it is.
    pub spec: FlowSpec,
    /// Its place in the receiver's table.
    pub receiver_slot: u32,
    /// Its place among the flows of its entry.
    pub number: u32,
}

/// What one shard sends another between windows.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Batch {
    /// Packets, and the ports that they arrive at; those of a port in the order of arrival.
    #[serde(skip)]
    pub packets: Vec<(GlobalPort, Packet)>,
    /// Of those packets that have some, in order: what switches have written.
    pub(crate) records: Vec<Record>,
    /// Flows to come.
    pub(crate) starts: Vec<FlowStart>,
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
            && self.blocked.is_empty()
            && self.repeats.is_empty()
    }
    /// Adds what `other` has, which is left empty.
    pub fn append(&mut self, other: &mut Self) {
        self.packets.append(&mut other.packets);
        self.records.append(&mut other.records);
        self.starts.append(&mut other.starts);
        self.blocked.append(&mut other.blocked);
        self.repeats.append(&mut other.repeats);
    }
    /// Forgets what is in it.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.records.clear();
        self.starts.clear();
        self.blocked.clear();
        self.repeats.clear();
    }
}
