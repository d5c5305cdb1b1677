//! Jobs that traces of Chakra describe.

mod collectives;
mod trace;

use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use flate2::{Compression, write::GzEncoder};
use trace::{Kind, Node, number, text, trace};
use unpause_import::programs::{self, Collectives, Imported};
use unpause_scenario::Scenario;
use unpause_sim::jobs::MessageRecord;
use unpause_sim::results::Results;

/// Results of a job with these traces.
fn results(traces: &[Vec<u8>], job: &str, threads: usize) -> Results {
    let place = tempfile::tempdir().expect("there is room");
    for (rank, bytes) in traces.iter().enumerate() {
        fs::write(place.path().join(format!("t.{rank}.et")), bytes).expect("it is written");
    }
    let fabric = "builder = \"single-switch\"\nhosts = 8\nrate = \"100Gbps\"\ndelay = \"1us\"";
    let scenario = format!(
        "duration = \"1ms\"\n[topology]\n{fabric}\n[host]\nack_every = 100000\n[[scheme]]\nname = \"PFC\"\n[[job]]\nname = \"J\"\n{job}\n"
    );
    let scenario = Scenario::parse(&scenario, &place.path().join("of-a-test.toml"));
    let scenario = scenario.unwrap_or_else(|error| panic!("{}", error.explain()));
    let config = &scenario.runs()[0].config;
    unpause_sim::run_threads(config, threads, &mut |_| ControlFlow::Continue(())).expect("it runs")
}

fn messages(results: &Results) -> Vec<MessageRecord> {
    let plain = |it: &MessageRecord| MessageRecord {
        acknowledged: None,
        step: 0,
        phase: 0,
        ..*it
    };
    results.messages.iter().map(plain).collect()
}

/// A ring all-reduce, message by message: a rank sends on what it has received.
fn ring(ranks: u32, bytes: u64) -> Vec<Vec<u8>> {
    let of = |rank: u32| {
        let (next, last) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        let steps = 0..2 * (ranks - 1);
        let nodes = steps.flat_map(|step| {
            // Ids need not be dense, nor in order.
            let id = 1000 - 20 * u64::from(step);
            let send = Node::send(id, (rank, next), bytes, step);
            let after: &[u64] = if step == 0 { &[] } else { &[id + 21] };
            let receive = Node::receive(id + 1, (last, rank), bytes, step);
            [send.after(after, &[]), receive]
        });
        trace(&nodes.collect::<Vec<_>>())
    };
    (0..ranks).map(of).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut to = GzEncoder::new(Vec::new(), Compression::default());
    to.write_all(bytes).expect("there is room");
    to.finish().expect("there is room")
}

#[test]
fn a_ring_of_traces_is_the_ring_that_is_built_in() {
    let built_in = "ranks = 4\ncollective = \"all-reduce\"\nsize = \"200000B\"";
    let built_in = results(&[], built_in, 1);
    let mut traces = ring(4, 50_000);
    traces[2] = gzip(&traces[2]);
    for file in ["t.{rank}.et", "t"] {
        let read = results(&traces, &format!("ranks = 4\nchakra = \"{file}\""), 1);
        assert_eq!(read.messages.len(), 4 * 6);
        assert_eq!(messages(&read), messages(&built_in), "{file}");
    }
}

#[test]
fn every_number_of_threads_gives_the_same() {
    let job = "ranks = 4\nchakra = \"t.{rank}.et\"\niterations = 3\nlaunch = \"500ns\"";
    let traces = ring(4, 50_000);
    let one = results(&traces, job, 1);
    assert_eq!(one.rank_iterations.len(), 12);
    for threads in [2, 3, 7] {
        assert!(results(&traces, job, threads) == one, "{threads} threads");
    }
}

