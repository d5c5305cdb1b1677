//! The tables of every shipped scenario are those of `shipped.txt`, bit by bit.
//!
//! A line of that file names a scenario, how long it is run here, and a digest of each table. Who changes
//! results on purpose makes it anew with `UNPAUSE_BLESS=1 cargo test -p unpause-scenario --test shipped`,
//! and says in the commit why.

mod common;

use std::fmt::Write;

use sha2::{Digest, Sha256};
use unpause_protocols::units::Time;
use unpause_scenario::{NoProgress, Options, Outcome, Scenario, execute, write_csv};

const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shipped.txt");
/// A scenario is run for about so many packet-hops, all its runs together.
const PACKET_HOPS: u64 = 500_000;

fn outcome(scenario: &Scenario, duration: Time) -> Outcome {
    let options = Options {
        duration: Some(duration),
        ..Options::default()
    };
    execute(scenario, &options, &NoProgress).expect("shipped scenarios run")
}

fn line(name: &str, duration: Time, outcome: &Outcome) -> String {
    let mut line = format!("{name} {}ns", duration.as_ps() / 1000);
    for (table, rows) in outcome.tables.all() {
        let mut csv = Vec::new();
        write_csv(rows, &mut csv).expect("memory takes it");
        let digest = Sha256::digest(&csv);
        let digest: String = digest[..4]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        write!(line, " {table}={}:{digest}", rows.num_rows()).expect("text takes it");
    }
    line
}

fn packet_hops(outcome: &Outcome) -> u64 {
    outcome.timings.iter().map(|run| run.packet_hops).sum()
}

/// Doubles the duration until there is enough to see.
fn bless(name: &str, scenario: &Scenario) -> String {
    let longest = scenario.runs().iter().map(|run| run.config.stop).max();
    let longest = longest.expect("a scenario has runs");
    let mut duration = Time::from_us(20).min(longest);
    loop {
        let outcome = outcome(scenario, duration);
        if packet_hops(&outcome) >= PACKET_HOPS || duration >= longest {
            return line(name, duration, &outcome);
        }
        duration = (duration * 2).min(longest);
    }
}

#[test]
fn tables_of_shipped_scenarios_are_as_recorded() {
    let blessing = std::env::var_os("UNPAUSE_BLESS").is_some();
    let recorded = std::fs::read_to_string(RECORD).unwrap_or_default();
    let mut lines = Vec::new();
    for (name, file) in common::shipped() {
        let scenario = Scenario::load(&file).expect("shipped scenarios are sound");
        if blessing {
            lines.push(bless(&name, &scenario));
            continue;
        }
        let record = recorded
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name} ")));
        let duration = record.and_then(|rest| rest.split("ns ").next()?.parse().ok());
        let duration = duration.unwrap_or_else(|| panic!("{name} is not in {RECORD}"));
        let duration = Time::from_ns(duration);
        lines.push(line(&name, duration, &outcome(&scenario, duration)));
    }
    let now = lines.join("\n") + "\n";
    if blessing {
        std::fs::write(RECORD, now).expect("the record can be written");
        return;
    }
    let differ: Vec<_> = now
        .lines()
        .zip(recorded.lines())
        .filter(|(now, then)| now != then)
        .collect();
    assert!(differ.is_empty(), "now, and as recorded:\n{differ:#?}");
    assert_eq!(
        now.lines().count(),
        recorded.lines().count(),
        "scenarios that are no more"
    );
}
