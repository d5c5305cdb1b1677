//! Tables `collectives` and `job_links`.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{Array as _, RecordBatch};
use unpause_scenario::{Estimate, Summary};

use crate::small::{csv, parsed, refusal, run_on};

/// Eight hosts at 100 Gb/s on one switch, whose receivers acknowledge a message once.
fn on_a_star(job: &str) -> String {
    let fabric = "builder = \"single-switch\"\nhosts = 8\nrate = \"100Gbps\"\ndelay = \"1us\"";
    format!(
        "duration = \"20ms\"\n[topology]\n{fabric}\n[host]\nack_every = 100000\n[probes]\njob_links = true\n[[scheme]]\nname = \"PFC\"\n[[job]]\nname = \"J\"\n{job}\n"
    )
}

fn floats(table: &RecordBatch, name: &str) -> Vec<f64> {
    let column = table.column_by_name(name).expect("there is such a column");
    column.as_primitive::<Float64Type>().values().to_vec()
}

fn bytes(table: &RecordBatch, name: &str) -> Vec<u64> {
    let column = table.column_by_name(name).expect("there is such a column");
    column.as_primitive::<UInt64Type>().values().to_vec()
}

fn numbers(table: &RecordBatch, name: &str) -> Vec<u32> {
    let column = table.column_by_name(name).expect("there is such a column");
    column.as_primitive::<UInt32Type>().values().to_vec()
}

fn texts(table: &RecordBatch, name: &str) -> Vec<String> {
    let column = table.column_by_name(name).expect("there is such a column");
    let column = column.as_string::<i32>().iter();
    column.map(|it| it.unwrap_or_default().to_owned()).collect()
}

fn assert_close(found: f64, expected: f64, what: &str) {
    assert!(
        (found / expected - 1.0).abs() < 1e-12,
        "{what}: {found}, expected {expected}"
    );
}

/// A message alone between two hosts of the star, ns: its frames one after the other, the last once more from the switch on.
fn ideal(text: &str, message: u64) -> f64 {
    let config = parsed(text).runs()[0].config.clone();
    let (host, framing) = (&config.host, config.fabric.framing_bytes);
    let payload = u64::from(host.payload_bytes);
    let around = u64::from(host.header_bytes + framing);
    let frames = message.div_ceil(payload);
    let last = message - (frames - 1) * payload + around;
    // 0.08 ns a byte, and twice 1 us on wires.
    (message + frames * around + last) as f64 * 0.08 + 2_000.0
}

#[test]
fn the_bus_bandwidth_of_a_ring_is_the_closed_form() {
    let text = on_a_star("ranks = 8\ncollective = \"all-reduce\"\nsize = \"8MB\"\niterations = 3");
    let tables = run_on(&text, 1).tables;
    let table = &tables.collectives;
    assert_eq!(numbers(table, "iteration"), [0, 1, 2]);
    assert_eq!(texts(table, "step"), ["all-reduce"; 3]);
    assert_eq!(texts(table, "operation"), ["all-reduce"; 3]);
    assert_eq!(texts(table, "algorithm"), ["ring"; 3]);
    assert_eq!(bytes(table, "size_bytes"), [8_000_000; 3]);
    // 14 messages of an eighth, and before each but the first an ACK for the one before.
    let config = parsed(&text).runs()[0].config.clone();
    let ack = u64::from(config.host.ack_bytes) + u64::from(config.fabric.framing_bytes);
    let expected = 14.0 * ideal(&text, 1_000_000) + 13.0 * ack as f64 * 0.08;
    let of = |name| floats(table, name)[0];
    assert_close(of("duration_ns"), expected, "duration");
    assert_close(of("algbw_gbytes_s"), 8e6 / expected, "algbw");
    assert_close(of("busbw_gbytes_s"), 8e6 / expected * 14.0 / 8.0, "busbw");
    assert_eq!(floats(table, "start_ns"), floats(table, "all_began_ns"));
    let link = 100.0 / 8.0;
    assert!(of("busbw_gbytes_s") < link && of("busbw_gbytes_s") > 0.9 * link);
    // Of a job that is nothing else.
    let jobs = &tables.jobs;
    assert_close(of("ideal_ns"), 14.0 * ideal(&text, 1_000_000), "ideal");
    assert_eq!(floats(jobs, "ideal_ns"), floats(table, "ideal_ns")[..1]);
    let mean = floats(table, "duration_ns").iter().sum::<f64>() / 3.0;
    assert_close(
        floats(jobs, "over_ideal")[0],
        mean / of("ideal_ns"),
        "over ideal",
    );
    assert_eq!(floats(jobs, "packed_ns"), floats(jobs, "alone_ns"));
    assert_eq!(floats(jobs, "placement_cost"), [1.0]);
    assert_close(floats(jobs, "mean_ns")[0], mean, "mean");
    assert_close(floats(jobs, "busbw_gbytes_s")[0], 14e6 / mean, "mean busbw");
}

