//! The schedule of windows: which nodes (logical processes) run next, and up to which horizon.
//!
//! Nothing reaches another node sooner than the smallest frame takes over the shortest link: the lookahead. If the fabric is a
//! bipartite graph, as trees, leaf-spine fabrics, Clos fabrics and fat-trees are, windows alternate between its two halves: what a
//! node does comes back to its own half after two links at the earliest, so while the other half waits, this one runs for two
//! lookaheads from where it was. A node then has twice as much to do each time that it, and what it needs, is fetched into the
//! caches. If there is a cycle of an odd number of links, all nodes are in one half, and windows last one lookahead.
//!
//! Where some links are much shorter than others, as those to hosts in a rack, the nodes that they connect form a cluster. Windows
//! are as long as the links between clusters allow; within one, each cluster runs through short windows of its own.
//!
//! Where all links between shards are long, as those between data centres, or each shard has nodes of one half only, shards run
//! independently: each runs through windows of its own for as long as the links between shards allow.

use serde::{Deserialize, Serialize};
use unpause_protocols::units::Time;

use crate::fabric::NodeId;
use crate::fabric::ports::{Ports, Transmitter};

mod driven;

/// One of the two halves: 0 or 1.
pub type Half = usize;

/// Both of them.
pub const BOTH: [Half; 2] = [0, 1];

/// Clusters have no more nodes, so that their state stays in a cache; nor more than half of a fabric's.
const MAX_CLUSTER_NODES: usize = 256;

/// Which nodes run while others wait.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Windows of clusters, or of nodes if there are none.
    pub outer: Bipartition,
    /// Windows within clusters.
    pub clusters: Option<Clusters>,
    /// How long shards run independently, if they do: the lookahead between shards.
    pub independent: Option<Time>,
}

/// Nodes with short links between them.
#[derive(Clone, Debug)]
pub struct Clusters {
    /// The cluster of each node.
    pub of: Vec<u32>,
    /// Windows within them.
    pub inner: Bipartition,
}

impl Schedule {
    /// Of a fabric with such `ports`, over whose links frames take so long at least, this way or that.
    pub fn new(ports: &Ports, takes: impl Fn(&Transmitter) -> Time) -> Self {
        let takes = |link: &Transmitter| shorter(ports, &takes, link);
        let mut times: Vec<Time> = ports.transmitters.iter().map(takes).collect();
        times.sort_unstable();
        times.dedup();
        let Some(&shortest) = times.first() else {
            return Self::of_nodes(ports, Time::from_us(1));
        };
        // With less to gain, windows within windows are not worth it.
        let longer = times.partition_point(|time| *time < shortest * 2);
        let clusters_below = |time: Time| clusters(ports, |link| takes(link) < time);
        let most = MAX_CLUSTER_NODES.min(ports.nodes() / 2);
        let few = |time: &Time| largest(&clusters_below(*time)) <= most;
        let fitting = times[longer..].partition_point(few);
        let Some(&between) = times[longer..][..fitting].last() else {
            return Self::of_nodes(ports, shortest);
        };
        let of = clusters_below(between);
        let within = |node: NodeId, link: &Transmitter| of[node as usize] == of[link.peer as usize];
        let outer = |node, link: &_| Some(u8::from(!within(node, link)));
        let inner = |node, link: &_| within(node, link).then_some(1);
        Self {
            outer: Bipartition::new(ports, between, outer),
            clusters: Some(Clusters {
                inner: Bipartition::new(ports, shortest, inner),
                of,
            }),
            independent: None,
        }
    }

    /// Of a fabric without clusters, over whose links frames take `shortest` at least.
    fn of_nodes(ports: &Ports, shortest: Time) -> Self {
        Self {
            outer: Bipartition::new(ports, shortest, |_, _| Some(1)),
            clusters: None,
            independent: None,
        }
    }

