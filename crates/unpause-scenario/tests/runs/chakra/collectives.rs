//! Collective operations of traces.

use unpause_sim::jobs::MessageRecord;
use unpause_sim::results::Results;

use crate::chakra::trace::{Kind, Node, bytes, number, trace};
use crate::chakra::{parse, results};

const ALL_REDUCE: u64 = 0;
const ALL_GATHER: u64 = 2;
const BROADCAST: u64 = 5;
const ALL_TO_ALL: u64 = 6;
const REDUCE_SCATTER: u64 = 7;
const BARRIER: u64 = 9;

/// The same nodes at each of this many ranks.
fn everywhere(ranks: usize, nodes: &[Node]) -> Vec<Vec<u8>> {
    vec![trace(nodes); ranks]
}

/// Groups have connections of their own: only their channel is another.
fn messages(results: &Results) -> Vec<MessageRecord> {
    let plain = |it: &MessageRecord| MessageRecord {
        step: 0,
        phase: 0,
        channel: 0,
        // Operations of programs do not record it.
        acknowledged: None,
        ..*it
    };
    results.messages.iter().map(plain).collect()
}

#[test]
fn collectives_are_those_that_are_built_in() {
    // A trace counts what one rank gives to an all-gather.
    let all = [
        (ALL_REDUCE, 200_001, "all-reduce", 200_001, "ring"),
        (
            ALL_REDUCE,
            200_001,
            "all-reduce",
            200_001,
            "halving-doubling",
        ),
        (ALL_REDUCE, 200_001, "all-reduce", 200_001, "direct"),
        (ALL_GATHER, 50_000, "all-gather", 200_000, "ring"),
        (ALL_GATHER, 50_000, "all-gather", 200_000, "direct"),
        (REDUCE_SCATTER, 200_000, "reduce-scatter", 200_000, "ring"),
        (
            REDUCE_SCATTER + 1,
            200_000,
            "reduce-scatter",
            200_000,
            "direct",
        ),
        (ALL_TO_ALL, 200_000, "all-to-all", 200_000, "direct"),
        (ALL_TO_ALL, 200_000, "all-to-all", 200_000, "pairwise"),
    ];
    for (comm_type, of_trace, collective, size, algorithm) in all {
        let job = format!(
            "ranks = 4\ncollective = \"{collective}\"\nsize = \"{size}B\"\nalgorithm = \"{algorithm}\""
        );
        let built_in = results(&[], &job, 1);
        let traces = everywhere(4, &[Node::collective(3, comm_type, of_trace, "")]);
        let job = format!("ranks = 4\nchakra = \"t\"\nalgorithm = \"{algorithm}\"");
        let read = results(&traces, &job, 1);
        assert!(!read.messages.is_empty());
        assert_eq!(
            messages(&read),
            messages(&built_in),
            "{collective} {algorithm}"
        );
        let [a, b] = [&read, &built_in].map(|it| it.collectives[0]);
        assert_eq!((a.start, a.end, a.ranks), (b.start, b.end, b.ranks));
        assert_eq!((a.ideal, read.collectives.len()), (b.ideal, 1));
        assert!(a.ideal.is_some());
    }
}

#[test]
fn the_first_of_a_group_broadcasts() {
    let traces = everywhere(4, &[Node::collective(3, BROADCAST, 10_000, "0")]);
    let read = results(&traces, "ranks = 4\nchakra = \"t\"", 1);
    let ways = read.messages.iter().map(|it| (it.from, it.to, it.bytes));
    let mut ways: Vec<_> = ways.collect();
    ways.sort_unstable();
    assert_eq!(ways, [(0, 1, 10_000), (1, 2, 10_000), (2, 3, 10_000)]);
}