/// nccl-tests' factors: how much of the size a rank puts on its link.
#[test]
fn each_operation_has_its_factor() {
    for (operation, factor) in [
        ("all-reduce", 14.0 / 8.0),
        ("all-gather", 7.0 / 8.0),
        ("reduce-scatter", 7.0 / 8.0),
        ("all-to-all", 7.0 / 8.0),
        ("broadcast", 1.0),
        ("send-receive", 1.0),
    ] {
        let text = on_a_star(&format!(
            "ranks = 8\ncollective = \"{operation}\"\nsize = \"800KB\""
        ));
        let table = run_on(&text, 1).tables.collectives;
        assert_eq!(texts(&table, "operation"), [operation]);
        assert_eq!(numbers(&table, "ranks"), [8]);
        let (takes, alg) = (
            floats(&table, "duration_ns")[0],
            floats(&table, "algbw_gbytes_s")[0],
        );
        assert_close(alg, 8e5 / takes, operation);
        assert_close(floats(&table, "busbw_gbytes_s")[0], alg * factor, operation);
    }
    let matrix = "[\"0B\", \"3KB\", \"1KB\", \"0B\"]";
    let text = on_a_star(&format!(
        "ranks = 2\ncollective = \"all-to-all-v\"\nmatrix = {matrix}"
    ));
    let table = run_on(&text, 1).tables.collectives;
    assert_eq!(bytes(&table, "size_bytes"), [3_000]);
    // The part that a rank keeps for itself is on no link; all else is.
    let kept = on_a_star(
        "ranks = 2\ncollective = \"all-to-all-v\"\nmatrix = [\"5MB\", \"3KB\", \"1KB\", \"0B\"]",
    );
    let of_kept = run_on(&kept, 1).tables;
    assert_eq!(bytes(&of_kept.collectives, "size_bytes"), [3_000]);
    let bandwidth = 3_000.0 / floats(&table, "duration_ns")[0];
    for table in [&table, &of_kept.collectives, &of_kept.jobs] {
        assert_close(floats(table, "algbw_gbytes_s")[0], bandwidth, "algbw");
        assert_close(floats(table, "busbw_gbytes_s")[0], bandwidth, "busbw");
    }
    let text = on_a_star(
        "ranks = 2\ncollective = \"all-to-all-v\"\nmatrix = [\"0B\", \"0B\", \"0B\", \"0B\"]",
    );
    let table = run_on(&text, 1).tables.collectives;
    assert!(
        table
            .column_by_name("algbw_gbytes_s")
            .is_some_and(|it| it.is_null(0))
    );
}