    /// How soon `node` can hear of what another one does.
    pub fn lookahead(&self, node: NodeId, ports: &Ports) -> Time {
        let near = |link: &Transmitter| self.cluster(link.peer) == self.cluster(node);
        match &self.clusters {
            Some(it) if ports.transmitters_of(node).iter().any(near) => it.inner.lookahead,
            _ => self.outer.lookahead,
        }
    }

    /// The number of the cluster of `node`, or of a node by itself.
    pub fn cluster(&self, node: NodeId) -> u32 {
        let clusters = self.clusters.as_ref();
        clusters.map_or(node, |it| it.of[node as usize])
    }

    /// Has shards run independently if that leaves them more to do between two barriers, or if halves would leave some of them
    /// idle. Frames take so long at least over links.
    pub fn set_independent(
        &mut self,
        ports: &Ports,
        shard_of: &[u16],
        takes: impl Fn(&Transmitter) -> Time,
    ) {
        let parted = (0..).zip(shard_of).flat_map(|(node, shard)| {
            let links = ports.transmitters_of(node).iter();
            links.filter(move |link| shard_of[link.peer as usize] != *shard)
        });
        let between = parted.map(|link| shorter(ports, &takes, link)).min();
        let longer = |between: &Time| *between >= self.outer.lookahead * 2;
        self.independent = between.filter(|it| longer(it) || self.leaves_idle(ports, shard_of));
    }

    /// True if halves that alternate would leave shards idle for a fifth of the time and more, by the rates of their ports.
    fn leaves_idle(&self, ports: &Ports, shard_of: &[u16]) -> bool {
        let shards = 1 + shard_of.iter().copied().max().map_or(0, usize::from);
        let mut work = vec![[0; 2]; shards];
        for (node, shard) in (0..).zip(shard_of) {
            work[usize::from(*shard)][self.outer.of(node)] += ports.rate(node);
        }
        let most = |half: Half| work.iter().map(|work| work[half]).max().unwrap_or(0);
        let alternating: u64 = BOTH.into_iter().map(most).sum();
        let independent = work.iter().map(|work| work.iter().sum()).max();
        alternating * 4 > independent.unwrap_or(0) * 5
    }

    /// The longest window there is.
    pub fn longest(&self) -> Time {
        self.independent.unwrap_or(self.outer.lookahead * 2)
    }

    /// Does without clusters if `shard_of` divides one.
    pub fn keep_whole(&mut self, ports: &Ports, shard_of: &[u16]) {
        let Some(Clusters { of, inner }) = &self.clusters else {
            return;
        };
        let mut shard_of_cluster = vec![None; of.len()];
        let parted = of.iter().zip(shard_of).any(|(cluster, shard)| {
            *shard_of_cluster[*cluster as usize].get_or_insert(*shard) != *shard
        });
        if parted {
            *self = Self::of_nodes(ports, inner.lookahead);
        }
    }
}

/// How long a frame takes at least over a link, this way or that.
pub fn shorter(ports: &Ports, takes: impl Fn(&Transmitter) -> Time, link: &Transmitter) -> Time {
    takes(link).min(takes(&ports.transmitters[link.peer_port as usize]))
}

/// Nodes in two halves whose windows alternate.
#[derive(Clone, Debug)]
pub struct Bipartition {
    of: Vec<u8>,
    /// No node affects another sooner.
    pub lookahead: Time,
    /// All links lead from one half to the other; else all nodes are in the first.
    two: bool,
}

impl Bipartition {
    /// `crosses` says whether a link from a node must lead to the other half (1), must stay in its own (0), or
    /// does not matter. Frames take `lookahead` at least over those that lead to the other half.
    fn new(
        ports: &Ports,
        lookahead: Time,
        crosses: impl Fn(NodeId, &Transmitter) -> Option<u8>,
    ) -> Self {
        let of = two_colours(ports, crosses);
        Self {
            two: of.is_some(),
            of: of.unwrap_or_else(|| vec![0; ports.nodes()]),
            lookahead,
        }
    }

