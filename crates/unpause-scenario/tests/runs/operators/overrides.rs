//! Ports, queues and classes that `[[override]]` sets: what they do, and what is refused.

use arrow_array::cast::AsArray as _;
use arrow_array::types::{UInt8Type, UInt64Type};
use unpause_scenario::Outcome;

use crate::operators::{INCAST, fct_ns, sum, text_of};
use crate::small::{parse, run};

/// Three hosts of a switch; two send to the third in a lossy priority, as datagrams, which nobody repairs.
const LOSSY: &str = r#"
duration = "2ms"
[topology]
builder = "single-switch"
hosts = 3
rate = "10Gbps"
delay = "1us"
[switch]
lossless = [3]
lossy_queue = "1MB"
[[traffic]]
name = "a"
kind = "flow"
from = ["H1", "H2"]
to = "H0"
size = "200KB"
priority = 1
transport = "udp"
[[traffic]]
name = "b"
kind = "flow"
from = ["H1", "H2"]
to = "H0"
size = "200KB"
priority = 2
transport = "udp"
"#;

const PFC: &str = "[[scheme]]\nname = \"PFC\"\n";
const WRED: &str = "[[scheme]]\nname = \"WRED\"\nmarking = \"wred\"\n[scheme.wred]\nkmin = \"10KB\"\nkmax = \"10KB\"\n";

/// The longest queue of a priority at the port to H0.
fn longest(outcome: &Outcome, priority: u8) -> u64 {
    let ports = &outcome.tables.ports;
    let of = ports["priority"].as_primitive::<UInt8Type>();
    let queue = ports["max_queue_bytes"].as_primitive::<UInt64Type>();
    let is_it = |row: &usize| {
        let (node, peer) = (text_of(&ports["node"], *row), text_of(&ports["peer"], *row));
        (node.as_str(), peer.as_str(), of.value(*row)) == ("S0", "H0", priority)
    };
    let rows = (0..queue.len()).filter(is_it);
    rows.map(|row| queue.value(row)).max().unwrap_or(0)
}

fn queues(overrides: &str) -> [u64; 2] {
    let outcome = run(&format!("{LOSSY}{WRED}{overrides}"));
    [1, 2].map(|priority| longest(&outcome, priority))
}

/// Every queue drops what finds more than 10 kB, but for those that say otherwise; datagrams are not ECN-capable.
#[test]
fn wred_has_thresholds_for_each_queue() {
    const FRAME: u64 = 1048;
    assert_eq!(queues(""), [10 * FRAME; 2]);
    let of = |places: &str| {
        format!("[[override]]\n{places}\nkmin = \"50KB\"\nkmax = \"50KB\"\npmax = 1\n")
    };
    let [higher, same] = [48 * FRAME, 10 * FRAME];
    assert_eq!(queues(&of("priorities = [1]")), [higher, same]);
    assert_eq!(queues(&of("ports = \"S0->H*\"")), [higher, higher]);
    assert_eq!(
        queues(&of("ports = \"*->H0\"\npriorities = [2]")),
        [same, higher]
    );
    assert_eq!(queues(&of("ports = \"S0->H1\"")), [same, same]);
    assert_eq!(queues(&of("switches = \"S*\"")), [higher, higher]);
    let [first, second] = queues("[[override]]\npriorities = [2]\nmarking = \"none\"\n");
    assert!(first == same && second > 100_000, "{first} {second}");
}

/// An egress limit below what PFC lets in loses lossless frames in a run, as `egress-drops-first` of lint says, and none for want
/// of headroom. What SONiC ships, the whole pool, loses none.
#[test]
fn an_egress_limit_below_the_ingress_loses_lossless_frames() {
    let incast = "duration = \"5ms\"\n[topology]\nbuilder = \"single-switch\"\nhosts = 4\nrate = \"100Gbps\"\ndelay = \"500ns\"\n\
                  [pfc]\nalpha = \"1/8\"\nheadroom = \"100KB\"\n[switch]\nbuffer = \"5MB\"\n[[scheme]]\nname = \"PFC\"\n\
                  [[traffic]]\nname = \"incast\"\nkind = \"burst\"\nfrom = \"H1..H3\"\nto = \"H0\"\nsize = \"1MB\"\n";
    let lost = |limit: &str| {
        let outcome = run(&format!(
            "{incast}[[override]]\npriorities = [3]\n{limit}\n"
        ));
        let said = format!("{:?}", outcome.warnings);
        let lost =
            ["dropped_packets", "headroom_dropped_packets"].map(|it| sum(&outcome, it, ("*", "*")));
        (lost, said)
    };
    let ([at_queue, headroom], said) = lost("queue_limit = \"300KB\"");
    assert!(at_queue > 0 && headroom == 0);
    assert!(
        said.contains("packets of a lossless priority were dropped"),
        "{said}"
    );
    assert_eq!(lost("queue_limit = \"5MB\"").0, [0, 0]);
    let ([at_queue, _], _) = lost("queue_alpha = \"1/16\"");
    assert!(at_queue > 0);
    assert_eq!(lost("queue_alpha = 8").0, [0, 0]);
}

