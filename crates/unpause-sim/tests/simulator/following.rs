//! Flows that start when others have ended.

use std::ops::ControlFlow;

use proptest::prelude::*;
use unpause_protocols::units::Time;
use unpause_sim::config::{Config, Skipping};
use unpause_sim::results::Results;
use unpause_sim::traffic::{Ending, FlowSpec, Following, Matching, TrafficSpec, Transport};

use crate::common::*;

fn follow(entry: u16, after: &[u16], ending: Ending, matching: Matching) -> Following {
    Following {
        entry,
        after: after.to_vec(),
        ending,
        matching,
    }
}

/// A star of this many hosts at 100 Gb/s, 1 us, with these entries of traffic.
fn star_with(hosts: usize, entries: Vec<Vec<FlowSpec>>, following: Vec<Following>) -> Config {
    let fabric = star(&vec![gbps(100); hosts], us(1));
    let mut config = config(fabric, Vec::new(), ms(1));
    config.traffic = entries.into_iter().map(TrafficSpec::Flows).collect();
    config.following = following;
    config
}

/// Start and end of flow `id`.
fn span(results: &Results, id: u32) -> (Time, Time) {
    let flow = results.flows.iter().find(|flow| flow.id == id);
    let flow = flow.expect("it has started");
    (flow.start, flow.start + fct(flow))
}

/// When the sender of flow `id` knows that all has arrived.
fn acknowledged(results: &Results, id: u32) -> Time {
    let flow = results.flows.iter().find(|flow| flow.id == id);
    flow.expect("it has started")
        .acknowledged
        .expect("it is recorded")
}

#[test]
fn a_flow_starts_the_instant_that_the_one_before_is_delivered() {
    let there = vec![sized(1, 2, 50_000)];
    let back = vec![FlowSpec {
        start: us(3),
        ..sized(2, 1, 20_000)
    }];
    let following = vec![follow(1, &[0], Ending::Delivered, Matching::All)];
    let results = run(&star_with(2, vec![there, back], following));
    let (_, end) = span(&results, 0);
    let (start, _) = span(&results, 1);
    assert_eq!(start, end + us(3), "`start` counts from the end");
    let alone = results.flows[1].ideal_fct.expect("it has a size");
    assert_eq!(fct(&results.flows[1]), alone);
    assert_eq!(results.totals.flows_waiting, 0);
}

#[test]
fn a_message_can_wait_for_the_acknowledgement_of_the_last_one() {
    let first = vec![sized(1, 2, 50_000)];
    let second = vec![sized(1, 2, 50_000)];
    let following = vec![follow(1, &[0], Ending::Acknowledged, Matching::All)];
    let mut config = star_with(2, vec![first, second], following);
    config.probes.acknowledged = true;
    let results = run(&config);
    let (start, _) = span(&results, 1);
    assert_eq!(start, acknowledged(&results, 0));
    assert!(start > span(&results, 0).1, "the ACK takes its time");
}

#[test]
fn all_that_end_at_a_host_are_waited_for() {
    // 1 and 2 send to 3, of which one is slow; 3 answers both when it has both.
    let incast = vec![sized(1, 3, 10_000), sized(2, 3, 300_000)];
    let answers = vec![sized(3, 1, 1_000), sized(3, 2, 1_000)];
    let following = vec![follow(1, &[0], Ending::Delivered, Matching::All)];
    let results = run(&star_with(3, vec![incast, answers], following));
    let last = span(&results, 0).1.max(span(&results, 1).1);
    assert_eq!(span(&results, 2).0, last);
    assert_eq!(span(&results, 3).0, last);
}

#[test]
fn each_flow_waits_for_its_own() {
    let requests = vec![sized(1, 3, 10_000), sized(2, 3, 300_000)];
    let answers = vec![sized(3, 1, 1_000), sized(3, 2, 1_000)];
    let following = vec![follow(1, &[0], Ending::Delivered, Matching::Each)];
    let results = run(&star_with(3, vec![requests, answers], following));
    assert_eq!(span(&results, 2).0, span(&results, 0).1);
    assert_eq!(span(&results, 3).0, span(&results, 1).1);
}

/// A ring of this many hosts: in each step every host sends `bytes` to the next, when it has the step before.
pub fn ring(hosts: usize, steps: u16, bytes: u64) -> Config {
    let next = |host: usize| (host % hosts + 1) as u32;
    let step = || (1..=hosts).map(|host| sized(host as u32, next(host), bytes));
    let entries = (0..steps).map(|_| step().collect()).collect();
    let after = |step| follow(step, &[step - 1], Ending::Delivered, Matching::All);
    star_with(hosts, entries, (1..steps).map(after).collect())
}

#[test]
fn a_ring_goes_on_step_by_step() {
    let (hosts, steps) = (8, 14);
    let results = run(&ring(hosts, steps, 40_000));
    assert_complete(&results);
    assert_eq!(results.flows.len(), hosts * usize::from(steps));
    let alone = results.flows[0].ideal_fct.expect("it has a size").as_ps();
    let ended_at = |step: u16, host: u32| {
        let mut flows = results.flows.iter();
        let flow = flows.find(|flow| (flow.group, flow.dst) == (step, host));
        flow.map(|flow| flow.start + fct(flow))
            .expect("a flow ends at each host")
    };
    for flow in results.flows.iter().filter(|flow| flow.group > 0) {
        assert_eq!(flow.start, ended_at(flow.group - 1, flow.src));
    }
    // ACKs of the flow that comes go with the data of the one that leaves: 84 B for 1,068 at most.
    let took = ended_at(steps - 1, 1).as_ps() as f64 / (alone * u64::from(steps)) as f64;
    assert!(
        (1.0..1.08).contains(&took),
        "{took} times as long as steps alone"
    );
}

