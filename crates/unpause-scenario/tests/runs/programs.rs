//! Jobs that files describe.

use std::ops::ControlFlow;
use std::path::Path;

use unpause_protocols::units::Time;
use unpause_scenario::{Run, Scenario};
use unpause_sim::jobs::MessageRecord;
use unpause_sim::results::Results;

use crate::small::run;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/jobs/");

/// The runs of a scenario beside the files.
fn runs(text: &str) -> Vec<Run> {
    let path = Path::new(DATA).join("of-a-test.toml");
    let scenario =
        Scenario::parse(text, &path).unwrap_or_else(|error| panic!("{}", error.explain()));
    scenario.runs().to_vec()
}

fn results(text: &str, threads: usize) -> Results {
    let config = &runs(text)[0].config;
    unpause_sim::run_threads(config, threads, &mut |_| ControlFlow::Continue(())).expect("it runs")
}

fn on_a_star(job: &str) -> String {
    let fabric = "builder = \"single-switch\"\nhosts = 8\nrate = \"100Gbps\"\ndelay = \"1us\"";
    format!(
        "duration = \"1ms\"\n[topology]\n{fabric}\n[host]\nack_every = 100000\n[[scheme]]\nname = \"PFC\"\n[[job]]\nname = \"J\"\n{job}\n"
    )
}

fn messages(results: &Results) -> Vec<MessageRecord> {
    // Programs number receives, operations their steps. Sends of programs wait for ACKs.
    let plain = |it: &MessageRecord| MessageRecord {
        acknowledged: None,
        step: 0,
        phase: 0,
        ..*it
    };
    results.messages.iter().map(plain).collect()
}

#[test]
fn a_ring_of_a_file_is_the_ring_that_is_built_in() {
    let built_in = "ranks = 4\ncollective = \"all-reduce\"\nsize = \"200000B\"";
    let built_in = results(&on_a_star(built_in), 1);
    for file in ["ring.goal", "ring.bin"] {
        let job = format!("ranks = 4\ngoal = \"{file}\"");
        let read = results(&on_a_star(&job), 1);
        assert_eq!(read.messages.len(), 4 * 6);
        assert_eq!(messages(&read), messages(&built_in), "{file}");
        // The last send ends with its acknowledgement, which the operation does not wait for.
        let ends = read.rank_iterations.iter().zip(&built_in.rank_iterations);
        for (read, built_in) in ends {
            let later = (read.end - built_in.end).as_ns_f64();
            assert!((2_000.0..2_500.0).contains(&later), "{later} ns");
        }
    }
}

#[test]
fn every_number_of_threads_gives_the_same() {
    let job = "ranks = 4\ngoal = \"ring.goal\"\niterations = 3\nlaunch = \"500ns\"";
    let one = results(&on_a_star(job), 1);
    assert_eq!(one.rank_iterations.len(), 12);
    for threads in [2, 3, 7] {
        assert!(
            results(&on_a_star(job), threads) == one,
            "{threads} threads"
        );
    }
}

#[test]
fn a_file_is_read_once_for_all_runs() {
    let job = "ranks = 4\ngoal = \"ring.goal\"\n[[scheme]]\nname = \"PFC+DCQCN\"\ncongestion_control = \"dcqcn\"";
    let runs = runs(&on_a_star(job));
    let program = |at: usize| {
        runs[at].config.jobs[0]
            .program
            .as_ref()
            .expect("it has one")
    };
    assert!(std::sync::Arc::ptr_eq(program(0), program(1)));
    assert_eq!(runs[0].names.jobs[0].steps, ["goal"]);
}

#[test]
fn what_has_no_effect_is_named() {
    let text = "num_ranks 2\nrank 0 {\nsend 1b to 1 nic 1\n}\nrank 1 {\nrecv 1b from 0 nic 3\n}\n";
    let path = Path::new("t.goal");
    let read = unpause_import::programs::parse_goal(text.into(), path).expect("it is good");
    assert_eq!(
        read.notes,
        ["2 operations name a nic: the host sends by the NIC nearest to the receiver"]
    );
}

/// From, to, bytes, start and end of each message, in this order.
fn ways(results: &Results) -> Vec<(u32, u32, u64, u64, u64)> {
    let way = |it: &MessageRecord| {
        let times = [it.start, it.end].map(|it| it.as_ps());
        (it.from, it.to, it.bytes, times[0], times[1])
    };
    let mut all: Vec<_> = results.messages.iter().map(way).collect();
    all.sort_unstable();
    all
}

