//! `import hpcc`: runs of HPCC's simulator against what it wrote itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tempfile::TempDir;
use unpause_import::hpcc_config::{self, Wish};
use unpause_scenario::{NoProgress, Options, Scenario, execute};

const FLOWS: &str = "6
0 3 3 100 1000000 2.000000000
1 2 3 100 500 2.010000000
3 0 3 200 64000 2.020000000
0 1 3 100 1 2.030000000
2 3 3 100 3000000 2.040000000
1 3 3 100 3000000 2.040001000
";

/// The configuration of its `run.py` for a NIC of 25 Gb/s, without keys that depend on the scheme.
const CONFIG: &str = "ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1
PACKET_PAYLOAD_SIZE 1000
TOPOLOGY_FILE topology.txt
FLOW_FILE flow.txt
TRACE_FILE mix/trace.txt
SIMULATOR_STOP_TIME 2.1
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 300
FAST_RECOVERY_TIMES 1
MIN_RATE 100Mb/s
ERROR_RATE_PER_LINK 0.0000
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
GLOBAL_T 1
U_TARGET 0.95
MI_THRESH 0
INT_MULTI 1
MULTI_RATE 0
SAMPLE_FEEDBACK 0
RATE_BOUND 1
LINK_DOWN 0 0 0
KMAX_MAP 3 400000000000 1600 25000000000 400 100000000000 1600
KMIN_MAP 3 400000000000 400 25000000000 100 100000000000 400
PMAX_MAP 3 400000000000 0.2 25000000000 0.20 100000000000 0.20
BUFFER_SIZE 16
";
const DCQCN: &str = "CC_MODE 1 EWMA_GAIN 0.00390625 RATE_AI 5Mb/s RATE_HAI 50Mb/s HAS_WIN 0 VAR_WIN 0 ACK_HIGH_PRIO 1";
const TIMELY: &str = "CC_MODE 7 EWMA_GAIN 0.00390625 RATE_AI 25Mb/s RATE_HAI 125Mb/s HAS_WIN 0 VAR_WIN 0 ACK_HIGH_PRIO 1";
const HPCC: &str = "CC_MODE 3 EWMA_GAIN 0.00390625 RATE_AI 50Mb/s RATE_HAI 50Mb/s HAS_WIN 1 VAR_WIN 1 FAST_REACT 1 ACK_HIGH_PRIO 0";
const PINT: &str = "CC_MODE 10 RATE_AI 50Mb/s HAS_WIN 1 VAR_WIN 1 ACK_HIGH_PRIO 0 PINT_LOG_BASE 1.05 PINT_PROB 1.0";
const DCTCP: &str =
    "CC_MODE 8 EWMA_GAIN 0.0625 DCTCP_RATE_AI 615Mb/s HAS_WIN 1 VAR_WIN 1 ACK_HIGH_PRIO 0";

/// The lines of `fct.txt` of a run of this configuration, as numbers where they are.
fn fct(own: &str) -> Vec<Vec<u64>> {
    fct_of(FLOWS, own)
}

/// The same of these flows.
fn fct_of(flows: &str, own: &str) -> Vec<Vec<u64>> {
    let results = run_of(include_str!("../data/hpcc/topology.txt"), flows, own);
    assert!(results.path().join("hpcc/pfc.txt").exists());
    lines_of(&results.path().join("hpcc/fct.txt"))
}

/// The results of a run of this configuration.
fn run_of(topology: &str, flows: &str, own: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("topology.txt"), topology).unwrap();
    fs::write(folder.path().join("flow.txt"), flows).unwrap();
    fs::write(folder.path().join("trace.txt"), "4\n0 3 5 6\n").unwrap();
    let config = folder.path().join("config.txt");
    fs::write(&config, format!("{CONFIG}{own}\n")).unwrap();
    let imported = hpcc_config::import(&config, folder.path(), Wish::default()).unwrap();
    let file = folder.path().join("run.toml");
    fs::write(&file, &imported.text).unwrap();
    let scenario = Scenario::load(&file).unwrap();
    let outcome = execute(&scenario, &Options::default(), &NoProgress).unwrap();
    let results = tempfile::tempdir().unwrap();
    outcome.write(results.path()).unwrap();
    results
}

