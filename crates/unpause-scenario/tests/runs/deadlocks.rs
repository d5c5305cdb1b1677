//! Buffers that wait for one another in a cycle, and deadlocks that follow.

use std::path::Path;

use unpause_scenario::{Outcome, Scenario, Summary};

use crate::small::{parsed, run};

/// Five switches in a ring: what goes two links further turns a corner.
const RING: &str = r#"
duration = "100us"

[topology]
builder = "explicit"
hosts = "H0..H4"
switches = "S0..S4"
rate = "40Gbps"
delay = "1us"
LINKS

[[scheme]]
name = "PFC"

[[scheme]]
name = "PCN"
congestion_control = "pcn"

[[traffic]]
name = "two links"
kind = "flow"
from = "H0"
to = "H2"
"#;

fn ring(parallel: u32) -> String {
    let links = (0..5).map(|i| {
        let next = (i + 1) % 5;
        format!(
            "[[topology.link]]\na = \"S{i}\"\nb = \"S{next}\"\nparallel = {parallel}\n\
             [[topology.link]]\na = \"S{i}\"\nb = \"H{i}\"\n"
        )
    });
    RING.replace("LINKS", &links.collect::<String>())
}

#[test]
fn a_cycle_of_buffers_is_named_before_and_after_the_run() {
    let scenario = parsed(&ring(1));
    let [warning] = &*scenario.warnings() else {
        panic!("said once for all schemes")
    };
    assert_eq!(
        warning.message,
        "PFC can deadlock: buffers wait for one another in a cycle: \
         S0->S1 -> S1->S2 -> S2->S3 -> S3->S4 -> S4->S0 -> S0->S1"
    );
    let outcome = run(&ring(1));
    let after = outcome
        .warnings
        .iter()
        .filter(|w| w.message == warning.message);
    assert_eq!(after.map(|w| w.run).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn parallel_links_are_told_apart() {
    let scenario = parsed(&ring(2));
    let said = &scenario.warnings()[0].message;
    assert!(said.contains("S0->S1 (port 0) -> S1->S2 (port "), "{said}");
}

/// Every host sends to the one two switches further.
#[test]
fn a_deadlock_is_reported_with_its_ports_and_its_time() {
    let mut source = ring(1).replace("100us", "20ms") + "[pfc]\nxoff = \"20KB\"\n";
    for i in 1..5 {
        source += &format!(
            "[[traffic]]\nname = \"{i}\"\nkind = \"flow\"\nfrom = \"H{i}\"\nto = \"H{}\"\n",
            (i + 2) % 5
        );
    }
    let began = |outcome: &Outcome| Summary::of(&outcome.tables)[0].deadlock_began_ns;
    let unseen = run(&source);
    assert_eq!(began(&unseen), None);
    assert!(unseen.warnings.iter().all(|w| w.kind != "deadlock"));

    source += "[probes]\ndeadlock = \"500us\"\ndeadlock_hold = \"2ms\"\n";
    let outcome = run(&source);
    assert!(began(&outcome).is_some_and(|ns| ns < 1e7));
    let said = outcome.warnings.iter().find(|w| w.kind == "deadlock");
    let message = &said.expect("a warning").message;
    assert!(message.starts_with("PFC deadlocked at "), "{message}");
    let ports = "in priority 3: S0->S1 -> S1->S2 -> S2->S3 -> S3->S4 -> S4->S0 -> S0->S1; the run";
    assert!(message.contains(ports), "{message}");
}

#[test]
fn lossy_priorities_have_no_cycle() {
    let lossy = ring(1) + "[switch]\nlossless = []\n";
    let scenario = parsed(&lossy);
    assert_eq!(scenario.warnings(), []);
}

/// Names of switches may have ranges.
const DRAGONFLY: &str = r#"
duration = "100us"

[topology]
builder = "dragonfly"
switches_per_group = 2
hosts_per_switch = 1
global_links = 2
host_rate = "40Gbps"
delay = "1us"

[switch]
balancing = "BALANCING"

[probes]
ports = ["group0-switch0..group0-switch1->group4-*"]

[[scheme]]
name = "PFC"

[[traffic]]
name = "far"
kind = "flow"
from = "H0"
to = "H9"
"#;

#[test]
fn a_dragonfly_has_cycles_whichever_its_routing() {
    for balancing in ["ecmp", "valiant"] {
        let source = DRAGONFLY.replace("BALANCING", balancing);
        let scenario = parsed(&source);
        let [warning] = &*scenario.warnings() else {
            panic!("{balancing}: {:?}", scenario.warnings());
        };
        assert_eq!(warning.kind, "cyclic-buffers");
        let help = warning.help.as_deref().unwrap_or_default();
        assert!(help.starts_with("in a dragonfly, paths over several groups have such cycles"));
    }
    // As the help advises.
    let lossy = DRAGONFLY.replace("BALANCING", "valiant\"\nlossless = []\n#")
        + "[scheme.set]\n\"switch.trimming.size\" = \"64B\"\n";
    let lossy = lossy.replace(
        "name = \"PFC\"",
        "name = \"PFC\"\nloss_recovery = \"selective-repeat\"",
    );
    let scenario = parsed(&lossy);
    assert_eq!(scenario.warnings(), []);
}

#[test]
fn of_the_shipped_scenarios_only_the_damaged_pod_can_deadlock() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
    for (file, cyclic) in [
        ("papers/pcn/scenarios/f2.toml", false),
        ("scenarios/incast.toml", false),
        ("scenarios/clos-websearch.toml", false),
        ("papers/pcn/scenarios/f21.toml", true),
    ] {
        let scenario = Scenario::load(&Path::new(root).join(file)).unwrap();
        let warnings = scenario.warnings();
        assert_eq!(!warnings.is_empty(), cyclic, "{file}: {warnings:?}");
    }
}

/// Up, then down: the fabrics that builders make, at sizes that are checked at every `validate`.
#[test]
fn undamaged_fabrics_have_no_cycle() {
    let fat_tree = "builder = \"fat-tree\"\nk = 16";
    let clos = "builder = \"clos\"\npods = 8\ntors_per_pod = 4\nleaves_per_pod = 2\nspines = 8\n\
                hosts_per_tor = 16\ntor_leaf_links = 2";
    for builder in [fat_tree, clos] {
        let source = format!(
            "duration = \"1ms\"\n[topology]\n{builder}\nhost_rate = \"10Gbps\"\ndelay = \"5us\"\n\
             [[scheme]]\nname = \"PFC\"\n\
             [[traffic]]\nname = \"far\"\nkind = \"flow\"\nfrom = \"H0\"\nto = \"H511\"\n"
        );
        let scenario = parsed(&source);
        assert_eq!(scenario.warnings(), [], "{builder}");
    }
}
