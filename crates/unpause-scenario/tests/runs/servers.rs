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
