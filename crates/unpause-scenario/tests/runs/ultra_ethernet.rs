//! NSCC with trimming switches against the published rows of uet-htsim, on its fabrics: a fat-tree with 16 hosts, 100 Gb/s and
//! 1 us a link, packets of 4,086 bytes in frames of 4,150.

use std::path::Path;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use unpause_scenario::{NoProgress, Options, Scenario, execute};

use crate::small::{self, fcts_and_trimmed};

const NETWORK: &str = r#"
duration = "10ms"

[topology]
builder = "fat-tree"
k = 4
host_rate = "100Gbps"
delay = "1us"

[host]
payload = "4086B"
header = "64B"
preamble_and_gap = "0B"
ack_size = "64B"

[switch]
lossless = []
lossy_queue = "175284B"

[switch.trimming]
size = "64B"
cut = "either"

[[scheme]]
name = "NSCC"
congestion_control = "nscc"
loss_recovery = "selective-repeat"
[scheme.nscc]
base_rtt = "14022720ps"
kmin = "35056B"
kmax = "140227B"
[scheme.selective-repeat]
window = "400KB"
"#;

/// FCTs in ns in order, and packets trimmed.
fn run(more: &str) -> (Vec<f64>, u64) {
    let source = format!("{NETWORK}{more}");
    fcts_and_trimmed(&small::run(&source))
}

/// 176,199.5 ns at the sender, less the 6,030.7 ns of the last ACK.
#[test]
fn one_flow_takes_as_long_as_there() {
    for spraying in [
        "",
        "\"host.spraying\" = \"oblivious\"",
        "\"host.spraying\" = \"reps\"",
    ] {
        let flow = r#"
            [[traffic]]
            name = "flows"
            kind = "flow"
            from = "H1"
            to = "H15"
            size = "2000000B"
        "#;
        let (fcts, trimmed) = run(&format!("[scheme.set]\n{spraying}\n{flow}"));
        assert_eq!((fcts, trimmed), (vec![170_168.8], 0), "{spraying}");
    }
}

/// 15 to 1: the last flow within 2,500 us, 1.6 to 2.2 times as long as the first.
#[test]
fn an_incast_is_not_fair_and_keeps_the_link_busy() {
    let (fcts, trimmed) = run(r#"
        [[traffic]]
        name = "flows"
        kind = "burst"
        from = "H1..H15"
        to = "H0"
        size = "2MB"
    "#);
    let (first, last) = (fcts[0], fcts[14]);
    assert!((2_437_600.0..=2_500_000.0).contains(&last), "{last}");
    assert!((1.6..=2.2).contains(&(last / first)), "{first} {last}");
    assert!(trimmed > 100, "{trimmed}");
}

/// Spraying beats one path, and who learns of marks beats who does not.
#[test]
fn a_permutation_is_fast_where_it_is_sprayed() {
    let last = |set: &str| {
        let (fcts, _) = run(&format!(
            "[scheme.set]\n{set}\n[[traffic]]\nname = \"flows\"\nkind = \"permutation\"\nsize = \"2MB\""
        ));
        fcts[15]
    };
    let one_path = last("");
    let oblivious = last("\"host.spraying\" = \"oblivious\"\n\"host.paths\" = 128");
    let reps = last("\"host.spraying\" = \"reps\"\n\"host.paths\" = 128");
    assert!(
        reps < oblivious && oblivious < one_path,
        "{reps} {oblivious} {one_path}"
    );
    assert!(oblivious < 0.6 * one_path && reps < 190_000.0);
}

/// The table of docs/lossless-or-lossy.md: for each scheme the last flow of the permutation, the bystander, the last flow of the
/// incast and of the permutation over slow links in us, PAUSE frames, and packets trimmed.
#[test]
fn the_page_on_lossless_and_lossy_fabrics_says_what_comes_out() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/choose.toml");
    let source = std::fs::read_to_string(path).expect("the scenario is there");
    let scenario = Scenario::parse(&source, Path::new(path)).expect("it is right");
    let tables = execute(&scenario, &Options::default(), &NoProgress)
        .expect("it runs")
        .tables;
    let fcts = tables.flows["fct_ns"].as_primitive::<Float64Type>();
    let runs = tables.flows["run"].as_primitive::<UInt32Type>();
    let sources = tables.flows["src"].as_string::<i32>();
    let starts = tables.flows["start_ns"].as_primitive::<Float64Type>();
    let count = |name: &str, run: u32| {
        let column = tables.runs[name].as_primitive::<UInt64Type>();
        column.value(run as usize)
    };
    let last = |run, at: f64, is_of: &dyn Fn(&str) -> bool| {
        let of_run = (0..fcts.len()).filter(|row| runs.value(*row) == run);
        let rows = of_run.filter(|row| starts.value(*row) == at && is_of(sources.value(*row)));
        let longest = rows.map(|row| fcts.value(row)).fold(0.0, f64::max);
        (longest / 1e3).round()
    };
    let found: Vec<_> = (0..7)
        .map(|run| {
            let permutation = last(run, 0.0, &|_| true);
            let bystander = last(run, 8e6, &|src| src == "H64");
            let incast = last(run, 8e6, &|src| src != "H64");
            let slow_links = last(run, 12e6, &|_| true);
            let counts = (count("pause_frames", run), count("trimmed_packets", run));
            (permutation, bystander, incast, slow_links, counts)
        })
        .collect();
    assert_eq!(
        found,
        [
            (674.0, 937.0, 1307.0, 1977.0, (5552, 0)),
            (833.0, 1233.0, 1307.0, 1977.0, (2697, 0)),
            (891.0, 1142.0, 1307.0, 2161.0, (1505, 0)),
            (782.0, 512.0, 1707.0, 2178.0, (45, 0)),
            (198.0, 1463.0, 1307.0, 639.0, (251, 0)),
            (190.0, 452.0, 1337.0, 305.0, (0, 2086)),
            (194.0, 375.0, 1317.0, 333.0, (0, 2378)),
        ]
    );
}
