//! Which nodes run while others wait, and how far.
//!
//! Nothing reaches another node sooner than the shortest link is long. Where every link leads from one half of the
//! fabric to the other, as in trees, leaves and spines, Clos fabrics and fat-trees, the halves take turns: what a node
//! does comes back to its own half after two links at the earliest, so while the other half stands at a time, this one
//! runs two links on from where it was. A node then has twice as much to do each time that it, and what it needs, is
//! fetched into the caches. Where there is a cycle of an odd number of links, all nodes are in one half, and run for
//! one link.

use serde::{Deserialize, Serialize};
use unpause_protocols::units::Time;

use crate::fabric::NodeId;
use crate::ports::Ports;

/// One of the two halves: 0 or 1.
pub type Half = usize;

/// Both of them.
pub const BOTH: [Half; 2] = [0, 1];

/// The halves of a fabric.
#[derive(Clone, Debug)]
pub struct Halves {
    of: Vec<u8>,
    /// No node reaches another sooner.
    lookahead: Time,
    /// Nor one of its own half.
    returns: Time,
}

impl Halves {
    /// The nodes of a fabric with such `ports`, none of whose links is shorter than `lookahead`.
    pub fn new(ports: &Ports, lookahead: Time) -> Self {
        match two_colours(ports) {
            Some(of) => Self {
                of,
                lookahead,
                returns: lookahead * 2,
            },
            None => Self {
                of: vec![0; ports.nodes()],
                lookahead,
                returns: lookahead,
            },
        }
    }

    /// The half of `node`.
    #[inline]
    pub fn of(&self, node: NodeId) -> Half {
        usize::from(self.of[node as usize])
    }

    /// The half whose turn it is if they are `due`, and the time before which nothing more can reach it.
    pub fn turn(&self, due: &Due) -> (Half, Time) {
        let [first, second] = due.0;
        let half = usize::from(second < first);
        let own = due.of(half).saturating_add(self.returns);
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

/// Each node's half, so that no link stays in one; none if there is a cycle of an odd number of links.
fn two_colours(ports: &Ports) -> Option<Vec<u8>> {
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
            let other = 1 - of[node as usize];
            for peer in ports.transmitters_of(node).iter().map(|it| it.peer) {
                let half = &mut of[peer as usize];
                if *half == NONE {
                    *half = other;
                    left.push(peer);
                } else if *half != other {
                    return None;
                }
            }
        }
    }
    Some(of)
}

#[cfg(test)]
mod tests {
    use unpause_protocols::units::Rate;

    use super::*;
    use crate::config::{Ecmp, Fabric, Link};
    use crate::fabric::NodeKind;

    fn halves(nodes: usize, links: &[(NodeId, NodeId)]) -> Halves {
        let link = |&(a, b): &(NodeId, NodeId)| Link {
            a,
            b,
            rate: Rate::from_gbps(100),
            delay: Time::from_us(1),
        };
        let ports = Ports::new(&Fabric {
            nodes: vec![NodeKind::Switch; nodes],
            links: links.iter().map(link).collect(),
            framing_bytes: 20,
            ecmp: Ecmp::default(),
        });
        Halves::new(&ports, Time::from_us(1))
    }

    #[test]
    fn every_link_joins_two_halves_where_that_can_be() {
        // A square, and two nodes apart from it.
        let square = halves(6, &[(0, 1), (1, 2), (2, 3), (3, 0), (4, 5)]);
        assert_eq!(square.of, [0, 1, 0, 1, 0, 1]);
        // A square with a diagonal.
        let triangles = halves(4, &[(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]);
        assert_eq!(triangles.of, [0; 4]);
    }

    /// Two nodes that always have something to do.
    #[test]
    fn halves_take_turns_of_two_links() {
        let pair = halves(2, &[(0, 1)]);
        let mut due = Due::both(Time::ZERO);
        let mut turns = Vec::new();
        for _ in 0..4 {
            let (half, end) = pair.turn(&due);
            due.0[half] = end;
            turns.push((half, end));
        }
        let us = Time::from_us;
        assert_eq!(turns, [(0, us(1)), (1, us(2)), (0, us(3)), (1, us(4))]);
    }

    #[test]
    fn a_half_that_is_alone_waits_for_its_own_echo() {
        let pair = halves(2, &[(0, 1)]);
        let mut due = Due::NEVER;
        due.add(1, Time::from_us(7));
        assert_eq!(pair.turn(&due), (1, Time::from_us(9)));
        let triangle = halves(3, &[(0, 1), (1, 2), (2, 0)]);
        due = Due::NEVER;
        due.add(0, Time::from_us(7));
        assert_eq!(triangle.turn(&due), (0, Time::from_us(8)));
    }
}