/// The root of a broadcast has sent all messages of all iterations before the first has come to the last rank.
#[test]
fn bandwidths_do_not_fall_because_a_rank_runs_ahead() {
    let of = |iterations: u32| {
        let job = "ranks = 4\ncollective = \"broadcast\"\nsize = \"1MB\"\niterations = ";
        let text = on_a_star(&format!("{job}{iterations}"));
        (ideal(&text, 1_000_000), run_on(&text, 1).tables)
    };
    // A single one goes from rank to rank, two of which send an ACK of 66 bytes with framing first.
    let (message, one) = of(1);
    for table in [&one.jobs, &one.collectives] {
        let bandwidth = floats(table, "busbw_gbytes_s")[0];
        assert_close(bandwidth, 1e6 / (3.0 * message + 2.0 * 66.0 * 0.08), "one");
    }
    let (_, many) = of(20);
    assert_eq!(floats(&many.collectives, "start_ns"), [0.0; 20]);
    let ends = floats(&many.collectives, "end_ns");
    let jobs = &many.jobs;
    assert_close(floats(jobs, "mean_ns")[0], ends[19] / 20.0, "mean");
    // The link of the root has carried all 20, without a pause; two more ranks pass on the last one.
    let expected = 20.0 * (message - 2_000.0) + 2.0 * message;
    assert!((ends[19] / expected - 1.0).abs() < 0.01, "{}", ends[19]);
    assert_close(floats(jobs, "busbw_gbytes_s")[0], 20e6 / ends[19], "job");
    let before = std::iter::once(&0.0).chain(&ends);
    let bandwidths = floats(&many.collectives, "busbw_gbytes_s");
    for ((end, before), bandwidth) in ends.iter().zip(before).zip(bandwidths) {
        assert_close(bandwidth, 1e6 / (end - before), "operation");
    }
}

const STEPS: &str = "ranks = 8\niterations = 2\nparallel = { tp = 2, dp = 4 }
[[job.step]]
name = \"forward\"
compute = \"20us\"
jitter = \"10%\"
[[job.step]]
name = \"tensor\"
collective = \"all-gather\"
group = \"tp\"
size = \"100KB\"
[[job.step]]
name = \"gradients\"
compute = \"5us\"
collective = \"all-reduce\"
group = \"dp\"
size = \"400KB\"
algorithm = \"halving-doubling\"
channels = 2";

#[test]
fn steps_have_a_row_for_each_group() {
    let tables = run_on(&on_a_star(STEPS), 1).tables;
    let table = tables.collectives;
    // And of several channels one for each.
    let steps = [["tensor"; 4].as_slice(), &["gradients"; 6]]
        .concat()
        .repeat(2);
    assert_eq!(texts(&table, "step"), steps);
    let groups = [0, 1, 2, 3, 0, 0, 0, 1, 1, 1];
    assert_eq!(numbers(&table, "group"), groups.repeat(2));
    let of = |tensor: u32, gradients: u32| [[tensor; 4].as_slice(), &[gradients; 6]].concat();
    assert_eq!(numbers(&table, "phase"), of(1, 2).repeat(2));
    assert_eq!(numbers(&table, "ranks"), of(2, 4).repeat(2));
    assert_eq!(numbers(&table, "channels"), of(1, 2).repeat(2));
    let channel = table.column_by_name("channel").expect("declared");
    let whole: Vec<usize> = (0..10).filter(|row| channel.is_null(*row)).collect();
    assert_eq!(whole, [0, 1, 2, 3, 4, 7]);
    assert_eq!(
        bytes(&table, "size_bytes")[4..7],
        [400_000, 200_000, 200_000]
    );
    // Compute of all steps, and the slowest group of each.
    let ideal = floats(&table, "ideal_ns");
    let slowest = |rows: [usize; 2]| ideal[rows[0]].max(ideal[rows[1]]);
    let all = 25_000.0 + slowest([0, 1]) + slowest([4, 7]);
    assert_close(floats(&tables.jobs, "ideal_ns")[0], all, "ideal");
    assert_eq!(texts(&tables.jobs, "hosts"), ["H0..H7"]);
    let (starts, all) = (floats(&table, "start_ns"), floats(&table, "all_began_ns"));
    assert!(starts.iter().zip(&all).any(|(start, all)| start < all));
}