#[test]
fn hosts_and_gpus_compute_side_by_side_in_the_order_of_ids() {
    let on_gpu = |it: Node| it.attribute("is_cpu_op", number(27, 0));
    let rank = |me: u32| {
        let (send, receive) = match me {
            0 => (
                vec![Node::send(9, (0, 1), 1000, 5).after(&[1], &[2])],
                vec![],
            ),
            _ => (vec![], vec![Node::receive(9, (0, 1), 1000, 5)]),
        };
        let nodes = vec![
            on_gpu(Node::compute(2, 7)),
            Node::compute(1, 3),
            Node::compute(0, 2),
            Node::new(4, Kind::MemoryLoad as u64).after(&[0], &[]),
        ];
        trace(&[nodes, send, receive].concat())
    };
    let read = results(&[rank(0), rank(1)], "ranks = 2\nchakra = \"t\"", 1);
    let message = &read.messages[0];
    // Node 0, then node 1 at the host, 2 beside them: the last of these ends after 7 us.
    assert_eq!((message.start.as_ps(), message.bytes), (7_000_000, 1000));
    let computed = read.rank_iterations.iter().map(|it| it.computed.as_ps());
    assert!(computed.into_iter().all(|it| it >= 7_000_000));
}

fn parse(traces: Vec<Vec<u8>>) -> Result<Imported, String> {
    let path = |rank: usize| PathBuf::from(format!("t.{rank}.et"));
    let files = traces.into_iter().enumerate();
    let files: Vec<_> = files.map(|(rank, it)| (path(rank), it)).collect();
    programs::parse_chakra(&files, Collectives::default()).map_err(|error| error.to_string())
}

