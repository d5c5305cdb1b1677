//! A result says what its reader should know: drops, silence, and what to do about them.

use unpause_scenario::{Scenario, Summary};

use crate::small::{messages, parsed, run};

const SCENARIO: &str = r#"
duration = "2ms"

[topology]
builder = "single-switch"
hosts = 5
rate = "40Gbps"
delay = "5us"

[pfc]
xoff = "100KB"
headroom = "HEADROOM"

[[scheme]]
name = "PFC"

[[traffic]]
name = "incast"
kind = "burst"
from = "H0..H2"
to = "H3"
size = "1MB"

[[traffic]]
name = "late"
kind = "flow"
from = "H0"
to = "H1"
start = "3ms"

[probes]
ports = ["S0->H3", "S0->H4"]
"#;

#[test]
fn right_headroom_drops_nothing() {
    let outcome = run(&SCENARIO.replace("headroom = \"HEADROOM\"\n", ""));
    assert_eq!(
        messages(&outcome),
        [
            "empty-probe: probe S0->H4 recorded nothing: no packet was sent on this port",
            "late-traffic: test.toml:2: traffic `late` starts at 3ms, the run ends at 2ms: no flow of it runs",
        ]
    );
    let summary = &Summary::of(&outcome.tables)[0];
    assert_eq!((summary.flows_completed, summary.dropped_packets), (3, 0));
    assert!(summary.pause_events > 0);
}

#[test]
fn small_headroom_names_port_and_remedy() {
    let outcome = run(&SCENARIO.replace("HEADROOM", "10KB"));
    let said = messages(&outcome);
    let first = &said[0];
    assert!(
        first.starts_with("headroom-drops: S0 port 0 (to H0), S0 port 1 (to H1) and S0 port 2 (to H2) dropped 4,890 packets "),
        "{first}"
    );
    let rest = "of lossless priority 3: headroom 10 KB is too small; by IEEE 802.1Q this link needs 52.2 KB beyond XOFF \
                (cable 5us, frames 1048B, reaction 0ps)";
    assert!(first.ends_with(rest), "{first}");
    assert!(
        outcome.warnings[0]
            .help
            .as_deref()
            .unwrap()
            .contains("pfc.headroom")
    );
}

/// A hint about a priority names the table that sets it.
#[test]
fn a_lossy_priority_is_to_be_changed_where_it_is_set() {
    let begin = &SCENARIO[..SCENARIO.find("[[traffic]]").unwrap()];
    let begin = begin.replace("headroom = \"HEADROOM\"\n", "");
    let job = "[[job]]\nname = \"j\"\nranks = 4\npriority = 1\ncollective = \"all-reduce\"\nsize = \"1MB\"\n";
    let flow = "[[traffic]]\nname = \"f\"\nkind = \"flow\"\nfrom = \"H0\"\nto = \"H1\"\nsize = \"1MB\"\npriority = 1\n";
    for (entry, place) in [
        (job, "set priority = 3 in [[job]] `j`, or lossless = [1]"),
        (
            flow,
            "set priority = 3 in [[traffic]] `f`, or in its file if it has one, or",
        ),
    ] {
        let outcome = run(&format!("{begin}{entry}"));
        let mut warnings = outcome.warnings.iter();
        let found = warnings.find(|it| it.kind == "lossy-roce");
        let help = found.and_then(|it| it.help.clone()).unwrap_or_default();
        assert!(help.starts_with(place), "{help}");
    }
}

/// PAUSE of the buffer that QCN watches would act first.
#[test]
fn an_equilibrium_above_xoff_is_warned_of_before_and_after_the_run() {
    let source = |q_eq: &str| {
        SCENARIO
            .replace("headroom = \"HEADROOM\"\n", "[switch]\nmodel = \"cioq\"\n")
            .replace(
                "name = \"PFC\"\n",
                "name = \"QCN\"\ncongestion_control = \"qcn\"\n[scheme.qcn]\nmode = \"input-arrival\"\n\
                 q_eq = \"Q_EQ\"\n",
            )
            .replace("Q_EQ", q_eq)
    };
    let scenario = parsed(&source("100KB"));
    let expected =
        "PAUSE acts before QCN: its equilibrium q_eq is 100 KB, XOFF of the same buffer 100 KB";
    let of_input = |scenario: &Scenario| -> Vec<String> {
        let warnings = scenario.warnings().into_iter();
        let of_input = warnings.filter(|w| w.kind == "input");
        of_input.map(|w| w.message).collect()
    };
    let before = of_input(&scenario);
    let overflow = "input buffers of 150KB may overflow: XOFF and headroom are 152160B together";
    assert_eq!(before, [overflow, expected]);
    let after = messages(&run(&source("100KB")));
    assert!(after.contains(&format!("input: {expected}")), "{after:?}");
    let small = parsed(&source("60KB"));
    let of_small = of_input(&small);
    // 40 Gb/s over 5 us need more than 50 KB above XOFF.
    assert_eq!(of_small, [overflow]);
    assert!(after.contains(&format!("input: {overflow}")), "{after:?}");
}