/// Two jobs, and nothing else: by port, what they have sent is what ports have sent.
#[test]
fn jobs_share_out_the_bytes_of_links() {
    let job = "ranks = 4\nplacement = \"spread\"\ncollective = \"all-to-all\"\nsize = \"400KB\"";
    let fabric = "builder = \"leaf-spine\"\nleaves = 4\nspines = 2\nhosts_per_leaf = 2\nhost_rate = \"100Gbps\"\nfabric_rate = \"100Gbps\"\ndelay = \"1us\"";
    let text = format!(
        "duration = \"5ms\"\n[topology]\n{fabric}\n[probes]\njob_links = true\n[[scheme]]\nname = \"PFC+DCQCN\"\ncongestion_control = \"dcqcn\"\n[[job]]\nname = \"A\"\n{job}\n[[job]]\nname = \"B\"\n{job}\n"
    );
    let one = run_on(&text, 1);
    let port = |table: &RecordBatch| -> Vec<(String, String)> {
        texts(table, "node")
            .into_iter()
            .zip(texts(table, "peer"))
            .collect()
    };
    let (links, ports) = (&one.tables.job_links, &one.tables.ports);
    let mut of_jobs: BTreeMap<(String, String), u64> = BTreeMap::new();
    let sums = bytes(links, "data_bytes")
        .into_iter()
        .zip(bytes(links, "control_bytes"));
    for (port, (data, control)) in port(links).into_iter().zip(sums) {
        *of_jobs.entry(port).or_default() += data + control;
    }
    let mut sent: BTreeMap<(String, String), u64> = BTreeMap::new();
    for (port, bytes) in port(ports).into_iter().zip(bytes(ports, "tx_bytes")) {
        *sent.entry(port).or_default() += bytes;
    }
    sent.retain(|_, bytes| *bytes > 0);
    assert_eq!(of_jobs, sent);
    let jobs = texts(links, "job");
    assert!(jobs.is_sorted() && jobs[0] == "A" && jobs[jobs.len() - 1] == "B");
    // Each sends three quarters to others, and all that leaves a leaf goes up.
    let up = links_of(links, "A", |node, peer| {
        node.starts_with("leaf") && peer.starts_with("spine")
    });
    let frames = 4 * 3 * 100;
    let config = parsed(&text).runs()[0].config.clone();
    let around = u64::from(config.fabric.framing_bytes + config.host.header_bytes);
    assert_eq!(up, 4 * 300_000 + frames * around);
    for threads in [2, 3, 7] {
        let more = run_on(&text, threads);
        for (name, _) in one.tables.all() {
            assert!(
                csv(&one, name) == csv(&more, name),
                "{name} on {threads} threads"
            );
        }
    }
}

/// Data bytes that a job has put on some links.
fn links_of(table: &RecordBatch, job: &str, is_one: impl Fn(&str, &str) -> bool) -> u64 {
    let (jobs, nodes, peers) = (
        texts(table, "job"),
        texts(table, "node"),
        texts(table, "peer"),
    );
    let data = bytes(table, "data_bytes").into_iter().enumerate();
    data.filter(|(at, _)| jobs[*at] == job && is_one(&nodes[*at], &peers[*at]))
        .map(|(_, bytes)| bytes)
        .sum()
}

#[test]
fn links_are_not_counted_unasked() {
    let text = on_a_star("ranks = 8\ncollective = \"all-reduce\"\nsize = \"80KB\"");
    assert_eq!(run_on(&text, 1).tables.job_links.num_rows(), 16);
    let text = text.replace("job_links = true", "");
    assert_eq!(run_on(&text, 1).tables.job_links.num_rows(), 0);
}

