//! PXN: messages to other servers go by NVLink to the GPU on the receiver's rail first, and from there over its NIC.
//!
//! An exchange has three steps. In the first, a rank sends to each GPU of its server all that this one relays, and to ranks of
//! other servers all that it need not relay. In the second, when it has what it relays, it sends that, one message to each
//! receiver, and exchanges with its server. In the third it receives what others have relayed.
//!
//! # Source
//!
//! NCCL 2.12 and later, `NCCL_PXN_DISABLE`; K. Jayaraman et al.: "Doubling all2all Performance with NVIDIA Collective
//! Communication Library 2.12", NVIDIA technical blog, February 2022, which also says that messages of a server for one
//! receiver are aggregated.

use super::group::{Group, after};
use super::step::{Part, Step};

/// Steps of an exchange.
pub const STEPS: u32 = 3;

/// The ranks for which each has a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peers {
    /// All others.
    All,
    /// The one so many places after it.
    After(u32),
}

/// An exchange of a group, in which a rank has `bytes` from one place for another.
pub struct Exchange<'a> {
    pub group: &'a Group,
    pub peers: Peers,
    pub bytes: &'a dyn Fn(u32, u32) -> u64,
}

impl Exchange<'_> {
    /// Writes a step of the rank at place `me` into `to`.
    pub fn step(&self, me: u32, step: u32, to: &mut Step) {
        let group = self.group;
        match step {
            0 => {
                for peer in group.server_mates(me) {
                    add(&mut to.sends, peer, self.relayed(me, peer));
                    add(&mut to.receives, peer, self.relayed(peer, me));
                }
                for rail in group.rails() {
                    let is_relayed = |it: &u32| group.relay(me, *it).is_some();
                    if !rail.iter().any(is_relayed) {
                        let receivers = after(me, rail).filter(|it| !group.is_inside(me, *it));
                        receivers.for_each(|it| add(&mut to.sends, it, self.between(me, it)));
                    }
                }
            }
            1 => {
                for receiver in group.rail_mates(me) {
                    let own = group.server_mates(me);
                    let bytes = own.map(|it| self.between(it, receiver)).sum();
                    add(&mut to.sends, receiver, bytes);
                }
                for peer in group.server_mates(me) {
                    add(&mut to.sends, peer, self.between(me, peer));
                    add(&mut to.receives, peer, self.between(peer, me));
                }
                for server in group.other_servers(me) {
                    let direct = server.iter().filter(|it| group.relay(**it, me).is_none());
                    direct.for_each(|it| add(&mut to.receives, *it, self.between(*it, me)));
                }
            }
            _ => {
                for relay in group.rail_mates(me) {
                    let from = group.server_mates(relay);
                    let bytes = from.map(|it| self.between(it, me)).sum();
                    add(&mut to.receives, relay, bytes);
                }
            }
        }
    }

    /// Bytes from one rank that another of its server relays.
    fn relayed(&self, from: u32, relay: u32) -> u64 {
        let receivers = self.group.rail_mates(relay);
        receivers.map(|it| self.between(from, it)).sum()
    }

    /// Bytes of one rank for another.
    fn between(&self, from: u32, to: u32) -> u64 {
        match self.peers {
            Peers::After(by) if (from + by) % self.group.count() != to => 0,
            _ => (self.bytes)(from, to),
        }
    }
}

