//! Jobs: closed forms, ranks that follow one another, and results that depend on nothing else.

use std::ops::ControlFlow;

use unpause_protocols::units::{Fraction, Time};
use unpause_sim::config::{Config, Fabric, HostConfig, NodeId};
use unpause_sim::jobs::{
    Algorithm, Collective, Completion, Exchange, Group, Job, Operation, Over, Phase,
};
use unpause_sim::results::{MessageRecord, RankIteration, Results};
use unpause_sim::traffic::{FlowSettings, TrafficSpec};

use crate::common::*;

/// A collective operation of all ranks in every iteration, at hosts 1, 2, ...
pub fn job(ranks: u32, operation: Operation, algorithm: Algorithm, bytes: u64) -> Job {
    let collective = Collective {
        operation,
        algorithm,
        bytes,
        channels: 1,
        slices: 1,
        pxn: false,
    };
    Job {
        entry: 0,
        hosts: (1..=ranks).collect(),
        start: Time::ZERO,
        iterations: 1,
        phases: vec![Phase {
            compute: Time::ZERO,
            jitter: Fraction::ZERO,
            collective: Some(Exchange {
                collective,
                groups: vec![(0..ranks).collect()],
                reduce_rate: None,
            }),
        }],
        program: None,
        launch: Time::ZERO,
        over: Over::Connections,
        completion: Completion::Delivered,
        flow: FlowSettings::default(),
        records_messages: true,
    }
}

pub fn add(config: &mut Config, mut job: Job) {
    job.entry = config.traffic.len() as u16;
    config
        .traffic
        .push(TrafficSpec::Flows(job.flows(config.seed)));
    config.jobs.push(job);
}

pub fn exchange(job: &mut Job) -> &mut Exchange {
    job.phases[0].collective.as_mut().expect("it has one")
}

/// Hosts on one switch, whose receivers acknowledge a message once.
pub fn on_a_switch(hosts: u32) -> Config {
    let fabric = star(&vec![gbps(100); hosts as usize], us(1));
    let mut config = config(fabric, vec![], ms(50));
    config.traffic.clear();
    config.host.ack_every = u32::MAX;
    config
}

/// The time of one message of this many bytes, alone.
pub fn ideal(bytes: u64) -> Time {
    let fabric = star(&[gbps(100); 2], us(1));
    let results = run(&config(fabric, vec![sized(1, 2, bytes)], ms(50)));
    let flow = &results.flows[0];
    assert_eq!(flow.fct, flow.ideal_fct);
    fct(flow)
}

/// From its start to the end of its last rank.
pub fn takes(results: &Results, iteration: u32) -> Time {
    let of = |it: &&RankIteration| it.iteration == iteration;
    let ends = results.rank_iterations.iter().filter(of).map(|it| it.end);
    let starts = results.rank_iterations.iter().filter(of).map(|it| it.start);
    ends.max().expect("it has ended") - starts.min().expect("it has begun")
}

pub fn alone(ranks: u32, operation: Operation, algorithm: Algorithm, bytes: u64) -> Results {
    let mut config = on_a_switch(ranks);
    add(&mut config, job(ranks, operation, algorithm, bytes));
    let results = run(&config);
    assert_lossless(&results);
    let ended = results.rank_iterations.len();
    assert_eq!(ended, ranks as usize, "every rank comes to its end");
    results
}

/// An ACK and its framing at 100 Gb/s.
pub fn ack() -> Time {
    let host = HostConfig::default();
    let framing = star(&[], us(1)).framing_bytes;
    ps((u64::from(host.ack_bytes) + u64::from(framing)) * 80)
}

/// The time of steps in turn, of frames no smaller than an ACK. Before each but the first, a rank acknowledges the message that it has waited for.
fn in_turn(steps: impl IntoIterator<Item = u64>) -> Time {
    let steps: Vec<Time> = steps.into_iter().map(ideal).collect();
    let messages = steps.iter().fold(Time::ZERO, |sum, it| sum + *it);
    messages + ack() * (steps.len() as u64 - 1)
}

#[test]
fn a_ring_takes_its_steps_one_after_the_other() {
    for ranks in [2, 3, 4, 5, 7, 8, 16, 33, 64] {
        for bytes in [200 * u64::from(ranks), 100_000, 1_000_003] {
            let results = alone(ranks, Operation::AllReduce, Algorithm::Ring, bytes);
            let steps = 2 * (ranks as usize - 1);
            let largest = bytes.div_ceil(ranks.into());
            let expected = in_turn(vec![largest; steps]);
            assert_eq!(takes(&results, 0), expected, "{ranks} ranks, {bytes} B");
            assert_eq!(results.messages.len(), steps * ranks as usize);
            let gathered = alone(ranks, Operation::AllGather, Algorithm::Ring, bytes);
            assert_eq!(takes(&gathered, 0), in_turn(vec![largest; steps / 2]));
        }
    }
}

