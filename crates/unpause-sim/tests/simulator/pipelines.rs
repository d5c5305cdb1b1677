//! Pipelines: closed forms, and a model of stages that wait for one another.

use unpause_protocols::units::Time;
use unpause_sim::config::Config;
use unpause_sim::jobs::{
    Algorithm, Completion, CriticalPaths, Group, Job, Operation, Pipeline, SegmentKind,
};
use unpause_sim::results::Results;

use crate::common::*;
use crate::jobs::{ack, add, exchange, ideal, job, on_a_switch, takes, two_switches};

const SCHEDULES: [Algorithm; 2] = [Algorithm::OneForwardOneBackward, Algorithm::GPipe];

fn pipeline(stages: u32, algorithm: Algorithm, micro_batches: u32, bytes: u64) -> Job {
    let of = Pipeline {
        micro_batches,
        chunks: 1,
        forward: us(100),
        backward: us(230),
    };
    job(stages, Operation::Pipeline(of), algorithm, bytes)
}

fn alone(job: Job) -> (Config, Results) {
    let mut config = on_a_switch(job.hosts.len() as u32);
    add(&mut config, job);
    let results = run(&config);
    assert_lossless(&results);
    (config, results)
}

/// Time of an iteration of `stages` stages if a message takes so long, by what each waits for.
fn model(stages: usize, algorithm: Algorithm, micro_batches: usize, message: Time) -> Time {
    let order = |stage: usize| {
        let ahead = match algorithm {
            Algorithm::GPipe => micro_batches,
            _ => micro_batches.min(stages - stage - 1),
        };
        let mut order: Vec<(bool, usize)> = (0..ahead).map(|it| (true, it)).collect();
        for it in ahead..micro_batches {
            order.extend([(true, it), (false, it - ahead)]);
        }
        order.extend((micro_batches - ahead..micro_batches).map(|it| (false, it)));
        order
    };
    // When each computation ends, by way and stage; filled until nothing is missing.
    let mut ends = vec![vec![[None; 2]; micro_batches]; stages];
    let mut last = Time::ZERO;
    for _ in 0..2 * stages * micro_batches {
        for stage in 0..stages {
            let mut free = Time::ZERO;
            for (forward, it) in order(stage) {
                let way = usize::from(!forward);
                let from = if forward {
                    stage.checked_sub(1)
                } else {
                    Some(stage + 1).filter(|it| *it < stages)
                };
                let Some(came) = from.map_or(Some(Time::ZERO), |from: usize| {
                    Some(ends[from][it][way]? + message)
                }) else {
                    break;
                };
                free = free.max(came) + [us(100), us(230)][way];
                ends[stage][it][way] = Some(free);
                last = last.max(free);
            }
        }
    }
    last
}

/// Of a message so short that it takes next to nothing.
#[test]
fn the_bubble_is_what_it_is_said_to_be() {
    for algorithm in SCHEDULES {
        for (stages, micro_batches) in [(2, 1), (2, 6), (4, 4), (4, 12), (8, 3)] {
            let (_, results) = alone(pipeline(stages, algorithm, micro_batches, 1));
            let all = takes(&results, 0).as_ns_f64();
            let computed = results.rank_iterations.iter().map(|it| it.computed);
            let computed: Vec<Time> = computed.collect();
            assert!(
                computed
                    .iter()
                    .all(|it| *it == us(330) * u64::from(micro_batches))
            );
            let bubble = 1.0 - computed[0].as_ns_f64() / all;
            let expected = f64::from(stages - 1) / f64::from(micro_batches + stages - 1);
            assert_within("bubble", bubble, expected, 0.05);
        }
    }
}

