//! When each node next has something to do.

use unpause_protocols::state_visitor::StateVisitor;
use unpause_protocols::units::Time;

use crate::fabric::NodeId;
use crate::fabric::rng::mix;
use crate::plan::schedule::{BOTH, Bipartition, NextEvents, Schedule};
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
    /// How many of them, those in front, are interior: they have links to nodes of this shard only.
    pub interior: [usize; 2],
    /// Of each node its half, and the number of its group there.
    place: Vec<(u8, u32)>,
}

/// A cluster, or some nodes that are in none, of one half.
#[derive(Debug)]
pub struct Group {
    /// When the first of them has something to do.
    pub next: Time,
    /// Which they are; of a cluster, those of its first half first.
    pub nodes: Vec<NodeId>,
    /// How many are in the first half of the cluster.
    pub first_half: Option<usize>,
}

impl Group {
    fn new(nodes: &[NodeId]) -> Self {
        Self {
            next: Time::NEVER,
            nodes: nodes.to_vec(),
            first_half: None,
        }
    }

    fn cluster(nodes: &[NodeId], inner: &Bipartition) -> Self {
        let mut group = Self::new(nodes);
        group.nodes.sort_by_key(|node| inner.of(*node));
        let first_half = group.nodes.partition_point(|node| inner.of(*node) == 0);
        group.first_half = Some(first_half);
        group
    }
}

impl Calendar {
    /// All of `nodes` idle, of a fabric of `count`, of which some have a link to a node of another shard.
    pub fn new(
        mut nodes: Vec<NodeId>,
        count: usize,
        schedule: &Schedule,
        is_boundary: impl Fn(NodeId) -> bool,
    ) -> Self {
        nodes.sort_by_key(|node| schedule.cluster(*node));
        let mut groups = [Vec::new(), Vec::new()];
        let mut interior = [0; 2];
        for outer in [false, true] {
            let mut alone = [Vec::new(), Vec::new()];
            for nodes in nodes.chunk_by(|a, b| schedule.cluster(*a) == schedule.cluster(*b)) {
                if nodes.iter().any(|node| is_boundary(*node)) != outer {
                    continue;
                }
                let half = schedule.outer.of(nodes[0]);
                match &schedule.clusters {
                    Some(clusters) if nodes.len() > 1 => {
                        groups[half].push(Group::cluster(nodes, &clusters.inner));
                    }
                    _ => alone[half].extend_from_slice(nodes),
                }
            }
            for half in BOTH {
                groups[half].extend(alone[half].chunks(GROUP).map(Group::new));
                if !outer {
                    interior[half] = groups[half].len();
                }
            }
        }
        let mut place = vec![(0, 0); count];
        for half in BOTH {
            for (number, group) in groups[half].iter().enumerate() {
                for &node in &group.nodes {
                    place[node as usize] = (half as u8, number as u32);
                }
            }
        }
        Self {
            next: vec![Time::NEVER; count],
            groups,
            interior,
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
    /// Prefetches the time at which `node` has something to do.
    #[inline]
    pub fn prefetch(&self, node: NodeId) {
        prefetch(&self.next[node as usize]);
    }
    /// Shows when nodes have something to do.
    pub fn show<L: StateVisitor>(&mut self, visitor: &mut L) {
        let Self {
            next,
            groups,
            interior: _,
            place: _,
        } = self;
        for group in groups.iter_mut().flatten() {
            visitor.earliest(&mut group.next);
            for &node in &group.nodes {
                visitor.earliest(&mut next[node as usize]);
            }
        }
    }
    /// When nodes have something to do, counted from `since`, in a number: another one says that it is otherwise.
    pub fn pattern(&self, since: Time) -> u64 {
        let groups = self.groups.iter().flatten();
        let busy = groups.filter(|group| group.next != Time::NEVER);
        let from_then = busy.map(|group| group.next.as_ps().wrapping_sub(since.as_ps()));
        from_then.fold(0, |pattern, ps| mix(pattern ^ ps))
    }
    /// When the earliest node of each half has something to do.
    pub fn due(&self) -> NextEvents {
        let mut due = NextEvents::NEVER;
        for half in BOTH {
            for group in &self.groups[half] {
                due.add(half, group.next);
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::ports::Ports;
    use crate::fabric::{Fabric, NodeKind};

    /// A chain of which node 3 leads out.
    #[test]
    fn nodes_that_lead_out_come_last() {
        let links: Vec<_> = (0..3).map(|node| (node, node + 1, 1)).collect();
        let ports = Ports::new(&Fabric::of(vec![NodeKind::Switch; 4], &links));
        let schedule = Schedule::new(&ports, |link| link.delay);
        let calendar = Calendar::new((0..4).collect(), 4, &schedule, |node| node == 3);
        let nodes = calendar
            .groups
            .map(|groups| groups.into_iter().map(|it| it.nodes).collect::<Vec<_>>());
        assert_eq!(nodes, [vec![vec![0, 2]], vec![vec![1], vec![3]]]);
        assert_eq!(calendar.interior, [1, 1]);
    }
}
