//! Settings of operators: switches that differ, hosts without PFC, NICs that send PAUSE, memory that is shared, NIC names of DCQCN.

mod left_out;
mod nics;
mod overrides;
mod sonic;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, UInt64Type};
use unpause_scenario::Outcome;

use crate::small::{parse, parsed, run};

/// The sum of a column of `ports` over rows whose `node` and `peer` are these.
fn sum(outcome: &Outcome, column: &str, (node, peer): (&str, &str)) -> u64 {
    let ports = &outcome.tables.ports;
    let text = |name: &str, row: usize| text_of(&ports[name], row);
    let values = ports[column].as_primitive::<UInt64Type>();
    (0..values.len())
        .filter(|row| {
            (node == "*" || text("node", *row) == node)
                && (peer == "*" || text("peer", *row) == peer)
        })
        .map(|row| values.value(row))
        .sum()
}

/// A cell of a column of texts, which may be a dictionary.
fn text_of(values: &arrow_array::ArrayRef, row: usize) -> String {
    match values.as_any_dictionary_opt() {
        Some(dictionary) => {
            let key = dictionary.normalized_keys()[row];
            dictionary.values().as_string::<i32>().value(key).to_owned()
        }
        None => values.as_string::<i32>().value(row).to_owned(),
    }
}

fn fct_ns(outcome: &Outcome) -> Vec<f64> {
    let fct = outcome.tables.flows["fct_ns"].as_primitive::<Float64Type>();
    fct.values().to_vec()
}

/// Four hosts of two leaves send to one of a third, over one spine.
const INCAST: &str = r#"
duration = "5ms"
[topology]
builder = "leaf-spine"
leaves = 3
spines = 1
hosts_per_leaf = 2
host_rate = "100Gbps"
fabric_rate = "400Gbps"
delay = "500ns"
[pfc]
xoff = "50KB"
[[scheme]]
name = "PFC"
[[traffic]]
name = "incast"
kind = "burst"
from = "H0..H3"
to = "H4"
size = "500KB"
"#;

/// A spine without PFC sends on what the leaf before it asks it to hold: the leaf loses what its headroom does not take.
#[test]
fn pfc_that_is_missing_on_a_spine_loses_packets_behind_it() {
    let whole = run(INCAST);
    assert_eq!(sum(&whole, "headroom_dropped_packets", ("*", "*")), 0);
    assert!(sum(&whole, "pause_frames", ("spine0", "*")) > 0);
    for switches in ["\"spine0\"", "\"spine*\"", "[\"spine0..spine0\"]"] {
        let missing = format!("{INCAST}[[override]]\nswitches = {switches}\nlossless = []\n");
        let found = run(&missing);
        assert_eq!(sum(&found, "pause_frames", ("spine0", "*")), 0);
        assert!(sum(&found, "pause_frames", ("leaf2", "spine0")) > 0);
        assert!(sum(&found, "headroom_dropped_packets", ("leaf2", "spine0")) > 0);
    }
}

/// A switch that stops another queue than the one that PAUSE is about sends on, too.
#[test]
fn a_wrong_map_of_pfc_priorities_loses_packets() {
    let with =
        |map: &str| format!("{INCAST}[[override]]\nswitches = \"spine0\"\npfc_to_queue = {map}\n");
    let wrong = run(&with("{ 3 = 1 }"));
    assert!(sum(&wrong, "headroom_dropped_packets", ("leaf2", "spine0")) > 0);
    let right = run(&with("{ 3 = 3 }"));
    assert_eq!(sum(&right, "headroom_dropped_packets", ("*", "*")), 0);
    let error = parse(&with("{ 4 = 1 }")).expect_err("priority 4 has no PFC");
    assert!(error.contains("priority `4` has no PFC"), "{error}");
}

/// A NIC that does not obey PAUSE overflows the headroom of its switch.
#[test]
fn a_host_that_ignores_pause_loses_packets() {
    let source = format!("{INCAST}[host]\nignore_pause = \"H0\"\n");
    let found = run(&source);
    assert!(sum(&found, "headroom_dropped_packets", ("leaf0", "H0")) > 0);
    assert_eq!(sum(&found, "headroom_dropped_packets", ("leaf1", "*")), 0);
}

const STAR: &str = r#"
duration = "5ms"
[topology]
builder = "single-switch"
hosts = 3
rate = "100Gbps"
delay = "500ns"
[[scheme]]
name = "PFC"
"#;