#[test]
fn halving_and_doubling_take_messages_of_half_the_size_and_back() {
    for levels in 1..6 {
        let ranks = 1 << levels;
        let results = alone(
            ranks,
            Operation::AllReduce,
            Algorithm::HalvingDoubling,
            640_000,
        );
        let halves = (1..=levels).map(|level| 640_000 >> level);
        let expected = in_turn(halves.clone().chain(halves.rev()));
        assert_eq!(takes(&results, 0), expected, "{ranks} ranks");
    }
}

#[test]
fn pairs_wait_for_acknowledgements_and_direct_exchanges_do_not() {
    let pairwise = alone(8, Operation::AllToAll, Algorithm::Pairwise, 800_000);
    let direct = alone(8, Operation::AllToAll, Algorithm::Direct, 800_000);
    let step = ideal(100_000);
    assert!(takes(&pairwise, 0) > (step + us(2)) * 7);
    for results in [pairwise, direct] {
        assert_eq!(results.messages.len(), 8 * 7);
        assert!(results.messages.iter().all(|it| it.bytes == 100_000));
    }
}

/// Each begins with the rank behind it, so that no two frames want the same link: all messages are as one.
#[test]
fn direct_exchanges_have_a_single_latency() {
    for ranks in [2, 3, 8, 16] {
        let others = u64::from(ranks) - 1;
        let bytes = 100_000 * u64::from(ranks);
        let all_to_all = alone(ranks, Operation::AllToAll, Algorithm::Direct, bytes);
        assert_eq!(
            takes(&all_to_all, 0),
            ideal(100_000 * others),
            "{ranks} ranks"
        );
        let again = || {
            let mut config = on_a_switch(ranks);
            let mut job = job(ranks, Operation::AllToAll, Algorithm::Direct, bytes);
            // ACKs are out of the way when it goes on.
            job.iterations = 2;
            job.phases[0].compute = us(10);
            add(&mut config, job);
            run(&config)
        };
        assert_eq!(takes(&again(), 1), ideal(100_000 * others) + us(10));
    }
}

/// All that a run has to say of one of its jobs.
fn of_job(results: &Results, entry: u16) -> (Vec<MessageRecord>, Vec<RankIteration>) {
    let messages = results.messages.iter().filter(|it| it.entry == entry);
    let iterations = results
        .rank_iterations
        .iter()
        .filter(|it| it.entry == entry);
    // Flows are numbered through all jobs.
    let messages = messages.map(|it| MessageRecord {
        entry: 0,
        flow: 0,
        ..*it
    });
    let iterations = iterations.map(|it| RankIteration { entry: 0, ..*it });
    (messages.collect(), iterations.collect())
}

/// Hosts 2 to 5 at switch 0, 6 to 9 at switch 1, and one link between.
pub fn two_switches(trunk: u64) -> Fabric {
    let mut net = Net::default();
    let (left, right) = (net.switch(), net.switch());
    net.link(left, right, gbps(trunk), us(1));
    for switch in [left, left, left, left, right, right, right, right] {
        net.host(switch, gbps(100), us(1));
    }
    net.0
}

fn at_hosts(hosts: &[NodeId], bytes: u64) -> Job {
    let ranks = hosts.len() as u32;
    Job {
        hosts: hosts.to_vec(),
        iterations: 3,
        ..job(ranks, Operation::AllReduce, Algorithm::Ring, bytes)
    }
}

#[test]
fn jobs_that_share_no_link_do_not_notice_one_another() {
    let with = |jobs: &[Job]| {
        let mut config = config(two_switches(100), vec![], ms(50));
        for job in jobs {
            add(&mut config, job.clone());
        }
        run(&config)
    };
    let (left, right) = (
        at_hosts(&[2, 3, 4, 5], 1_000_000),
        at_hosts(&[6, 7, 8, 9], 700_000),
    );
    let both = with(&[left.clone(), right.clone()]);
    let swapped = with(&[right.clone(), left.clone()]);
    assert_eq!(of_job(&both, 1), of_job(&with(&[left]), 1));
    assert_eq!(of_job(&both, 2), of_job(&with(&[right]), 1));
    assert_eq!(of_job(&both, 1), of_job(&swapped, 2));
    assert_eq!(of_job(&both, 2), of_job(&swapped, 1));
}