/// Two chunks of the model at each rank halve it.
#[test]
fn interleaved_chunks_make_the_bubble_smaller() {
    for (ranks, micro_batches, chunks) in [(3, 6, 2), (4, 4, 2), (4, 12, 5), (8, 8, 2)] {
        let (_, results) = alone(interleaved(ranks, micro_batches, chunks, 1));
        let all = takes(&results, 0).as_ns_f64();
        let computed = results.rank_iterations[0].computed.as_ns_f64();
        assert_eq!(computed, 330_000.0 * f64::from(micro_batches));
        let bubble = 330_000.0 * f64::from(ranks - 1) / f64::from(chunks);
        // A message of 1 B before each computation, at most.
        let steps = f64::from(2 * (chunks * micro_batches + ranks));
        let late = all - computed - bubble;
        let most = steps * ideal(1).as_ns_f64();
        assert!((0.0..most).contains(&late), "{late} ns, bubble {bubble}");
        let (back, forth) = (chunks - 1, chunks * (ranks - 1));
        let messages = 2 * micro_batches * (back + forth);
        assert_eq!(results.messages.len(), messages as usize);
    }
}

fn interleaved(ranks: u32, micro_batches: u32, chunks: u32, bytes: u64) -> Job {
    let mut of = pipeline(ranks, Algorithm::Interleaved, micro_batches, bytes);
    if let Operation::Pipeline(it) = &mut exchange(&mut of).collective.operation {
        it.chunks = chunks;
    }
    of
}

/// Acknowledgements and messages of both ways share links.
#[test]
fn interleaved_ranks_are_as_long_as_alone() {
    for (ranks, micro_batches, chunks) in [(3, 6, 2), (4, 8, 3)] {
        let mut of = interleaved(ranks, micro_batches, chunks, 40_000);
        of.iterations = 2;
        let (_, results) = alone(of);
        let it = results.collectives[0];
        let (takes, ideal) = (it.end - it.start, it.ideal.expect("known"));
        assert_within("alone", takes.as_ns_f64(), ideal.as_ns_f64(), 0.01);
        assert!(takes >= ideal);
    }
}

/// To the picosecond. At the instant at which a stage between others has computed for a micro-batch, the next one has come, and is
/// acknowledged first.
#[test]
fn gpipe_waits_for_a_message_from_stage_to_stage_and_back() {
    let bytes = 400_000;
    for (stages, micro_batches) in [(2, 1), (3, 5), (4, 8)] {
        let (_, results) = alone(pipeline(stages, Algorithm::GPipe, micro_batches, bytes));
        let on = u64::from(stages - 1);
        let of_all = us(330) * (u64::from(micro_batches) + on);
        let expected = of_all + ideal(bytes) * (2 * on);
        let of_model = model(
            stages as usize,
            Algorithm::GPipe,
            micro_batches as usize,
            ideal(bytes),
        );
        assert_eq!(of_model, expected);
        let between = match micro_batches {
            1 => 0,
            _ => 2 * (on - 1),
        };
        let found = takes(&results, 0);
        assert_eq!(found, expected + ack() * between, "{stages} stages");
    }
}

/// Acknowledgements are in the way of messages now and then.
#[test]
fn one_forward_one_backward_is_as_its_stages_wait() {
    for (stages, micro_batches) in [(2, 1), (2, 6), (3, 5), (4, 8), (4, 2)] {
        for bytes in [1_000, 400_000] {
            let algorithm = Algorithm::OneForwardOneBackward;
            let (_, results) = alone(pipeline(stages, algorithm, micro_batches, bytes));
            let expected = model(
                stages as usize,
                algorithm,
                micro_batches as usize,
                ideal(bytes),
            );
            let (found, expected) = (takes(&results, 0).as_ns_f64(), expected.as_ns_f64());
            let messages = 2.0 * f64::from(micro_batches + stages);
            let late = found - expected;
            assert!(
                (0.0..=messages * 10.0).contains(&late),
                "{stages} stages, {micro_batches} of {bytes} B: {found} ns, expected {expected}"
            );
        }
    }
}

