//! Deadlocks under PFC, looked for between windows.
//!
//! Each switch tells which of its egress queues have been blocked for long, and by which ingress
//! ports their packets came in. From all of them together every thread comes to the same answer.

use serde::{Deserialize, Serialize};
use unpause_protocols::units::Time;

use crate::fabric::graph::shortest_cycle;
use crate::fabric::ports::Ports;
use crate::fabric::{NodeId, PortId};
use crate::outcome::results::Deadlock;

/// An egress queue that has packets and is paused.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Blocked {
    /// Switch.
    pub node: NodeId,
    /// Egress port.
    pub port: PortId,
    /// Priority.
    pub priority: u8,
    /// Nothing has left since then: the start of the pause, or when the packet at the head came.
    pub since: Time,
    /// Ingress ports, with the priority, of the packets that wait for it.
    pub ingress: Vec<(PortId, u8)>,
}

impl Blocked {
    fn place(&self) -> (NodeId, PortId, u8) {
        (self.node, self.port, self.priority)
    }
}

/// A cycle of queues, each of which waits for the next to make room at the ingress that paused it.
/// `blocked` is in order of node, port and priority.
pub fn find(blocked: &[&Blocked], ports: &Ports) -> Option<Deadlock> {
    let waits_for = |queue: &&Blocked| {
        let out = &ports.transmitters_of(queue.node)[usize::from(queue.port)];
        let ingress = ports.local(out.peer, out.peer_port);
        let first = blocked.partition_point(|other| other.node < out.peer);
        let at_peer = blocked[first..]
            .iter()
            .take_while(|other| other.node == out.peer);
        let paused_by = (ingress, queue.priority);
        let waiting = at_peer
            .enumerate()
            .filter(|(_, other)| other.ingress.contains(&paused_by));
        waiting.map(|(at, _)| (first + at) as u32).collect()
    };
    let successors: Vec<Vec<u32>> = blocked.iter().map(waits_for).collect();
    let cycle = shortest_cycle(&successors)?;
    let queues = || cycle.iter().map(|&at| blocked[at as usize]);
    Some(Deadlock {
        began: queues().map(|queue| queue.since).max()?,
        cycle: queues().map(Blocked::place).collect(),
    })
}

/// Everything that threads told, in order.
pub fn sorted(mut blocked: Vec<Blocked>) -> Vec<Blocked> {
    blocked.sort_unstable_by_key(Blocked::place);
    blocked
}