#[test]
fn two_exchanges_over_one_link_take_twice_as_long() {
    let send = |hosts: &[NodeId]| Job {
        hosts: hosts.to_vec(),
        ..job(2, Operation::SendReceive, Algorithm::Ring, 40_000_000)
    };
    let with = |jobs: &[Job]| {
        let mut config = config(two_switches(100), vec![], ms(50));
        for job in jobs {
            add(&mut config, job.clone());
        }
        takes(&run(&config), 0).as_ps() as f64
    };
    let slowdown = with(&[send(&[2, 6]), send(&[3, 7])]) / with(&[send(&[2, 6])]);
    assert!((1.998..=2.0).contains(&slowdown), "{slowdown}");
}

#[test]
fn ranks_compute_before_they_send_and_reduce_what_they_receive() {
    let mut plain = on_a_switch(4);
    add(
        &mut plain,
        job(4, Operation::AllReduce, Algorithm::Ring, 400_000),
    );
    let mut computes = on_a_switch(4);
    let mut of = job(4, Operation::AllReduce, Algorithm::Ring, 400_000);
    of.phases[0].compute = us(70);
    of.start = us(13);
    of.launch = us(2);
    exchange(&mut of).reduce_rate = Some(gbps(80));
    add(&mut computes, of);
    let (plain, computes) = (run(&plain), run(&computes));
    // 100 000 B at 80 Gb/s are 10 us, in 3 of 6 steps. An ACK has left before a message is launched.
    let expected = takes(&plain, 0) - ack() * 5 + us(70) + us(10) * 3 + us(2) * 6;
    assert_eq!(takes(&computes, 0), expected);
    assert!(
        computes
            .rank_iterations
            .iter()
            .all(|it| it.computed == us(70) && it.start == us(13))
    );
}

#[test]
fn jitter_is_drawn_for_each_rank_and_iteration() {
    let mut config = on_a_switch(4);
    let mut of = job(4, Operation::AllReduce, Algorithm::Ring, 4_000);
    of.iterations = 50;
    of.phases[0].compute = us(100);
    of.phases[0].jitter = Fraction::from_q32(1 << 31);
    add(&mut config, of);
    let computed: Vec<Time> = run(&config)
        .rank_iterations
        .iter()
        .map(|it| it.computed)
        .collect();
    assert_eq!(computed.len(), 200);
    let all = |far: fn(Time) -> bool| computed.iter().all(|it| far(*it));
    assert!(all(|it| it >= us(50) && it <= us(150)));
    assert!(!all(|it| it >= us(60)) && !all(|it| it <= us(140)));
    let mean = computed
        .iter()
        .map(|it| it.as_ns_f64() / 1000.0)
        .sum::<f64>()
        / 200.0;
    assert_within("compute", mean, 100.0, 0.06);
}

/// Phases of groups of two and of four, of different algorithms, on a crowded fabric.
pub fn training(ranks: u32) -> Job {
    let groups = |size: u32, stride: u32| -> Vec<Vec<u32>> {
        let first = (0..ranks).filter(|rank| (rank / stride).is_multiple_of(size));
        first
            .map(|rank| (0..size).map(|at| rank + at * stride).collect())
            .collect()
    };
    let phase = |it: Collective, groups: Vec<Vec<u32>>| Phase {
        compute: us(5),
        jitter: Fraction::from_q32(1 << 29),
        collective: Some(Exchange {
            collective: it,
            groups: groups.into_iter().map(Group::from_iter).collect(),
            reduce_rate: None,
        }),
    };
    let it = |operation, algorithm, channels, slices| Collective {
        operation,
        algorithm,
        bytes: 300_001,
        channels,
        slices,
        pxn: false,
    };
    let phases = vec![
        phase(
            it(Operation::AllReduce, Algorithm::DoubleBinaryTree, 1, 3),
            groups(4, 2),
        ),
        phase(
            it(Operation::AllReduce, Algorithm::Ring, 2, 4),
            groups(4, 2),
        ),
        phase(
            it(Operation::AllToAll, Algorithm::Pairwise, 1, 1),
            groups(8, 1),
        ),
        phase(
            it(Operation::AllGather, Algorithm::Direct, 2, 2),
            groups(2, 1),
        ),
        phase(
            it(Operation::Broadcast { root: 1 }, Algorithm::Ring, 1, 5),
            groups(4, 2),
        ),
    ];
    Job {
        iterations: 4,
        phases,
        ..job(ranks, Operation::AllReduce, Algorithm::Ring, 1)
    }
}

