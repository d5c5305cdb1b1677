//! RCCC, alone and with NSCC, against the published rows of uet-htsim, on its fabric: a fat-tree with 16 hosts, 100 Gb/s and 1 us a
//! link, packets of 4,086 bytes in frames of 4,150, switches that trim. Its times end at the sender's last ACK, 6.03 us later.

use crate::small::{self, fcts_and_trimmed, refusal};

const NETWORK: &str = r#"
duration = "10ms"

[topology]
builder = "fat-tree"
k = 4
host_rate = "100Gbps"
delay = "1us"

[host]
payload = "4086B"
header = "64B"
preamble_and_gap = "0B"
ack_size = "64B"

[switch]
lossless = []
lossy_queue = "175284B"

[switch.trimming]
size = "64B"
cut = "either"

[[scheme]]
name = "RCCC"
congestion_control = "rccc"
loss_recovery = "selective-repeat"
set = { "host.spraying" = "bitmap", "host.paths" = 64 }
rccc = { base_rtt = "14022720ps", kmin = "35056B", kmax = "140227B" }
"#;

const ONE: &str = r#"
[[traffic]]
name = "flows"
kind = "flow"
from = "H1"
to = "H15"
size = "2MB"
"#;

const INCAST: &str = r#"
[[traffic]]
name = "flows"
kind = "burst"
from = "H1..H15"
to = "H0"
size = "2MB"
"#;

fn both() -> String {
    NETWORK
        .replace("\"rccc\"", "\"nscc\"")
        .replace("rccc = { ", "nscc = { credits = true, ")
}

/// FCTs in ns in order, and packets trimmed.
fn run(source: &str) -> (Vec<f64>, u64) {
    fcts_and_trimmed(&small::run(source))
}

/// 177.4 us there, 1.2 us of them since the pacer is slower than the link.
#[test]
fn one_flow_is_paced() {
    for network in [NETWORK.to_owned(), both()] {
        let (fcts, trimmed) = run(&format!("{network}{ONE}"));
        assert!((171_000.0..171_800.0).contains(&fcts[0]), "{fcts:?}");
        assert_eq!(trimmed, 0);
    }
}

/// 15 to 1: the last flow takes 2,464 us there, 1.04 times as long as the first; 762 packets are trimmed.
#[test]
fn an_incast_is_fair() {
    for network in [NETWORK.to_owned(), both()] {
        let (fcts, trimmed) = run(&format!("{network}{INCAST}"));
        let (first, last) = (fcts[0], fcts[14]);
        assert!((2_437_600.0..=2_480_000.0).contains(&last), "{last}");
        assert!(last / first <= 1.06, "{first} {last}");
        assert!((600..=900).contains(&trimmed), "{trimmed}");
    }
}

#[test]
fn what_cannot_be_is_refused_at_its_place() {
    for (from, to, expected) in [
        (
            "loss_recovery = \"selective-repeat\"\nset = { \"host.spraying\" = \"bitmap\", \"host.paths\" = 64 }",
            "",
            "a credit is for a single packet",
        ),
        ("14022720ps", "0ps", "`base_rtt` is zero"),
        ("14022720ps", "100ms", "too much credit"),
        ("10ms", "5s", "cannot be that long"),
        ("rccc = { ", "rccc = { credits = true, ", "credits"),
        ("rccc = { ", "nscc = { ", "[scheme.nscc] has no effect"),
    ] {
        let source = format!("{NETWORK}{ONE}");
        assert!(source.contains(from));
        let refused = refusal(&source.replace(from, to));
        assert!(refused.contains(expected), "{refused}");
    }
    let source = both().replace("\"bitmap\"", "\"reps\"") + ONE;
    let refused = refusal(&source.replace("14022720ps", "100ms"));
    assert!(refused.contains("too much credit"), "{refused}");
}

/// Four hosts for each uplink: receivers slow their pacers by themselves, and few packets are trimmed after the start. Without that
/// they grant four times what the uplinks carry.
#[test]
fn receivers_grant_what_an_oversubscribed_fabric_carries() {
    let fabric = NETWORK.replace(
        "builder = \"fat-tree\"\nk = 4",
        "builder = \"leaf-spine\"\nleaves = 4\nspines = 1\nhosts_per_leaf = 4",
    );
    let with = |key: &str| {
        let source = fabric.replace("rccc = { ", &format!("rccc = {{ {key}"));
        run(&(source + "[[traffic]]\nname = \"all\"\nkind = \"permutation\"\nsize = \"1MB\"\n"))
    };
    let (fcts, trimmed) = with("");
    assert_eq!(with("oversubscribed = true, "), (fcts.clone(), trimmed));
    let (unslowed, more) = with("oversubscribed = false, ");
    assert!(5 * trimmed < more, "{trimmed} {more}");
    let (last, unslowed) = (fcts.last().unwrap(), unslowed.last().unwrap());
    assert!(*last < 1.1 * unslowed, "{last} {unslowed}");
}

/// From 100 us on nothing that H0 sends reaches anybody: neither ACKs nor credit.
#[test]
fn a_flow_without_credit_is_named() {
    let lost =
        "\n[[event]]\nkind = \"error-rate\"\nlink = \"H0->edge0\"\nloss = 1.0\nat = \"100us\"\n";
    let outcome = small::run(&(NETWORK.to_owned() + INCAST + lost));
    let of_kind = |kind: &str| {
        let mut all = outcome.warnings.iter();
        all.find(|it| it.kind == kind).map(|it| it.message.as_str())
    };
    let unfinished = of_kind("unfinished-flows").unwrap_or_default();
    let waits = "15 of 15 flows of traffic `flows` were not complete at the end: 15 of them have been waiting for credit from its receiver, the first since ";
    assert!(
        unfinished.starts_with(waits),
        "{:?}",
        small::messages(&outcome)
    );
    let stuck = of_kind("stuck-flows").unwrap_or_default();
    assert!(
        stuck.contains("has been waiting for credit from its receiver since "),
        "{stuck}"
    );
}