#[test]
fn a_layer_of_simai_is_its_collectives() {
    let read = results(&on_a_star("ranks = 8\nsimai = \"tiny.simai\""), 1);
    // Forward, then an update, two gradients of 1 ns, and the all-reduce between two.
    let steps = "ranks = 8\nparallel = { tp = 4, dp = 2 }\n\
        [[job.step]]\ncompute = \"1us\"\ngroup = \"tp\"\ncollective = \"all-reduce\"\nsize = \"4194304B\"\n\
        [[job.step]]\ncompute = \"102ns\"\ngroup = \"dp\"\ncollective = \"all-reduce\"\nsize = \"1048576B\"";
    let built_in = results(&on_a_star(steps), 1);
    assert_eq!(read.messages.len(), 8 * 6 + 8 * 2);
    assert_eq!(ways(&read), ways(&built_in));
    // Two groups of four, four of two.
    let times = |of: &Results| -> Vec<_> {
        let all = of.collectives.iter();
        all.map(|it| (it.group, it.ranks, it.start, it.end, it.ideal))
            .collect()
    };
    assert_eq!(times(&read).len(), 6);
    assert_eq!(times(&read), times(&built_in));
    let labels: Vec<u32> = read.collectives.iter().map(|it| it.phase).collect();
    assert_eq!(labels, [0, 0, 2, 2, 2, 2]);
    let computed = read.rank_iterations.iter().map(|it| it.computed.as_ps());
    assert!(computed.into_iter().all(|it| it == 1_202_000));
}

#[test]
fn layers_of_all_kinds_run_forward_back_and_again() {
    let job = "ranks = 4\nsimai = \"layers.simai\"\nchannels = 2\niterations = 2";
    let run = &runs(&on_a_star(job))[0];
    let steps = &run.names.jobs[0].steps;
    assert_eq!(
        steps[..3],
        [
            "attention forward",
            "attention input gradient",
            "attention weight gradient"
        ]
    );
    let one = results(&on_a_star(job), 1);
    assert_eq!(one.rank_iterations.len(), 8, "both iterations end");
    for threads in [2, 3, 7] {
        assert!(
            results(&on_a_star(job), threads) == one,
            "{threads} threads"
        );
    }
    // The first layer goes forward once more, before the gradients of the second.
    let of_label = |label| {
        let of = one
            .messages
            .iter()
            .filter(|it| it.phase == label && it.iteration == 0);
        of.count()
    };
    assert_eq!(of_label(0), 2 * (4 * 2 * 2));
    // Reduce-scatter of two ranks with the stride of the tensor-parallel groups.
    let of_weights = one.messages.iter().filter(|it| it.phase == 2);
    assert!(
        of_weights
            .into_iter()
            .all(|it| it.from.abs_diff(it.to) == 2)
    );
}

#[test]
fn flows_of_htsim_start_at_their_times_and_by_triggers() {
    let job = "ranks = 8\nhtsim = \"deps.cm\"";
    let read = results(&on_a_star(job), 1);
    let of = |from: u32, to: u32, number: usize| {
        let way = read
            .messages
            .iter()
            .filter(|it| (it.from, it.to) == (from, to));
        let mut way: Vec<&MessageRecord> = way.collect();
        way.sort_by_key(|it| it.start);
        *way[number]
    };
    let start = |it: MessageRecord| it.start.as_ps();
    assert_eq!(start(of(0, 1, 0)), 0);
    assert_eq!(start(of(2, 1, 0)), 2_000_000);
    // When both have come, and when that has come.
    let both = of(0, 1, 0).end.max(of(2, 1, 0).end);
    assert_eq!(of(1, 3, 0).start, both);
    assert_eq!(of(3, 4, 0).start, of(1, 3, 0).end);
    // One flow for each of the two, when the sender knows that they are over.
    assert_eq!(start(of(5, 6, 0)), 1_000_000);
    assert_eq!(start(of(5, 7, 0)), 3_000_000);
    let (first, second) = (of(5, 6, 1), of(5, 6, 2));
    for (next, before) in [(first, of(5, 6, 0)), (second, of(5, 7, 0))] {
        let later = (next.start - before.end).as_ns_f64();
        assert!((2_000.0..2_500.0).contains(&later), "{later} ns");
    }
    for threads in [2, 3, 7] {
        assert!(
            results(&on_a_star(job), threads) == read,
            "{threads} threads"
        );
    }
}