/// Two pipelines of four stages, side by side, after an exchange that all end at once.
#[test]
fn pipelines_have_a_row_each() {
    let steps = "ranks = 8\nparallel = { dp = 2, pp = 4 }
[[job.step]]
name = \"parameters\"
group = \"dp\"
collective = \"all-gather\"
size = \"1MB\"
[[job.step]]
name = \"micro-batches\"
group = \"pp\"
collective = \"pipeline\"
algorithm = \"gpipe\"
micro_batches = 6
forward = \"100us\"
backward = \"200us\"
size = \"100KB\"";
    let text = on_a_star(steps);
    let tables = run_on(&text, 1).tables;
    let table = &tables.collectives;
    let names = [["all-gather"; 4].as_slice(), &["pipeline"; 2]].concat();
    assert_eq!(texts(table, "operation"), names);
    assert_eq!(texts(table, "algorithm")[4..], ["gpipe"; 2]);
    assert_eq!(bytes(table, "size_bytes")[4..], [100_000; 2]);
    let bandwidth = table.column_by_name("busbw_gbytes_s").expect("declared");
    assert!(bandwidth.is_null(4) && !bandwidth.is_null(0));
    // Six micro-batches over four stages, six messages one after the other, and ACKs before some of them.
    let expected = 9.0 * 300_000.0 + 6.0 * ideal(&text, 100_000);
    for found in &floats(table, "duration_ns")[4..] {
        let late = found - expected;
        assert!((0.0..100.0).contains(&late), "{found}, expected {expected}");
    }
    assert_eq!(floats(&tables.ranks, "compute_ns"), [1_800_000.0; 8]);
    assert!(tables.critical.num_rows() > 12);
}

/// Across two leaves a message takes two links more, and two switches.
#[test]
fn placement_costs_what_packed_ranks_save() {
    let job = "[[job]]\nname = \"J\"\nranks = 4\nplacement = \"spread\"\ncollective = \"all-gather\"\nsize = \"400KB\"\n";
    let fabric = "builder = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 4\nhost_rate = \"100Gbps\"\nfabric_rate = \"400Gbps\"\ndelay = \"1us\"";
    let text =
        format!("duration = \"5ms\"\n[topology]\n{fabric}\n[[scheme]]\nname = \"PFC\"\n{job}");
    let spread = run_on(&text, 1).tables;
    let packed = run_on(&text.replace("spread", "packed"), 1).tables;
    let of = |tables: &unpause_scenario::Tables, name: &str| floats(&tables.jobs, name)[0];
    assert_eq!(texts(&spread.jobs, "hosts"), ["H0, H4, H1, H5"]);
    assert_eq!(of(&spread, "alone_ns"), of(&spread, "mean_ns"));
    assert_eq!(of(&spread, "packed_ns"), of(&packed, "mean_ns"));
    let cost = of(&spread, "mean_ns") / of(&packed, "mean_ns");
    assert!(cost > 1.1, "{cost}");
    assert_eq!(of(&spread, "placement_cost"), cost);
    // The fabric was empty: only ACKs are in the way of messages.
    let path = floats(&spread.critical, "start_ns").len();
    assert!(path >= 3);
    let late = spread.jobs.column_by_name("critical_excess_ns");
    assert!(late.is_some_and(|it| it.is_valid(0)));
    let late = of(&spread, "critical_excess_ns");
    let sum: f64 = floats(&spread.critical, "excess_ns").iter().sum();
    assert_close(late, sum, "excess");
    assert!(
        (0.0..0.05 * of(&spread, "mean_ns")).contains(&late),
        "{late}"
    );
    let not_alone = text.replace("ranks = 4", "ranks = 4\nalone = false");
    let table = run_on(&not_alone, 1).tables.jobs;
    for name in ["alone_ns", "packed_ns", "placement_cost", "over_ideal"] {
        assert!(
            table.column_by_name(name).expect("declared").is_null(0),
            "{name}"
        );
    }
}

#[test]
fn interleaved_pipelines_are_written_and_refused() {
    let job = "ranks = 4\ncollective = \"pipeline\"\nalgorithm = \"interleaved\"\nmicro_batches = 8\nforward = \"100us\"\nbackward = \"200us\"\nsize = \"1B\"";
    for (more, chunks) in [("", 2.0), ("\nvirtual_stages = 4", 4.0)] {
        let text = on_a_star(&format!("{job}{more}"));
        let table = run_on(&text, 1).tables.collectives;
        assert_eq!(texts(&table, "algorithm"), ["interleaved"]);
        let computed = (8.0 * chunks + 3.0) * 300_000.0 / chunks;
        let late = floats(&table, "duration_ns")[0] - computed;
        // Messages of 1 B.
        assert!(
            (0.0..0.05 * computed).contains(&late),
            "{late} of {computed}"
        );
    }
    let refused = |from: &str, to: &str| refusal(&on_a_star(&job.replace(from, to)));
    assert!(refused("= 8", "= 6").contains("write micro_batches = 8"));
    assert!(refused("ranks = 4", "ranks = 2").contains("of 2 ranks"));
    assert!(refused("size", "virtual_stages = 1\nsize").contains("1 virtual stages"));
    let idle = refused("\"interleaved\"", "\"1f1b\"\nvirtual_stages = 2");
    assert!(idle.contains("virtual_stages"), "{idle}");
}

