//! Small flows in a higher priority: they pass by large ones that PFC has stopped.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt8Type, UInt64Type};
use unpause_scenario::Scenario;

use crate::small::run;

const SCENARIO: &str = r#"
duration = "5ms"

[topology]
builder = "single-switch"
hosts = 4
rate = "10Gbps"
delay = "1us"

[switch]
lossless = [1, 4]

[pfc]
xoff = "100KB"

[[scheme]]
name = "PFC"

[[traffic]]
name = "large"
kind = "burst"
from = "H1..H3"
to = "H0"
size = "1MB"
priority = 1
priority_by_size = [{ upto = "10KB", priority = 4 }]

[[traffic]]
name = "small"
kind = "burst"
from = "H1..H3"
to = "H0"
size = "10KB"
start = "1ms"
priority = 1
priority_by_size = [{ upto = "10KB", priority = 4 }]
"#;

#[test]
fn priorities_by_size_reach_pfc_and_the_tables() {
    let outcome = run(SCENARIO);
    assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
    let flows = &outcome.tables.flows;
    let priority = flows["priority"].as_primitive::<UInt8Type>();
    assert_eq!(priority.values(), &[1, 1, 1, 4, 4, 4]);
    // The last of the three waits for the two others, and for one frame of the large flows.
    let slowdown = flows["slowdown"].as_primitive::<Float64Type>();
    assert!(
        slowdown.values()[3..].iter().all(|s| *s < 3.5),
        "{slowdown:?}"
    );

    let ports = &outcome.tables.ports;
    let priority = ports["priority"].as_primitive::<UInt8Type>().values();
    let pauses = ports["pause_frames"].as_primitive::<UInt64Type>().values();
    let sum = |wanted| -> u64 {
        let rows = priority.iter().zip(pauses);
        rows.filter(|(p, _)| **p == wanted).map(|(_, n)| n).sum()
    };
    assert!(sum(1) > 0);
    assert_eq!(sum(4), 0);
}

#[test]
fn a_flow_file_cannot_use_the_priority_of_control_frames_either() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("flow.txt"), "1\n0 1 7 100 1000 0.001\n").expect("a file");
    let text = r#"
duration = "1ms"
[topology]
builder = "single-switch"
hosts = 3
rate = "10Gbps"
delay = "1us"
[[scheme]]
name = "PFC"
congestion_control = "none"
[[traffic]]
name = "f"
kind = "file"
file = "flow.txt"
"#;
    let parse = |text: &str| {
        let scenario = Scenario::parse(text, &folder.path().join("s.toml"));
        scenario.map(|_| ()).map_err(|error| error.to_string())
    };
    let refused = parse(text).expect_err("priority 7");
    assert!(
        refused.contains("priority 7 carries control frames"),
        "{refused}"
    );
    let other = text.replace("[[scheme]]", "[host]\ncontrol_priority = 6\n[[scheme]]");
    assert_eq!(parse(&other), Ok(()));
}