/// A port that is shaped to a tenth takes ten times as long.
#[test]
fn a_shaped_port_takes_as_long_as_its_rate_says() {
    let flow = "duration = \"20ms\"\n[topology]\nbuilder = \"single-switch\"\nhosts = 2\nrate = \"100Gbps\"\ndelay = \"500ns\"\n\
                [[scheme]]\nname = \"PFC\"\n[[traffic]]\nname = \"f\"\nkind = \"flow\"\nfrom = \"H1\"\nto = \"H0\"\nsize = \"10MB\"\n";
    let fct = |more: &str| fct_ns(&run(&format!("{flow}{more}")))[0];
    let wire = 10_000.0 * 1048.0 * 8.0;
    let plain = fct("");
    assert!((plain - wire / 100.0).abs() < 2_000.0, "{plain}");
    for places in ["ports = \"S0->H0\"", "priorities = [3]"] {
        let shaped = fct(&format!("[[override]]\n{places}\nmax_rate = \"10Gbps\"\n"));
        assert!((shaped - wire / 10.0).abs() < 3_000.0, "{shaped}");
    }
    let other = fct("[[override]]\nports = \"S0->H1\"\nmax_rate = \"10Gbps\"\n");
    // Its ACKs are shaped, and none is waited for.
    assert!((other - plain).abs() < 2_000.0, "{other}");
}

/// Packets of the lossless priority wait in another queue than the one that PAUSE stops: the leaf behind the spine loses what its
/// headroom does not take. `docs/lint.md` calls it `map-mismatch`.
#[test]
fn a_wrong_map_of_classes_loses_packets() {
    let lost = |keys: &str| {
        let spine = format!("{INCAST}[[override]]\nswitches = \"spine0\"\n{keys}\n");
        sum(&run(&spine), "headroom_dropped_packets", ("*", "*"))
    };
    assert!(lost("tc_to_queue = { 3 = 1 }") > 0);
    assert_eq!(lost("tc_to_queue = { 3 = 1 }\npfc_to_queue = { 3 = 1 }"), 0);
    assert_eq!(lost("tc_to_pg = { 3 = 3, 1 = 0 }"), 0);
    // In a lossy group the spine asks nobody to stop.
    let spine = format!("{INCAST}[[override]]\nswitches = \"spine0\"\ntc_to_pg = {{ 3 = 0 }}\n");
    assert_eq!(sum(&run(&spine), "pause_frames", ("spine0", "*")), 0);
}

/// A port whose cable is longer needs more headroom: with what fits the others it drops, and they do not.
#[test]
fn ports_have_their_own_headroom() {
    let long = r#"
duration = "1ms"
[topology]
builder = "explicit"
hosts = ["H0", "H1", "H2"]
switches = ["S0"]
rate = "100Gbps"
delay = "100ns"
link = [{ a = "H0", b = "S0" }, { a = "H1", b = "S0" }, { a = "H2", b = "S0", delay = "5us" }]
[pfc]
xoff = "100KB"
headroom = "20KB"
[[scheme]]
name = "PFC"
[[traffic]]
name = "incast"
kind = "flow"
from = ["H1", "H2"]
to = "H0"
size = "2MB"
"#;
    let dropped = |own: &str| {
        let outcome = run(&format!("{long}{own}"));
        let of = |peer| sum(&outcome, "headroom_dropped_packets", ("S0", peer));
        let said: Vec<String> = outcome
            .warnings
            .iter()
            .filter(|it| it.kind == "headroom-drops")
            .map(|it| it.message.clone())
            .collect();
        ([of("H1"), of("H2")], said.join("\n"))
    };
    let ([short, far], _) = dropped("");
    assert!(short == 0 && far > 0, "{short} {far}");
    // In 10 us 125 kB arrive, and half of that leaves.
    let own = |size: &str| format!("[[override]]\nports = \"S0->H2\"\nheadroom = \"{size}\"\n");
    assert_eq!(dropped(&own("70KB")), ([0, 0], String::new()));
    let ([short, far], said) = dropped(&own("55KB"));
    assert!(short == 0 && far > 0, "{short} {far}");
    assert!(
        said.contains("headroom 55 KB of its override is too small"),
        "{said}"
    );
}

