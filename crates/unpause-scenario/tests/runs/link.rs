//! `[link]`: credits instead of PFC.

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, UInt64Type};
use unpause_scenario::{NoProgress, Options, Scenario, execute};

use crate::small;

const NETWORK: &str = r#"
duration = "20ms"

[topology]
builder = "explicit"
hosts = ["A", "B"]
switches = ["S", "T"]
[[topology.link]]
a = "A"
b = "S"
rate = "400Gbps"
delay = "100ns"
[[topology.link]]
a = "S"
b = "T"
rate = "100Gbps"
delay = "10us"
[[topology.link]]
a = "T"
b = "B"
rate = "400Gbps"
delay = "100ns"

[[scheme]]
name = "none"
congestion_control = "none"

[[traffic]]
name = "flow"
kind = "flow"
from = "A"
to = "B"
size = "10MB"
"#;

fn parse(more: &str) -> Result<Scenario, String> {
    small::parse(&format!("{NETWORK}{more}"))
}

/// FCT in ns, time paused and time waited for credits in total.
fn run(more: &str) -> (f64, f64, f64) {
    let scenario = parse(more).unwrap_or_else(|error| panic!("{error}"));
    let outcome = execute(&scenario, &Options::default(), &NoProgress).unwrap();
    let flows = outcome.tables.flows["fct_ns"].as_primitive::<Float64Type>();
    let dropped = outcome.tables.runs["dropped_packets"].as_primitive::<UInt64Type>();
    assert_eq!(dropped.value(0), 0);
    let sum = |column: &str| {
        let values = outcome.tables.ports[column].as_primitive::<Float64Type>();
        values.values().iter().sum()
    };
    (flows.value(0), sum("paused_ns"), sum("credit_wait_ns"))
}

/// 10,000 packets of 1,048 B: with credit for n of them, n in each round trip of 20 us.
#[test]
fn a_small_buffer_on_a_long_link_costs_rate_and_nothing_else() {
    let full = 10_000.0 * 1048.0 * 0.08;
    for (buffer, packets) in [("20KB", 19.0), ("110KB", 104.0)] {
        let more = format!(
            "[link]\nflow_control = \"cbfc\"\ncredit_buffer = \"{buffer}\"\ncredit_size = \"8B\"\nupdate_spacing = \"0B\"\n"
        );
        let (fct, paused, waited) = run(&more);
        let round_trip = 1048.0 * 0.08 + 20_000.0 + 0.64;
        let expected = 10_000.0 / packets * round_trip;
        assert!(
            (fct - expected).abs() < 2.0 * round_trip,
            "{buffer}: {fct} {expected}"
        );
        assert_eq!(paused, 0.0);
        // The switch waits at its long link, the host for the switch.
        let idle = expected - full;
        assert!((idle..2.2 * expected).contains(&waited), "{waited} {idle}");
    }
    let (fct, paused, _) = run("[link]\nflow_control = \"cbfc\"\n");
    assert!((fct - full - 10_300.0).abs() < 300.0, "{fct}");
    assert_eq!(paused, 0.0);
    assert_eq!(run("[link]\nflow_control = \"pfc\"\n"), run(""));
}

#[test]
fn what_has_no_effect_or_no_credits_is_refused() {
    for (more, expected) in [
        (
            "[link]\ncredit_buffer = \"1MB\"\n",
            "`credit_buffer` has no effect",
        ),
        (
            "[link]\nflow_control = \"cbfc\"\n[pfc]\nxoff = \"1MB\"\n",
            "`xoff` has no effect",
        ),
        (
            "[link]\nflow_control = \"cbfc\"\ncredit_buffer = \"1KB\"\n",
            "could ever start",
        ),
        (
            "[link]\nflow_control = \"cbfc\"\nupdate_spacing = \"100B\"\n",
            "updates cannot be 100B apart",
        ),
        (
            "[link]\nflow_control = \"cbfc\"\n[switch]\nlossless = []\n",
            "no priority has credits",
        ),
        (
            "[link]\nflow_control = \"cbfc\"\n[switch]\nmodel = \"input-queued\"\n",
            "only switches with a shared buffer have credits",
        ),
        (
            "[link]\nflow_control = \"cbfc\"\n[host]\nack_priority = \"flow\"\n",
            "ACKs in the priority of their flow",
        ),
        (
            "[link]\nflow_control = \"cbfc\"\n[probes]\ncauses = true\n",
            "causes need PAUSE",
        ),
        (
            "[link]\nflow_control = \"cbfc\"\n[switch.watchdog]\n",
            "watchdog",
        ),
        ("[link]\nflow_control = \"credits\"\n", "cbfc"),
    ] {
        let found = parse(more).expect_err(more);
        assert!(found.contains(expected), "{more}\n{expected}:\n{found}");
    }
}
