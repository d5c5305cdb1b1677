//! Queues, markings, schedulers and loads as scenario files say them.

use unpause_protocols::congestion_point::{self, dctcp_red, ecn_sharp};
use unpause_protocols::scheduler;
use unpause_protocols::units::{Rate, Time};
use unpause_scenario::Run;
use unpause_sim::traffic::{Interval, Pairs, Receivers, TrafficSpec};

use crate::small::parsed;

const LEAF_SPINE: &str = r#"
duration = "1ms"
[topology]
builder = "leaf-spine"
leaves = 8
spines = 8
hosts_per_leaf = 16
host_rate = "10Gbps"
delay = "10us"
[[traffic]]
name = "web"
kind = "poisson"
cdf = "websearch"
"#;

fn poisson(run: &Run) -> (f64, &Receivers) {
    let TrafficSpec::Pattern(pattern) = &run.config.traffic[0] else {
        panic!("poisson")
    };
    let Interval::Exponential { events_per_second } = pattern.arrivals.interval else {
        panic!("random intervals")
    };
    let Pairs::Random { to, .. } = &pattern.pairs else {
        panic!("random pairs")
    };
    (events_per_second, to)
}

/// ECN#, section 6 of the specification: rate per server = load C / oversubscription / mean size.
#[test]
fn load_of_uplinks_is_load_over_the_oversubscription() {
    let with = |rest: &str| {
        let text = format!("{LEAF_SPINE}{rest}\n[[scheme]]\nname = \"A\"\n");
        poisson(&parsed(&text).runs()[0]).0
    };
    let per_server = 0.9 * 10e9 / 2.0 / (8.0 * 1_711_250.0);
    let uplinks = with("load = 0.9\nload_of = \"uplinks\"\n");
    assert!((uplinks / (128.0 * per_server) - 1.0).abs() < 1e-9);
    assert!((with("load = 0.45\nload_of = \"senders\"\n") / uplinks - 1.0).abs() < 1e-9);
    let one = with("load = 0.9\nload_of = \"receivers\"\nto = \"H0\"\nfrom = \"H1..H16\"\n");
    assert!((one / (0.9 * 10e9 / (8.0 * 1_711_250.0)) - 1.0).abs() < 1e-9);
}

/// As the traffic generator of ECN#'s testbed does it: load times 1448/1538 is payload.
#[test]
fn load_on_the_wire_counts_headers_preamble_and_gap() {
    let with = |basis: &str, frames: &str, scheme: &str| {
        let text = format!(
            "{LEAF_SPINE}load = 0.5\nload_of = \"receivers\"\nto = \"H0\"\nfrom = \"H1..H7\"\n{basis}\n\
             {frames}[[scheme]]\nname = \"A\"\ncongestion_control = \"{scheme}\"\n"
        );
        poisson(&parsed(&text).runs()[0]).0
    };
    let payload = 0.5 * 10e9 / (8.0 * 1_711_250.0);
    let tcp = "[host]\npreamble_and_gap = \"20B\"\n[tcp]\nmss = \"1448B\"\nheader = \"70B\"\n";
    let roce = "[host]\npreamble_and_gap = \"20B\"\npayload = \"1024B\"\nheader = \"62B\"\n";
    for (frames, scheme, share) in [
        (tcp, "dctcp", 1448.0 / 1538.0),
        (roce, "dcqcn", 1024.0 / 1106.0),
    ] {
        let on_the_wire = with("load_basis = \"wire\"", frames, scheme);
        assert!(
            (on_the_wire / (payload * share) - 1.0).abs() < 1e-9,
            "{scheme}"
        );
        for default in ["", "load_basis = \"payload\""] {
            assert!(
                (with(default, frames, scheme) / payload - 1.0).abs() < 1e-9,
                "{scheme}"
            );
        }
    }
}

#[test]
fn outside_leaf_means_behind_another_switch() {
    let text = format!("{LEAF_SPINE}load = 0.9\noutside_leaf = true\n[[scheme]]\nname = \"A\"\n");
    let scenario = parsed(&text);
    let Receivers::BehindOtherSwitch { to, switch_of } = poisson(&scenario.runs()[0]).1 else {
        panic!("behind another switch")
    };
    assert_eq!(to.len(), 128);
    assert!((0..128).all(|host| switch_of[host] == switch_of[host / 16 * 16]));
    assert_ne!(switch_of[15], switch_of[16]);
}

