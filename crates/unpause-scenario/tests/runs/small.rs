//! Small runs and their results.

use std::path::Path;

use arrow_array::Array as _;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, UInt64Type};
use unpause_scenario::{NoProgress, Options, Outcome, Scenario, execute};

/// One flow over one switch, by each of these schemes.
pub fn text(schemes: &[&str]) -> String {
    let schemes = schemes.iter();
    let schemes: String = schemes
        .map(|name| format!("[[scheme]]\nname = \"{name}\"\n"))
        .collect();
    format!(
        "duration = \"50us\"\n\
         [topology]\nbuilder = \"single-switch\"\nhosts = 2\nrate = \"40Gbps\"\ndelay = \"1us\"\n\
         {schemes}\
         [[traffic]]\nname = \"F\"\nkind = \"flow\"\nfrom = \"H0\"\nto = \"H1\"\nsize = \"10KB\"\n"
    )
}

/// The scenario of that text.
pub fn scenario(schemes: &[&str]) -> Scenario {
    Scenario::parse(&text(schemes), Path::new("one.toml")).expect("it is sound")
}

/// Its result.
pub fn outcome(schemes: &[&str], options: &Options) -> Outcome {
    execute(&scenario(schemes), options, &NoProgress).expect("it can be run")
}

/// A scenario, or the text of its errors.
pub fn parse(source: &str) -> Result<Scenario, String> {
    Scenario::parse(source, Path::new("test.toml")).map_err(|error| error.explain())
}

/// A scenario that is valid.
pub fn parsed(source: &str) -> Scenario {
    parse(source).unwrap_or_else(|error| panic!("{error}"))
}

/// The errors of one that is not.
pub fn refusal(source: &str) -> String {
    parse(source).map(|_| ()).expect_err("it is refused")
}

/// The result of a scenario that is valid.
pub fn run(source: &str) -> Outcome {
    run_with(source, &Options::default())
}

/// The same on this many threads.
pub fn run_on(source: &str, threads: usize) -> Outcome {
    let threads = Some(threads);
    run_with(
        source,
        &Options {
            threads,
            ..Options::default()
        },
    )
}

/// The same with these options.
pub fn run_with(source: &str, options: &Options) -> Outcome {
    execute(&parsed(source), options, &NoProgress).expect("it runs")
}

/// A table as CSV.
pub fn csv(outcome: &Outcome, table: &str) -> String {
    let mut text = Vec::new();
    let table = outcome.tables.get(table).expect("there is such a table");
    unpause_scenario::write_csv(table, &mut text).expect("memory takes it");
    String::from_utf8(text).expect("CSV is text")
}

/// FCTs in ns in order, none of them missing, and packets trimmed.
pub fn fcts_and_trimmed(outcome: &Outcome) -> (Vec<f64>, u64) {
    let fcts = outcome.tables.flows["fct_ns"].as_primitive::<Float64Type>();
    assert_eq!(fcts.null_count(), 0);
    let mut fcts = fcts.values().to_vec();
    fcts.sort_by(f64::total_cmp);
    let trimmed = outcome.tables.runs["trimmed_packets"].as_primitive::<UInt64Type>();
    (fcts, trimmed.value(0))
}

/// Its warnings, each with its kind.
pub fn messages(outcome: &Outcome) -> Vec<String> {
    let said = outcome.warnings.iter();
    said.map(|w| format!("{}: {}", w.kind, w.message)).collect()
}