/// Adds a message, unless it is empty.
fn add(to: &mut Vec<Part>, peer: u32, bytes: u64) {
    if bytes > 0 {
        to.push(Part {
            peer,
            first: 0,
            count: 0,
            reduces: false,
            bytes: Some(bytes),
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, VecDeque};

    use super::super::collective::{Algorithm, Collective, Operation};
    use super::super::group::seated;
    use super::*;

    /// The bytes of a message name the blocks in it: that from rank o to rank d has 2^(8 o + d) bytes.
    fn block(from: u32, to: u32) -> u64 {
        1 << (8 * from + to)
    }

    fn blocks_of(bytes: u64) -> impl Iterator<Item = (u32, u32)> {
        (0..64)
            .filter(move |bit| bytes >> bit & 1 == 1)
            .map(|bit| (bit / 8, bit % 8))
    }

    fn all_to_all(algorithm: Algorithm, n: u32, has: &dyn Fn(u32, u32) -> bool) -> Collective {
        let pairs = (0..n).flat_map(|from| (0..n).map(move |to| (from, to)));
        let bytes = pairs.map(|(from, to)| u64::from(has(from, to)) * block(from, to));
        Collective {
            operation: Operation::AllToAllV(bytes.collect()),
            algorithm,
            bytes: 0,
            channels: 1,
            slices: 1,
            pxn: true,
        }
    }

    /// Runs it, each rank as far as it gets before the next has its turn, in this order. Answers the blocks that each has in the
    /// end, and all messages: their ends and their bytes.
    fn run(it: &Collective, sizes: &[u32], order: &[u32]) -> (Vec<u64>, Vec<(u32, u32, u64)>) {
        let group = seated(sizes);
        let n = group.count();
        let own = |me: u32| match &it.operation {
            Operation::AllToAllV(matrix) => matrix[(me * n) as usize..][..n as usize].iter().sum(),
            _ => unreachable!(),
        };
        let mut held: Vec<u64> = (0..n).map(own).collect();
        let mut wires: BTreeMap<(u32, u32), VecDeque<u64>> = BTreeMap::new();
        let mut at = vec![(0, false); n as usize];
        let mut sent = Vec::new();
        for me in order
            .iter()
            .cycle()
            .take(order.len() * 8 * it.steps(n) as usize)
        {
            let (step, entered) = &mut at[*me as usize];
            if *step == it.steps(n) {
                continue;
            }
            let mut now = Step::default();
            it.step((*me, &group), 0, *step, &mut now);
            if !std::mem::replace(entered, true) {
                for part in &now.sends {
                    let bytes = it.bytes((*me, part.peer, n), (0, 0), part);
                    assert_eq!(held[*me as usize] & bytes, bytes, "it sends what it has");
                    wires.entry((*me, part.peer)).or_default().push_back(bytes);
                    sent.push((*me, part.peer, bytes));
                }
            }
            let wire = |part: &Part| wires.get(&(part.peer, *me)).and_then(VecDeque::front);
            if now.receives.iter().any(|part| wire(part).is_none()) {
                continue;
            }
            for part in &now.receives {
                let wire = wires.get_mut(&(part.peer, *me)).expect("it is there");
                let came = wire.pop_front().expect("it is there");
                assert_eq!(came, it.bytes((part.peer, *me, n), (0, 0), part));
                held[*me as usize] |= came;
            }
            (*step, *entered) = (*step + 1, false);
        }
        assert!(at.iter().all(|(step, _)| *step == it.steps(n)), "it ends");
        assert!(wires.values().all(VecDeque::is_empty));
        (held, sent)
    }

    #[test]
    fn every_block_comes_and_crosses_on_the_rail_of_its_receiver() {
        let shapes: [&[u32]; 7] = [
            &[2, 2],
            &[4, 4],
            &[3, 3, 2],
            &[1, 3],
            &[2, 1, 4],
            &[2; 4],
            &[5, 1],
        ];
        let has: [&dyn Fn(u32, u32) -> bool; 3] = [
            &|from, to| from != to,
            &|from, to| from != to && (3 * from + to) % 4 > 0,
            &|from, to| from % 2 == 0 && to > from,
        ];
        for sizes in shapes {
            let n: u32 = sizes.iter().sum();
            let mut seats = Vec::new();
            for (size, server) in sizes.iter().zip(0u32..) {
                seats.extend((0..*size).map(|rail| (server, rail)));
            }
            let backwards: Vec<u32> = (0..n).rev().collect();
            let odd: Vec<u32> = (0..2 * n).map(|at| at * at % n).chain(0..n).collect();
            let algorithms = [Algorithm::Direct, Algorithm::Pairwise];
            for (algorithm, has) in algorithms.iter().flat_map(|it| has.map(|has| (*it, has))) {
                let it = all_to_all(algorithm, n, has);
                for order in [&backwards, &odd] {
                    let (held, sent) = run(&it, sizes, order);
                    for (from, to) in (0..n).flat_map(|from| (0..n).map(move |to| (from, to))) {
                        let came = held[to as usize] & block(from, to) > 0;
                        assert_eq!(came, has(from, to), "{sizes:?}: {from} to {to}");
                    }
                    check_ways(&sent, &seats);
                }
            }
        }
    }

    /// Each block crosses servers once, on the receiver's rail where the sender's server has that, and takes one hop by NVLink
    /// before that at most.
    fn check_ways(sent: &[(u32, u32, u64)], seats: &[(u32, u32)]) {
        let mut crossings: BTreeMap<(u32, u32), Vec<(u32, u32)>> = BTreeMap::new();
        let mut hops: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for (from, to, bytes) in sent {
            for block in blocks_of(*bytes) {
                *hops.entry(block).or_default() += 1;
                if seats[*from as usize].0 != seats[*to as usize].0 {
                    crossings.entry(block).or_default().push((*from, *to));
                }
            }
        }
        for ((from, to), hops) in hops {
            let (server, rail) = seats[to as usize];
            let (own, own_rail) = seats[from as usize];
            if own == server {
                assert_eq!((hops, crossings.get(&(from, to))), (1, None));
                continue;
            }
            let on_rail = seats.iter().position(|seat| *seat == (own, rail));
            let leaves = on_rail.map_or(from, |at| at as u32);
            assert_eq!(crossings[&(from, to)], [(leaves, to)]);
            let relayed = own_rail != rail && leaves != from;
            assert_eq!(hops, 1 + u32::from(relayed), "{from} to {to}");
        }
    }

    /// Blocks of an all-to-all whose sizes do not come out even, and neighbours.
    #[test]
    fn relays_add_up_the_bytes_of_those_that_they_carry() {
        let group = seated(&[2, 2, 2]);
        let mut it = all_to_all(Algorithm::Direct, 6, &|_, _| true);
        (it.operation, it.bytes, it.channels) = (Operation::AllToAll, 6 * 1000 + 9, 2);
        let sends = |it: &Collective, me, channel, step| -> Vec<(u32, u64)> {
            let mut now = Step::default();
            it.step((me, &group), channel, step, &mut now);
            let bytes = |part: &Part| it.bytes((me, part.peer, 6), (channel, 0), part);
            now.sends
                .iter()
                .map(|part| (part.peer, bytes(part)))
                .collect()
        };
        // 3,005 and 3,004 B: of the first, blocks 0 to 4 have 501 B and block 5 has 500.
        assert_eq!(sends(&it, 0, 0, 0), [(1, 501 + 500), (2, 501), (4, 501)]);
        assert_eq!(sends(&it, 0, 0, 1), [(2, 501), (4, 501), (1, 501)]);
        assert_eq!(sends(&it, 5, 1, 1), [(1, 501), (3, 501), (4, 500)]);
        (it.operation, it.algorithm) = (Operation::SendReceive, Algorithm::Ring);
        it.channels = 1;
        assert_eq!(sends(&it, 1, 0, 0), [(0, 6009)]);
        assert_eq!(sends(&it, 0, 0, 1), [(2, 6009), (1, 6009)]);
        assert_eq!(sends(&it, 1, 0, 1), []);
    }
}