    /// The half of `node`.
    #[inline]
    pub fn of(&self, node: NodeId) -> Half {
        usize::from(self.of[node as usize])
    }

    /// The half that links from `half` lead to.
    pub fn beyond(&self, half: Half) -> Half {
        if self.two { 1 - half } else { half }
    }

    /// The half that runs after `half`, whose window has ended at `end`, as far as a shard by itself knows, whose next events are
    /// `due`. The horizon of that window is one lookahead beyond `end` at least.
    pub fn next_half(&self, half: Half, end: Time, due: &NextEvents) -> Option<Half> {
        let next = self.beyond(half);
        (next == half || due.of(next) < end).then_some(next)
    }

    /// The half that runs next if these events are `due`, and its horizon: nothing more can reach it before that time.
    pub fn next_window(&self, due: &NextEvents) -> (Half, Time) {
        let [first, second] = due.0;
        let half = usize::from(second < first);
        let echo = self.lookahead * if self.two { 2 } else { 1 };
        let own = due.of(half).saturating_add(echo);
        let others = due.of(1 - half).saturating_add(self.lookahead);
        (half, own.min(others))
    }
}

/// The times of the next events of both halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextEvents([Time; 2]);

impl NextEvents {
    /// Neither has.
    pub const NEVER: Self = Self([Time::NEVER; 2]);

    /// Both have at `time`.
    pub const fn both(time: Time) -> Self {
        Self([time; 2])
    }

    /// When `half` has something to do.
    #[inline]
    pub fn of(&self, half: Half) -> Time {
        self.0[half]
    }

    /// When either has something to do.
    pub fn earliest(&self) -> Time {
        self.0[0].min(self.0[1])
    }

    /// `half` has something to do at `time`, and not before.
    pub fn set(&mut self, half: Half, time: Time) {
        self.0[half] = time;
    }

    /// `half` has something to do at `time`.
    #[inline]
    pub fn add(&mut self, half: Half, time: Time) {
        self.0[half] = self.0[half].min(time);
    }

    /// The earlier of both, half by half.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self(BOTH.map(|half| self.0[half].min(other.0[half])))
    }
}

/// Each node's half, as `crosses` wants it; none if there is a cycle of links of which an odd number is to lead to the
/// other half.
fn two_colours(
    ports: &Ports,
    crosses: impl Fn(NodeId, &Transmitter) -> Option<u8>,
) -> Option<Vec<u8>> {
    const NONE: u8 = u8::MAX;
    let mut of = vec![NONE; ports.nodes()];
    let mut left = Vec::new();
    for root in 0..of.len() {
        if of[root] != NONE {
            continue;
        }
        of[root] = 0;
        left.push(root as NodeId);
        while let Some(node) = left.pop() {
            for link in ports.transmitters_of(node) {
                let Some(crosses) = crosses(node, link) else {
                    continue;
                };
                let wanted = of[node as usize] ^ crosses;
                let half = &mut of[link.peer as usize];
                if *half == NONE {
                    *half = wanted;
                    left.push(link.peer);
                } else if *half != wanted {
                    return None;
                }
            }
        }
    }
    Some(of)
}

/// The cluster of each node, numbered from 0 in their order: what `joins` joins.
pub fn clusters(ports: &Ports, joins: impl Fn(&Transmitter) -> bool) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let mut of = vec![NONE; ports.nodes()];
    let mut left = Vec::new();
    let mut count = 0;
    for root in 0..of.len() {
        if of[root] != NONE {
            continue;
        }
        of[root] = count;
        left.push(root as NodeId);
        while let Some(node) = left.pop() {
            for link in ports.transmitters_of(node).iter().filter(|it| joins(it)) {
                if of[link.peer as usize] == NONE {
                    of[link.peer as usize] = count;
                    left.push(link.peer);
                }
            }
        }
        count += 1;
    }
    of
}

