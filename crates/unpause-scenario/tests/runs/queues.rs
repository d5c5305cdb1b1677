//! Queues, markings, schedulers and loads as scenario files say them.

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, UInt8Type, UInt64Type};
use unpause_protocols::congestion_point::{self, dctcp_red, ecn_sharp};
use unpause_protocols::scheduler;
use unpause_protocols::units::{Rate, Time};
use unpause_scenario::Run;
use unpause_sim::traffic::{Interval, Pairs, Receivers, TrafficSpec};

use crate::small::{parsed, refusal, run};

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

/// Flows of 14 hosts come and go every 2 ms at a port that another one has all the time, as in Fig. 18 of the PCN paper: it carries 23 Gb/s
/// under QCN. Counted at the arrivals, samples come so often while the flows arrive that they are cut too far.
#[test]
fn qcn_uses_a_link_better_if_departures_count() {
    let gbps = |count: &str| {
        let outcome = run(&format!(
            "duration = \"40ms\"\n[topology]\nbuilder = \"two-switch\"\nleft = [\"H0\", \"H1\"]\n\
             right = [\"R0\", \"R1\", \"H2..H15\"]\nrate = \"40Gbps\"\ndelay = \"5us\"\n[pfc]\nxoff = \"512KB\"\n\
             [[scheme]]\nname = \"QCN\"\ncongestion_control = \"qcn\"\n[scheme.qcn]\ntime_reset = \"1.5ms\"\n{count}\n\
             [[traffic]]\nname = \"F1\"\nkind = \"flow\"\nfrom = \"H1\"\nto = \"R1\"\n\
             [[traffic]]\nname = \"bursts\"\nkind = \"on-off\"\nfrom = \"H2..H15\"\nto = \"R1\"\non = \"2ms\"\noff = \"2ms\"\n"
        ));
        let bytes = outcome.tables.flows["delivered_bytes"].as_primitive::<UInt64Type>();
        let all: u64 = bytes.values().iter().sum();
        all as f64 * 8.0 / 40e6
    };
    let arrivals = gbps("count = \"arrivals\"");
    let departures = gbps("count = \"departures\"");
    assert_eq!(gbps(""), arrivals);
    assert!(departures > 1.25 * arrivals, "{departures} {arrivals}");
}

/// Three hosts of 40 Gb/s send to one for 1 ms, and nothing slows them down. A sample each 104.8 KB: of what arrives, three times the
/// link, there are 143 after 15 MB, and of what leaves 47 after 5 MB. Each finds the queue longer than it should be.
#[test]
fn qcn_samples_by_the_rate_of_what_it_counts() {
    let messages = |count: &str| {
        let outcome = run(&format!(
            "duration = \"1ms\"\n[topology]\nbuilder = \"single-switch\"\nhosts = 4\nrate = \"40Gbps\"\ndelay = \"1us\"\n\
             [switch]\nlossless = []\nlossy_queue = \"30MB\"\nbuffer = \"40MB\"\n\
             [[scheme]]\nname = \"QCN\"\ncongestion_control = \"qcn\"\n\
             [scheme.qcn]\ninterval = \"fixed\"\nsample_base = \"104.8KB\"\ncount = \"{count}\"\n\
             [[traffic]]\nname = \"in\"\nkind = \"flow\"\nfrom = \"H1..H3\"\nto = \"H0\"\ncontrolled = false\n"
        ));
        let sent = outcome.tables.ports["cnm_packets"].as_primitive::<UInt64Type>();
        sent.values().iter().sum::<u64>()
    };
    // Frames sent in the last microsecond have not arrived.
    assert!((142..=143).contains(&messages("arrivals")));
    assert_eq!(messages("departures"), 47);
}

/// Where the queue neither grows nor shrinks, as much leaves as arrives. So both ways of counting have the same fixed point: feedback of 0,
/// which is a full link and a queue of Q_eq.
#[test]
fn qcn_has_one_fixed_point_however_it_counts() {
    const Q_EQ: f64 = 26_000.0;
    for count in ["arrivals", "departures"] {
        let outcome = run(&format!(
            "duration = \"200ms\"\n[topology]\nbuilder = \"single-switch\"\nhosts = 3\nrate = \"10Gbps\"\ndelay = \"1us\"\n\
             [[scheme]]\nname = \"QCN\"\ncongestion_control = \"qcn\"\n[scheme.qcn]\ncount = \"{count}\"\n\
             [[traffic]]\nname = \"F\"\nkind = \"flow\"\nfrom = \"H1..H2\"\nto = \"H0\"\n\
             [probes]\ninterval = \"100us\"\nports = [\"S0->H0\"]\n"
        ));
        let series = &outcome.tables.port_series;
        let column = |name: &str| series[name].as_primitive::<UInt64Type>().values().to_vec();
        let times = series["time_ns"].as_primitive::<Float64Type>().values();
        let priorities = series["priority"].as_primitive::<UInt8Type>().values();
        let late = (0..series.num_rows()).filter(|row| times[*row] >= 1e8 && priorities[*row] == 3);
        let late: Vec<usize> = late.collect();
        let (queues, sent) = (column("queue_bytes"), column("tx_bytes"));
        let mean = late.iter().map(|row| queues[*row] as f64).sum::<f64>() / late.len() as f64;
        let bytes = sent[late[late.len() - 1]] - sent[late[0]];
        assert!((mean / Q_EQ - 1.0).abs() < 0.05, "{count}: {mean}");
        // Of 10 Gb/s for 100 ms, and a frame.
        assert!(bytes.abs_diff(125_000_000) <= 1_048, "{count}: {bytes}");
    }
}

#[test]
fn qcn_counts_no_departures_at_inputs() {
    let text = format!(
        "{LEAF_SPINE}load = 0.5\n[[scheme]]\nname = \"A\"\ncongestion_control = \"qcn\"\n\
         [scheme.qcn]\nmode = \"input-arrival\"\ncount = \"departures\"\n"
    );
    let said = refusal(&text);
    assert!(said.contains("`count` and `mode` contradict"), "{said}");
}
