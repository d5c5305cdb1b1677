//! When each node next has something to do.

use unpause_protocols::units::Time;

use crate::engine::turns::{BOTH, Due, Halves};
use crate::fabric::NodeId;
use crate::prefetch::prefetch;

/// Nodes in a group.
const GROUP: usize = 64;

/// When each node of a shard next has something to do. Windows skip groups of idle nodes at once.
#[derive(Debug)]
pub struct Calendar {
    /// By node.
    pub next: Vec<Time>,
    /// The groups of each half.
    pub groups: [Vec<Group>; 2],
    /// The half of each node, and its group there.
    place: Vec<(u8, u32)>,
}

/// Nodes of one half.
#[derive(Debug)]
pub struct Group {
    /// When the first of them has something to do.
    pub next: Time,
    /// Which they are.
    pub nodes: Vec<NodeId>,
}

impl Calendar {
    /// All `nodes` idle, of a fabric of so many.
    pub fn new(nodes: impl Iterator<Item = NodeId>, count: usize, halves: &Halves) -> Self {
        let mut of_half = [Vec::new(), Vec::new()];
        let mut place = vec![(0, 0); count];
        for node in nodes {
            let half = halves.of(node);
            place[node as usize] = (half as u8, (of_half[half].len() / GROUP) as u32);
            of_half[half].push(node);
        }
        let group = |nodes: &[NodeId]| Group {
            next: Time::NEVER,
            nodes: nodes.to_vec(),
        };
        Self {
            next: vec![Time::NEVER; count],
            groups: of_half.map(|nodes| nodes.chunks(GROUP).map(group).collect()),
            place,
        }
    }
    /// `node` has something to do at `time`.
    #[inline]
    pub fn wake(&mut self, node: NodeId, time: Time) {
        let next = &mut self.next[node as usize];
        if time < *next {
            *next = time;
            let (half, group) = self.place[node as usize];
            let group = &mut self.groups[usize::from(half)][group as usize];
            group.next = group.next.min(time);
        }
    }
    /// Asks the memory for when `node` has something to do.
    #[inline]
    pub fn prefetch(&self, node: NodeId) {
        prefetch(&self.next[node as usize]);
    }
    /// When the earliest node of each half has something to do.
    pub fn due(&self) -> Due {
        let mut due = Due::NEVER;
        for half in BOTH {
            for group in &self.groups[half] {
                due.add(half, group.next);
            }
        }
        due
    }
}
