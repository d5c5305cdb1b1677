//! A scenario that is run, and what its result says.

use std::path::Path;

use unpause_scenario::{NoProgress, Options, Outcome, Scenario, execute};

/// The result of a scenario that is valid.
pub fn run(source: &str) -> Outcome {
    let scenario = Scenario::parse(source, Path::new("test.toml"))
        .unwrap_or_else(|error| panic!("{}", error.explain()));
    execute(&scenario, &Options::default(), &NoProgress).unwrap()
}

/// Its warnings, each with its kind.
pub fn messages(outcome: &Outcome) -> Vec<String> {
    let said = outcome.warnings.iter();
    said.map(|w| format!("{}: {}", w.kind, w.message)).collect()
}