/// Computing of stages is on the path, and adds up with messages to the iteration.
#[test]
fn critical_paths_lead_through_what_stages_compute() {
    for algorithm in SCHEDULES {
        let mut of = pipeline(4, algorithm, 6, 400_000);
        of.iterations = 3;
        of.phases[0].compute = us(50);
        of.launch = us(2);
        let (config, results) = alone(of);
        let job = &config.jobs[0];
        let paths = CriticalPaths::new(1, job, &results.rank_iterations, &results.messages);
        let paths = paths.expect("messages are recorded");
        for number in 0..3 {
            let own = results
                .rank_iterations
                .iter()
                .filter(|it| it.iteration == number);
            let last = own.clone().max_by_key(|it| it.end).expect("it has ended");
            let start = own.map(|it| it.start).min().expect("it has begun");
            let path = paths.path(number, (start, last.end), last.rank);
            let path = path.expect("it has a path");
            assert!(path.windows(2).all(|it| it[0].end == it[1].start));
            let of = |kind| path.iter().filter(move |it| it.kind == kind).count();
            assert!(of(SegmentKind::Message) >= 6 && of(SegmentKind::Launch) >= 6);
            let computed = path.iter().filter(|it| it.kind == SegmentKind::Compute);
            let computed = computed.fold(Time::ZERO, |sum, it| sum + it.takes());
            assert!(computed >= us(330) * 6, "{computed}");
        }
    }
}

#[test]
fn every_number_of_threads_gives_the_same() {
    for algorithm in SCHEDULES {
        let mut config = config(two_switches(40), vec![flow(2, 9)], ms(40));
        let mut of = pipeline(4, algorithm, 5, 700_000);
        of.hosts = vec![2, 6, 3, 7];
        of.iterations = 3;
        let mut pairs = pipeline(4, algorithm, 3, 200_000);
        pairs.hosts = vec![4, 5, 8, 9];
        exchange(&mut pairs).groups = [[0, 2], [1, 3]].map(Group::from_iter).to_vec();
        pairs.completion = Completion::Acknowledged;
        add(&mut config, of);
        add(&mut config, pairs);
        let mut chunks = interleaved(4, 4, 2, 300_000);
        chunks.hosts = vec![3, 7, 2, 6];
        add(&mut config, chunks);
        let one = run(&config);
        assert_eq!(one.rank_iterations.len(), 12 + 4 + 4);
        for threads in [2, 3, 7] {
            let watch = &mut |_| std::ops::ControlFlow::Continue(());
            let more = unpause_sim::run_threads(&config, threads, watch);
            assert!(more.expect("the run is valid") == one, "{threads} threads");
        }
    }
}

#[test]
fn what_has_no_meaning_is_refused() {
    type Change = dyn Fn(&mut Job);
    let changes: [(&str, &Change); 6] = [
        ("channel", &|it| exchange(it).collective.channels = 2),
        ("slices", &|it| exchange(it).collective.slices = 2),
        ("algorithm", &|it| {
            exchange(it).collective.algorithm = Algorithm::Ring
        }),
        ("chunk", &|it| {
            if let Operation::Pipeline(of) = &mut exchange(it).collective.operation {
                of.chunks = 2;
            }
        }),
        ("interleaved", &|it| {
            exchange(it).collective.algorithm = Algorithm::Interleaved;
            if let Operation::Pipeline(of) = &mut exchange(it).collective.operation {
                of.chunks = 2;
            }
        }),
        ("micro-batches", &|it| {
            if let Operation::Pipeline(of) = &mut exchange(it).collective.operation {
                of.micro_batches = 0;
            }
        }),
    ];
    for (word, change) in changes {
        let mut of = pipeline(4, Algorithm::GPipe, 2, 1_000);
        change(&mut of);
        let mut config = on_a_switch(4);
        of.entry = 0;
        let flows = of.flows(1);
        config
            .traffic
            .push(unpause_sim::traffic::TrafficSpec::Flows(flows));
        config.jobs.push(of);
        let refused = unpause_sim::run(&config, &mut |_| std::ops::ControlFlow::Continue(()));
        let why = refused.expect_err("it cannot be run").to_string();
        assert!(why.contains(word), "{why}");
    }
}
