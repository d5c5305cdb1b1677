//! The tables of every shipped scenario are those of `shipped.txt`, bit by bit.
//!
//! A line of that file names a scenario, how long it is run here, and a digest of each table. Who changes
//! results on purpose makes it anew with `UNPAUSE_BLESS=1 cargo test -p unpause-scenario --test shipped`,
//! and says in the commit why. `ONLY=f14` does either for scenarios that have this in their names.

mod common;

use std::fmt::Write;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, UInt32Type};
use arrow_array::{Array as _, RecordBatch};
use sha2::{Digest, Sha256};
use unpause_protocols::units::Time;
use unpause_results::tables::FIRST_TABLES;
use unpause_scenario::{Effort, NoProgress, Options, Outcome, Scenario, costs, execute, write_csv};

const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shipped.txt");

/// How it is made anew.
const HOW: &str = "run UNPAUSE_BLESS=1 cargo test -p unpause-scenario --test shipped";
/// A scenario is run for about so many packet-hops, all its runs together.
const PACKET_HOPS: u64 = 500_000;
/// Estimates try so many packet-hops: as many on a busy machine.
const TRIED: Effort = Effort::Counted(60_000);

/// Of these, the record has the beginning, in which congestion control holds back the few large flows that
/// there are, or in which jobs still compute: an estimate cannot know by how much. Those of PCN have so many runs that few
/// packet-hops are tried of each; with what a user's estimate tries, 2 ms of them come out within 13 %.
/// The next test takes one of them further.
const BEGINNINGS: [&str; 18] = [
    "papers/ecn-sharp/scenarios/s1-buffer.toml",
    "papers/ecn-sharp/scenarios/s1-code.toml",
    "papers/ecn-sharp/scenarios/s1-long.toml",
    "papers/ecn-sharp/scenarios/s1.toml",
    "papers/ecn-sharp/scenarios/s2-paper.toml",
    "papers/ecn-sharp/scenarios/s2.toml",
    "papers/ecn-sharp/scenarios/s5-datamining.toml",
    "papers/ecn-sharp/scenarios/s5-websearch.toml",
    "papers/ecn-sharp/scenarios/s8-causes.toml",
    "papers/ecn-sharp/scenarios/s8.toml",
    "papers/pcn/scenarios/f18-arrivals.toml",
    "papers/pcn/scenarios/f18.toml",
    "papers/pcn/scenarios/fluid.toml",
    "papers/uet/scenarios/outcast.toml",
    "papers/uet/scenarios/oversubscribed.toml",
    "scenarios/ai/rails.toml",
    "scenarios/ai/two-jobs.toml",
    "scenarios/howto/ecn-thresholds.toml",
];

/// Of these, the record has the beginning, in which all senders of an incast send at the rate of their links: a round trip, or
/// until PAUSE has reached them. An estimate counts what the receiver's link carries, which is too little here.
const INCASTS: [&str; 3] = [
    "papers/dcqcn/scenarios/unfair.toml",
    "papers/uet/scenarios/incast-1023.toml",
    "papers/uet/scenarios/incast-127.toml",
];

/// The table that follows from `flows` and the scenario.
const DERIVED: &str = "loads";

/// Columns that are left out where they are zero in every row: those of what a scenario does not ask for.
const MAY_BE_ZERO: [&str; 2] = ["credit_wait_ns", "counted_from_ns"];

/// Columns of jobs that are left out where they are null in every row: no job has failed.
const MAY_BE_NULL: [&str; 6] = [
    "failed_at_ns",
    "failed_rank",
    "failed_peer",
    "stuck_since_ns",
    "down_link",
    "down_since_ns",
];

/// Tables of which `timeouts` is left out where there is none.
const OF_MESSAGES: [&str; 2] = ["messages", "critical"];

fn without_zeros(table: &str, rows: &RecordBatch) -> RecordBatch {
    let is_zero = |at: usize| {
        let values = rows.column(at).as_primitive_opt::<Float64Type>();
        values.is_some_and(|it| it.values().iter().all(|value| *value == 0.0))
    };
    let has_none = |at: usize| {
        let values = rows.column(at).as_primitive_opt::<UInt32Type>();
        values.is_some_and(|it| it.iter().flatten().all(|value| value == 0))
    };
    let kept = |at: &usize| {
        let schema = rows.schema();
        let idle = match schema.field(*at).name().as_str() {
            name if MAY_BE_ZERO.contains(&name) => is_zero(*at),
            name if MAY_BE_NULL.contains(&name) => rows.column(*at).null_count() == rows.num_rows(),
            "timeouts" if OF_MESSAGES.contains(&table) => has_none(*at),
            _ => false,
        };
        !idle
    };
    let kept: Vec<usize> = (0..rows.num_columns()).filter(kept).collect();
    rows.project(&kept).expect("these columns are there")
}

fn outcome(scenario: &Scenario, duration: Time, exact_packets: bool) -> Outcome {
    let options = Options {
        duration: Some(duration),
        exact_packets,
        ..Options::default()
    };
    execute(scenario, &options, &NoProgress).expect("shipped scenarios run")
}

