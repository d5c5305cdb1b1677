//! What chance decides: seeds that change nothing, and flows that nanoseconds of phase decide about.

use std::path::Path;

use unpause_scenario::{NoProgress, Options, Outcome, Scenario, execute};

/// Two hosts send to H0 through a queue of `LOSSLESS` priorities.
const TWO: &str = r#"
duration = "1ms"

[topology]
builder = "single-switch"
hosts = 4
rate = "100Gbps"
delay = "1us"

[switch]
lossless = [LOSSLESS]

[host]
retransmit_timeout = "200us"

[[scheme]]
name = "PFC"
SCHEME

[[traffic]]
name = "two"
kind = "burst"
from = "H1..H2"
to = "H0"
TRAFFIC
"#;

const SIZE: &str = "size = \"4MB\"";

fn run(lossless: &str, scheme: &str, traffic: &str, seeds: u32) -> Outcome {
    let source = TWO
        .replace("LOSSLESS", lossless)
        .replace("SCHEME", scheme)
        .replace("TRAFFIC", traffic);
    let scenario = Scenario::parse(&source, Path::new("test.toml"));
    let scenario = scenario.unwrap_or_else(|error| panic!("{}", error.explain()));
    let options = Options {
        seeds: Some(seeds),
        ..Options::default()
    };
    execute(&scenario, &options, &NoProgress).unwrap()
}

/// Runs that a warning of this kind is about.
fn runs_of(outcome: &Outcome, kind: &str) -> Vec<u32> {
    let of_kind = outcome.warnings.iter().filter(|it| it.kind == kind);
    of_kind.map(|it| it.run).collect()
}

const RANDOM: &str = "size = \"1MB\"\nmean_interval = \"100us\"";

#[test]
fn seeds_that_change_nothing_are_told_of() {
    let same = run("3", "", SIZE, 3);
    assert_eq!(runs_of(&same, "same-seeds"), [0, 1, 2]);
    let random = run("3", "", RANDOM, 3);
    assert_eq!(runs_of(&random, "same-seeds"), [0; 0]);
    // Marks by probability, though flows start alike.
    let marks =
        "congestion_control = \"dcqcn\"\ndcqcn = { kmin = \"20KB\", kmax = \"400KB\", pmax = 0.2 }";
    assert_eq!(runs_of(&run("3", marks, SIZE, 2), "same-seeds"), [0; 0]);
    assert_eq!(runs_of(&run("3", "", SIZE, 1), "same-seeds"), [0; 0]);
    // PFC beside it draws nothing, but the comparison needs the seeds.
    let both = format!("[[scheme]]\nname = \"DCQCN\"\n{marks}");
    assert_eq!(runs_of(&run("3", &both, SIZE, 2), "same-seeds"), [0; 0]);
}

/// Of a swept seed it is told, too, for each value of what else is swept.
#[test]
fn a_sweep_over_seeds_is_one_over_nothing() {
    let sweep = "\n[[sweep]]\nname = \"draw\"\nkey = \"seed\"\nvalues = [1, 2]\n\
                 [[sweep]]\nname = \"xoff\"\nkey = \"pfc.xoff\"\nunit = \"KB\"\nvalues = [64, 128]\n";
    let same = run("3", "", &format!("{SIZE}\n{sweep}"), 1);
    assert_eq!(runs_of(&same, "same-seeds"), [0, 1, 2, 3]);
    let random = run("3", "", &format!("{RANDOM}\n{sweep}"), 1);
    assert_eq!(runs_of(&random, "same-seeds"), [0; 0]);
}

#[test]
fn losses_that_phase_decides_are_told_of() {
    let lossy = run("", "", SIZE, 1);
    assert_eq!(runs_of(&lossy, "phase"), [0]);
    let said = lossy.warnings.iter().find(|it| it.kind == "phase").unwrap();
    assert!(
        said.message
            .contains("dropped packets of `two`, whose starts and rates are fixed"),
        "{}",
        said.message
    );
    for (why, outcome) in [
        ("nothing is lost", run("3", "", SIZE, 1)),
        ("starts are random", run("", "", RANDOM, 1)),
        (
            "senders slow down",
            run("", "congestion_control = \"dcqcn\"", SIZE, 1),
        ),
        (
            "one sender",
            run("", "", &format!("{SIZE}\nrate_limit = \"40Gbps\""), 1),
        ),
    ] {
        assert_eq!(runs_of(&outcome, "phase"), [0; 0], "{why}");
    }
}
