//! `[[event]] kind = "rate"`: the rates that a scenario asks for, and the reports about them.

use unpause_scenario::Outcome;

use crate::small::{csv, run_on};

const SCENARIO: &str = r#"
duration = "1ms"

[topology]
builder = "single-switch"
hosts = 3
rate = "40Gbps"
delay = "1us"

[[scheme]]
name = "PFC"

[[traffic]]
name = "all"
kind = "flow"
from = "H0"
to = "H2"
"#;

fn run(events: &str, threads: usize) -> Outcome {
    run_on(&format!("{SCENARIO}{events}"), threads)
}

fn event(at: &str, link: &str, rate: &str, more: &str) -> String {
    format!(
        "[[event]]\nat = \"{at}\"\nlink = \"{link}\"\nkind = \"rate\"\nrate = \"{rate}\"\n{more}"
    )
}

/// A link that flaps between two rates, in one direction: every change is in the table, each stay is told.
#[test]
fn changes_are_told() {
    let events = event("100us", "S0->H2", "10Gbps", "every = \"400us\"\n")
        + &event(
            "200us",
            "S0->H2",
            "40Gbps",
            "every = \"400us\"\nuntil = \"700us\"\n",
        );
    let outcome = run(&events, 1);
    let said: Vec<&str> = outcome
        .warnings
        .iter()
        .filter(|it| it.kind == "link-rate")
        .map(|it| it.message.as_str())
        .collect();
    insta::assert_snapshot!(said.join("\n"), @r"
    S0->H2 at 10Gbps of 40Gbps from 100us until 200us
    S0->H2 at 10Gbps of 40Gbps from 500us until 600us
    S0->H2 at 10Gbps of 40Gbps from 900us on
    ");
    let changes = csv(&outcome, "link_changes");
    let lines: Vec<&str> = changes.lines().skip(1).collect();
    assert_eq!(lines.len(), 5, "{changes}");
    for (line, gb) in lines.iter().zip([10, 40, 10, 40, 10]) {
        let end = format!(",rate,S0,2,H2,{gb}000000000");
        assert!(line.ends_with(&end), "{changes}");
    }
    for threads in [2, 3, 7] {
        let other = run(&events, threads);
        for table in ["link_changes", "flows", "ports", "pauses"] {
            assert_eq!(
                csv(&outcome, table),
                csv(&other, table),
                "{table}, {threads} threads"
            );
        }
    }
}

/// 300 us at 40 Gb/s, 100 at 10 and 600 at 40 carry 37 Mb.
#[test]
fn a_link_carries_what_its_rates_allow() {
    let events = event("300us", "H2-S0", "10Gbps", "") + &event("400us", "H2-S0", "40Gbps", "");
    let outcome = run(&events, 1);
    let ports = csv(&outcome, "ports");
    let mut lines = ports
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().expect("a header");
    let column = |name: &str| names.iter().position(|it| *it == name).expect("a column");
    let (node, peer, sent) = (column("node"), column("peer"), column("tx_bytes"));
    let own = lines.filter(|line| line[node] == "S0" && line[peer] == "H2");
    let bits: f64 = own
        .map(|line| 8.0 * line[sent].parse::<f64>().unwrap())
        .sum();
    assert!((bits / 37e6 - 1.0).abs() < 0.01, "{bits}");
}