/// Nodes of the largest cluster.
fn largest(cluster_of: &[u32]) -> usize {
    let mut sizes = vec![0; cluster_of.len()];
    for &cluster in cluster_of {
        sizes[cluster as usize] += 1;
    }
    sizes.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{Fabric, NodeKind};

    /// Links and their delays in microseconds.
    fn schedule(nodes: usize, links: &[(NodeId, NodeId, u64)]) -> Schedule {
        schedule_of(nodes, links).1
    }

    fn schedule_of(nodes: usize, links: &[(NodeId, NodeId, u64)]) -> (Ports, Schedule) {
        let ports = Ports::new(&Fabric::of(vec![NodeKind::Switch; nodes], links));
        let schedule = Schedule::new(&ports, |link| link.delay);
        (ports, schedule)
    }

    #[test]
    fn every_link_joins_two_halves_where_that_can_be() {
        // A square, and two nodes beside it.
        let square = [(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 0, 1), (4, 5, 1)];
        assert_eq!(schedule(6, &square).outer.of, [0, 1, 0, 1, 0, 1]);
        // A square with a diagonal.
        let triangles = [(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 0, 1), (0, 2, 1)];
        assert_eq!(schedule(4, &triangles).outer.of, [0; 4]);
    }

    /// Two nodes that always have something to do.
    #[test]
    fn windows_of_halves_last_two_links() {
        let pair = schedule(2, &[(0, 1, 1)]).outer;
        let mut due = NextEvents::both(Time::ZERO);
        let mut taken = Vec::new();
        for _ in 0..4 {
            let (half, end) = pair.next_window(&due);
            due.set(half, end);
            taken.push((half, end));
        }
        let us = Time::from_us;
        assert_eq!(taken, [(0, us(1)), (1, us(2)), (0, us(3)), (1, us(4))]);
    }

    #[test]
    fn a_half_that_is_alone_waits_for_its_own_echo() {
        let pair = schedule(2, &[(0, 1, 1)]).outer;
        let mut due = NextEvents::NEVER;
        due.add(1, Time::from_us(7));
        assert_eq!(pair.next_window(&due), (1, Time::from_us(9)));
        let triangle = schedule(3, &[(0, 1, 1), (1, 2, 1), (2, 0, 1)]).outer;
        due = NextEvents::NEVER;
        due.add(0, Time::from_us(7));
        assert_eq!(triangle.next_window(&due), (0, Time::from_us(8)));
    }

    /// A shard knows which half is next if it has something to do itself before the others have come so far.
    #[test]
    fn the_next_half_is_known_where_there_is_work() {
        let pair = schedule(2, &[(0, 1, 1)]).outer;
        let end = Time::from_us(5);
        let mut due = NextEvents::both(Time::NEVER);
        due.set(1, Time::from_us(4));
        assert_eq!(pair.next_half(0, end, &due), Some(1));
        assert_eq!(pair.next_half(1, end, &due), None);
        due.set(1, end);
        assert_eq!(pair.next_half(0, end, &due), None);
        let triangle = schedule(3, &[(0, 1, 1), (1, 2, 1), (2, 0, 1)]).outer;
        assert_eq!(triangle.next_half(0, end, &NextEvents::NEVER), Some(0));
    }

    /// Racks 0 and 1 with hosts 2 to 5, a spine 6 over both.
    const RACKS: [(NodeId, NodeId, u64); 6] = [
        (2, 0, 1),
        (3, 0, 1),
        (4, 1, 1),
        (5, 1, 1),
        (0, 6, 5),
        (1, 6, 5),
    ];

    #[test]
    fn short_links_make_clusters() {
        let (ports, racks) = schedule_of(7, &RACKS);
        let soon = [0, 6].map(|node| racks.lookahead(node, &ports));
        assert_eq!(soon, [Time::from_us(1), Time::from_us(5)]);
        let clusters = racks.clusters.expect("racks are clusters");
        assert_eq!(clusters.of, [0, 1, 0, 0, 1, 1, 2]);
        assert_eq!(racks.outer.of, [0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(racks.outer.lookahead, Time::from_us(5));
        assert_eq!(clusters.inner.of, [0, 0, 1, 1, 1, 1, 0]);
        assert_eq!(clusters.inner.lookahead, Time::from_us(1));
    }

    /// As where only switches cut through.
    #[test]
    fn a_link_is_as_short_as_it_is_in_its_shorter_direction() {
        let ports = schedule_of(7, &RACKS).0;
        let up = |link: &Transmitter| link.peer == 6 || link.peer == 0;
        let racks = Schedule::new(
            &ports,
            |link| if up(link) { link.delay } else { link.delay * 9 },
        );
        let clusters = racks.clusters.expect("rack 0 is a cluster");
        assert_eq!(clusters.of, [0, 1, 0, 0, 2, 3, 4]);
    }

    #[test]
    fn clusters_of_too_many_nodes_fall_into_smaller_ones() {
        // A chain of short links, too long for a cluster, and the same with a long link now and then.
        let short = |node: u32| (node, node + 1, 1 + u64::from(node % 2));
        let mut chain: Vec<_> = (0..499).map(short).collect();
        let clusters = schedule(500, &chain).clusters.expect("pairs");
        assert_eq!(largest(&clusters.of), 2);
        for link in chain.iter_mut().skip(99).step_by(100) {
            link.2 = 10;
        }
        let clusters = schedule(500, &chain).clusters.expect("every hundred nodes");
        assert_eq!(largest(&clusters.of), 100);
    }

    /// How long shards run independently, in microseconds.
    fn independent(nodes: usize, links: &[(NodeId, NodeId, u64)], shard_of: &[u16]) -> Option<u64> {
        let (ports, mut schedule) = schedule_of(nodes, links);
        schedule.set_independent(&ports, shard_of, |link| link.delay);
        schedule
            .independent
            .map(|independent| independent.as_ps() / 1_000_000)
    }

    #[test]
    fn shards_with_long_links_between_them_run_independently() {
        // Two chains of 300, too many for clusters, and a link between them.
        let next = |node: u32| (node, node + 1, if node == 299 { 10 } else { 1 });
        let chains: Vec<_> = (0..599).map(next).collect();
        let shared_at = |at: usize| [vec![0; at], vec![1; 600 - at]].concat();
        assert_eq!(independent(600, &chains, &shared_at(300)), Some(10));
        assert_eq!(independent(600, &chains, &shared_at(299)), None);
        assert_eq!(independent(600, &chains, &shared_at(600)), None);
    }

    #[test]
    fn shards_that_would_wait_for_a_half_of_others_run_independently() {
        let squares = [
            (0, 1, 1),
            (1, 2, 1),
            (2, 3, 1),
            (3, 0, 1),
            (4, 5, 1),
            (5, 6, 1),
            (6, 7, 1),
            (7, 4, 1),
            (0, 4, 9),
        ];
        // Each is a cluster.
        assert_eq!(schedule(8, &squares).outer.of, [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(independent(8, &squares, &[0, 0, 0, 0, 1, 1, 1, 1]), Some(9));
        // Both shards of a square have nodes of each half, or not.
        assert_eq!(independent(4, &squares[..4], &[0, 0, 1, 1]), None);
        assert_eq!(independent(4, &squares[..4], &[0, 1, 0, 1]), Some(1));
    }

    #[test]
    fn clusters_that_shards_divide_are_none() {
        let (ports, mut racks) = schedule_of(7, &RACKS);
        racks.keep_whole(&ports, &[0, 1, 0, 0, 1, 1, 1]);
        assert!(racks.clusters.is_some());
        racks.keep_whole(&ports, &[0, 1, 0, 1, 1, 1, 1]);
        assert!(racks.clusters.is_none());
        assert_eq!(racks.outer.lookahead, Time::from_us(1));
    }
}