/// The lines of an `fct.txt`, by start.
fn lines_of(file: &Path) -> Vec<Vec<u64>> {
    let text = fs::read_to_string(file).unwrap();
    let number = |word: &str| match word.len() {
        8 => u64::from_str_radix(word, 16).unwrap(),
        _ => word.parse().unwrap(),
    };
    let mut lines: Vec<Vec<u64>> = text
        .lines()
        .map(|line| line.split(' ').map(number).collect())
        .collect();
    lines.sort_by_key(|line| line[5]);
    lines
}

/// Links on the path of the first four flows: picoseconds of a byte, and delay in ns.
const WAYS: [&[(u64, u64)]; 4] = [
    &[(80, 1000), (20, 1500), (20, 1500), (320, 500)],
    &[(80, 1000), (20, 1500), (20, 1500), (80, 1000)],
    &[(320, 500), (20, 1500), (20, 1500), (80, 1000)],
    &[(80, 1000), (80, 1000)],
];

/// When a flow that is alone on its way has its last ACK, in ns: equal frames, one after the other over the slowest
/// link, then an ACK. `step`: the time of a frame is cut off to whole multiples of this many picoseconds.
fn alone(way: &[(u64, u64)], size: u64, header: u64, ack: u64, step: u64) -> u64 {
    let (packets, payload) = (size.div_ceil(1000), size.min(1000));
    let lasts = |bytes: u64, ps: u64| bytes * ps / step * step;
    let frames = way.iter().map(|(ps, _)| lasts(payload + header, *ps));
    let slowest = frames.clone().max().unwrap();
    let acks = way.iter().map(|(ps, _)| lasts(ack, *ps));
    let delays = way.iter().map(|(_, delay)| 2 * 1000 * delay);
    let all = frames.chain(acks).chain(delays).sum::<u64>();
    (all + (packets - 1) * slowest) / 1000
}

/// The first four flows are alone. HPCC's simulator, whose times are whole nanoseconds, has written `expected`;
/// what is cut off explains the difference to the nanosecond, where the law leaves flows at line rate.
fn assert_alone(own: &str, (header, ack): (u64, u64), at_line_rate: bool, expected: [u64; 4]) {
    let lines = fct(own);
    assert_eq!(lines.len(), 6);
    for ((line, there), way) in lines.iter().zip(expected).zip(WAYS) {
        let (size, here) = (line[4], line[6]);
        if at_line_rate || size < 1000 {
            assert_eq!(alone(way, size, header, ack, 1000), there, "{own}");
            assert_eq!(alone(way, size, header, ack, 1), here, "{own}");
        } else {
            let cut_off = alone(way, size, header, ack, 1) - alone(way, size, header, ack, 1000);
            assert!((there..=there + cut_off).contains(&here), "{own}: {here}");
        }
    }
}

#[test]
fn flows_that_are_alone_take_as_long_as_there() {
    assert_alone(TIMELY, (56, 60), true, [346_151, 10_120, 30_719, 4_016]);
    assert_alone(DCTCP, (48, 60), true, [344_148, 10_116, 30_588, 4_014]);
    // It leaves a share of the link idle, which takes some of the difference up.
    assert_alone(HPCC, (90, 88), false, [376_139, 10_132, 31_447, 4_028]);
}

/// With 501 B, as no time of a frame is a whole number of nanoseconds then. Of codes that are drawn by chance, the
/// large flow, which fills its link, has an FCT within 1 %; the others leave at line rate.
#[test]
fn flows_of_pint_that_are_alone_take_about_as_long_as_there() {
    let lines = fct_of(&FLOWS.replace(" 500 ", " 501 "), PINT);
    let there = [367_201, 10_120, 30_588, 4_016];
    for (n, (line, there)) in lines.iter().zip(there).enumerate() {
        let (size, here) = (line[4], line[6]);
        if size < 1000 {
            assert_eq!(alone(WAYS[n], size, 50, 60, 1000), there);
            assert_eq!(alone(WAYS[n], size, 50, 60, 1), here);
        } else {
            assert!(here.abs_diff(there) * 100 < there, "{size}: {here}");
        }
    }
}