#[test]
fn marking_replaces_the_congestion_point_and_nothing_else() {
    let text = format!(
        r#"{LEAF_SPINE}load = 0.5
[[scheme]]
name = "DCQCN"
congestion_control = "dcqcn"
[scheme.dcqcn]
kmin = "69KB"
kmax = "275KB"
[[scheme]]
name = "DCQCN+ECN#"
congestion_control = "dcqcn"
marking = "ecn-sharp"
[scheme.ecn-sharp]
ins_min = "55us"
ins_max = "220us"
pst_target = "10us"
pst_interval = "240us"
variant = "paper"
signal = "queue-length"
[[scheme]]
name = "RED"
marking = "dctcp-red"
[scheme.dctcp-red]
threshold_packets = 183
"#
    );
    let scenario = parsed(&text);
    let [dcqcn, sharp, red] = scenario.runs() else {
        panic!("three runs")
    };
    assert_eq!(dcqcn.config.scheme.roce, sharp.config.scheme.roce);
    assert_eq!(
        dcqcn.config.scheme.notification_point,
        sharp.config.scheme.notification_point
    );
    let congestion_point::Config::EcnSharp(params) = &sharp.config.scheme.congestion_point else {
        panic!("ECN#")
    };
    assert_eq!(params.variant, ecn_sharp::Variant::Paper);
    assert_eq!(params.pst_interval, Time::from_us(240));
    let (from, to) = (Time::from_us(55), Time::from_us(220));
    assert_eq!(
        params.instantaneous,
        ecn_sharp::Instantaneous::Linear { from, to }
    );
    assert!(matches!(params.signal, ecn_sharp::Signal::QueueLength(_)));
    let threshold = dctcp_red::Threshold::Packets(183);
    let expected = congestion_point::Config::DctcpRed(dctcp_red::Params { threshold });
    assert_eq!(red.config.scheme.congestion_point, expected);
}

#[test]
fn a_scheduler_has_quanta_by_weight_and_strict_priorities_above() {
    let text = format!(
        r#"{LEAF_SPINE}load = 0.5
[[scheme]]
name = "A"
[switch]
lossless = []
lossy_queue_packets = 250
[switch.scheduler]
kind = "dwrr"
weights = {{ 3 = 2, 1 = 1 }}
strict = [2, 0]
"#
    );
    let scenario = parsed(&text);
    let switch = &scenario.runs()[0].config.switch;
    assert_eq!(
        (switch.lossy_queue_packets, switch.lossy_queue_bytes),
        (Some(250), u64::MAX)
    );
    let scheduler::Config::Dwrr(params) = &switch.scheduler else {
        panic!("DWRR")
    };
    assert_eq!((params.quantum[3], params.quantum[1]), (3000, 1500));
    assert_eq!(params.group[..4], [1, 0, 3, 0]);
}

/// The rate with which queue lengths become times is that of each link.
#[test]
fn queue_length_is_reckoned_at_the_links_rate() {
    let mut config = congestion_point::Config::EcnSharp(ecn_sharp::Params {
        signal: ecn_sharp::Signal::QueueLength(Rate::from_gbps(1)),
        ..ecn_sharp::Params::default()
    });
    config.set_link_rate(Rate::from_gbps(40));
    let congestion_point::Config::EcnSharp(params) = config else {
        panic!("ECN#")
    };
    assert_eq!(
        params.signal,
        ecn_sharp::Signal::QueueLength(Rate::from_gbps(40))
    );
}

#[test]
fn ports_have_ranges_and_patterns() {
    let with = |ports: &str| {
        let text = format!(
            "{LEAF_SPINE}load = 0.1\n[[scheme]]\nname = \"A\"\n[probes]\ninterval = \"1ms\"\nports = {ports}\n"
        );
        parsed(&text).runs()[0].config.probes.ports.clone()
    };
    let listed = with(r#"["leaf2->spine0", "leaf3->spine0", "leaf4->spine0"]"#);
    assert_eq!(listed.len(), 3);
    assert_eq!(with(r#"["leaf2..leaf4->spine0"]"#), listed);
    assert_eq!(
        with(r#"["leaf2->spine*"]"#),
        with(r#"["leaf2->spine0..spine7"]"#)
    );
}
