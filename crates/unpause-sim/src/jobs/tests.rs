//! Collective operations run symbolically: who has whose contribution to which block in the end.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;

use super::collective::{Algorithm, Collective, Operation};
use super::connections::Messages;
use super::group::{Group, seated};
use super::step::{Part, Step};
use super::{Completion, Exchange, Job, Over, Phase};
use crate::traffic::FlowSettings;
use unpause_protocols::units::{Fraction, Time};

const ALGORITHMS: [Algorithm; 5] = [
    Algorithm::Ring,
    Algorithm::HalvingDoubling,
    Algorithm::Direct,
    Algorithm::DoubleBinaryTree,
    Algorithm::Pairwise,
];

fn collective(operation: Operation, algorithm: Algorithm, bytes: u64) -> Collective {
    Collective {
        operation,
        algorithm,
        bytes,
        channels: 1,
        slices: 1,
        pxn: false,
    }
}

/// Ranks without servers.
fn plain(n: u32) -> Group {
    (0..n).collect()
}

/// The ranks whose contributions a rank has in a block: bit r is that of rank r.
type Buffer = Vec<u64>;

/// The blocks in flight from a rank to another, from the first on, and whether they are added.
type Wires = BTreeMap<(u32, u32), VecDeque<(Vec<u64>, bool)>>;

/// Runs a channel, ranks in turn by `order`; `held` says what each has of each block at first.
fn run(
    it: &Collective,
    group: &Group,
    channel: u32,
    blocks: u32,
    mut held: Vec<Buffer>,
    order: &[u32],
) -> Vec<Buffer> {
    let n = group.count();
    let mut wires = Wires::new();
    let mut at: Vec<(u32, bool)> = vec![(0, false); n as usize];
    let mut turn = order.iter().cycle();
    let steps = it.steps(n);
    for _ in 0..steps * n * n * 4 + 4 * n {
        let me = turn.next().expect("ranks come in turn") % n;
        let (step, entered) = at[me as usize];
        if step == steps {
            continue;
        }
        let mut now = Step::default();
        it.step((me, group), channel, step, &mut now);
        let places = |first: u32, count: u32| (first..first + count).map(|b| (b % blocks) as usize);
        if !entered {
            for part in &now.sends {
                let own = &held[me as usize];
                let data = places(part.first, part.count).map(|b| own[b]).collect();
                wires
                    .entry((me, part.peer))
                    .or_default()
                    .push_back((data, part.reduces));
            }
            at[me as usize].1 = true;
        }
        let waits = |part: &Part| wires.get(&(part.peer, me)).is_none_or(VecDeque::is_empty);
        if now.receives.iter().any(waits) {
            continue;
        }
        for part in &now.receives {
            let wire = wires.get_mut(&(part.peer, me)).expect("a message has come");
            let (data, reduces) = wire.pop_front().expect("a message has come");
            assert_eq!(reduces, part.reduces);
            assert_eq!(
                data.len(),
                part.count as usize,
                "both ends mean the same blocks"
            );
            for (block, theirs) in places(part.first, part.count).zip(data) {
                let own = &mut held[me as usize][block];
                if reduces {
                    assert_eq!(*own & theirs, 0, "nothing is added twice");
                    *own |= theirs;
                } else {
                    *own = theirs
                }
            }
        }
        at[me as usize] = (step + 1, false);
    }
    assert!(
        at.iter().all(|(step, _)| *step == steps),
        "{it:?} of {n} comes to its end"
    );
    assert!(
        wires.values().all(VecDeque::is_empty),
        "all that is sent is received"
    );
    held
}

fn all_reduce_blocks(algorithm: Algorithm, n: u32) -> u32 {
    match algorithm {
        Algorithm::HalvingDoubling => 1 << n.ilog2(),
        Algorithm::DoubleBinaryTree => 1,
        _ => n,
    }
}