/// DCQCN marks what waits before a slow link: its large flow goes the other way, over a slow link first.
#[test]
fn a_flow_of_dcqcn_that_meets_no_queue_takes_as_long_as_there() {
    let flows = FLOWS.replace("0 3 3 100 1000000", "3 0 3 100 1000000");
    let ways = [WAYS[2], WAYS[1], WAYS[2], WAYS[3]];
    let there = [344_148, 10_116, 30_588, 4_014];
    for ((line, there), way) in fct_of(&flows, DCQCN).iter().zip(there).zip(ways) {
        assert_eq!(alone(way, line[4], 48, 60, 1000), there);
        assert_eq!(alone(way, line[4], 48, 60, 1), line[6]);
    }
    // Before it, it waits, is marked and slows down, by chance.
    let marked = fct(DCQCN)[0][6];
    let never_marked = alone(WAYS[0], 1_000_000, 48, 60, 1);
    assert!(marked > never_marked * 3 / 2, "{marked}");
}

#[test]
fn ports_and_ideal_fcts_are_those_of_there() {
    let lines = fct(DCQCN);
    let ports: Vec<_> = lines.iter().map(|line| (line[2], line[3])).collect();
    assert_eq!(
        ports[..4],
        [(10_000, 100), (10_000, 100), (10_000, 200), (10_000, 100)]
    );
    let ideal: Vec<_> = lines.iter().map(|line| line[7]).collect();
    assert_eq!(
        ideal,
        [344_800, 10_243, 30_903, 4_163, 1_009_480, 1_015_520]
    );
    assert_eq!((lines[0][0], lines[0][1]), (0x0b00_0001, 0x0b00_0301));
}

/// Rates and sizes whose times are whole nanoseconds, no marks and no PAUSE: nothing is cut off or drawn.
const WHOLE: &str =
    "CC_MODE 1 ENABLE_QCN 0 PACKET_PAYLOAD_SIZE 312 RATE_AI 2Mb/s RATE_HAI 20Mb/s HAS_WIN 0
ACK_HIGH_PRIO 1 BUFFER_SIZE 32 SIMULATOR_STOP_TIME 2.21
QLEN_MON_FILE qlen.txt QLEN_MON_START 2000000000 QLEN_MON_END 2150000000";
const WHOLE_TOPOLOGY: &str = "7 2 6
5 6
0 5 640Mbps 0.001ms 0
1 5 640Mbps 0.001ms 0
2 5 640Mbps 0.001ms 0
3 6 640Mbps 0.001ms 0
4 6 640Mbps 0.001ms 0
5 6 1280Mbps 0.0015ms 0
";
const WHOLE_FLOWS: &str = "6
0 3 3 100 124800 2.000000000
1 3 3 100 93600 2.000010215
2 3 3 100 156000 2.000020337
4 0 3 100 34320 2.000030793
1 4 3 200 24024 2.000055113
2 4 3 200 312 2.000061237
";

/// HPCC's simulator wrote `tests/data/hpcc/qlen.txt` and these FCTs, with the time of a frame, which it cuts off to
/// whole nanoseconds, made greater by 0.0001 ns, so that rounding does not shorten a whole number by one.
#[test]
fn queues_are_as_long_as_there_at_each_instant() {
    let results = run_of(WHOLE_TOPOLOGY, WHOLE_FLOWS, WHOLE);
    let fct: Vec<u64> = lines_of(&results.path().join("hpcc/fct.txt"))
        .iter()
        .map(|line| line[6])
        .collect();
    assert_eq!(
        fct,
        [5_019_625, 4_653_910, 5_395_288, 817_957, 1_063_762, 54_431]
    );
    let qlen = fs::read_to_string(results.path().join("hpcc/qlen.txt")).unwrap();
    assert!(qlen == include_str!("../data/hpcc/qlen.txt"), "{qlen}");
}

/// HPCC's simulator, changed in the same way, and its `trace_reader` wrote `tests/data/hpcc/trace.txt`.
#[test]
fn packets_are_traced_as_there() {
    let topology = WHOLE_TOPOLOGY.replace("0.0015ms", "0.002ms");
    let flows = "3
0 3 3 100 637 2.000000000
1 3 3 100 624 2.000003215
3 0 3 200 312 2.000010215
";
    let own = WHOLE.replace("CC_MODE 1", "CC_MODE 7");
    let results = run_of(&topology, flows, &format!("{own} TRACE_FILE trace.txt"));
    let trace = fs::read(results.path().join("hpcc/mix.tr")).unwrap();
    let (links, trace) = trace.split_at(4 + 12 * 11);
    assert_eq!(links[..4], 12_u32.to_le_bytes());
    // Port 4 of node 5, and its rate.
    assert_eq!(links[4 + 8 * 11..][..3], [5, 0, 4]);
    assert_eq!(
        links[4 + 8 * 11 + 3..][..8],
        1_280_000_000_u64.to_le_bytes()
    );
    // The bandwidth-delay product of the longest way.
    let (window, records) = trace.split_at(4);
    assert_eq!(window, 1420_u32.to_le_bytes());
    let lines: Vec<String> = records.chunks_exact(56).map(traced).collect();
    let expected: Vec<&str> = include_str!("../data/hpcc/trace.txt").lines().collect();
    let other = lines.iter().zip(&expected).find(|(a, b)| a != b);
    assert_eq!((lines.len(), other), (expected.len(), None));
}