/// A NIC that sends PAUSE for 200 us holds a flow to it for as long.
#[test]
fn a_pause_storm_holds_what_goes_to_its_nic() {
    let flow =
        "[[traffic]]\nname = \"f\"\nkind = \"flow\"\nfrom = \"H1\"\nto = \"H0\"\nsize = \"5MB\"\n";
    let calm = fct_ns(&run(&format!("{STAR}{flow}")))[0];
    let storm =
        "[[event]]\nkind = \"pause-storm\"\nnode = \"H0\"\nat = \"100us\"\nuntil = \"300us\"\n";
    let stormy = run(&format!("{STAR}{flow}{storm}"));
    let late = fct_ns(&stormy)[0] - calm;
    // XOFF and XON travel 500 ns each, and wait for the frame in flight.
    assert!((late - 200_000.0).abs() < 300.0, "{late}");
    assert!(sum(&stormy, "pause_frames", ("H0", "S0")) >= 1);
    let watchdog = "[switch.watchdog]\ndetection_time = \"20us\"\nrestoration_time = \"40us\"\npoll_interval = \"10us\"\nrule = \"mellanox\"\n";
    let endless = "[[event]]\nkind = \"pause-storm\"\nnode = \"H0\"\nat = \"100us\"\n";
    let acted = run(&format!("{STAR}{flow}{endless}{watchdog}"));
    assert!(acted.tables.storms.num_rows() > 0);
}

/// Two senders at line rate to one: a lossy queue with alpha a takes a/(1 + a) of the memory.
#[test]
fn a_lossy_queue_takes_its_share_of_the_buffer() {
    for (alpha, share) in [("8", 8.0 / 9.0), ("1", 0.5), ("\"1/4\"", 0.2)] {
        let source = format!(
            "{STAR}[switch]\nlossless = []\nbuffer = \"1MB\"\nlossy_queue = \"10MB\"\nlossy_alpha = {alpha}\n\
             [[traffic]]\nname = \"f\"\nkind = \"burst\"\nfrom = \"H1..H2\"\nto = \"H0\"\nsize = \"4MB\"\ntransport = \"udp\"\n"
        );
        let most = run(&source);
        let queue = most.tables.ports["max_queue_bytes"].as_primitive::<UInt64Type>();
        let largest = *queue.values().iter().max().unwrap() as f64;
        assert!(
            (largest - 1e6 * share).abs() < 2_200.0,
            "{alpha}: {largest}"
        );
    }
}

/// Parameters by NVIDIA's names are those by the names of the paper, in other units.
#[test]
fn names_of_nics_say_the_same_as_those_of_the_paper() {
    let with = |keys: &str| {
        let source = format!(
            "{STAR}congestion_control = \"dcqcn\"\n[scheme.dcqcn]\nkmin = \"150KB\"\nkmax = \"1500KB\"\npmax = 1\n{keys}\n\
             [[traffic]]\nname = \"f\"\nkind = \"flow\"\nfrom = \"H1..H2\"\nto = \"H0\"\n"
        );
        let scenario = parsed(&source);
        let runs = scenario.runs();
        format!("{:?}", runs[0].config.scheme)
    };
    let paper = "clocks = \"separate\"\ng = \"5/1024\"\nalpha_timer = \"1us\"\ncut_interval = \"4us\"\n\
                 increase_timer = \"300us\"\nfr_threshold = 1\nclamp_target = false\nrate_ai = \"5Mbps\"\n\
                 rate_hai = \"50Mbps\"\nmin_rate = \"1Mbps\"\ncnp_interval = \"2us\"";
    assert_eq!(with("dce_tcp_g = 1019"), with(paper));
    assert_eq!(with("rpg_ai_rate = 5"), with(paper));
    let other = paper
        .replace("\"5Mbps\"", "\"20Mbps\"")
        .replace("\"300us\"", "\"75us\"");
    assert_eq!(with("rpg_ai_rate = 20\nrpg_time_reset = 75"), with(&other));
}