#[test]
fn what_htsim_does_otherwise_is_named() {
    let text = std::fs::read_to_string(Path::new(DATA).join("deps.cm")).expect("it is there");
    let path = Path::new("deps.cm");
    let read = unpause_import::programs::parse_htsim(&text, path).expect("it is good");
    assert_eq!(read.notes.len(), 2);
    assert!(read.notes[0].starts_with("1 × prio"), "{}", read.notes[0]);
    assert!(
        read.notes[1].starts_with("3 × a trigger"),
        "{}",
        read.notes[1]
    );
}

#[test]
fn what_a_matrix_of_htsim_cannot_say_is_refused_with_its_line() {
    let good = "Nodes 4\nConnections 2\nTriggers 1\n0->1 id 1 start 5 size 9 send_done_trigger 1\n\
        1->2 id 2 trigger 1 size 9\ntrigger id 1 oneshot\n";
    let path = Path::new("t.cm");
    let parse = |text: &str| unpause_import::programs::parse_htsim(text, path);
    parse(good).expect("it is good");
    let mut said = String::new();
    for (from, to) in [
        ("Nodes 4", "Hosts 4"),
        ("Nodes 4\n", ""),
        ("Connections 2", "Connections 3"),
        ("Triggers 1", "Triggers 0"),
        ("0->1", "0->4"),
        ("0->1", "1->1"),
        ("start 5", "start 0.5"),
        ("start 5", "start 5 trigger 1"),
        (" start 5", ""),
        (" size 9\n", "\n"),
        ("size 9", "size 0"),
        ("size 9", "sise 9"),
        ("size 9", "size 9 size 8"),
        ("id 2", "id 1"),
        ("id 2", "id 0"),
        ("id 2", "id 2 msg 1"),
        ("1->2 id", "2->3 id"),
        ("2 trigger 1", "2 trigger 7"),
        ("oneshot", "twoshot"),
        ("oneshot", "barrier"),
        ("oneshot", "barrier count 2"),
        (" send_done_trigger 1", ""),
        ("start 5", "trigger 1"),
        ("oneshot\n", "oneshot\ntrigger id 1 multishot\n"),
        (
            "oneshot\n",
            "oneshot\nfailure switch_type TOR switch_id 0 link_id 1\n",
        ),
        ("Triggers 1", "Triggers 1\nFailures 2"),
    ] {
        let error = parse(&good.replacen(from, to, 1)).expect_err(to);
        said += &format!("{from:?} -> {to:?}\n  {error}\n");
    }
    insta::assert_snapshot!(said);
}

/// Connections of messages, and when a message counts: with a message at a time between two ranks, another connection for each costs
/// nothing, and the way of an ACK costs each step as much.
#[test]
fn messages_may_have_connections_of_their_own_and_wait_for_acks() {
    let ring = "ranks = 4\ncollective = \"all-reduce\"\nsize = \"200000B\"";
    let with = |keys: &str| results(&on_a_star(&format!("{ring}\n{keys}")), 1);
    let takes = |it: &Results| it.rank_iterations.iter().map(|it| it.end).max();
    let kept = with("connection = \"kept\"\ncompletion = \"delivered\"");
    assert!(kept == with(""));
    let own = with("connection = \"per-message\"");
    assert_eq!((own.flows.len(), kept.flows.len()), (24, 4));
    assert_eq!(takes(&own), takes(&kept));
    let waits = with("connection = \"per-message\"\ncompletion = \"ack\"");
    assert_eq!(takes(&waits), takes(&with("completion = \"ack\"")));
    // Six ACKs of 66 bytes with framing over two links of 100 Gb/s and 1 us; without them, five have left before a message.
    let longer = (takes(&waits).expect("it ended") - takes(&own).expect("it ended")).as_ps();
    let ack = 66 * 80;
    assert_eq!(longer, 6 * (2 * ack + 2_000_000) - 5 * ack);
    for threads in [2, 3, 7] {
        let keys = format!("{ring}\nconnection = \"per-message\"\ncompletion = \"ack\"");
        assert!(results(&on_a_star(&keys), threads) == waits);
    }
}

/// The time of an ACK of 66 bytes with framing, over two links of 100 Gb/s and 1 us.
const ACK: Time = Time::from_ps(2 * (66 * 80 + 1_000_000));