#[test]
fn what_has_no_effect_is_named() {
    let first = vec![
        Node::new(1, Kind::Metadata as u64).name("process_group:init"),
        Node::new(2, Kind::MemoryLoad as u64),
        Node::compute(3, 0).attribute("num_ops", number(9, 1 << 40)),
        Node::send(4, (0, 1), 10, 0)
            .with(number(6, 17))
            .attribute("comm_priority", number(7, 1))
            .name("give"),
        // It is for process groups.
        Node::groups(5, r#"[{"pg_name": "1", "ranks": [0, 1]}]"#),
    ];
    let second = vec![Node::receive(0, (0, 1), 10, 0)];
    let read = parse(vec![trace(&first), trace(&second)]).expect("it is good");
    assert_eq!(
        read.notes,
        [
            "1 memory node: no time; only the order counts",
            "1 metadata node: no time; only the order counts",
            "1 compute node without a duration: 1 ns, as in astra-sim without its roofline model",
            "1 compute node with num_ops: the duration counts; astra-sim's roofline model needs rates of a GPU and its memory, which no key states",
            "1 node with comm_priority: `priority` of the job counts",
            "1 node with a time of start: no effect: nodes start when their predecessors have ended",
        ]
    );
    assert_eq!(
        read.labels,
        [
            "process_group:init",
            "memory",
            "compute",
            "give",
            "metadata",
            "receive"
        ]
    );
    assert_eq!((read.program.count(), read.program.bytes()), (6, 10));
}

/// The error about a first trace beside a second that is good.
fn refused(first: Vec<u8>) -> String {
    let second = trace(&[Node::receive(3, (0, 1), 1000, 7)]);
    parse(vec![first, second]).expect_err("it is bad")
}

#[test]
fn mistakes_have_their_byte_and_node() {
    let send = || Node::send(5, (0, 1), 1000, 7);
    let good = trace(&[send()]);
    parse(vec![
        good.clone(),
        trace(&[Node::receive(3, (0, 1), 1000, 7)]),
    ])
    .expect("it is good");
    let of = |node: Node| refused(trace(&[node]));
    let alone = |kind: Kind| Node::new(5, kind as u64);
    let mut all: Vec<(&str, String)> = vec![
        ("empty", refused(Vec::new())),
        ("text", refused(b"num_ranks 2\nrank 0 {\n}\n".to_vec())),
        ("cut in a node", refused(good[..good.len() - 3].to_vec())),
        ("cut in a length", refused([&good[..], &[0x80]].concat())),
        ("cut gzip", refused(gzip(&good)[..20].to_vec())),
        ("version", refused(trace::framed(&text(1, "0.0.1")))),
        ("no such node", of(send().after(&[4], &[]))),
        ("itself", of(send().after(&[], &[5]))),
        ("twice", refused(trace(&[send(), Node::compute(5, 1)]))),
        ("type", of(Node::new(5, 12))),
        ("no rank", of(Node::send(5, (0, 2), 1, 0))),
        ("to itself", of(Node::send(5, (0, 0), 1, 0))),
        ("of another", of(Node::send(5, (1, 0), 1, 0))),
        ("no peer", of(alone(Kind::Send))),
        ("no source", of(alone(Kind::Receive))),
        ("too long", of(Node::compute(5, u64::MAX / 1000))),
        ("nobody receives", of(Node::send(5, (0, 1), 1000, 8))),
        ("too large", of(Node::send(5, (0, 1), 1001, 7))),
    ];
    let with = |value: Vec<u8>| {
        let peer = alone(Kind::Send).attribute("comm_dst", number(7, 1));
        of(peer.attribute("comm_size", value))
    };
    // Minus one, as int32 and int64 write it.
    all.push(("negative", with(number(7, u64::MAX))));
    all.push(("too many bytes", with(number(13, u64::MAX))));
    all.push(("no number", with(text(29, "many"))));
    let cycle = trace(&[
        Node::compute(1, 1).after(&[3], &[]),
        Node::compute(2, 1).after(&[1], &[]),
        send(),
        Node::compute(3, 1).after(&[], &[2]),
    ]);
    all.push(("cycle", refused(cycle)));
    let mut said = String::new();
    for (name, message) in all {
        said += &format!("{name}\n  {message}\n");
    }
    insta::assert_snapshot!(said);
}

#[test]
fn a_receive_for_which_nothing_is_sent_is_found_at_its_rank() {
    let second = trace(&[Node::receive(3, (0, 1), 1000, 7)]);
    assert_eq!(
        parse(vec![trace(&[]), second]).expect_err("it is bad"),
        "t.1.et: byte 8: found a receive for which nothing is sent (node 3 of rank 1), \
         expected a send from rank 0 to rank 1 with tag 7 that no other receive takes"
    );
}

/// Files beside scenarios and fuzz targets; `UNPAUSE_BLESS=1` writes them.
#[test]
fn files_are_what_is_written() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let ring = ring(2, 30_000);
    let files = [
        ("data/jobs/pair.0.et", ring[0].clone()),
        ("data/jobs/pair.1.et", gzip(&ring[1])),
        ("data/jobs/kinds.0.et", collectives::of_all_kinds(0)),
        ("data/jobs/kinds.1.et", collectives::of_all_kinds(1)),
        ("bad/cut.0.et", ring[0][..50].to_vec()),
    ];
    for (file, bytes) in files {
        let path = tests.join(file);
        if std::env::var_os("UNPAUSE_BLESS").is_some() {
            fs::write(&path, &bytes).expect("it is written");
        }
        let found = fs::read(&path).expect("it is there");
        assert!(found == bytes, "{file}: UNPAUSE_BLESS=1 writes it anew");
    }
}

#[test]
fn a_trace_alone_has_its_rank_and_its_counts() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/jobs/pair.1.et");
    let one = programs::one_trace(&path).expect("it is good");
    assert_eq!((one.rank, one.nodes), (Some(1), 4));
    assert_eq!((one.sends, one.receives, one.compute), (2, 2, 0));
    assert_eq!(one.sent_bytes, 60_000);
    let cut = path.with_file_name("../../bad/cut.0.et");
    let refused = programs::one_trace(&cut).expect_err("it is cut");
    assert!(
        refused.to_string().contains("is the file truncated?"),
        "{refused}"
    );
}
