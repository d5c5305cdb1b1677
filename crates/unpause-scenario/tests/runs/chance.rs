//! Effects of chance: seeds that change nothing, and flows that nanoseconds of phase decide about.

use arrow_array::cast::AsArray as _;
use arrow_array::types::UInt64Type;
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
            .contains("dropped packets of `two`, whose rates are fixed"),
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

/// Jitter gives the flows another phase, which decides as much. Marks that no queue ever reaches control nothing, and nothing
/// controls datagrams. Clocks that differ let phases drift.
#[test]
fn phase_decides_whatever_is_not_slowed_down() {
    let late = format!("{SIZE}\njitter = \"5us\"");
    let never = "congestion_control = \"dcqcn\"\ndcqcn = { kmin = \"30MB\", kmax = \"40MB\" }";
    let marks = "congestion_control = \"dcqcn\"";
    let free = format!("{SIZE}\ncontrolled = false");
    let datagrams = |scheme: &str, traffic: &str| {
        let udp = TWO.replace("[host]\nretransmit_timeout = \"200us\"\n", "");
        let udp = udp.replace("LOSSLESS", "").replace("SCHEME", scheme);
        small::run(&udp.replace("TRAFFIC", &format!("{traffic}\ntransport = \"udp\"")))
    };
    for (why, outcome, runs) in [
        ("jitter", run("", "", &late, 1), &[0][..]),
        ("no mark", run("", never, SIZE, 1), &[0]),
        ("UDP", datagrams("", SIZE), &[0]),
        ("UDP with jitter", datagrams("", &late), &[0]),
        ("UDP beside a law", datagrams(marks, SIZE), &[0]),
        (
            "UDP, drawn by WRED",
            datagrams("marking = \"wred\"", SIZE),
            &[],
        ),
        ("not controlled", run("", marks, &free, 1), &[0]),
        ("RoCE under a law", run("", marks, &late, 1), &[]),
    ] {
        assert_eq!(runs_of(&outcome, "phase"), runs, "{why}");
    }
    let drifting = TWO.replace("[host]", "[host]\nclock_tolerance = \"100ppm\"");
    let drifting = drifting.replace("LOSSLESS", "").replace("SCHEME", "");
    let outcome = small::run(&drifting.replace("TRAFFIC", SIZE));
    assert_eq!(runs_of(&outcome, "phase"), [0; 0]);
}

/// Four equal senders of datagrams share a port of 10 Gb/s. With exact clocks one of them has nearly all of it; a measured switch splits
/// the loss to within half a percent. A frame takes 0.85 us, and two clocks drawn from 200 ppm differ by 67 ppm on average: the one
/// sender slips past the other by a frame in 13 ms, 8 times in 100 ms. A share of 1/4 is off by no more than one of these 8 turns.
#[test]
fn equal_senders_share_alike_if_clocks_differ() {
    let shares = |tolerance: &str, seed: u32| {
        let source = format!(
            "duration = \"100ms\"\nseed = {seed}\n[topology]\nbuilder = \"single-switch\"\nhosts = 5\nrate = \"10Gbps\"\n\
             delay = \"10us\"\n[host]\n{tolerance}\n[switch]\nlossless = []\nlossy_queue = \"200KB\"\n\
             [[scheme]]\nname = \"x\"\n[[traffic]]\nname = \"t\"\nkind = \"flow\"\nfrom = \"H1..H4\"\nto = \"H0\"\n\
             transport = \"udp\"\n"
        );
        let outcome = small::run(&source);
        let bytes = outcome.tables.flows["delivered_bytes"].as_primitive::<UInt64Type>();
        let all: u64 = bytes.values().iter().sum();
        let shares = bytes.values().iter();
        let shares: Vec<f64> = shares.map(|bytes| *bytes as f64 / all as f64).collect();
        let most = shares.iter().copied().fold(0.0, f64::max);
        let least = shares.iter().copied().fold(1.0, f64::min);
        (least, most, runs_of(&outcome, "phase").len())
    };
    let (least, most, notes) = shares("", 1);
    assert!(least < 0.05 && most > 0.9, "{least} {most}");
    assert_eq!(notes, 1);
    for seed in 1..=3 {
        let (least, most, notes) = shares("clock_tolerance = \"100ppm\"", seed);
        assert!(least > 0.125 && most < 0.375, "{seed}: {least} {most}");
        assert_eq!(notes, 0);
    }
}

#[test]
fn clocks_of_one_rate_may_not_differ_much() {
    let wide = TWO.replace("[host]", "[host]\nclock_tolerance = \"1%\"");
    let wide = wide.replace("LOSSLESS", "").replace("SCHEME", "");
    let said = small::refusal(&wide.replace("TRAFFIC", SIZE));
    assert!(
        said.contains("`clock_tolerance` is above 1000 ppm") && said.contains("100ppm"),
        "{said}"
    );
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
