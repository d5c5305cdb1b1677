//! Which nodes run while others wait, and how far.
//!
//! Nothing reaches another node sooner than the smallest frame takes over the shortest link. Where every link leads from
//! one half of the fabric to the other, as in trees, leaves and spines, Clos fabrics and fat-trees, the halves take turns:
//! what a node does comes back to its own half after two links at the earliest, so while the other half stands at a time,
//! this one runs two links on from where it was. A node then has twice as much to do each time that it, and what it needs,
//! is fetched into the caches. Where there is a cycle of an odd number of links, all nodes are in one half, and run for
//! one link.
//!
//! Where some links are much shorter than others, as those to hosts in a rack, the nodes that they join are an island. Islands
//! take turns as long as the links between them allow; in its turn each runs through short turns of its own.
//!
//! Where all links between shards are long, as those between data centres, or each shard has nodes of one half only, shards
//! do not wait for one another's turns: each runs through its own, as long as the links between them allow.

use serde::{Deserialize, Serialize};
use unpause_protocols::units::Time;

use crate::fabric::NodeId;
use crate::fabric::ports::{Ports, Transmitter};

mod driven;

/// One of the two halves: 0 or 1.
pub type Half = usize;

/// Both of them.
pub const BOTH: [Half; 2] = [0, 1];

/// Islands have no more nodes, so that what they hold stays in a cache; nor more than half of a fabric's.
const MOST_OF_AN_ISLAND: usize = 256;

/// Who runs while others wait.
#[derive(Clone, Debug)]
pub struct Turns {
    /// Between islands, or nodes if there are none.
    pub outer: Halves,
    /// Of nodes within their islands.
    pub islands: Option<Islands>,
    /// How long shards run through turns of their own, where they do: none learns of another sooner.
    pub apart: Option<Time>,
}

/// Nodes with short links between them.
#[derive(Clone, Debug)]
pub struct Islands {
    /// The island of each node.
    pub of: Vec<u32>,
    /// Turns within.
    pub inner: Halves,
}

impl Turns {
    /// Of a fabric with such `ports`, over whose links frames take so long at least, this way or that.
    pub fn new(ports: &Ports, takes: impl Fn(&Transmitter) -> Time) -> Self {
        let takes = |link: &Transmitter| shorter(ports, &takes, link);
        let links = || ports.transmitters.iter();
        let mut times: Vec<Time> = links().map(&takes).collect();
        times.sort_unstable();
        times.dedup();
        let Some(&shortest) = times.first() else {
            return Self::of_nodes(ports, Time::from_us(1));
        };
        // With less to gain, turns within turns are not worth it.
        let longer = times.partition_point(|time| *time < shortest * 2);
        let islands_below = |time: Time| islands(ports, |link| takes(link) < time);
        let most = MOST_OF_AN_ISLAND.min(ports.nodes() / 2);
        let few = |time: &Time| largest(&islands_below(*time)) <= most;
        let fitting = times[longer..].partition_point(few);
        let Some(&between) = times[longer..][..fitting].last() else {
            return Self::of_nodes(ports, shortest);
        };
        let of = islands_below(between);
        let within = |node: NodeId, link: &Transmitter| of[node as usize] == of[link.peer as usize];
        let outer = |node, link: &_| Some(u8::from(!within(node, link)));
        let inner = |node, link: &_| within(node, link).then_some(1);
        Self {
            outer: Halves::new(ports, between, outer),
            islands: Some(Islands {
                inner: Halves::new(ports, shortest, inner),
                of,
            }),
            apart: None,
        }
    }

    /// Of a fabric without islands, over whose links frames take `shortest` at least.
    fn of_nodes(ports: &Ports, shortest: Time) -> Self {
        Self {
            outer: Halves::new(ports, shortest, |_, _| Some(1)),
            islands: None,
            apart: None,
        }
    }

    /// How soon `node` can hear of what another one does.
    pub fn lookahead(&self, node: NodeId, ports: &Ports) -> Time {
        let near = |link: &Transmitter| self.island(link.peer) == self.island(node);
        match &self.islands {
            Some(islands) if ports.transmitters_of(node).iter().any(near) => {
                islands.inner.lookahead
            }
            _ => self.outer.lookahead,
        }
    }

    /// The number of the island of `node`, or of a node by itself.
    pub fn island(&self, node: NodeId) -> u32 {
        let islands = self.islands.as_ref();
        islands.map_or(node, |it| it.of[node as usize])
    }

    /// Has shards run through turns of their own if that leaves them more to do between two meetings, or halves would leave
    /// some of them idle. Frames take so long at least over links.
    pub fn part(&mut self, ports: &Ports, shard_of: &[u16], takes: impl Fn(&Transmitter) -> Time) {
        let parted = (0..).zip(shard_of).flat_map(|(node, shard)| {
            let links = ports.transmitters_of(node).iter();
            links.filter(move |link| shard_of[link.peer as usize] != *shard)
        });
        let between = parted.map(|link| shorter(ports, &takes, link)).min();
        let longer = |between: &Time| *between >= self.outer.lookahead * 2;
        self.apart = between.filter(|it| longer(it) || self.leaves_idle(ports, shard_of));
    }