/// Each refused setting with its message.
#[test]
fn mistakes_are_named() {
    for (own, said) in [
        (
            "switches = \"S0\"\nports = \"S0->H0\"\nmax_rate = \"1Gbps\"",
            "`switches` beside `ports`",
        ),
        (
            "ports = \"S0->H9\"\nmax_rate = \"1Gbps\"",
            "there is no node `H9`",
        ),
        (
            "ports = \"S0->X*\"\nmax_rate = \"1Gbps\"",
            "no node is called `X*`",
        ),
        (
            "ports = \"H0->S0\"\nmax_rate = \"1Gbps\"",
            "`H0->S0` is a port of a host",
        ),
        (
            "ports = \"S0\"\nmax_rate = \"1Gbps\"",
            "`S0` is not an egress port",
        ),
        (
            "ports = \"S0->H0\"\nbuffer = \"1MB\"",
            "`buffer` is the same for a whole switch",
        ),
        (
            "priorities = [3]\ntc_to_queue = { 3 = 1 }",
            "`tc_to_queue` is the same for a whole switch",
        ),
        (
            "priorities = [3]\nlossy_queue = \"1MB\"",
            "write queue_limit for some queues",
        ),
        (
            "priorities = [7]\nqueue_limit = \"1MB\"",
            "priority 7 carries control frames",
        ),
        ("priorities = []\nqueue_limit = \"1MB\"", "no priorities"),
        (
            "priorities = [1]\nxoff = \"100KB\"",
            "priority 1 has no PFC",
        ),
        (
            "priorities = [1]\nheadroom = \"10KB\"",
            "priority 1 has no PFC",
        ),
        ("priorities = [1]", "this override sets nothing"),
        (
            "queue_limit = \"1MB\"\nqueue_alpha = 1",
            "`queue_limit` and `queue_alpha` for the same queues",
        ),
        ("queue_alpha = 3", "`queue_alpha` must be a power of two"),
        ("max_rate = \"0Gbps\"", "`max_rate` is zero"),
        (
            "burst = \"1KB\"\nqueue_limit = \"1MB\"",
            "`burst` has no effect",
        ),
        (
            "tc_to_queue = { 3 = 7 }",
            "priority 7 carries control frames",
        ),
        ("tc_to_pg = { 9 = 1 }", "there is no priority `9`"),
        ("tc_to_pg = { 1 = 8 }", "there is no group 8"),
        ("marking = \"none\"", "`marking` has no effect"),
        (
            "marking = \"none\"\nkmin = \"1KB\"\nkmax = \"2KB\"\npmax = 1",
            "`kmin` in queues that mark nothing",
        ),
    ] {
        let error = parse(&format!("{LOSSY}{PFC}[[override]]\n{own}\n")).expect_err(own);
        assert!(error.contains(said), "{said}:\n{error}");
    }
    for (more, said) in [
        (
            "[probes]\ncauses = true\n",
            "for the causes of PAUSE a priority, its queue",
        ),
        ("[switch.watchdog]\n", "for the PFC watchdog a priority"),
    ] {
        let maps = "[[override]]\ntc_to_queue = { 3 = 1 }\n";
        let source = format!("{INCAST}{maps}{more}");
        let error = parse(&source).expect_err(said);
        assert!(error.contains(said), "{said}:\n{error}");
        assert!(error.contains("test.toml:2"), "{error}");
    }
    for (more, said) in [
        (
            "[link]\nflow_control = \"cbfc\"\n",
            "`headroom` without PFC",
        ),
        ("", "`headroom` without PFC"),
    ] {
        let base = if more.is_empty() {
            LOSSY.replace("lossless = [3]", "lossless = []")
        } else {
            LOSSY.to_owned()
        };
        let source = format!("{base}{PFC}{more}[[override]]\nheadroom = \"10KB\"\n");
        let error = parse(&source).expect_err(said);
        assert!(error.contains(said), "{said}:\n{error}");
    }
    let model = LOSSY
        .replace("[switch]", "[switch]\nmodel = \"cioq\"")
        .replace("lossy_queue = \"1MB\"\n", "");
    let error =
        parse(&format!("{model}{PFC}[[override]]\nmax_rate = \"1Gbps\"\n")).expect_err("cioq");
    assert!(
        error.contains("switches of this model cannot differ"),
        "{error}"
    );
}