pub fn crowded() -> Config {
    let mut config = config(
        two_switches(40),
        vec![flow(2, 9), sized(7, 3, 2_000_000)],
        ms(20),
    );
    let job = Job {
        hosts: (2..10).collect(),
        ..training(8)
    };
    add(&mut config, job);
    config
}

#[test]
fn every_number_of_threads_gives_the_same() {
    for (name, scheme) in schemes() {
        let mut config = crowded();
        config.scheme = scheme;
        let one = run(&config);
        let iterations = one.rank_iterations.len();
        assert!(iterations >= 8, "{name}: {iterations} of 32");
        for threads in [2, 3, 7] {
            let more =
                unpause_sim::run_threads(&config, threads, &mut |_| ControlFlow::Continue(()));
            assert!(
                more.expect("the run is valid") == one,
                "{name} on {threads} threads"
            );
        }
    }
}

/// A ring's messages are a packet each, so a receiver hears nothing between the end of a message and the next one: its
/// period ends with a notification all the same.
#[test]
fn a_receiver_notifies_after_the_last_packet_of_a_message() {
    let mut config = on_a_switch(3);
    let mut ring = job(2, Operation::AllReduce, Algorithm::Ring, 2_000);
    ring.phases[0].compute = us(400);
    ring.iterations = 3;
    add(&mut config, ring);
    config.scheme = pcn();
    let results = run(&config);
    // Two messages each way in every iteration, all within a period.
    let told: Vec<u64> = results.flows.iter().map(|it| it.notifications).collect();
    assert_eq!(told, [3, 3]);
    crate::threads::assert_threads_do_not_matter("a ring under PCN", &config);
}

#[test]
fn lost_packets_are_repaired_across_messages() {
    let alone = || {
        let mut config = crowded();
        config.traffic[0] = TrafficSpec::Flows(Vec::new());
        config.stop = ms(200);
        config
    };
    let mut config = alone();
    config.switch.lossless = 0;
    config.switch.lossy_queue_bytes = 30_000;
    config.host.retransmit_timeout = us(300);
    let results = run(&config);
    assert!(results.totals.dropped_packets > 100);
    assert_eq!(results.rank_iterations.len(), 32, "ranks come to their end");
    let without = run(&alone());
    let all = |it: &Results| -> Vec<_> {
        it.messages
            .iter()
            .map(|it| (it.flow, it.number, it.step, it.bytes))
            .collect()
    };
    assert_eq!(all(&results), all(&without), "the same messages come");
    // Connections have no size: what they have delivered is what their messages had.
    for record in results.flows.iter().filter(|it| it.group == 1) {
        let sum: u64 = results
            .messages
            .iter()
            .filter(|it| it.flow == record.id)
            .map(|it| it.bytes)
            .sum();
        assert_eq!(record.delivered_bytes, sum, "{record:?}");
    }
}

#[test]
fn what_has_no_meaning_is_refused() {
    let refused = |change: &dyn Fn(&mut Job)| {
        let mut config = on_a_switch(4);
        let mut of = job(4, Operation::AllReduce, Algorithm::Ring, 4_000);
        change(&mut of);
        config.traffic.push(TrafficSpec::Flows(Vec::new()));
        config.jobs.push(of);
        unpause_sim::check(&config)
            .expect_err("it cannot be run")
            .to_string()
    };
    type Change<'a> = &'a dyn Fn(&mut Job);
    let cases: [(Change<'_>, &str); 9] = [
        (&|it| it.hosts[1] = it.hosts[0], "at one host"),
        (&|it| it.hosts[1] = 0, "no host"),
        (&|it| it.iterations = 0, "iterations"),
        (&|it| it.phases.clear(), "does nothing"),
        (&|it| it.phases[0].collective = None, "neither compute nor"),
        (
            &|it| exchange(it).groups[0] = Group::from_iter([0, 0, 2, 3]),
            "two groups",
        ),
        (
            &|it| exchange(it).collective.algorithm = Algorithm::Pairwise,
            "no such algorithm",
        ),
        (
            &|it| {
                exchange(it).collective.algorithm = Algorithm::HalvingDoubling;
                exchange(it).collective.slices = 2;
            },
            "overtake",
        ),
        (
            &|it| {
                exchange(it).collective.slices = 2;
                exchange(it).reduce_rate = Some(gbps(80));
            },
            "time to reduce",
        ),
    ];
    for (change, expected) in cases {
        let message = refused(change);
        assert!(
            message.contains(expected),
            "{message} says nothing of {expected}"
        );
    }
}
