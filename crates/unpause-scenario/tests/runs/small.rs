//! A small result, for tests of its directory.

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