#[test]
fn receives_of_files_wait_for_acks_as_those_of_steps_do() {
    let ring = "ranks = 4\ncollective = \"all-reduce\"\nsize = \"200000B\"";
    for connection in ["kept", "per-message"] {
        let keys = format!("iterations = 2\nconnection = \"{connection}\"\ncompletion = \"ack\"");
        let built_in = results(&on_a_star(&format!("{ring}\n{keys}")), 1);
        let job = on_a_star(&format!("ranks = 4\ngoal = \"ring.goal\"\n{keys}"));
        let read = results(&job, 1);
        assert_eq!(read.messages.len(), 2 * 4 * 6);
        assert_eq!(ways(&read), ways(&built_in), "{connection}");
        assert_eq!(read.rank_iterations, built_in.rank_iterations);
        // Six steps, each of which is a message of 50,000 bytes and its ACK.
        let alone = read.messages[0].ideal.expect("its path is known");
        let step = (alone + ACK).as_ps();
        for it in &read.rank_iterations {
            let steps = 6 * (u64::from(it.iteration) + 1);
            assert_eq!(it.end.as_ps(), steps * step, "{connection}: {it:?}");
        }
        for threads in [2, 3] {
            assert!(results(&job, threads) == read, "{threads} threads");
        }
    }
    for (ranks, file) in [
        (8, "simai = \"tiny.simai\""),
        (8, "htsim = \"deps.cm\""),
        (2, "chakra = \"pair\""),
    ] {
        let job = on_a_star(&format!("ranks = {ranks}\n{file}"));
        let delivered = results(&job, 1);
        let waits = results(&format!("{job}completion = \"ack\"\n"), 1);
        assert_eq!(waits.messages.len(), delivered.messages.len(), "{file}");
        assert_eq!(waits.rank_iterations.len(), ranks, "{file}");
    }
}

/// A send of a file ends with the ACK of its message.
#[test]
fn acks_of_messages_of_files_are_recorded() {
    for connection in ["kept", "per-message"] {
        let job = format!(
            "ranks = 4\ngoal = \"ring.goal\"\niterations = 2\nconnection = \"{connection}\""
        );
        let read = results(&on_a_star(&job), 1);
        assert_eq!(read.messages.len(), 2 * 4 * 6);
        for it in &read.messages {
            assert_eq!(it.acknowledged, Some(it.end + ACK), "{connection}: {it:?}");
        }
    }
}

/// Jobs run over sprayed connections that switches trim, under NSCC.
#[test]
fn jobs_repair_losses_by_selective_repeat() {
    let text = "duration = \"20ms\"
        [topology]
        builder = \"leaf-spine\"
        leaves = 2
        hosts_per_leaf = 4
        spines = 2
        host_rate = \"100Gbps\"
        fabric_rate = \"100Gbps\"
        delay = \"500ns\"
        [host]
        spraying = \"reps\"
        [switch]
        lossless = []
        lossy_queue = \"40KB\"
        [switch.trimming]
        size = \"64B\"
        [[scheme]]
        name = \"NSCC\"
        congestion_control = \"nscc\"
        loss_recovery = \"selective-repeat\"
        [[job]]
        name = \"J\"
        ranks = 8
        placement = \"spread\"
        iterations = 2
        collective = \"all-to-all\"
        size = \"800KB\"";
    for keys in ["", "connection = \"per-message\""] {
        let results = results(&format!("{text}\n{keys}"), 1);
        assert!(results.totals.trimmed_packets > 0, "{:?}", results.totals);
        assert_eq!(results.rank_iterations.len(), 16);
        let bytes: u64 = results.messages.iter().map(|it| it.bytes).sum();
        assert_eq!(bytes, 2 * 8 * 7 * 100_000);
        let delivered: u64 = results.flows.iter().map(|it| it.delivered_bytes).sum();
        assert_eq!(delivered, bytes);
    }
}

/// A job of a lossless priority is run alone where another, whose packets are trimmed, was beside it.
#[test]
fn a_lossless_job_runs_alone_where_others_are_trimmed() {
    let text = "duration = \"5ms\"
        [topology]
        builder = \"single-switch\"
        hosts = 8
        rate = \"100Gbps\"
        delay = \"500ns\"
        [switch]
        lossless = [3]
        lossy_queue = \"40KB\"
        [switch.trimming]
        [[scheme]]
        name = \"PFC\"
        loss_recovery = \"selective-repeat\"
        [[job]]
        name = \"Lossless\"
        ranks = \"H0..H7\"
        collective = \"all-to-all\"
        size = \"80KB\"
        [[job]]
        name = \"Trimmed\"
        ranks = \"H0..H7\"
        priority = 2
        collective = \"all-to-all\"
        size = \"80KB\"";
    let outcome = run(text);
    let jobs = outcome.tables.get("jobs").expect("it is a table");
    let slowdown = jobs.column_by_name("slowdown").expect("a column");
    assert_eq!((slowdown.len(), slowdown.null_count()), (2, 0));
}