/// Each refused setting with its message.
#[test]
fn mistakes_are_named() {
    let flow = "[[traffic]]\nname = \"f\"\nkind = \"flow\"\nfrom = \"H1\"\nto = \"H0\"\n";
    let dcqcn = |keys: &str| {
        format!("{STAR}congestion_control = \"dcqcn\"\n[scheme.dcqcn]\n{keys}\n{flow}")
    };
    let with = |more: &str| format!("{STAR}{flow}{more}");
    for (source, said) in [
        (
            with("[[override]]\nswitches = \"spine*\"\nbuffer = \"1MB\"\n"),
            "no switch is called `spine*`",
        ),
        (
            with("[[override]]\nswitches = \"S7\"\nbuffer = \"1MB\"\n"),
            "there is no switch `S7`",
        ),
        (
            with("[[override]]\nswitches = \"H1\"\nbuffer = \"1MB\"\n"),
            "`H1` is a host",
        ),
        (
            with("[[override]]\nswitches = \"S0\"\n"),
            "this override sets nothing",
        ),
        (
            with("[[override]]\nswitches = \"S0\"\nlossless = [4]\n"),
            "priority 4 is lossless only here",
        ),
        (
            with("[[override]]\nswitches = \"S0\"\nalpha = 1\n"),
            "`alpha` where thresholds are fixed",
        ),
        (
            with("[[override]]\nswitches = \"S0\"\nxon = \"1KB\"\n"),
            "`xon` has no effect",
        ),
        (
            with("[[override]]\nswitches = \"S0\"\nkmin = \"1KB\"\nkmax = \"2KB\"\npmax = 1\n"),
            "`kmin` has no effect",
        ),
        (
            with("[[override]]\nswitches = \"S0\"\nkmin = \"1KB\"\n"),
            "`kmin` without `kmax` and `pmax`",
        ),
        (
            with("[[event]]\nkind = \"pause-storm\"\nlink = \"H0-S0\"\nat = \"1ms\"\n"),
            "a PAUSE storm of a link",
        ),
        (
            with("[[event]]\nkind = \"pause-storm\"\nnode = \"S0\"\nat = \"1ms\"\n"),
            "`S0` is a switch",
        ),
        (
            with(
                "[[event]]\nkind = \"pause-storm\"\nnode = \"H0\"\nat = \"2ms\"\nuntil = \"1ms\"\n",
            ),
            "the PAUSE storm ends before it begins",
        ),
        (
            with("[link]\nretry_buffer = \"1MB\"\n"),
            "`retry_buffer` has no effect",
        ),
        (
            with("[link]\nretry = \"llr\"\nretry_buffer = \"100B\"\n"),
            "cannot keep 100B of frames",
        ),
        (
            dcqcn("g = \"1/256\"\ndce_tcp_g = 1019"),
            "`g` beside parameters by NVIDIA's names",
        ),
        (dcqcn("dce_tcp_g = 1024"), "`dce_tcp_g` cannot be 1024"),
        (dcqcn("rpg_gd = 10"), "`rpg_gd` cannot be 10"),
    ] {
        let error = parse(&source).expect_err(&source);
        assert!(error.contains(said), "{said}:\n{error}");
    }
    for (keys, said) in [
        ("g = \"1019/1024\"", "dce_tcp_g = 1019"),
        (
            "rate_ai = \"10Gbps\"\nrate_hai = \"10Gbps\"",
            "rpg_ai_rate in Mb/s",
        ),
    ] {
        let outcome = run(&dcqcn(keys));
        let notes = format!("{:?}", outcome.warnings);
        assert!(notes.contains(said), "{notes}");
    }
}

/// A link with FEC that corrects little loses frames, and with retry none; the table says how many were sent again.
#[test]
fn retry_repairs_what_fec_does_not() {
    let flow =
        "[[traffic]]\nname = \"f\"\nkind = \"flow\"\nfrom = \"H1\"\nto = \"H0\"\nsize = \"20MB\"\n";
    let errors = "[[event]]\nkind = \"error-rate\"\nlink = \"all\"\nber = 4e-4\nfec = \"rs-272\"\n";
    let bare = run(&format!("{STAR}{flow}{errors}"));
    assert!(sum(&bare, "replayed_packets", ("*", "*")) == 0);
    let retried = run(&format!("{STAR}{flow}{errors}[link]\nretry = \"llr\"\n"));
    assert!(sum(&retried, "replayed_packets", ("*", "*")) > 0);
    assert!(
        fct_ns(&retried)[0] < 1.02 * 20e6 * 1048.0 / 1000.0 * 0.08,
        "{:?}",
        fct_ns(&retried)
    );
}