/// A ring over one rail of four servers: what is missing of the line rate are headers, preambles and gaps, the latency of
/// steps, and ACKs of what a rank receives, which share its link.
#[test]
fn a_ring_over_a_rail_comes_close_to_the_line_rate() {
    let fabric = "builder = \"rails\"\nservers = 4\ngpus_per_server = 8\nspines = 2\nrate = \"400Gbps\"\nnvlink_rate = \"2880Gbps\"\ndelay = \"500ns\"";
    let scheme = "[[scheme]]\nname = \"PFC+DCQCN\"\ncongestion_control = \"dcqcn\"";
    let job = "[[job]]\nname = \"J\"\nranks = [\"H0\", \"H8\", \"H16\", \"H24\"]\ncollective = \"all-reduce\"\nsize = \"64MB\"\nmessages = false";
    let text = format!(
        "duration = \"10ms\"\n[topology]\n{fabric}\n[host]\npayload = \"4096B\"\nheader = \"62B\"\npreamble_and_gap = \"20B\"\nack_every = 4\n{scheme}\n{job}\n"
    );
    let tables = run_on(&text, 1).tables;
    let share = floats(&tables.collectives, "busbw_gbytes_s")[0] / 50.0;
    assert!((0.96..0.985).contains(&share), "{share} of line rate");
    let over = floats(&tables.jobs, "over_ideal")[0];
    assert!((1.0..1.01).contains(&over), "{over}");
}

/// Two groups that exchange nothing drift apart: the faster one begins its next iterations while the slower one is still in an
/// earlier one. No time counts twice all the same.
#[test]
fn the_times_of_iterations_add_up_to_that_of_the_job() {
    let text = on_a_star(
        "ranks = 4\nparallel = { tp = 2, dp = 2 }\niterations = 6\n[[job.step]]\ncompute = \"50us\"\njitter = \"40%\"\n[[job.step]]\ncollective = \"all-reduce\"\ngroup = \"dp\"\nsize = \"100KB\"",
    );
    let tables = run_on(&text, 1).tables;
    let (iterations, ranks) = (&tables.iterations, &tables.ranks);
    let (starts, ends) = (floats(iterations, "start_ns"), floats(iterations, "end_ns"));
    assert_eq!(numbers(iterations, "iteration"), [0, 1, 2, 3, 4, 5]);
    assert_eq!(starts[1..], ends[..5]);
    let began = floats(ranks, "start_ns");
    let number = numbers(ranks, "iteration");
    let early = (0..began.len()).any(|at| began[at] + 1_000.0 < starts[number[at] as usize]);
    assert!(early, "a rank began long before the one before had ended");
    let mean = floats(&tables.jobs, "mean_ns")[0];
    assert_close(mean, (ends[5] - starts[0]) / 6.0, "mean");
    let job = &Summary::of(&tables)[0].jobs[0];
    assert_eq!(job.mean_ns.and_then(Estimate::value), Some(mean));
    assert_eq!((job.completed, job.planned), (6, 6));
    let tail = &tables.jobs["p99_ns"];
    assert!(!tail.is_valid(0), "six iterations have no p99");
    let (of, from, to) = (
        numbers(&tables.critical, "iteration"),
        floats(&tables.critical, "start_ns"),
        floats(&tables.critical, "end_ns"),
    );
    for (number, (start, end)) in (0..).zip(starts.iter().zip(&ends)) {
        let own: Vec<usize> = (0..of.len()).filter(|at| of[*at] == number).collect();
        let (first, last) = (own[0], own[own.len() - 1]);
        assert_eq!((from[first], to[last]), (*start, *end), "path of {number}");
        assert!(own.windows(2).all(|it| to[it[0]] == from[it[1]]));
    }
}