/// A record as `trace_reader` prints it.
fn traced(record: &[u8]) -> String {
    let number = |at: usize, bytes: usize| {
        let digits = record[at..at + bytes].iter().rev();
        digits.fold(0_u64, |all, digit| all << 8 | u64::from(*digit))
    };
    let event = ["Recv", "Enqu", "Dequ"][usize::from(record[27])];
    let of = format!(
        "{} n:{} {}:{} {} {event} ecn:{:x} {:08x} {:08x} {} {}",
        number(0, 8),
        number(8, 2),
        record[10],
        record[11],
        number(12, 4),
        record[28],
        number(16, 4),
        number(20, 4),
        number(32, 2),
        number(34, 2),
    );
    let size = number(24, 2);
    if record[26] == 0x11 {
        let (number_, time, pg) = (number(36, 4), number(40, 8), number(48, 2));
        return format!("{of} U {number_} {time} {pg} {size}({})", number(50, 2));
    }
    assert_eq!(record[26], 0xfc);
    let (flags, pg, next, time) = (number(36, 2), number(38, 2), number(40, 4), number(48, 8));
    format!("{of} A 0x{flags:02X} {pg} {next} {time} {size}")
}

/// Law and switches without chance: both thresholds for marks are equal. HPCC's simulator wrote
/// the files of `tests/data/hpcc/shared` with picoseconds instead of nanoseconds and PFC frames of 64 B. They hold
/// FCTs, and PAUSEs, up to an instant at which two events of one time come in another order there.
fn assert_same_as_there(own: &str, fct: &str, pfc: &str) {
    let topology = include_str!("../data/hpcc/shared/topology.txt");
    let flows = include_str!("../data/hpcc/shared/flow.txt");
    let marks = "KMAX_MAP 2 10000000000 40 40000000000 160
KMIN_MAP 2 10000000000 40 40000000000 160
PMAX_MAP 2 10000000000 0.2 40000000000 0.2
BUFFER_SIZE 1";
    let results = run_of(topology, flows, &format!("{own}\n{marks}"));
    let numbers = |line: &str| -> Vec<u64> {
        let hex = |word: &str| u64::from_str_radix(word, 16).unwrap();
        let words = line.split(' ').map(|word| match word.len() {
            8 => hex(word),
            _ => word.parse().unwrap(),
        });
        words.collect()
    };
    let here = fs::read_to_string(results.path().join("hpcc/fct.txt")).unwrap();
    let here: BTreeMap<Vec<u64>, u64> = here
        .lines()
        .map(|line| {
            let all = numbers(line);
            (all[..3].to_vec(), all[6])
        })
        .collect();
    assert_eq!(here.len(), fct.lines().count());
    for line in fct.lines() {
        let all = numbers(line);
        let fct = here[&all[..3]];
        assert!(fct.abs_diff(all[3]) <= 1, "{line}, here {fct}");
    }
    let here = fs::read_to_string(results.path().join("hpcc/pfc.txt")).unwrap();
    assert_eq!(here.lines().count(), pfc.lines().count());
    for (here, there) in here.lines().zip(pfc.lines()) {
        let (mine, theirs) = (numbers(here), numbers(there));
        let is_same = mine[1..] == theirs[1..] && mine[0].abs_diff(theirs[0]) <= 1;
        assert!(is_same, "{there}, here {here}");
    }
}

#[test]
fn dcqcn_with_pause_is_the_same_as_there() {
    assert_same_as_there(
        "CC_MODE 1 EWMA_GAIN 0.00390625 RATE_AI 2Mb/s RATE_HAI 20Mb/s HAS_WIN 0 VAR_WIN 0 ACK_HIGH_PRIO 1
SIMULATOR_STOP_TIME 2.0037",
        include_str!("../data/hpcc/shared/fct_dcqcn.txt"),
        include_str!("../data/hpcc/shared/pfc_dcqcn.txt"),
    );
}

