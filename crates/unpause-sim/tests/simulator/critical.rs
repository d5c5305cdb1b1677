//! Critical paths: they lead through a whole iteration without a gap, along what it waited for.

use proptest::prelude::*;

use unpause_protocols::units::{Fraction, Time};
use unpause_sim::config::Config;
use unpause_sim::jobs::{
    Algorithm, Completion, CriticalPaths, Job, Operation, Over, Segment, SegmentKind,
};
use unpause_sim::results::Results;

use crate::common::*;
use crate::jobs::{add, exchange, job, on_a_switch};

/// The iterations of a job: when they began, ended, and at which rank.
fn iterations(job: &Job, results: &Results) -> Vec<(Time, Time, u32)> {
    let of = |number| {
        let own = results.rank_iterations.iter();
        let own: Vec<_> = own
            .filter(|it| (it.entry, it.iteration) == (job.entry, number))
            .collect();
        let last = own.iter().max_by_key(|it| it.end)?;
        let start = own.iter().map(|it| it.start).min()?;
        (own.len() == job.hosts.len()).then_some((start, last.end, last.rank))
    };
    (0..job.iterations).map_while(of).collect()
}

/// Looks at the paths of all iterations of the jobs of a run, each of which has to be whole.
fn each_path(config: &Config, results: &Results, mut look: impl FnMut(&Job, u32, &[Segment<'_>])) {
    for job in &config.jobs {
        let paths = CriticalPaths::new(
            config.seed,
            job,
            &results.rank_iterations,
            &results.messages,
        );
        let paths = paths.expect("messages are recorded");
        let all = iterations(job, results);
        assert!(!all.is_empty(), "no iteration came to its end");
        for (number, (start, end, last)) in (0..).zip(all) {
            let path = paths.path(number, (start, end), last);
            let path = path.unwrap_or_else(|| panic!("iteration {number} of {job:?} has no path"));
            let sum = path.iter().fold(Time::ZERO, |sum, it| sum + it.takes());
            assert_eq!(sum, end - start, "iteration {number}");
            assert_eq!(path.first().map(|it| it.start), Some(start));
            assert_eq!(path.last().map(|it| it.end), Some(end));
            for pair in path.windows(2) {
                assert_eq!(pair[0].end, pair[1].start, "{pair:?}");
            }
            look(job, number, &path);
        }
    }
}

#[test]
fn a_ring_is_a_chain_of_messages() {
    let mut config = on_a_switch(4);
    let mut ring = job(4, Operation::AllReduce, Algorithm::Ring, 400_000);
    ring.phases[0].compute = us(70);
    ring.launch = us(2);
    exchange(&mut ring).reduce_rate = Some(gbps(80));
    add(&mut config, ring);
    let results = run(&config);
    each_path(&config, &results, |_, _, path| {
        let of = |kind| path.iter().filter(move |it| it.kind == kind);
        let took = |kind| of(kind).fold(Time::ZERO, |sum, it| sum + it.takes());
        assert_eq!(took(SegmentKind::Compute), us(70));
        assert_eq!(took(SegmentKind::Reduce), us(10) * 3);
        assert_eq!(took(SegmentKind::Launch), us(2) * 6);
        assert_eq!(of(SegmentKind::Message).count(), 6);
        for message in of(SegmentKind::Message) {
            assert_eq!(message.ideal(), Some(message.takes()), "nothing delays it");
        }
        // Each is from the rank that the one before was for.
        let ends: Vec<_> = of(SegmentKind::Message)
            .filter_map(|it| it.message)
            .collect();
        assert!(ends.windows(2).all(|it| it[0].to == it[1].from));
    });
}

#[test]
fn partners_that_wait_for_acknowledgements_have_them_on_the_path() {
    let mut config = on_a_switch(5);
    add(
        &mut config,
        job(5, Operation::AllToAll, Algorithm::Pairwise, 500_000),
    );
    let results = run(&config);
    assert!(
        results
            .messages
            .iter()
            .all(|it| it.acknowledged > Some(it.end))
    );
    each_path(&config, &results, |_, _, path| {
        let acks = path
            .iter()
            .filter(|it| it.kind == SegmentKind::Acknowledgement);
        assert_eq!(acks.count(), 4);
    });
}

/// Nobody waits for the ACK of the last message of an all-gather. It comes while the first message of the next operation over
/// the same connection is yet to be launched, and does not count for that.
#[test]
fn an_ack_of_the_operation_before_ends_no_step() {
    for over in [Over::Connections, Over::Messages] {
        let mut config = on_a_switch(3);
        let mut both = job(3, Operation::AllGather, Algorithm::Ring, 30_000);
        let exchanged = job(3, Operation::AllToAll, Algorithm::Pairwise, 30_000);
        both.phases.extend(exchanged.phases);
        both.launch = us(5);
        both.over = over;
        add(&mut config, both);
        let results = run(&config);
        let messages = results.messages.iter().filter(|it| it.phase == 1);
        let messages: Vec<_> = messages.collect();
        assert_eq!(messages.len(), 6);
        for message in &messages {
            let acknowledged = message.acknowledged.expect("its sender waits for that");
            assert!(acknowledged > message.end, "{over:?} {message:?}");
            let later = messages.iter().filter(|it| it.from == message.from);
            for next in later.filter(|it| it.start > message.start) {
                assert!(next.start >= acknowledged + us(5), "{over:?} {next:?}");
            }
        }
        each_path(&config, &results, |_, _, _| {});
    }
}

#[test]
fn what_other_traffic_delays_is_beyond_ideal() {
    let mut config = config(
        star(&[gbps(100); 6], us(1)),
        vec![sized(5, 2, 1_000_000)],
        ms(50),
    );
    add(
        &mut config,
        job(3, Operation::AllReduce, Algorithm::Ring, 30_000),
    );
    let results = run(&config);
    let mut excess = Time::ZERO;
    each_path(&config, &results, |_, _, path| {
        let beyond = path.iter().filter_map(|it| Some(it.takes() - it.ideal()?));
        excess = beyond.fold(excess, |sum, it| sum + it);
    });
    assert!(excess > us(1), "{excess}");
}

#[test]
fn a_rank_that_is_late_is_on_the_path_of_the_next_iteration() {
    let mut config = on_a_switch(4);
    let mut of = job(4, Operation::AllToAll, Algorithm::Direct, 40_000);
    of.phases[0].compute = us(100);
    of.phases[0].jitter = Fraction::from_q32(1 << 31);
    of.iterations = 20;
    add(&mut config, of);
    let results = run(&config);
    let mut before = 0;
    each_path(&config, &results, |_, number, path| {
        assert!(path.iter().all(|it| it.iteration <= number));
        before += path.iter().filter(|it| it.iteration < number).count();
    });
    assert!(before > 0, "ranks are never ahead of others");
}

fn algorithms() -> impl Strategy<Value = (Operation, Algorithm)> {
    use {Algorithm as A, Operation as O};
    prop_oneof![
        Just((O::AllReduce, A::Ring)),
        Just((O::AllReduce, A::HalvingDoubling)),
        Just((O::AllReduce, A::Direct)),
        Just((O::AllReduce, A::DoubleBinaryTree)),
        Just((O::AllGather, A::Ring)),
        Just((O::ReduceScatter, A::Direct)),
        Just((O::Broadcast { root: 1 }, A::Ring)),
        Just((O::AllToAll, A::Direct)),
        Just((O::AllToAll, A::Pairwise)),
        Just((O::SendReceive, A::Ring)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever ranks do, and whatever delays them.
    #[test]
    fn durations_add_up(
        each in prop::collection::vec((algorithms(), 1u32..3, 1u32..4, 0u64..4), 1..4),
        ranks in 2u32..7,
        bytes in 1u64..60_000,
        (launch, rate, jitter) in (0u64..3, 0u64..3, 0u64..2),
        (own, waits) in any::<(bool, bool)>(),
        seed in any::<u64>(),
    ) {
        let mut config = config(
            star(&[gbps(40); 8], us(1)),
            vec![flow(7, 2), sized(7, 1, 200_000)],
            ms(50),
        );
        config.seed = seed;
        let mut phases = Vec::new();
        for ((operation, algorithm), channels, slices, compute) in each {
            let mut of = job(ranks, operation, algorithm, bytes);
            let mut phase = of.phases.remove(0);
            phase.compute = us(compute * 3);
            phase.jitter = Fraction::from_q32(jitter << 30);
            let exchange = phase.collective.as_mut().expect("it has one");
            let collective = &mut exchange.collective;
            collective.channels = channels;
            if collective.keeps_slices_in_order() {
                collective.slices = slices;
            }
            if collective.slices == 1 && rate > 0 {
                exchange.reduce_rate = Some(gbps(20 * rate));
            }
            phases.push(phase);
        }
        let mut of = job(ranks, Operation::AllReduce, Algorithm::Ring, 1);
        of.phases = phases;
        of.iterations = 3;
        of.launch = us(launch);
        of.over = if own { Over::Messages } else { Over::Connections };
        of.completion = if waits { Completion::Acknowledged } else { Completion::Delivered };
        add(&mut config, of);
        let results = run(&config);
        each_path(&config, &results, |_, _, _| {});
    }
}
