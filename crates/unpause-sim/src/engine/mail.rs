//! What one thread sends another between windows.

use unpause_protocols::units::Time;

use crate::packet::Packet;
use crate::ports::GlobalPort;
use crate::traffic::FlowSpec;

/// A flow to come.
#[derive(Clone, Copy, Debug)]
pub struct FlowStart {
    /// Flow.
    pub id: u32,
    /// What it is.
    pub spec: FlowSpec,
    /// Its place in the receiver's table.
    pub receiver_slot: u32,
}

/// What one thread sends another between windows.
#[derive(Debug, Default)]
pub struct Mail {
    /// Packets, and the ports that they go to.
    pub packets: Vec<(GlobalPort, Packet)>,
    /// Flows to come.
    pub starts: Vec<FlowStart>,
}

impl Mail {
    /// True if there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.starts.is_empty()
    }
    /// When the first thing in it happens.
    pub fn earliest(&self) -> Time {
        let packets = self.packets.iter().map(|(_, packet)| packet.time);
        let starts = self.starts.iter().map(|start| start.spec.start);
        packets.chain(starts).min().unwrap_or(Time::NEVER)
    }
}
