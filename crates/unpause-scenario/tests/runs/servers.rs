//! Jobs on servers of several GPUs, each with a NIC.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, UInt64Type};

use crate::small::{csv, refusal, run_on};

fn first(table: &RecordBatch, name: &str) -> f64 {
    let column = table.column_by_name(name).expect("there is such a column");
    column.as_primitive::<Float64Type>().value(0)
}

fn sum(table: &RecordBatch, name: &str) -> u64 {
    let column = table.column_by_name(name).expect("there is such a column");
    column.as_primitive::<UInt64Type>().values().iter().sum()
}

/// Four GPUs on each of some servers, at 100 Gb/s each, and a job of them all.
fn on_rails(servers: u32, more: &str, job: &str) -> String {
    let ranks = 4 * servers;
    format!(
        "duration = \"20ms\"\n[topology]\nbuilder = \"rails\"\nservers = {servers}\ngpus_per_server = 4\nspines = 4\nrate = \"100Gbps\"\nnvlink_rate = \"900Gbps\"\ndelay = \"500ns\"\n[host]\npayload = \"4096B\"\nheader = \"58B\"\npreamble_and_gap = \"20B\"\nack_every = 4\n{more}\n[[scheme]]\nname = \"PFC\"\n[[job]]\nname = \"J\"\nranks = {ranks}\nmessages = false\n{job}\n"
    )
}

/// The closed form: all NICs send all the time, less headers (78 B of 4,174), ACKs (1 of 4 frames) and the latency of the steps.
#[test]
fn rings_with_a_channel_for_each_nic_use_them_all() {
    for servers in [2, 3, 4] {
        for collective in ["all-reduce", "all-gather", "reduce-scatter"] {
            let job = format!(
                "collective = \"{collective}\"\nalgorithm = \"ring\"\nsize = \"64MB\"\nchannels = 4"
            );
            let tables = run_on(&on_rails(servers, "", &job), 1).tables;
            let share = first(&tables.jobs, "busbw_gbytes_s") / (4.0 * 12.5);
            assert!((0.95..0.982).contains(&share), "{collective}: {share}");
        }
    }
    // One channel has one NIC.
    let job = "collective = \"all-reduce\"\nalgorithm = \"ring\"\nsize = \"16MB\"";
    let tables = run_on(&on_rails(2, "", job), 1).tables;
    let share = first(&tables.jobs, "busbw_gbytes_s") / 12.5;
    assert!((0.95..0.982).contains(&share), "{share}");
}

/// A NIC sends the whole of a channel twice, in one tree or the other; with two servers, whose trees have one link each, once. The
/// bus bandwidth is (N - 1)/N of the NICs' rate, or twice that, less what the first and last slices wait.
#[test]
fn trees_over_servers_use_all_nics() {
    for (servers, times) in [(2, 2.0), (4, 1.0), (5, 1.0)] {
        let job = "collective = \"all-reduce\"\nalgorithm = \"double-binary-tree\"\nsize = \"64MB\"\nchannels = 4\nslices = 32";
        let tables = run_on(&on_rails(servers, "", job), 1).tables;
        let n = f64::from(4 * servers);
        let share = first(&tables.jobs, "busbw_gbytes_s") / (times * 4.0 * 12.5 * (n - 1.0) / n);
        assert!((0.85..0.982).contains(&share), "{servers} servers: {share}");
    }
}

#[test]
fn rings_over_servers_are_the_same_on_any_number_of_threads() {
    let job = "collective = \"all-reduce\"\nalgorithm = \"ring\"\nsize = \"1MB\"\nchannels = 4";
    let text = on_rails(3, "", job);
    let of = |threads| csv(&run_on(&text, threads), "collectives");
    let one = of(1);
    for threads in [2, 3, 7] {
        assert_eq!(of(threads), one, "{threads} threads");
    }
}

/// The closed form: a NIC sends (M - 1)/M of what a rank has, which takes as long as a message of that size, with headers and
/// ACKs; nccl-tests' bus bandwidth follows from that. NVLink is three times as fast as a NIC, so that relays have their data in time.
#[test]
fn exchanges_take_what_leaves_a_server_over_its_nics() {
    for servers in [2, 4] {
        // Non-blocking without relays, too: all GPUs on one leaf.
        let shared = format!("leaves = \"shared\"\nservers_per_leaf = {servers}");
        for (pxn, leaves) in [(true, "spines = 4"), (false, &shared)] {
            let (ranks, block) = (4 * servers, 1_000_000);
            let exchange = format!(
                "collective = \"all-to-all\"\nsize = \"{}B\"\npxn = {pxn}",
                ranks * block
            );
            let text = on_rails(servers, "", &exchange).replace("spines = 4", leaves);
            let tables = run_on(&text, 1).tables;
            let sent = f64::from(4 * (servers - 1) * block);
            // Frames of 4,174 B for 4,096, at 12.5 B/ns; then two wires and a frame more.
            let expected = sent * 4174.0 / 4096.0 / 12.5 + 1_000.0 + 334.0;
            let takes = first(&tables.jobs, "mean_ns");
            assert!(
                (1.0..1.01).contains(&(takes / expected)),
                "{servers} servers, {pxn}: {takes}, expected {expected}"
            );
            let n = f64::from(ranks);
            let bus = n * f64::from(block) / takes * (n - 1.0) / n;
            assert!((first(&tables.jobs, "busbw_gbytes_s") / bus - 1.0).abs() < 1e-9);
        }
    }
}

