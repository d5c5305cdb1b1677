//! Small runs and their results.

use std::path::Path;

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