/// Nobody who leaves the step of hyper increase as it is waits for it to act.
#[test]
fn a_step_that_was_chosen_and_can_never_act_is_told() {
    // A flow without end has bytes for any number of cycles.
    let sized = SCENARIO.replace("start = \"3ms\"", "start = \"1ms\"\nsize = \"1MB\"");
    let dcqcn = sized.replace("HEADROOM", "200KB").replace(
        "name = \"PFC\"\n",
        "name = \"DCQCN\"\ncongestion_control = \"dcqcn\"\n",
    );
    let told = |source: &str| {
        let said = messages(&run(source));
        said.iter().any(|it| it.contains("`rate_hai` never acts"))
    };
    assert!(!told(&dcqcn));
    let chosen = dcqcn.replace(
        "congestion_control = \"dcqcn\"\n",
        "congestion_control = \"dcqcn\"\ndcqcn.rate_hai = \"100Mbps\"\n",
    );
    assert!(told(&chosen));
    let by_the_timer = chosen.replace(
        "dcqcn.rate_hai",
        "dcqcn.byte_counter = \"none\"\ndcqcn.rate_hai",
    );
    assert!(!told(&by_the_timer));
}

/// XOFF of the override is what no ingress reached; where there are several, none is named.
#[test]
fn thresholds_of_overrides_are_those_that_no_ingress_reached() {
    let never = |own: &str| {
        let source = SCENARIO.replace("headroom = \"HEADROOM\"\n", "");
        let source = source
            .replace("1MB", "100KB")
            .replace("[[scheme]]", &format!("{own}\n[[scheme]]"));
        let said = messages(&run(&source));
        said.into_iter()
            .filter(|it| it.starts_with("never-triggered") || it.starts_with("lossless-drops"))
            .collect::<Vec<_>>()
    };
    let held = "never-triggered: no PAUSE was sent: no ingress of a switch held more than";
    let [said] = &*never("[[override]]\nswitches = \"S0\"\nxoff = \"400KB\"") else {
        panic!("one note");
    };
    assert!(said.starts_with(held), "{said}");
    assert!(said.ends_with(", XOFF is 400 KB"), "{said}");
    let [said] = &*never(
        "[[override]]\nports = \"S0->H0\"\nxoff = \"400KB\"\n[[override]]\nports = \"S0->H1\"\nxoff = \"300KB\"\n[[override]]\nports = \"S0->H2\"\nxoff = \"300KB\"",
    ) else {
        panic!("one note");
    };
    assert!(said.starts_with(held) && !said.contains("XOFF"), "{said}");
    // Nothing is lossless there, and so nothing lossless is dropped.
    let lossy = "[[override]]\nswitches = \"S0\"\nlossless = []\nlossy_queue = \"50KB\"";
    assert_eq!(
        never(lossy),
        [
            "never-triggered: no PAUSE was sent: overrides leave no switch with PFC for a priority of the traffic"
        ]
    );
}

/// The NIC of H2 takes nothing from 100 us to 500 us; the watchdog looks every 50 us.
const STORM: &str = r#"
duration = "1ms"

[topology]
builder = "two-switch"
left = "H0..H1"
right = "H2..H3"
rate = "10Gbps"
delay = "1us"

[host]
retransmit_timeout = "300us"

[slow_receiver]
hosts = "H2"
start = "100us"
stop = "500us"
xoff = "20KB"

[pfc]
pause_time = "20us"
xoff = "40KB"

[switch.watchdog]
detection_time = "100us"
restoration_time = "100us"
poll_interval = "50us"
WATCHDOG

[[scheme]]
name = "PFC"

[[traffic]]
name = "t"
kind = "flow"
from = "H0..H1"
to = ["H2", "H3"]
"#;

/// Messages and hints about storms with these keys of the watchdog.
fn storms(keys: &str) -> Vec<String> {
    let file = STORM.replace("WATCHDOG", keys);
    let outcome = run(&file);
    let of_kind = outcome.warnings.iter().filter(|it| it.kind == "pfc-storm");
    assert!(of_kind.clone().all(|it| it.note));
    of_kind
        .map(|it| {
            format!(
                "{}\n  {}",
                it.message,
                it.help.as_deref().unwrap_or_default()
            )
        })
        .collect()
}