/// In a ring of equal links all ranks end together; with compute that differs one ends last.
#[test]
fn ranks_that_end_together_have_no_straggler() {
    let ring = "ranks = 8\ncollective = \"all-reduce\"\nsize = \"8MB\"\niterations = 3";
    let late = format!("{ring}\ncompute = \"100us\"\njitter = \"50%\"");
    for (job, is_known) in [(ring, false), (&late, true)] {
        let tables = run_on(&on_a_star(job), 1).tables;
        for column in ["straggler", "straggler_host"] {
            let column = &tables.jobs[column];
            assert_eq!(column.is_valid(0), is_known, "{job}");
        }
    }
}

/// Four iterations of 42 us and more each, and eight times as long ones; the run is too short for these.
#[test]
fn a_summary_has_the_bounds_of_a_job_that_did_not_end() {
    let ring = |name: &str, from: u32, size: &str| {
        format!(
            "[[job]]\nname = \"{name}\"\nranks = [\"H{from}\", \"H{}\"]\niterations = 4\ncollective = \"all-reduce\"\n\
             size = \"{size}\"\n",
            from + 1
        )
    };
    let jobs = ring("A", 0, "1MB") + &ring("B", 2, "8MB");
    let text = on_a_star("").split("[[job]]").next().unwrap().to_owned() + &jobs;
    let long = Summary::of(&run_on(&text, 1).tables).remove(0);
    let cut = |text: &str| {
        let duration = text.lines().find(|line| line.starts_with("duration"));
        text.replace(duration.unwrap(), "duration = \"1000us\"")
    };
    let tables = run_on(&cut(&text), 1).tables;
    let short = Summary::of(&tables).remove(0);
    let [a, b] = &short.jobs[..] else {
        panic!("two jobs");
    };
    assert_eq!((a.completed, a.planned), (4, 4));
    assert!(a.mean_ns.is_some_and(|mean| mean.is_exact));
    assert!((1..4).contains(&b.completed), "{b:?}");
    assert_eq!(b.busbw_gbytes_s, None);
    let (bound, mean) = (b.mean_ns.unwrap(), long.jobs[1].mean_ns.unwrap());
    assert!(!bound.is_exact && mean.is_exact);
    assert!(bound.at_least <= mean.at_least);
    assert_eq!(short.iterations_completed, 4 + u64::from(b.completed));
    assert_eq!(short.iterations_planned, 8);
    let ends = floats(&tables.iterations, "end_ns");
    let in_progress = 1e6 - ends.last().unwrap();
    let complete = f64::from(b.completed);
    let expected = (complete * floats(&tables.jobs, "mean_ns")[1] + in_progress) / (complete + 1.0);
    assert_close(bound.at_least, expected, "bound");
    let json = serde_json::to_value(&short).unwrap();
    assert!(json["job.B.mean_ns"].is_null());
    assert_eq!(json["job.B.mean_at_least_ns"], bound.at_least);
    assert_eq!(json["job.A.mean_ns"], json["job.A.mean_at_least_ns"]);
}

/// Not 0 of 0.
#[test]
fn a_job_that_sends_nothing_has_no_ratios() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/jobs/nothing.goal");
    let job = format!("ranks = 2\ngoal = \"{file}\"\niterations = 2");
    let tables = run_on(&on_a_star(&job), 1).tables;
    assert_eq!(floats(&tables.jobs, "mean_ns"), [0.0]);
    for (name, table) in tables.all() {
        for (field, column) in table.schema().fields().iter().zip(table.columns()) {
            let values = column.as_primitive_opt::<Float64Type>();
            let all = values
                .into_iter()
                .flat_map(|values| values.iter().flatten());
            assert_eq!(
                all.filter(|value| !value.is_finite()).count(),
                0,
                "{name}.{}",
                field.name()
            );
        }
    }
}