proptest! {
    #[test]
    fn every_rank_has_every_contribution_once(
        n in 2u32..17,
        which in 0usize..4,
        order in prop::collection::vec(0u32..17, 40..80),
    ) {
        let order: Vec<u32> = order.into_iter().chain(0..n).collect();
        let algorithm = ALGORITHMS[which];
        let it = collective(Operation::AllReduce, algorithm, 1 << 20);
        let blocks = all_reduce_blocks(algorithm, n);
        let everything = (1u64 << n) - 1;
        for channel in 0..it.lanes_of_channels() {
            let held = (0..n).map(|rank| vec![1 << rank; blocks as usize]).collect();
            let ended = run(&it, &plain(n), channel, blocks, held, &order);
            prop_assert_eq!(ended, vec![vec![everything; blocks as usize]; n as usize]);
        }
    }

    #[test]
    fn rails_reduce_in_servers_and_between(
        servers in 1u32..6,
        per_server in 1u32..6,
        order in prop::collection::vec(0u32..30, 40..80),
    ) {
        let n = servers * per_server;
        prop_assume!(n > 1);
        let order: Vec<u32> = order.into_iter().chain(0..n).collect();
        let it = collective(Operation::AllReduce, Algorithm::Rails { per_server }, 1 << 20);
        let held = (0..n).map(|rank| vec![1 << rank; n as usize]).collect();
        let ended = run(&it, &plain(n), 0, n, held, &order);
        prop_assert_eq!(ended, vec![vec![(1u64 << n) - 1; n as usize]; n as usize]);
    }

    #[test]
    fn scatter_gather_and_exchange(
        n in 2u32..17,
        root in 0u32..17,
        order in prop::collection::vec(0u32..17, 40..80),
    ) {
        let order: Vec<u32> = order.into_iter().chain(0..n).collect();
        let own = |rank: u32| move |block: u32| u64::from(block == rank) << rank;
        let size = n as usize;
        for algorithm in [Algorithm::Ring, Algorithm::Direct] {
            let it = collective(Operation::ReduceScatter, algorithm, 1 << 20);
            let held = (0..n).map(|rank| vec![1 << rank; size]).collect();
            let ended = run(&it, &plain(n), 0, n, held, &order);
            for (rank, held) in ended.iter().enumerate() {
                prop_assert_eq!(held[rank], (1u64 << n) - 1);
            }
            let it = collective(Operation::AllGather, algorithm, 1 << 20);
            let held = (0..n).map(|rank| (0..n).map(own(rank)).collect()).collect();
            let ended = run(&it, &plain(n), 0, n, held, &order);
            let all: Vec<u64> = (0..n).map(|rank| 1 << rank).collect();
            prop_assert_eq!(ended, vec![all; size]);
        }
        let root = root % n;
        let it = collective(Operation::Broadcast { root }, Algorithm::Ring, 9);
        let held = (0..n).map(|rank| vec![1 << rank]).collect();
        prop_assert_eq!(run(&it, &plain(n), 0, 1, held, &order), vec![vec![1 << root]; size]);
    }

    /// The messages that the receiver of each connection expects are those that its sender sends, in that order.
    #[test]
    fn receivers_expect_what_is_sent(
        n in 2u32..12,
        which in 0usize..5,
        bytes in 1u64..5_000,
        channels in 1u32..4,
        slices in 1u32..4,
    ) {
        let algorithm = ALGORITHMS[which];
        let operation = match algorithm {
            Algorithm::Pairwise => Operation::AllToAll,
            _ => Operation::AllReduce,
        };
        let mut it = Collective { channels, slices, ..collective(operation, algorithm, bytes) };
        if !it.keeps_slices_in_order() {
            it.slices = 1;
        }
        let job = Job {
            entry: 0,
            hosts: (0..n).collect(),
            start: Time::ZERO,
            iterations: 2,
            phases: vec![Phase {
                compute: Time::ZERO,
                jitter: Fraction::ZERO,
                collective: Some(Exchange {
                    collective: it.clone(),
                    groups: vec![(0..n).collect()],
                    reduce_rate: None,
                }),
            }],
            program: None,
            launch: Time::ZERO,
            over: Over::default(),
            completion: Completion::default(),
            flow: FlowSettings::default(),
            records_messages: true,
        };
        let mut room = Step::default();
        for connection in job.connections() {
            let mut sent = Vec::new();
            for step in 0..it.steps(n) {
                it.step((connection.from, &plain(n)), connection.channel, step, &mut room);
                for part in room.sends.iter().filter(|part| part.peer == connection.to) {
                    let place = (connection.from, connection.to, n);
                    let slices = (0..it.slices).map(|slice| (slice, it.bytes(place, (connection.channel, slice), part)));
                    sent.extend(slices.filter(|(_, bytes)| *bytes > 0));
                }
            }
            prop_assert!(!sent.is_empty());
            let mut messages = Messages::default();
            let mut expected = Vec::new();
            while let Some(next) = messages.next(&job, &connection, &mut room) {
                prop_assert_eq!(next.iteration as usize, expected.len() / sent.len());
                expected.push((next.slice, next.bytes));
            }
            prop_assert_eq!(expected, [sent.clone(), sent].concat());
        }
    }

    /// Steps reported as alike are alike at every rank. All steps of a ring with equal blocks are reported as alike.
    #[test]
    fn steps_said_to_be_alike_are(
        (servers, per_server) in (1u32..5, 1u32..5),
        bytes in 1u64..2_000,
        (channels, slices) in (1u32..4, 1u32..3),
        (even, reduces) in (any::<bool>(), any::<bool>()),
        kind in 0usize..7,
    ) {
        use {Algorithm as A, Operation as O};
        let n = servers * per_server;
        let (operation, algorithm) = match kind {
            0 => (O::AllReduce, A::Ring),
            1 => (O::AllGather, A::Ring),
            2 => (O::ReduceScatter, A::Ring),
            3 => (O::AllReduce, A::Rails { per_server }),
            4 => (O::AllReduce, A::HalvingDoubling),
            5 => (O::AllToAll, A::Pairwise),
            _ => (O::AllReduce, A::DoubleBinaryTree),
        };
        let bytes = if even { bytes * u64::from(n * channels) } else { bytes };
        let it = Collective { channels, slices, ..collective(operation, algorithm, bytes) };
        let of = |me: u32, channel: u32, step: u32| {
            let mut room = Step::default();
            it.step((me, &plain(n)), channel, step, &mut room);
            let part = |from: u32, to: u32, part: &Part| {
                let bytes = (0..slices).map(|slice| it.bytes((from, to, n), (channel, slice), part));
                (from, to, bytes.collect::<Vec<_>>(), reduces && part.reduces)
            };
            let sends: Vec<_> = room.sends.iter().map(|it| part(me, it.peer, it)).collect();
            let receives: Vec<_> = room.receives.iter().map(|it| part(it.peer, me, it)).collect();
            (sends, receives, room.acknowledged, room.compute)
        };
        for channel in 0..it.lanes_of_channels() {
            for step in 0..it.steps(n) {
                let last = it.last_alike(n, channel, (step, reduces));
                prop_assert!((step..it.steps(n)).contains(&last));
                for me in 0..n {
                    for later in step..=last {
                        prop_assert_eq!(of(me, channel, step), of(me, channel, later));
                    }
                }
            }
            if even && kind < 3 && !reduces && n > 1 {
                prop_assert_eq!(it.last_alike(n, channel, (0, reduces)), it.steps(n) - 1);
            }
        }
    }

    /// A rank sends as many bytes as the operation's definition says.
    #[test]
    fn bytes_add_up(n in 2u32..17, bytes in 1u64..1_000_000, channels in 1u32..5) {
        let sent = |it: &Collective, me: u32| -> u64 {
            let mut room = Step::default();
            let mut sum = 0;
            for channel in 0..it.lanes_of_channels() {
                for step in 0..it.steps(n) {
                    it.step((me, &plain(n)), channel, step, &mut room);
                    sum += room.sends.iter().map(|part| it.bytes((me, part.peer, n), (channel, 0), part)).sum::<u64>();
                }
            }
            sum
        };
        let total = |it: &Collective| (0..n).map(|me| sent(it, me)).sum::<u64>();
        let of = |operation, algorithm| Collective { channels, ..collective(operation, algorithm, bytes) };
        let ranks = u64::from(n);
        use {Algorithm as A, Operation as O};
        prop_assert_eq!(total(&of(O::AllReduce, A::Ring)), 2 * (ranks - 1) * bytes);
        prop_assert_eq!(total(&of(O::AllReduce, A::Direct)), 2 * (ranks - 1) * bytes);
        prop_assert_eq!(total(&of(O::AllReduce, A::DoubleBinaryTree)), 2 * (ranks - 1) * bytes);
        prop_assert_eq!(total(&of(O::AllGather, A::Ring)), (ranks - 1) * bytes);
        prop_assert_eq!(total(&of(O::ReduceScatter, A::Direct)), (ranks - 1) * bytes);
        prop_assert_eq!(total(&of(O::AllToAll, A::Pairwise)) , total(&of(O::AllToAll, A::Direct)));
        prop_assert_eq!(total(&of(O::SendReceive, A::Ring)), ranks * bytes);
        let matrix: Vec<u64> = (0..n * n).map(|at| u64::from(at % 7)).collect();
        let expected: u64 = (0..n * n).filter(|at| at / n != at % n).map(|at| u64::from(at % 7)).sum();
        prop_assert_eq!(total(&of(O::AllToAllV(matrix), A::Direct)), expected);
    }

    /// On servers, a server of odd size and several channels included: every contribution arrives once at every rank, and a block
    /// of a scatter at the rank of its number.
    #[test]
    fn servers_change_the_way_not_the_result(
        sizes in prop::collection::vec(1u32..5, 1..6),
        channels in 1u32..6,
        root in 0u32..20,
        order in prop::collection::vec(0u32..20, 40..80),
    ) {
        use {Algorithm as A, Operation as O};
        let group = seated(&sizes);
        let n = group.count();
        prop_assume!(n > 1);
        let order: Vec<u32> = order.into_iter().chain(0..n).collect();
        let of = |operation, algorithm| Collective { channels, ..collective(operation, algorithm, 1 << 20) };
        let (everything, size) = ((1u64 << n) - 1, n as usize);
        for algorithm in [A::Ring, A::DoubleBinaryTree] {
            let it = of(O::AllReduce, algorithm);
            let blocks = all_reduce_blocks(algorithm, n);
            for channel in 0..it.lanes_of_channels() {
                let held = (0..n).map(|rank| vec![1 << rank; blocks as usize]).collect();
                let ended = run(&it, &group, channel, blocks, held, &order);
                prop_assert_eq!(ended, vec![vec![everything; blocks as usize]; size]);
            }
        }
        let root = root % n;
        for channel in 0..channels {
            let held = (0..n).map(|rank| vec![1 << rank; size]).collect();
            let ended = run(&of(O::ReduceScatter, A::Ring), &group, channel, n, held, &order);
            prop_assert!((0..size).all(|rank| ended[rank][rank] == everything));
            let own = |rank: u32| (0..n).map(move |block| u64::from(block == rank) << rank).collect();
            let ended = run(&of(O::AllGather, A::Ring), &group, channel, n, (0..n).map(own).collect(), &order);
            let all: Vec<u64> = (0..n).map(|rank| 1 << rank).collect();
            prop_assert_eq!(ended, vec![all; size]);
            let held = (0..n).map(|rank| vec![1 << rank]).collect();
            let ended = run(&of(O::Broadcast { root }, A::Ring), &group, channel, 1, held, &order);
            prop_assert_eq!(ended, vec![vec![1 << root]; size]);
        }
    }

    /// With a channel for each GPU, each NIC carries its share of what crosses servers, and rings stay on their rails: between
    /// an odd number of servers all but the step from the last to the first.
    #[test]
    fn channels_share_the_nics(
        (servers, gpus) in (2u32..8, 1u32..9),
        bytes in 1u64..1_000_000,
        (kind, rounds) in (0usize..4, 1u32..3),
    ) {
        use {Algorithm as A, Operation as O};
        let group = seated(&vec![gpus; servers as usize]);
        let (n, channels) = (group.count(), gpus * rounds);
        let (operation, algorithm) = match kind {
            0 => (O::AllReduce, A::Ring),
            1 => (O::AllGather, A::Ring),
            2 => (O::ReduceScatter, A::Ring),
            _ => (O::AllReduce, A::DoubleBinaryTree),
        };
        // So that blocks are equal.
        let each = bytes * u64::from(n * 2);
        let it = Collective { channels, ..collective(operation, algorithm, each * u64::from(channels)) };
        let mut room = Step::default();
        // By rank: bytes that leave its server and that come from others.
        let mut nics = vec![(0, 0); n as usize];
        for me in 0..n {
            for channel in 0..it.lanes_of_channels() {
                for step in 0..it.steps(n) {
                    it.step((me, &group), channel, step, &mut room);
                    for part in room.sends.iter().filter(|part| part.peer / gpus != me / gpus) {
                        let sent = it.bytes((me, part.peer, n), (channel, 0), part);
                        nics[me as usize].0 += sent;
                        nics[part.peer as usize].1 += sent;
                        let is_last = (me / gpus, part.peer / gpus) == (servers - 1, 0);
                        let may_leave = kind < 3 && servers % 2 == 1 && is_last;
                        prop_assert!(may_leave || part.peer % gpus == me % gpus);
                    }
                }
            }
        }
        let of_ring = u64::from(rounds) * each * u64::from(n - 1) / u64::from(n);
        let sums = nics.iter().map(|(sent, came)| sent + came);
        match kind {
            0 => prop_assert!(nics.iter().all(|it| *it == (2 * of_ring, 2 * of_ring))),
            1 | 2 => prop_assert!(nics.iter().all(|it| *it == (of_ring, of_ring))),
            // Up and down each of the links of both trees.
            _ => {
                prop_assert_eq!(sums.sum::<u64>(), 4 * u64::from(servers - 1) * it.bytes);
                let of_server = it.bytes / u64::from(gpus);
                prop_assert!(nics.iter().all(|(sent, came)| *sent <= 2 * of_server && sent == came));
            }
        }
    }
}