/// H1's port has no PFC: H1 is never paused, and what its port does not take is dropped; H2 is paused and loses nothing.
#[test]
fn a_port_without_pfc_drops_what_others_pause() {
    let text = |own: &str| {
        format!(
            r#"
duration = "2ms"
[topology]
builder = "single-switch"
hosts = 3
rate = "10Gbps"
delay = "1us"
[switch]
lossless = [3]
[pfc]
xoff = "30KB"
[[scheme]]
name = "PFC"
[[traffic]]
name = "a"
kind = "flow"
from = ["H1", "H2"]
to = "H0"
size = "400KB"
priority = 3
transport = "udp"
{own}"#
        )
    };
    let of = |own: &str, column: &str, peer: &str| sum(&run(&text(own)), column, ("S0", peer));
    let off = "[[override]]\nports = \"S0->H1\"\npriorities = [3]\npfc = false\n";
    for (own, [one, two]) in [("", [true, true]), (off, [false, true])] {
        assert_eq!(of(own, "pause_frames", "H1") > 0, one, "{own}");
        assert_eq!(of(own, "pause_frames", "H2") > 0, two, "{own}");
        assert_eq!(of(own, "pause_events", "H1") > 0, one, "{own}");
        assert_eq!(of(own, "headroom_dropped_packets", "H1") > 0, !one, "{own}");
        assert_eq!(of(own, "headroom_dropped_packets", "H2"), 0, "{own}");
    }
}

/// A switch whose watchdog waits longer, and a port that has none where the others have one.
#[test]
fn watchdogs_of_switches_and_ports_differ() {
    let base = r#"
duration = "8ms"
[topology]
builder = "leaf-spine"
leaves = 2
spines = 1
hosts_per_leaf = 1
host_rate = "10Gbps"
fabric_rate = "10Gbps"
delay = "1us"
[host]
retransmit_timeout = "500us"
[slow_receiver]
hosts = "H1"
drain_rate = "0Gbps"
start = "100us"
stop = "8ms"
[[scheme]]
name = "PFC"
[[traffic]]
name = "a"
kind = "flow"
from = "H0"
to = "H1"
size = "20MB"
"#;
    let watchdog = |detection: u64, poll: u64| {
        format!(
            "detection_time = \"{detection}us\", restoration_time = \"1ms\", poll_interval = \"{poll}us\", action = \"alert\", rule = \"mellanox\""
        )
    };
    let storms = |own: &str| {
        let outcome = run(&format!("{base}{own}"));
        let storms = &outcome.tables.storms;
        let nodes = &storms["node"];
        let mut all: Vec<String> = (0..nodes.len()).map(|row| text_of(nodes, row)).collect();
        all.sort();
        all.dedup();
        all
    };
    let one = |places: &str, detection| {
        format!(
            "[[override]]\n{places}\nwatchdog = {{ {} }}\n",
            watchdog(detection, 500)
        )
    };
    assert!(storms("").is_empty());
    assert_eq!(storms(&one("ports = \"leaf1->H1\"", 1000)), ["leaf1"]);
    assert_eq!(storms(&one("switches = \"leaf0\"", 1000)), ["leaf0"]);
    let all = one("switches = \"*\"", 1000);
    assert_eq!(storms(&all), ["leaf0", "leaf1", "spine0"]);
    // The last one counts.
    let late = all.clone() + &one("switches = \"spine0\"", 7900);
    assert_eq!(storms(&late), ["leaf0", "leaf1"]);
    let odd = format!(
        "[[override]]\nports = \"leaf1->H1\"\nwatchdog = {{ {} }}\n",
        watchdog(1000, 250)
    );
    let refused = parse(&format!("{base}{all}{odd}")).unwrap_err();
    assert!(refused.contains("different poll_intervals"), "{refused}");
}
