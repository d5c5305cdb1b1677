//! When each node next has something to do.

use unpause_protocols::units::Time;

use crate::fabric::NodeId;
use crate::prefetch::prefetch;

/// Nodes in a group.
pub const GROUP: usize = 64;

/// When each node next has something to do. Windows skip groups of idle nodes at once.
#[derive(Debug)]
pub struct Calendar {
    /// By node.
    pub next: Vec<Time>,
    /// By group of nodes.
    pub group: Vec<Time>,
}

impl Calendar {
    /// All `nodes` idle.
    pub fn new(nodes: usize) -> Self {
        Self {
            next: vec![Time::NEVER; nodes],
            group: vec![Time::NEVER; nodes.div_ceil(GROUP)],
        }
    }
    /// `node` has something to do at `time`.
    #[inline]
    pub fn wake(&mut self, node: NodeId, time: Time) {
        let next = &mut self.next[node as usize];
        if time < *next {
            *next = time;
            let group = &mut self.group[node as usize / GROUP];
            *group = (*group).min(time);
        }
    }
    /// Asks the memory for when `node` has something to do.
    #[inline]
    pub fn prefetch(&self, node: NodeId) {
        prefetch(&self.next[node as usize]);
    }
    /// When the earliest node has something to do.
    pub fn earliest(&self) -> Time {
        self.group.iter().copied().min().unwrap_or(Time::NEVER)
    }
}