#[test]
fn storms_are_told_with_who_sends_the_pause() {
    insta::assert_snapshot!(storms("").join("\n"), @r#"
PFC storm from H2: S1->H2, priority 3, was paused from 134.0032us; the watchdog of S1 detected this at 250us, over at 650us; it dropped 277 data packets
  look at the NIC of H2, which sends PAUSE; table storms has the numbers
"#);
    insta::assert_snapshot!(storms("action = \"alert\"").join("\n"), @r#"
PFC storm from H2: S1->H2, priority 3, was paused from 134.0032us; the watchdog of S1 detected this at 250us, over at 650us; it only reports it
  look at the NIC of H2, which sends PAUSE; table storms has the numbers
PFC storm from S1: S0->S1, priority 3, was paused from 197.56us; the watchdog of S0 detected this at 300us, over at 650us; it only reports it
  S1 is a switch: look further upstream for the cause of its PAUSE, or for a deadlock; with switch.watchdog.ports = "hosts" only ports to hosts have a watchdog; table storms has the numbers
"#);
    insta::assert_snapshot!(storms("ports = \"hosts\"\naction = \"forward\"").join("\n"), @r#"
PFC storm from H2: S1->H2, priority 3, was paused from 134.0032us; the watchdog of S1 detected this at 250us, over at 650us; it sent although it was paused
  look at the NIC of H2, which sends PAUSE; table storms has the numbers
"#);
}

const TWO_PATHS: &str = r#"
duration = "1ms"

[topology]
builder = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
host_rate = "40Gbps"
delay = "1us"

[switch]
balancing = "random"

[[scheme]]
name = "GoBackN"

[[scheme]]
name = "Selective"
loss_recovery = "selective-repeat"

[[scheme]]
name = "Hasty"
loss_recovery = "selective-repeat"
[scheme.selective-repeat]
reordering = 0

[[traffic]]
name = "across"
kind = "flow"
from = ["H0", "H1"]
to = ["H2", "H3"]
size = "500KB"
"#;

#[test]
fn packets_that_were_only_overtaken_are_told_from_lost_ones() {
    let outcome = run(TWO_PATHS);
    let said: Vec<(&str, &str)> = outcome
        .warnings
        .iter()
        .filter(|it| it.kind == "reordering")
        .map(|it| (it.scheme.as_str(), it.message.as_str()))
        .collect();
    let [(first, go_back_n), (second, hasty)] = said[..] else {
        panic!("{said:?}");
    };
    assert_eq!((first, second), ("GoBackN", "Hasty"));
    assert!(
        go_back_n.starts_with("4 flows retransmitted "),
        "{go_back_n}"
    );
    assert!(go_back_n.ends_with("as lost"), "{go_back_n}");
    assert!(hasty.contains("`reordering`"), "{hasty}");

    // By one path each, nothing is overtaken.
    let hashed = run(&TWO_PATHS.replace("random", "ecmp"));
    assert!(hashed.warnings.iter().all(|it| it.kind != "reordering"));
}

/// The queue at the last of six switches is the sixth that a packet comes to.
#[test]
fn telemetry_that_does_not_reach_the_last_switch_is_named() {
    let chain = |switches: usize| {
        let last = switches - 1;
        let link = |a: &str, b: String| format!("[[topology.link]]\na = \"{a}\"\nb = \"{b}\"\n");
        let ends = [("H0", 0), ("H1", 0), ("H2", last)];
        let mut links: String = ends.map(|(host, at)| link(host, format!("S{at}"))).concat();
        for at in 0..last {
            links += &link(&format!("S{at}"), format!("S{}", at + 1));
        }
        format!(
            "duration = \"200us\"\n[topology]\nbuilder = \"explicit\"\nhosts = \"H0..H2\"\nswitches = \"S0..S{last}\"\nrate = \"100Gbps\"\ndelay = \"500ns\"\n{links}[[scheme]]\nname = \"HPCC\"\ncongestion_control = \"hpcc\"\n[[traffic]]\nname = \"incast\"\nkind = \"burst\"\nfrom = \"H0..H1\"\nto = \"H2\"\nsize = \"100KB\"\n"
        )
    };
    let named = |switches| {
        let all = messages(&run(&chain(switches)));
        all.into_iter().find(|it| it.starts_with("long-paths"))
    };
    assert_eq!(named(5), None);
    assert_eq!(
        named(6).as_deref(),
        Some(
            "long-paths: packets crossed more than 5 switches: a packet carries the telemetry of the first 5, and its sender does not see queues behind them"
        )
    );
}