#[test]
fn flows_whose_predecessors_do_not_end_are_counted_and_left_out() {
    let long = vec![sized(1, 2, 1_000_000_000)];
    let never = vec![sized(2, 1, 1_000)];
    let neither = vec![sized(1, 2, 1_000)];
    let following = vec![
        follow(1, &[0], Ending::Delivered, Matching::All),
        follow(2, &[1], Ending::Delivered, Matching::All),
    ];
    let results = run(&star_with(2, vec![long, never, neither], following));
    assert_eq!(results.flows.len(), 1);
    assert_eq!(results.totals.flows_started, 1);
    assert_eq!(results.totals.flows_waiting, 2);
}

#[test]
fn flows_that_would_start_after_the_end_are_counted_and_named() {
    let short = vec![sized(1, 2, 1_000)];
    let late = vec![FlowSpec {
        start: us(999),
        ..sized(2, 1, 1_000)
    }];
    let following = vec![follow(1, &[0], Ending::Delivered, Matching::All)];
    let results = run(&star_with(2, vec![short, late], following));
    assert_eq!(results.flows.len(), 1);
    assert_eq!(results.totals.flows_waiting, 1);
    let end = results.flows[0].start + fct(&results.flows[0]);
    assert_eq!(results.late, [(1, end + us(999))]);
}

#[test]
fn connections_of_tcp_follow_one_another() {
    let tcp = |src, dst, bytes| FlowSpec {
        transport: Transport::Tcp,
        priority: 1,
        ..sized(src, dst, bytes)
    };
    for ending in [Ending::Delivered, Ending::Acknowledged] {
        let (src, dst) = match ending {
            Ending::Delivered => (2, 1),
            Ending::Acknowledged => (1, 2),
        };
        let entries = vec![vec![tcp(1, 2, 60_000)], vec![tcp(src, dst, 5_000)]];
        let following = vec![follow(1, &[0], ending, Matching::All)];
        let results = run(&star_with(2, entries, following));
        assert_complete(&results);
        let end = span(&results, 0).1;
        match ending {
            Ending::Delivered => assert_eq!(span(&results, 1).0, end),
            Ending::Acknowledged => assert!(span(&results, 1).0 > end),
        }
    }
}

#[test]
fn what_cannot_be_followed_is_refused() {
    let all = |entry, after: &[u16]| follow(entry, after, Ending::Delivered, Matching::All);
    let refused = |entries: Vec<Vec<FlowSpec>>, following: Vec<Following>| {
        let config = star_with(3, entries, following);
        let refused = unpause_sim::run(&config, &mut |_| ControlFlow::Continue(()));
        refused.expect_err("it is refused").to_string()
    };
    let endless = refused(
        vec![vec![flow(1, 2)], vec![sized(2, 1, 1)]],
        vec![all(1, &[0])],
    );
    assert!(endless.contains("have no size"), "{endless}");
    let elsewhere = refused(
        vec![vec![sized(1, 2, 1)], vec![sized(3, 1, 1)]],
        vec![all(1, &[0])],
    );
    assert!(elsewhere.contains("host 3 sends"), "{elsewhere}");
    let entries = || vec![vec![sized(1, 2, 1)], vec![sized(2, 1, 1)]];
    let circle = refused(entries(), vec![all(1, &[0]), all(0, &[1])]);
    assert!(circle.contains("waits for itself"), "{circle}");
    let itself = refused(entries(), vec![all(1, &[1])]);
    assert!(itself.contains("waits for itself"), "{itself}");
    let each = |entry| follow(entry, &[0], Ending::Delivered, Matching::Each);
    let more = refused(
        vec![vec![sized(1, 2, 1)], vec![sized(2, 1, 1); 2]],
        vec![each(1)],
    );
    assert!(more.contains("2 flows follow 1"), "{more}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn results_do_not_depend_on_how_nodes_are_shared_out(
        hosts in 3..7_usize,
        steps in 2..6_u16,
        bytes in 500..60_000_u64,
        each in any::<bool>(),
        dcqcn_too in any::<bool>(),
    ) {
        let mut config = ring(hosts, steps, bytes);
        if each {
            for (it, step) in config.following.iter_mut().zip(0..) {
                // The n-th flow of a step follows that which ends at its sender: a step ahead in the ring.
                it.matching = Matching::Each;
                if let TrafficSpec::Flows(flows) = &mut config.traffic[step + 1] {
                    flows.rotate_left(step % hosts + 1);
                }
            }
        }
        if dcqcn_too {
            config.scheme = dcqcn();
        }
        let watch = |_| ControlFlow::Continue(());
        let one = run(&config);
        prop_assert_eq!(one.flows.len(), hosts * usize::from(steps));
        for parts in [2, 3, 7] {
            let in_turn = unpause_sim::run_sequential(&config, parts, &mut { watch }).expect("it runs");
            prop_assert_eq!(&in_turn, &one);
            let threads = unpause_sim::run_threads(&config, parts, &mut { watch }).expect("it runs");
            prop_assert_eq!(&threads.flows, &one.flows);
        }
        config.skipping = Skipping::Always;
        let skipped = run(&config);
        prop_assert_eq!(&skipped.flows, &one.flows);
        config.skipping = Skipping::Never;
        prop_assert_eq!(&run(&config).flows, &one.flows);
    }
}
