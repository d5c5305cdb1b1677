//! Jobs that run programs: the same as collective operations where these say the same, and the same on any number of
//! threads.

use std::ops::ControlFlow;
use std::sync::Arc;

use unpause_protocols::units::Time;
use unpause_sim::config::Config;
use unpause_sim::jobs::program::{Draft, DraftRank, Edge, Task};
use unpause_sim::jobs::{Algorithm, Job, Operation, Program};
use unpause_sim::results::{MessageRecord, Results};
use unpause_sim::traffic::TrafficSpec;

use crate::common::*;
use crate::jobs::{add, job};

const PLAIN: (u8, u16, u16) = (0, 0, 0);

fn of_program(draft: &Draft) -> Job {
    let ranks = draft.ranks.len() as u32;
    Job {
        phases: Vec::new(),
        program: Some(Arc::new(Program::new(draft).expect("it can be run"))),
        ..job(ranks, Operation::AllReduce, Algorithm::Ring, 1)
    }
}

/// The all-reduce of a ring, of blocks of the same size.
fn ring(ranks: u32, block: u64) -> Draft {
    let rank = |me: u32| {
        let mut rank = DraftRank::default();
        let mut before = None;
        for step in 0..2 * (ranks - 1) {
            let tag = step.into();
            let (to, from) = ((me + 1) % ranks, Some((me + ranks - 1) % ranks));
            let bytes = block;
            let send = rank.add(Task::Send { to, bytes, tag }, PLAIN);
            let tag = Some(tag);
            let receive = rank.add(Task::Receive { from, bytes, tag }, PLAIN);
            if let Some(before) = before.replace(receive) {
                rank.wait(send, before);
            }
        }
        rank
    };
    Draft {
        ranks: (0..ranks).map(rank).collect(),
        by_number: false,
        shared: Vec::new(),
    }
}

fn on_a_switch(hosts: u32, of: Job) -> Results {
    let fabric = star(&vec![gbps(100); hosts as usize], us(1));
    let mut config = config(fabric, vec![], ms(50));
    config.traffic.clear();
    config.host.ack_every = u32::MAX;
    add(&mut config, of);
    let results = run(&config);
    assert_lossless(&results);
    results
}

/// Where and when messages have gone.
fn ways(results: &Results) -> Vec<(u32, u32, u32, u64, Time, Time)> {
    let way = |it: &MessageRecord| (it.from, it.to, it.number, it.bytes, it.start, it.end);
    results.messages.iter().map(way).collect()
}

#[test]
fn a_ring_is_the_same_as_a_program() {
    for ranks in [2, 3, 8] {
        let bytes = 50_000 * u64::from(ranks);
        let built_in = job(ranks, Operation::AllReduce, Algorithm::Ring, bytes);
        let built_in = Job {
            iterations: 3,
            ..built_in
        };
        let program = Job {
            iterations: 3,
            ..of_program(&ring(ranks, 50_000))
        };
        let (built_in, program) = (on_a_switch(ranks, built_in), on_a_switch(ranks, program));
        let messages = ways(&program).len();
        assert_eq!(messages, 3 * 2 * (ranks as usize - 1) * ranks as usize);
        // A rank also waits for the acknowledgement of what it sends, before it begins anew.
        let first = |it: &Results| -> Vec<_> {
            let way = ways(it).into_iter();
            let of_first = 2 * (ranks - 1);
            way.filter(|it| it.2 < of_first).collect()
        };
        assert_eq!(first(&program), first(&built_in), "{ranks} ranks");
        let end = |it: &Results| it.rank_iterations[0].end;
        assert!(end(&program) > end(&built_in));
        assert!(end(&program) < end(&built_in) + us(3));
        assert_eq!(program.rank_iterations.len(), 3 * ranks as usize);
    }
}

