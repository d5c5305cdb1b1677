//! A result says what its reader should know: drops, silence, and what to do about them.

use std::path::Path;

use unpause_scenario::{NoProgress, Options, Outcome, Scenario, Summary, execute};

const SCENARIO: &str = r#"
duration = "2ms"

[topology]
builder = "single-switch"
hosts = 5
rate = "40Gbps"
delay = "5us"

[pfc]
xoff = "100KB"
headroom = "HEADROOM"

[[scheme]]
name = "PFC"

[[traffic]]
name = "incast"
kind = "burst"
from = "H0..H2"
to = "H3"
size = "1MB"

[[traffic]]
name = "late"
kind = "flow"
from = "H0"
to = "H1"
start = "3ms"

[probes]
ports = ["S0->H3", "S0->H4"]
"#;

fn run(source: &str) -> Outcome {
    let scenario = Scenario::parse(source, Path::new("test.toml"))
        .unwrap_or_else(|error| panic!("{}", error.explain()));
    execute(&scenario, &Options::default(), &NoProgress).unwrap()
}

fn messages(outcome: &Outcome) -> Vec<String> {
    let said = outcome.warnings.iter();
    said.map(|w| format!("{}: {}", w.kind, w.message)).collect()
}

#[test]
fn right_headroom_drops_nothing() {
    let outcome = run(&SCENARIO.replace("headroom = \"HEADROOM\"\n", ""));
    assert_eq!(
        messages(&outcome),
        [
            "empty-probe: probe S0->H4 recorded nothing: no packet left by this port",
            "silent-traffic: traffic `late` started no flow",
        ]
    );
    let summary = &Summary::of(&outcome.tables)[0];
    assert_eq!((summary.flows_completed, summary.dropped_packets), (3, 0));
    assert!(summary.pause_events > 0);
}

#[test]
fn small_headroom_names_port_and_remedy() {
    let outcome = run(&SCENARIO.replace("HEADROOM", "10KB"));
    let said = messages(&outcome);
    let first = &said[0];
    assert!(
        first.starts_with("headroom-drops: S0 port 0 (to H0) dropped "),
        "{first}"
    );
    let rest = "of lossless priority 3: headroom 10KB is too small, this link needs 52.2KB";
    assert!(first.ends_with(rest), "{first}");
    assert!(
        outcome.warnings[0]
            .help
            .as_deref()
            .unwrap()
            .contains("pfc.headroom")
    );
}