/// Over leaves by rail, what a rank has for other rails crosses spines, unless a relay is on the receiver's rail.
#[test]
fn relays_keep_messages_on_their_rails() {
    let of = |collective: &str, pxn: bool| {
        let job = format!("{collective}\npxn = {pxn}");
        spine_bytes(&run_on(&on_rails(3, "", &job), 1).tables.ports)
    };
    for collective in [
        "collective = \"all-to-all\"\nsize = \"1MB\"\nchannels = 3",
        "collective = \"all-to-all\"\nalgorithm = \"pairwise\"\nsize = \"300KB\"",
        "collective = \"send-receive\"\nsize = \"200KB\"",
    ] {
        assert_eq!(of(collective, true), 0, "{collective}");
        assert!(of(collective, false) > 0, "{collective}");
    }
}

#[test]
fn exchanges_over_relays_are_the_same_on_any_number_of_threads() {
    let job =
        "collective = \"all-to-all\"\nsize = \"1MB\"\nchannels = 2\niterations = 2\npxn = true";
    let text = on_rails(3, "", job);
    let of = |threads| csv(&run_on(&text, threads), "collectives");
    let one = of(1);
    for threads in [2, 3, 7] {
        assert_eq!(of(threads), one, "{threads} threads");
    }
}

/// Bytes that spines have sent.
fn spine_bytes(ports: &RecordBatch) -> u64 {
    let nodes = ports
        .column_by_name("node")
        .expect("there is such a column");
    let nodes = nodes.as_string::<i32>().iter();
    let sent = ports
        .column_by_name("tx_bytes")
        .expect("there is such a column");
    let of_spine = nodes.zip(sent.as_primitive::<UInt64Type>().values());
    let of_spine = of_spine.filter(|(node, _)| node.is_some_and(|it| it.starts_with("spine")));
    of_spine.map(|(_, bytes)| bytes).sum()
}

/// Seven GPUs of a server send 16 MB each to the eighth, at 450 GB/s.
fn nvlink_incast(more: &str) -> String {
    let row = |rank: u32| {
        let to_first = if rank == 0 { "0B" } else { "16MB" };
        format!("\"{to_first}\", {}", ["\"0B\""; 7].join(", "))
    };
    let matrix = (0..8).map(row).collect::<Vec<_>>().join(",\n");
    format!(
        "duration = \"2ms\"\n[topology]\nbuilder = \"rails\"\nservers = 1\ngpus_per_server = 8\nspines = 1\nrate = \"400Gbps\"\nnvlink_rate = \"3600Gbps\"\ndelay = \"500ns\"\n[host]\npayload = \"4096B\"\n{more}\n[[scheme]]\nname = \"PFC\"\n[[job]]\nname = \"J\"\nranks = 8\nmessages = false\ncollective = \"all-to-all-v\"\nmatrix = [{matrix}]\n"
    )
}

#[test]
fn nvlink_loses_nothing() {
    // Whatever Ethernet does.
    for ethernet in [
        "",
        "[switch]\nlossless = []",
        "[switch]\nbuffer = \"20MB\"\n[pfc]\nxoff = \"1KB\"\nheadroom = \"1KB\"",
    ] {
        let tables = run_on(&nvlink_incast(ethernet), 1).tables;
        assert_eq!(sum(&tables.ports, "dropped_packets"), 0, "{ethernet}");
        assert_eq!(
            sum(&tables.ports, "headroom_dropped_packets"),
            0,
            "{ethernet}"
        );
        let takes = first(&tables.jobs, "mean_ns");
        assert!(
            (249_000.0..252_500.0).contains(&takes),
            "{ethernet}: {takes}"
        );
    }
}

#[test]
fn nvlink_drops_on_request() {
    let text = nvlink_incast("[switch]\nnvlink_drops = true");
    let run = run_on(&text, 1);
    assert!(sum(&run.tables.ports, "headroom_dropped_packets") > 0);
    let without = nvlink_incast("").replace("nvlink_rate = \"3600Gbps\"\n", "");
    let text = without.replace("[host]", "[switch]\nnvlink_drops = true\n[host]");
    assert!(refusal(&text).contains("`nvlink_drops` has no effect"));
}

/// A link that fails slows a job down that has the fabric to itself otherwise.
#[test]
fn the_run_alone_has_no_failures() {
    let job = "collective = \"all-reduce\"\nalgorithm = \"ring\"\nsize = \"1MB\"\nchannels = 4\niterations = 3";
    let flap = "[[event]]\nat = \"100us\"\nkind = \"down\"\nlink = \"H5-leaf1\"\n[[event]]\nat = \"300us\"\nkind = \"up\"\nlink = \"H5-leaf1\"";
    let timeout = "retransmit_timeout = \"150us\"";
    let whole = run_on(&on_rails(2, timeout, job), 1).tables;
    let failing = on_rails(2, timeout, &format!("{job}\n{flap}"));
    let failing = run_on(&failing, 1).tables;
    assert_eq!(
        first(&failing.jobs, "alone_ns"),
        first(&whole.jobs, "mean_ns")
    );
    let slowdown = first(&failing.jobs, "slowdown");
    assert!(slowdown > 1.5, "{slowdown}");
    let cost = slowdown * first(&failing.jobs, "alone_ns");
    assert!((cost / first(&failing.jobs, "mean_ns") - 1.0).abs() < 1e-12);
}