#[test]
fn streams_compute_side_by_side_and_sends_wait_for_their_time() {
    let mut draft = Draft {
        ranks: vec![DraftRank::default(); 2],
        by_number: false,
        shared: Vec::new(),
    };
    let rank = &mut draft.ranks[0];
    let first = rank.add(Task::Compute(us(30)), (0, 0, 0));
    let second = rank.add(Task::Compute(us(20)), (0, 0, 0));
    let beside = rank.add(Task::Compute(us(40)), (1, 0, 0));
    let to = 1;
    let send = |tag| Task::Send {
        to,
        bytes: 1_000,
        tag,
    };
    let at_once = rank.add(send(0), PLAIN);
    let later = rank.add(send(1), PLAIN);
    let join = rank.add(Task::Nothing, PLAIN);
    rank.wait(later, second);
    rank.wait(join, beside);
    for (before, after) in [(first, at_once), (at_once, join)] {
        rank.edges.push(Edge {
            before,
            after,
            at_start: true,
        });
    }
    for tag in 0..2 {
        let (from, tag) = (Some(0), Some(tag));
        let bytes = 1_000;
        draft.ranks[1].add(Task::Receive { from, bytes, tag }, PLAIN);
    }
    let of = Job {
        launch: us(2),
        start: us(5),
        ..of_program(&draft)
    };
    let results = on_a_switch(2, of);
    let starts: Vec<Time> = results.messages.iter().map(|it| it.start).collect();
    // One when the first computation begins, one when both of the stream are over.
    assert_eq!(starts, [us(7), us(57)]);
    let computed: Vec<Time> = results
        .rank_iterations
        .iter()
        .map(|it| it.computed)
        .collect();
    assert_eq!(computed, [us(50), Time::ZERO]);
}

/// Every rank sends to every other, small and large, computes between, and waits for some of it.
fn crowd(ranks: u32) -> Draft {
    let mut draft = Draft {
        ranks: vec![DraftRank::default(); ranks as usize],
        by_number: false,
        shared: Vec::new(),
    };
    for me in 0..ranks {
        let rank = &mut draft.ranks[me as usize];
        let mut last = None;
        for round in 0..6_u64 {
            for by in 1..ranks {
                let (to, from) = ((me + by) % ranks, (me + ranks - by) % ranks);
                let bytes = 1 + (u64::from(by) * 7919 + round * 104_729) % 40_000;
                let channel = (round % 2) as u16;
                let tag = round;
                let send = rank.add(Task::Send { to, bytes, tag }, (0, channel, 0));
                let (from, tag, bytes) = (Some(from), Some(tag), 40_000);
                let receive = rank.add(Task::Receive { from, bytes, tag }, PLAIN);
                if let Some(last) = last {
                    rank.wait(send, last);
                }
                if by == 2 {
                    let compute = rank.add(Task::Compute(us(3)), ((by % 2) as u8, 0, 0));
                    rank.wait(compute, receive);
                    rank.wait(compute, send);
                    last = Some(compute);
                }
            }
        }
    }
    draft
}

fn crowded(of: Job) -> Config {
    let mut net = Net::default();
    let (left, right) = (net.switch(), net.switch());
    net.link(left, right, gbps(40), us(1));
    for switch in [left, left, left, left, right, right, right, right] {
        net.host(switch, gbps(100), us(1));
    }
    let mut config = config(net.0, vec![flow(2, 9), sized(7, 3, 2_000_000)], ms(20));
    let of = Job {
        hosts: (2..10).collect(),
        iterations: 2,
        ..of
    };
    add(&mut config, of);
    config
}

#[test]
fn every_number_of_threads_gives_the_same() {
    let of = of_program(&crowd(8));
    for (name, scheme) in schemes() {
        let mut config = crowded(of.clone());
        config.scheme = scheme;
        let one = run(&config);
        assert!(one.messages.len() > 100, "{name}: {}", one.messages.len());
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

#[test]
fn sends_end_though_packets_are_lost() {
    let mut config = crowded(of_program(&crowd(8)));
    config.traffic[0] = TrafficSpec::Flows(Vec::new());
    config.stop = ms(200);
    let without = run(&config);
    assert_eq!(without.rank_iterations.len(), 16);
    config.switch.lossless = 0;
    config.switch.lossy_queue_bytes = 30_000;
    config.host.retransmit_timeout = us(300);
    let results = run(&config);
    assert!(results.totals.dropped_packets > 100);
    assert_eq!(results.rank_iterations.len(), 16, "ranks come to their end");
    let all = |it: &Results| -> Vec<_> {
        let of = it.messages.iter();
        of.map(|it| (it.flow, it.number, it.iteration, it.step, it.bytes))
            .collect()
    };
    assert_eq!(all(&results), all(&without), "the same messages come");
}

#[test]
fn a_program_is_refused_that_is_not_of_the_ranks() {
    let fabric = star(&[gbps(100); 4], us(1));
    let mut config = config(fabric, vec![], ms(1));
    let mut of = of_program(&ring(3, 1_000));
    of.hosts = vec![1, 2];
    of.entry = 0;
    config.jobs.push(of);
    let error = unpause_sim::check(&config).expect_err("it cannot be run");
    assert!(error.to_string().contains("of other ranks"), "{error}");
}
