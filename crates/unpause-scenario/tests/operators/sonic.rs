//! What `unpause import sonic` makes of egress settings and maps, and what runs of it show.

use std::path::Path;

use unpause_scenario::import::sonic::{self, Imported};

use crate::{fct_ns, run, sum};

const FILES: [(&str, &str); 3] = [
    (
        "leaf0.json",
        include_str!("../../../../examples/sonic/leaf0.json"),
    ),
    (
        "leaf1.json",
        include_str!("../../../../examples/sonic/leaf1.json"),
    ),
    (
        "spine0.json",
        include_str!("../../../../examples/sonic/spine0.json"),
    ),
];

/// The fabric of the example with these changes: a file or `*`, a text, what replaces it.
fn import(changes: &[(&str, &str, &str)]) -> Result<Imported, String> {
    let mut switches = Vec::new();
    for (name, text) in FILES {
        let mut text = text.to_owned();
        for (file, from, to) in changes {
            if *file == name || *file == "*" {
                assert!(text.contains(from), "{name}: {from}");
                text = text.replace(from, to);
            }
        }
        switches.push(sonic::parse(text.into_bytes(), Path::new(name)).unwrap());
    }
    sonic::import(&switches).map_err(|error| error.to_string())
}

fn text(changes: &[(&str, &str, &str)]) -> String {
    import(changes)
        .unwrap_or_else(|error| panic!("{error}"))
        .text
}