/// It overruns the headroom: packets are lost and sent again, too.
#[test]
fn timely_with_losses_is_the_same_as_there() {
    assert_same_as_there(
        "CC_MODE 7 EWMA_GAIN 0.00390625 RATE_AI 10Mb/s RATE_HAI 50Mb/s HAS_WIN 0 VAR_WIN 0 ACK_HIGH_PRIO 1
SIMULATOR_STOP_TIME 2.00135",
        include_str!("../data/hpcc/shared/fct_timely.txt"),
        include_str!("../data/hpcc/shared/pfc_timely.txt"),
    );
}

#[test]
fn what_cannot_be_run_is_refused_or_named() {
    let folder = tempfile::tempdir().unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hpcc/topology.txt");
    fs::copy(data, folder.path().join("topology.txt")).unwrap();
    fs::write(folder.path().join("flow.txt"), FLOWS).unwrap();
    let config = folder.path().join("config.txt");
    let import = |own: &str| {
        fs::write(&config, format!("{CONFIG}{own}\n")).unwrap();
        hpcc_config::import(&config, folder.path(), Wish::default())
    };
    for (own, why) in [
        ("CC_MODE 10 RATE_AI 1Mb/s PINT_LOG_BASE 1", "a base from"),
        (
            "CC_MODE 10 RATE_AI 1Mb/s PINT_PROB 1.5",
            "a share of packets",
        ),
        ("CC_MODE 5", "found CC_MODE 5"),
        (
            "CC_MODE 3 RATE_AI 1Mb/s HAS_WIN 0",
            "HPCC divides by the window",
        ),
        (
            "CC_MODE 1 RATE_AI 5 RATE_HAI 5 L2_ACK_INTERVAL 0",
            "no flow ever completes",
        ),
        (
            "CC_MODE 1 RATE_AI 5 RATE_HAI 5 KMIN_MAP 0",
            "KMIN_MAP without 25000000000",
        ),
        ("CC_MODE 1 RATE_AI x", "a rate such as"),
    ] {
        let error = import(own).unwrap_err().to_string();
        assert!(error.contains(why), "{own}: {error}");
    }
    let named = import(&format!("{DCQCN} STOP_WHEN_DONE 1"));
    let left_out = named.unwrap().left_out.join("\n");
    for key in ["STOP_WHEN_DONE", "TRACE_FILE: it cannot be read"] {
        assert!(left_out.contains(key), "{key}: {left_out}");
    }
    // DCQCN's keys beside HPCC, and HPCC's beside DCQCN.
    let of_others = |own: &str| {
        let left_out = import(own).unwrap().left_out;
        left_out.into_iter().find(|it| it.contains("does not use"))
    };
    let of_hpcc = of_others("CC_MODE 3 RATE_AI 1Mb/s MIN_RATE 1Mb/s HAS_WIN 1 RATE_HAI 5Mb/s");
    assert_eq!(
        of_hpcc.as_deref(),
        Some(
            "ALPHA_RESUME_INTERVAL, RATE_DECREASE_INTERVAL, CLAMP_TARGET_RATE, RP_TIMER, FAST_RECOVERY_TIMES, RATE_HAI: \
             CC_MODE 3 does not use them"
        )
    );
    assert_eq!(
        of_others(DCQCN).as_deref(),
        Some(
            "U_TARGET, MI_THRESH, INT_MULTI, MULTI_RATE, SAMPLE_FEEDBACK: CC_MODE 1 does not use them"
        )
    );
}

/// GPUs 0 to 3 and 4 to 7 hang on an NVSwitch and a leaf of each server; the thresholds for marks name no NVLink.
#[test]
fn gpus_of_a_server_use_its_nvswitch_as_in_simai() {
    let flows = "2\n0 3 3 100 1000000 2.0\n0 4 3 100 1000000 2.01\n";
    let results = run_of(
        include_str!("../data/hpcc/topology_simai.txt"),
        flows,
        DCQCN,
    );
    let lines = lines_of(&results.path().join("hpcc/fct.txt"));
    let took = |line: usize, gbps: u64| {
        let (fct, wire) = (lines[line][6], 1_048_000 * 8 / gbps);
        assert!(
            (wire..wire + 4000).contains(&fct),
            "{fct} ns, {wire} ns on a wire"
        );
    };
    took(0, 2880);
    took(1, 400);
}
