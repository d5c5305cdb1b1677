//! Effects of chance: seeds that change nothing, and flows that nanoseconds of phase decide about.

use unpause_scenario::{Options, Outcome};

use crate::small::{self, run_with};

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
    let options = Options {
        seeds: (seeds > 1).then_some(seeds),
        ..Options::default()
    };
    run_with(&source, &options)
}

/// Runs that a warning of this kind is about.
fn runs_of(outcome: &Outcome, kind: &str) -> Vec<u32> {
    let of_kind = outcome.warnings.iter().filter(|it| it.kind == kind);
    of_kind.map(|it| it.run).collect()
}

const RANDOM: &str = "size = \"1MB\"\nmean_interval = \"100us\"";

#[test]
fn seeds_that_change_nothing_are_reported() {
    let same = run("3", "", SIZE, 3);
    assert_eq!(runs_of(&same, "same-seeds"), [0, 1, 2]);
    // Errors that hit no frame are drawn all the same.
    let errors = "\n[[event]]\nkind = \"error-rate\"\nlink = \"all\"\nloss = 1e-9";
    let hit_none = run("3", "", &format!("size = \"10KB\"{errors}"), 2);
    let said = hit_none.warnings.iter().find(|it| it.kind == "same-seeds");
    let said = said.expect("both seeds are alike");
    assert_eq!(
        said.message,
        "every seed gives the same result: nothing that is drawn at random made a difference"
    );
    assert!(
        said.help
            .as_ref()
            .is_some_and(|it| it.contains("jitter") && it.contains("errors of links"))
    );
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
fn losses_that_phase_decides_are_reported() {
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
            "starts have jitter",
            run("", "", &format!("{SIZE}\njitter = \"5us\""), 1),
        ),
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

/// Of two flows only one comes by the slow link that drops packets: there is no phase to the other.
#[test]
fn losses_of_a_lonely_sender_are_not_of_phase() {
    let source = |to: &str| {
        format!(
            "duration = \"1ms\"\n[topology]\nbuilder = \"explicit\"\nhosts = \"H0..H3\"\nswitches = [\"S\"]\ndelay = \"1us\"\n\
             rate = \"100Gbps\"\nlink = [{{ a = \"H0\", b = \"S\" }}, {{ a = \"H1\", b = \"S\", rate = \"10Gbps\" }}, \
             {{ a = \"H2\", b = \"S\" }}, {{ a = \"H3\", b = \"S\" }}]\n\
             [switch]\nlossless = []\nlossy_queue = \"20KB\"\n[[scheme]]\nname = \"x\"\n\
             [[traffic]]\nname = \"u\"\nkind = \"flow\"\nfrom = \"H0\"\nto = \"H1\"\nsize = \"100KB\"\n\
             [[traffic]]\nname = \"v\"\nkind = \"flow\"\nfrom = \"H2\"\nto = \"{to}\"\nsize = \"100KB\"\n"
        )
    };
    let phase = |to: &str| {
        let outcome = small::run(&source(to));
        runs_of(&outcome, "phase")
    };
    assert_eq!(phase("H3"), [0; 0]);
    assert_eq!(phase("H1"), [0]);
}