    /// True if halves that take turns would leave shards idle for a fifth of the time and more, by the rates of their ports.
    fn leaves_idle(&self, ports: &Ports, shard_of: &[u16]) -> bool {
        let shards = 1 + shard_of.iter().copied().max().map_or(0, usize::from);
        let mut work = vec![[0; 2]; shards];
        for (node, shard) in (0..).zip(shard_of) {
            work[usize::from(*shard)][self.outer.of(node)] += ports.rate(node);
        }
        let most = |half: Half| work.iter().map(|work| work[half]).max().unwrap_or(0);
        let in_turns: u64 = BOTH.into_iter().map(most).sum();
        let apart = work.iter().map(|work| work.iter().sum()).max();
        in_turns * 4 > apart.unwrap_or(0) * 5
    }

    /// The longest window there is.
    pub fn longest(&self) -> Time {
        self.apart.unwrap_or(self.outer.lookahead * 2)
    }

    /// Does without islands if `shard_of` parts the nodes of one.
    pub fn keep_whole(&mut self, ports: &Ports, shard_of: &[u16]) {
        let Some(Islands { of, inner }) = &self.islands else {
            return;
        };
        let mut shard_of_island = vec![None; of.len()];
        let parted = of.iter().zip(shard_of).any(|(island, shard)| {
            *shard_of_island[*island as usize].get_or_insert(*shard) != *shard
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

/// Nodes in two halves that take turns.
#[derive(Clone, Debug)]
pub struct Halves {
    of: Vec<u8>,
    /// No node reaches another sooner.
    pub lookahead: Time,
    /// All links lead from one half to the other; else all nodes are in the first.
    two: bool,
}

impl Halves {
    /// `crosses` says of a node and a link from it whether that is to lead to the other half (1) or stays in one (0), or
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
        match self.two {
            true => 1 - half,
            false => half,
        }
    }

    /// The half whose turn comes after that of `half`, which has come to `end`, as far as a shard by itself knows, which is
    /// `due`. That turn goes one lookahead beyond `end` at least.
    pub fn follows(&self, half: Half, end: Time, due: &Due) -> Option<Half> {
        let next = self.beyond(half);
        (next == half || due.of(next) < end).then_some(next)
    }

    /// The half whose turn it is if they are `due`, and the time before which nothing more can reach it.
    pub fn turn(&self, due: &Due) -> (Half, Time) {
        let [first, second] = due.0;
        let half = usize::from(second < first);
        let echo = self.lookahead * if self.two { 2 } else { 1 };
        let own = due.of(half).saturating_add(echo);
        let others = due.of(1 - half).saturating_add(self.lookahead);
        (half, own.min(others))
    }
}

/// When each half next has something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Due([Time; 2]);

impl Due {
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

/// The island of each node, numbered from 0 in their order: what `joins` joins.
pub fn islands(ports: &Ports, joins: impl Fn(&Transmitter) -> bool) -> Vec<u32> {
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

/// Nodes of the largest island.
fn largest(island_of: &[u32]) -> usize {
    let mut sizes = vec![0; island_of.len()];
    for &island in island_of {
        sizes[island as usize] += 1;
    }
    sizes.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{Fabric, NodeKind};

    /// Links and their delays in microseconds.
    fn turns(nodes: usize, links: &[(NodeId, NodeId, u64)]) -> Turns {
        turns_of(nodes, links).1
    }

    fn turns_of(nodes: usize, links: &[(NodeId, NodeId, u64)]) -> (Ports, Turns) {
        let ports = Ports::new(&Fabric::of(vec![NodeKind::Switch; nodes], links));
        let turns = Turns::new(&ports, |link| link.delay);
        (ports, turns)
    }

    #[test]
    fn every_link_joins_two_halves_where_that_can_be() {
        // A square, and two nodes apart from it.
        let square = [(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 0, 1), (4, 5, 1)];
        assert_eq!(turns(6, &square).outer.of, [0, 1, 0, 1, 0, 1]);
        // A square with a diagonal.
        let triangles = [(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 0, 1), (0, 2, 1)];
        assert_eq!(turns(4, &triangles).outer.of, [0; 4]);
    }

    /// Two nodes that always have something to do.
    #[test]
    fn halves_take_turns_of_two_links() {
        let pair = turns(2, &[(0, 1, 1)]).outer;
        let mut due = Due::both(Time::ZERO);
        let mut taken = Vec::new();
        for _ in 0..4 {
            let (half, end) = pair.turn(&due);
            due.set(half, end);
            taken.push((half, end));
        }
        let us = Time::from_us;
        assert_eq!(taken, [(0, us(1)), (1, us(2)), (0, us(3)), (1, us(4))]);
    }

    #[test]
    fn a_half_that_is_alone_waits_for_its_own_echo() {
        let pair = turns(2, &[(0, 1, 1)]).outer;
        let mut due = Due::NEVER;
        due.add(1, Time::from_us(7));
        assert_eq!(pair.turn(&due), (1, Time::from_us(9)));
        let triangle = turns(3, &[(0, 1, 1), (1, 2, 1), (2, 0, 1)]).outer;
        due = Due::NEVER;
        due.add(0, Time::from_us(7));
        assert_eq!(triangle.turn(&due), (0, Time::from_us(8)));
    }

    /// A shard knows whose turn is next if it has something to do itself before the others have come so far.
    #[test]
    fn the_next_turn_is_known_where_there_is_work() {
        let pair = turns(2, &[(0, 1, 1)]).outer;
        let end = Time::from_us(5);
        let mut due = Due::both(Time::NEVER);
        due.set(1, Time::from_us(4));
        assert_eq!(pair.follows(0, end, &due), Some(1));
        assert_eq!(pair.follows(1, end, &due), None);
        due.set(1, end);
        assert_eq!(pair.follows(0, end, &due), None);
        let triangle = turns(3, &[(0, 1, 1), (1, 2, 1), (2, 0, 1)]).outer;
        assert_eq!(triangle.follows(0, end, &Due::NEVER), Some(0));
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
    fn short_links_make_islands() {
        let (ports, racks) = turns_of(7, &RACKS);
        let soon = [0, 6].map(|node| racks.lookahead(node, &ports));
        assert_eq!(soon, [Time::from_us(1), Time::from_us(5)]);
        let islands = racks.islands.expect("racks are islands");
        assert_eq!(islands.of, [0, 1, 0, 0, 1, 1, 2]);
        assert_eq!(racks.outer.of, [0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(racks.outer.lookahead, Time::from_us(5));
        assert_eq!(islands.inner.of, [0, 0, 1, 1, 1, 1, 0]);
        assert_eq!(islands.inner.lookahead, Time::from_us(1));
    }

    /// As where only switches cut through.
    #[test]
    fn a_link_is_as_short_as_it_is_in_its_shorter_direction() {
        let ports = turns_of(7, &RACKS).0;
        let up = |link: &Transmitter| link.peer == 6 || link.peer == 0;
        let racks = Turns::new(&ports, |link| match up(link) {
            true => link.delay,
            false => link.delay * 9,
        });
        let islands = racks.islands.expect("rack 0 is an island");
        assert_eq!(islands.of, [0, 1, 0, 0, 2, 3, 4]);
    }

    #[test]
    fn islands_of_too_many_nodes_fall_into_smaller_ones() {
        // A chain of short links, too long for an island, and the same with a long link now and then.
        let short = |node: u32| (node, node + 1, 1 + u64::from(node % 2));
        let mut chain: Vec<_> = (0..499).map(short).collect();
        let islands = turns(500, &chain).islands.expect("pairs");
        assert_eq!(largest(&islands.of), 2);
        for link in chain.iter_mut().skip(99).step_by(100) {
            link.2 = 10;
        }
        let islands = turns(500, &chain).islands.expect("every hundred nodes");
        assert_eq!(largest(&islands.of), 100);
    }

    /// How long shards run apart, in microseconds.
    fn apart(nodes: usize, links: &[(NodeId, NodeId, u64)], shard_of: &[u16]) -> Option<u64> {
        let (ports, mut turns) = turns_of(nodes, links);
        turns.part(&ports, shard_of, |link| link.delay);
        turns.apart.map(|apart| apart.as_ps() / 1_000_000)
    }

    #[test]
    fn shards_with_long_links_between_them_run_apart() {
        // Two chains of 300, too many for islands, and a link between them.
        let next = |node: u32| (node, node + 1, if node == 299 { 10 } else { 1 });
        let chains: Vec<_> = (0..599).map(next).collect();
        let shared_at = |at: usize| [vec![0; at], vec![1; 600 - at]].concat();
        assert_eq!(apart(600, &chains, &shared_at(300)), Some(10));
        assert_eq!(apart(600, &chains, &shared_at(299)), None);
        assert_eq!(apart(600, &chains, &shared_at(600)), None);
    }

    #[test]
    fn shards_that_would_wait_for_a_half_of_others_run_apart() {
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
        // Each is an island.
        assert_eq!(turns(8, &squares).outer.of, [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(apart(8, &squares, &[0, 0, 0, 0, 1, 1, 1, 1]), Some(9));
        // Both shards of a square have nodes of each half, or not.
        assert_eq!(apart(4, &squares[..4], &[0, 0, 1, 1]), None);
        assert_eq!(apart(4, &squares[..4], &[0, 1, 0, 1]), Some(1));
    }

    #[test]
    fn islands_that_shards_part_are_none() {
        let (ports, mut racks) = turns_of(7, &RACKS);
        racks.keep_whole(&ports, &[0, 1, 0, 0, 1, 1, 1]);
        assert!(racks.islands.is_some());
        racks.keep_whole(&ports, &[0, 1, 0, 1, 1, 1, 1]);
        assert!(racks.islands.is_none());
        assert_eq!(racks.outer.lookahead, Time::from_us(1));
    }
}