#[test]
fn nobody_leaves_a_barrier_before_all_are_there() {
    let rank = |us: u64| {
        trace(&[
            Node::compute(1, us),
            Node::new(2, Kind::Collective as u64)
                .attribute("comm_type", number(9, BARRIER))
                .after(&[1], &[]),
        ])
    };
    let traces = [rank(1), rank(30), rank(2)];
    let read = results(&traces, "ranks = 3\nchakra = \"t\"", 1);
    assert_eq!(read.messages.len(), 6);
    assert!(read.messages.iter().all(|it| it.bytes == 1));
    let ends = read.rank_iterations.iter().map(|it| it.end.as_ns_f64());
    assert!(ends.into_iter().all(|it| it > 30_000.0));
}

/// Tensor-parallel pairs, data-parallel pairs across them, and all ranks; ranks see only their own groups.
fn training() -> Vec<Vec<u8>> {
    let of = |rank: u32| {
        let (tp, dp) = (rank / 2 * 2, rank % 2);
        let json = format!(
            "[\"[{{\\\"pg_name\\\": \\\"tp{tp}\\\", \\\"ranks\\\": [{tp}, {}]}}, {{\\\"pg_name\\\": \\\"0\\\", \\\"ranks\\\": []}}]\"]",
            tp + 1
        );
        trace(&[
            Node::groups(1, &json),
            Node::compute(2, 3 + u64::from(rank)),
            Node::collective(3, ALL_REDUCE, 40_000, &format!("tp{tp}")).after(&[2], &[]),
            Node::collective(4, ALL_REDUCE, 20_000, &format!("tp{tp}")).after(&[2], &[]),
            // Not listed: those that use it.
            Node::collective(5, REDUCE_SCATTER, 60_000, &format!("dp{dp}")).after(&[2], &[3]),
            Node::collective(6, ALL_GATHER, 1_000, "0").after(&[5], &[4]),
        ])
    };
    (0..4).map(of).collect()
}

#[test]
fn groups_run_side_by_side_and_each_in_order() {
    let job = "ranks = 4\nchakra = \"t\"\nchannels = 2\niterations = 2";
    let one = results(&training(), job, 1);
    let of_step = |bytes: &[u64]| {
        let first = one.messages.iter().filter(|it| it.iteration == 0);
        first.filter(|it| bytes.contains(&it.bytes)).count()
    };
    // Two steps of each of two channels and four ranks; one step of 15,000 B; three of 500 B.
    assert_eq!(of_step(&[10_000]), 16);
    assert_eq!(of_step(&[5_000]), 16);
    assert_eq!(of_step(&[15_000]), 8);
    assert_eq!(of_step(&[500]), 24);
    let of_first = |rank: u32, bytes: u64| {
        let of = one
            .messages
            .iter()
            .filter(move |it| it.iteration == 0 && it.bytes == bytes);
        of.filter(move |it| it.to == rank)
    };
    for rank in 0..4 {
        let first_ends = of_first(rank, 10_000).map(|it| it.end).max();
        let sends = one
            .messages
            .iter()
            .filter(|it| it.iteration == 0 && it.bytes == 5_000);
        let second_begins = sends.filter(|it| it.from == rank).map(|it| it.start).min();
        assert!(second_begins >= first_ends, "rank {rank}");
    }
    for threads in [2, 3, 7] {
        assert!(
            results(&training(), job, threads) == one,
            "{threads} threads"
        );
    }
}

fn refused(traces: &[&[Node]]) -> String {
    let traces = traces.iter().map(|it| trace(it)).collect();
    parse(traces).expect_err("it is bad")
}