fn line(name: &str, duration: Time, outcome: &Outcome) -> String {
    let mut line = format!("{name} {}ns", duration.as_ps() / 1000);
    for (table, rows) in outcome.tables.all() {
        // Of a scenario that does not ask for them.
        let is_idle = !FIRST_TABLES.contains(&table) && rows.num_rows() == 0;
        if is_idle || table == DERIVED {
            continue;
        }
        let rows = &without_zeros(table, rows);
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

/// How many times the packet-hops that there are were expected.
fn estimate(name: &str, scenario: &Scenario, duration: Time, outcome: &Outcome) -> (String, f64) {
    let options = Options {
        duration: Some(duration),
        ..Options::default()
    };
    let costs = costs(scenario, &options, TRIED).expect("it runs");
    let expected: u64 = costs.iter().map(|cost| cost.packet_hops).sum();
    (
        name.to_owned(),
        expected as f64 / packet_hops(outcome) as f64,
    )
}

/// Doubles the duration until there is enough to see.
fn bless(name: &str, scenario: &Scenario) -> String {
    let longest = scenario.runs().iter().map(|run| run.config.stop).max();
    let longest = longest.expect("a scenario has runs");
    let mut duration = Time::from_us(20).min(longest);
    loop {
        let outcome = outcome(scenario, duration, true);
        if packet_hops(&outcome) >= PACKET_HOPS || duration >= longest {
            return line(name, duration, &outcome);
        }
        duration = (duration * 2).min(longest);
    }
}

#[test]
fn tables_of_shipped_scenarios_are_as_recorded() {
    let blessing = std::env::var_os("UNPAUSE_BLESS").is_some();
    let only = std::env::var("ONLY").ok();
    let recorded = std::fs::read_to_string(RECORD).unwrap_or_default();
    let mut lines = Vec::new();
    let mut estimates = Vec::new();
    for (name, file) in common::shipped() {
        if only.as_ref().is_some_and(|only| !name.contains(only)) {
            continue;
        }
        let scenario = Scenario::load(&file).expect("shipped scenarios are sound");
        if blessing {
            lines.push(bless(&name, &scenario));
            continue;
        }
        let record = recorded
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name} ")));
        let duration = record.and_then(|rest| rest.split("ns ").next()?.parse().ok());
        let duration = duration.unwrap_or_else(|| panic!("{name} is not in {RECORD}: {HOW}"));
        let duration = Time::from_ns(duration);
        let exact = line(&name, duration, &outcome(&scenario, duration, true));
        let outcome = outcome(&scenario, duration, false);
        lines.push(line(&name, duration, &outcome));
        assert_eq!(lines.last(), Some(&exact), "with every packet");
        estimates.push(estimate(&name, &scenario, duration, &outcome));
    }
    if blessing {
        let others = recorded.lines().filter(|line| !is_of(&lines, line));
        let others: Vec<_> = others.map(str::to_owned).collect();
        if only.is_some() {
            lines.extend(others);
        }
        lines.sort();
        std::fs::write(RECORD, lines.join("\n") + "\n").expect("the record can be written");
        return;
    }
    estimates.retain(|(name, _)| !INCASTS.contains(&&**name));
    estimates.retain(|(name, times)| {
        let is_beginning = BEGINNINGS.contains(&&**name);
        let most = if is_beginning { 5.0 } else { 2.0 };
        !(1.0 / most..=most).contains(times)
    });
    assert!(
        estimates.is_empty(),
        "how many times their packet-hops were expected: {estimates:#?}"
    );
    let differ: Vec<_> = lines
        .iter()
        .filter(|line| !recorded.lines().any(|then| then == *line))
        .collect();
    assert!(differ.is_empty(), "now, and not as recorded:\n{differ:#?}");
    assert!(
        only.is_some() || lines.len() == recorded.lines().count(),
        "scenarios that are no more"
    );
}

/// True if one of these lines is of the scenario of `line`.
fn is_of(lines: &[String], line: &str) -> bool {
    let name = |line: &str| line.split(' ').next().map(str::to_owned);
    lines.iter().any(|other| name(other) == name(line))
}

#[test]
fn flows_of_web_search_cost_what_was_expected() {
    let name = "scenarios/howto/ecn-thresholds.toml";
    let mut shipped = common::shipped().into_iter();
    let (_, file) = shipped.find(|it| it.0 == name).expect("it is there");
    let scenario = Scenario::load(&file).expect("it is sound");
    let options = Options {
        schemes: vec!["ECN#".into()],
        duration: Some(Time::from_ms(25)),
        ..Options::default()
    };
    let costs = costs(&scenario, &options, TRIED).expect("it runs");
    let outcome = execute(&scenario, &options, &NoProgress).expect("it runs");
    let expected: u64 = costs.iter().map(|cost| cost.packet_hops).sum();
    let times = expected as f64 / packet_hops(&outcome) as f64;
    assert!(
        (0.5..=2.0).contains(&times),
        "{times:.2} times its packet-hops"
    );
}