/// The overrides of a scenario, without comments and blanks at the end of lines.
fn overrides(changes: &[(&str, &str, &str)]) -> String {
    let text = text(changes);
    let start = text.find("[[override]]").unwrap_or(text.len());
    let end = text.find("# The files say nothing of traffic").unwrap();
    let lines = text[start.min(end)..end].lines();
    let lines = lines.map(|line| line.split(" #").next().unwrap_or(line).trim_end());
    lines
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

const OTHERS: &str = "[[override]]\npriorities = [0, 1, 2, 4, 5, 7]\nmarking = \"none\"";

#[test]
fn queues_have_their_curves() {
    let whole = text(&[]);
    for line in [
        "marking = \"wred\"",
        "[scheme.wred]",
        "kmin = \"100000B\"",
        "pmax = 0.2",
    ] {
        assert!(whole.contains(line), "{line}:\n{whole}");
    }
    assert_eq!(overrides(&[]), OTHERS);
    // Another curve for a lossy queue of all switches, one of leaf0 alone, and one of a port.
    let curve = "\"WRED_PROFILE\": {\"LOSSY\": {\"ecn\": \"ecn_all\", \"green_min_threshold\": \"5000\", \
                 \"green_max_threshold\": \"9000\", \"green_drop_probability\": \"100\"}, ";
    let queue =
        |ports: &str| format!("\"QUEUE\": {{\"{ports}|1\": {{\"wred_profile\": \"LOSSY\"}}, ");
    let own = "kmin = \"5000B\"\nkmax = \"9000B\"\npmax = 1";
    let rest = OTHERS.replace("1, ", "");
    let with = |file: &str, ports: &str| {
        overrides(&[
            (file, "\"WRED_PROFILE\": {", curve),
            (file, "\"QUEUE\": {", &queue(ports)),
        ])
    };
    assert_eq!(
        with("leaf0.json", "Ethernet0,Ethernet4,Ethernet8,Ethernet12"),
        format!("{OTHERS}\n[[override]]\nswitches = \"leaf0\"\npriorities = [1]\n{own}")
    );
    assert_eq!(
        with("leaf0.json", "Ethernet4"),
        format!("{OTHERS}\n[[override]]\nports = \"leaf0->h1\"\npriorities = [1]\n{own}")
    );
    let everywhere = overrides(&[
        ("*", "\"WRED_PROFILE\": {", curve),
        (
            "*",
            "\"QUEUE\": {",
            &queue("Ethernet0,Ethernet4,Ethernet8,Ethernet12"),
        ),
    ]);
    assert!(everywhere.contains(&rest), "{everywhere}");
    assert!(
        everywhere.contains(&format!("priorities = [1]\n{own}")),
        "{everywhere}"
    );
    run(&text(&[("*", "\"WRED_PROFILE\": {", curve)]));
}

/// A queue whose limit is below what PFC lets in: `egress-drops-first` of lint. The same limit above it loses nothing.
#[test]
fn egress_limits_drop_lossless_frames() {
    let limit = |bytes: &str| {
        let profile = format!(
            "\"BUFFER_PROFILE\": {{\"egress_lossless_profile\": {{\"pool\": \"ingress_lossless_pool\", \"size\": \"0\", \
             \"static_th\": \"{bytes}\"}}, "
        );
        let queue = "\"BUFFER_QUEUE\": {\"Ethernet0,Ethernet4|3\": {\"profile\": \"egress_lossless_profile\"}}, \"BUFFER_PG\": {";
        let changes = [
            ("leaf0.json", "\"BUFFER_PROFILE\": {", profile.as_str()),
            ("leaf0.json", "\"BUFFER_PG\": {", queue),
        ];
        let said = overrides(&changes);
        for port in ["leaf0->h0", "leaf0->h1"] {
            let own = format!("ports = \"{port}\"\npriorities = [3]\nqueue_limit = \"{bytes}B\"");
            assert!(said.contains(&own), "{said}");
        }
        let outcome = run(&text(&changes));
        ["dropped_packets", "headroom_dropped_packets"].map(|it| sum(&outcome, it, ("*", "*")))
    };
    let [at_queue, headroom] = limit("100000");
    assert!(at_queue > 0 && headroom == 0, "{at_queue} {headroom}");
    assert_eq!(limit("4000000"), [0, 0]);
}

/// Leaf 0 asks the spine to stop priority 3, whose packets wait in queue 1 there: `map-mismatch` of lint.
#[test]
fn a_wrong_map_loses_packets_and_a_right_one_none() {
    let lost = |changes: &[(&str, &str, &str)]| {
        let text = text(changes);
        assert!(!text.contains("causes = true"), "{text}");
        assert!(!text.contains("[switch.watchdog]"), "{text}");
        sum(&run(&text), "headroom_dropped_packets", ("*", "*"))
    };
    let queues = "\"TC_TO_QUEUE_MAP\": {\"AZURE\": {\"0\": \"0\", \"1\": \"1\", \"3\": ";
    let (right, wrong) = (format!("{queues}\"3\""), format!("{queues}\"1\""));
    let map = ("spine0.json", right.as_str(), wrong.as_str());
    let marks = (
        "*",
        "\"green_min_threshold\": \"100000\"",
        "\"green_min_threshold\": \"399999\"",
    );
    assert!(lost(&[map, marks]) > 0);
    let maps = "\"MAP_PFC_PRIORITY_TO_QUEUE\": {\"AZURE\": {\"3\": \"1\"}}, \"PORT_QOS_MAP\": {";
    let with = [
        map,
        marks,
        ("spine0.json", "\"PORT_QOS_MAP\": {", maps),
        (
            "spine0.json",
            "\"tc_to_queue_map\": \"AZURE\"",
            "\"tc_to_queue_map\": \"AZURE\", \"pfc_to_queue_map\": \"AZURE\"",
        ),
    ];
    assert_eq!(lost(&with), 0);
    assert!(
        overrides(&with)
            .contains("switches = \"spine0\"\ntc_to_queue = { 3 = 1 }\npfc_to_queue = { 3 = 1 }")
    );
}

/// Bytes per second: a tenth of the link.
#[test]
fn a_shaper_of_a_port_is_its_highest_rate() {
    let schedulers = "\"SCHEDULER\": {\"slow\": {\"type\": \"STRICT\", \"pir\": \"1250000000\", \"pbs\": \"8192\"}, ";
    let changes = [
        ("leaf0.json", "\"SCHEDULER\": {", schedulers),
        (
            "leaf0.json",
            "\"pfc_enable\": \"3\"",
            "\"scheduler\": \"slow\", \"pfc_enable\": \"3\"",
        ),
    ];
    let said = overrides(&changes);
    assert!(
        said.contains("switches = \"leaf0\"\nmax_rate = \"10000000000bps\"\nburst = \"8192B\""),
        "{said}"
    );
    let longest = |changes: &[(&str, &str, &str)]| {
        let text = text(changes).replace("duration = \"2ms\"", "duration = \"20ms\"");
        fct_ns(&run(&text)).into_iter().fold(0.0, f64::max)
    };
    let (slow, fast) = (longest(&changes), longest(&[]));
    let ratio = slow / fast;
    assert!((9.0..11.0).contains(&ratio), "{slow} {fast}");
}

/// Ports of one switch with thresholds of their own.
#[test]
fn ports_have_their_own_thresholds() {
    let profile = "\"xoff\": \"110000\", \"xon_offset\": \"2288\", \"dynamic_th\": \"-3\"";
    let other = profile.replace("-3", "-1");
    let said = overrides(&[("leaf0.json", profile, &other)]);
    for port in ["leaf0->h0", "leaf0->h1"] {
        assert!(
            said.contains(&format!("ports = \"{port}\"\nalpha = \"1/2\"")),
            "{said}"
        );
    }
}