#[test]
fn collectives_that_cannot_be_run_are_refused() {
    let good = || Node::collective(5, ALL_REDUCE, 1000, "");
    let bare = || Node::new(5, Kind::Collective as u64);
    let with = |name: &str, value: u64| bare().attribute(name, number(9, value));
    let of_groups = |json: &str, group: &str| {
        let nodes = [
            Node::groups(1, json),
            Node::collective(5, ALL_REDUCE, 9, group),
        ];
        refused(&[&nodes, &nodes])
    };
    let tail = [good(), Node::collective(9, ALL_GATHER, 10, "")];
    let large = [Node::collective(5, ALL_GATHER, 1 << 62, "")];
    let around = |first: &str, second: &str| {
        [
            Node::collective(1, ALL_REDUCE, 10, first),
            Node::collective(2, ALL_REDUCE, 10, second).after(&[1], &[]),
        ]
    };
    let all = [
        ("no type", refused(&[&[with("comm_size", 10)], &[good()]])),
        ("reduce", refused(&[&[with("comm_type", 1)], &[good()]])),
        ("no size", refused(&[&[with("comm_type", 0)], &[good()]])),
        (
            "another size",
            refused(&[&[good()], &[Node::collective(7, 0, 999, "")]]),
        ),
        (
            "another type",
            refused(&[&[good()], &[Node::collective(7, 2, 1000, "")]]),
        ),
        ("one more", refused(&[&[good()], &tail])),
        ("nobody else", refused(&[&[good()], &[]])),
        (
            "dimensions",
            refused(&[
                &[good().attribute("involved_dim", bytes(28, &[10, 2, 1, 0]))],
                &[good()],
            ]),
        ),
        (
            "no such rank",
            of_groups("[{\"pg_name\": \"a\", \"ranks\": [0, 1, 2]}]", "a"),
        ),
        (
            "twice",
            of_groups("[{\"pg_name\": 7, \"ranks\": [0, 1, 1]}]", "7"),
        ),
        (
            "outside",
            of_groups("[{\"pg_name\": \"a\", \"ranks\": [0]}]", "a"),
        ),
        ("no JSON", of_groups("[{\"pg_name\": \"a\", ", "a")),
        ("too large", refused(&[&large, &large])),
        // Each rank waits for the other's second.
        ("cycle", refused(&[&around("a", "b"), &around("b", "a")])),
    ];
    let mut said = String::new();
    for (name, message) in all {
        said += &format!("{name}\n  {message}\n");
    }
    insta::assert_snapshot!(said);
}

/// A trace with all kinds of nodes, of two ranks.
pub fn of_all_kinds(rank: u32) -> Vec<u8> {
    let json = "[{\"pg_name\": \"pair\", \"ranks\": [1, 0]}]";
    let types = [
        ALL_REDUCE,
        ALL_GATHER,
        BROADCAST,
        ALL_TO_ALL,
        REDUCE_SCATTER,
        BARRIER,
    ];
    let calls = types.into_iter().zip([2_u64, 3, 4, 5, 6, 7]);
    let calls = calls.map(|(comm_type, id)| {
        let group = if id % 2 == 0 { "pair" } else { "0" };
        let it = Node::collective(id, comm_type, 4_000, group).after(&[id - 1], &[]);
        it.attribute("involved_dim", bytes(28, &[10, 1, 1]))
    });
    let message = match rank {
        0 => Node::send(9, (0, 1), 3_000, 2),
        _ => Node::receive(9, (0, 1), 3_000, 2),
    };
    let nodes = [Node::groups(0, json), Node::compute(1, 2)];
    let last = [
        Node::new(8, Kind::MemoryLoad as u64),
        message.after(&[8], &[7]),
    ];
    trace(
        &nodes
            .into_iter()
            .chain(calls)
            .chain(last)
            .collect::<Vec<_>>(),
    )
}

#[test]
fn nodes_of_all_kinds_come_to_their_end() {
    let traces = [of_all_kinds(0), of_all_kinds(1)];
    for algorithm in [
        "ring",
        "direct",
        "halving-doubling",
        "double-binary-tree",
        "pairwise",
    ] {
        let job = format!("ranks = 2\nchakra = \"t\"\nalgorithm = \"{algorithm}\"");
        let read = results(&traces, &job, 1);
        assert_eq!(read.rank_iterations.len(), 2, "{algorithm}");
        let broadcast = read
            .messages
            .iter()
            .find(|it| (it.from, it.bytes) == (1, 4_000));
        assert!(
            broadcast.is_some(),
            "{algorithm}: the group names rank 1 first"
        );
    }
}
