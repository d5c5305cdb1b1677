//! Egress settings and maps of `unpause import sonic`, and runs with them.

use std::path::Path;

use unpause_sonic::{ConfigDb, Imported};

use crate::operators::{fct_ns, sum};
use crate::small::run;

const FILES: [(&str, &str); 3] = [
    (
        "leaf0.json",
        include_str!("../../../../../examples/sonic/leaf0.json"),
    ),
    (
        "leaf1.json",
        include_str!("../../../../../examples/sonic/leaf1.json"),
    ),
    (
        "spine0.json",
        include_str!("../../../../../examples/sonic/spine0.json"),
    ),
];

/// A change to the example: a file or `*`, a text, what replaces it.
pub type Change<'a> = (&'a str, &'a str, &'a str);

/// The files of the example with these changes.
pub fn parsed(changes: &[Change]) -> Vec<ConfigDb> {
    let mut switches = Vec::new();
    for (name, text) in FILES {
        let mut text = text.to_owned();
        for (file, from, to) in changes {
            if *file == name || *file == "*" {
                assert!(text.contains(from), "{name}: {from}");
                text = text.replace(from, to);
            }
        }
        switches.push(unpause_sonic::parse(text.into_bytes(), Path::new(name)).unwrap());
    }
    switches
}

/// The fabric that these are.
pub fn import(changes: &[Change]) -> Result<Imported, String> {
    unpause_sonic::import(&parsed(changes)).map_err(|error| error.to_string())
}

pub fn text(changes: &[(&str, &str, &str)]) -> String {
    import(changes)
        .unwrap_or_else(|error| panic!("{error}"))
        .text
}

/// The overrides of a scenario, without comments and blanks at the end of lines, and without what the cables of the example
/// make of headroom and memory.
fn overrides(changes: &[(&str, &str, &str)]) -> String {
    let text = text(changes);
    let start = text.find("[[override]]").unwrap_or(text.len());
    let end = text.find("# The files say nothing of traffic").unwrap();
    let lines = text[start.min(end)..end].lines();
    let lines = lines.map(|line| line.split(" #").next().unwrap_or(line).trim_end());
    let cables = ["headroom = \"110000B\"", "buffer = \"4500000B\""];
    let lines = lines.filter(|line| !line.is_empty() && !cables.contains(line));
    let lines = lines.collect::<Vec<_>>().join("\n");
    let tables = lines.split("[[override]]\n").filter(|it| !it.is_empty());
    let sets = |table: &&str| {
        let mut keys = table.lines();
        keys.any(|it| !["ports", "switches"].contains(&it.split(" =").next().unwrap_or("")))
    };
    let tables = tables
        .filter(sets)
        .map(|it| format!("[[override]]\n{}", it.trim_end()));
    tables.collect::<Vec<_>>().join("\n")
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

/// Cables of one speed and different length: headroom by port, for both lossless groups or for one, and memory that leaves the
/// pool its size.
#[test]
fn ports_have_the_headroom_of_their_cables() {
    let whole = text(&[]);
    assert!(whole.contains("headroom = \"125000B\""), "{whole}");
    let said: Vec<&str> = whole
        .lines()
        .map(|it| it.split(" #").next().unwrap_or(it).trim_end())
        .collect();
    let said = said.join("\n");
    for port in ["leaf0->h0", "leaf0->h1", "leaf1->h2", "leaf1->h3"] {
        let own = format!("[[override]]\nports = \"{port}\"\nheadroom = \"110000B\"");
        assert!(said.contains(&own), "{own}:\n{said}");
    }
    assert!(!said.contains("\"leaf0->spine0\""), "{said}");
    // The pool, and the headroom of two ports to hosts and two to the spine.
    assert!(whole.contains(&format!(
        "buffer = \"{}B\"",
        4_000_000 + 2 * 110_000 + 2 * 125_000
    )));
    let spine = format!(
        "switches = \"spine0\"\nbuffer = \"{}B\"",
        4_000_000 + 4 * 125_000
    );
    assert!(said.contains(&spine), "{said}");
    let imported = import(&[]).unwrap();
    assert!(
        !imported.left_out.iter().any(|it| it.contains("xoff")),
        "{:?}",
        imported.left_out
    );
    run(&whole);
    // Of two ports to the same neighbour the larger counts.
    let group = "\"Ethernet12|3\": {\"profile\": \"pg_lossless_100000_40m_profile\"}";
    let other = group.replace("40m", "5m");
    let imported = import(&[("leaf0.json", group, &other)]).unwrap();
    let said = imported.left_out.join("\n");
    assert!(
        said.contains("leaf0 Ethernet12: BUFFER_PROFILE xoff 110000 of group 3: another port to the same neighbour has 125000"),
        "{said}"
    );
}

/// A setting that a scenario cannot express is named with its key: guaranteed rates are left out, shapers in packets and groups that ask
/// for PAUSE of another priority are refused.
#[test]
fn what_cannot_be_carried_over_is_named() {
    let scheduler = "\"scheduler.0\": {\"type\": \"DWRR\", \"weight\": \"14\"";
    for own in ["\"cir\": \"1000000\"", "\"cbs\": \"8192\""] {
        let with = format!("{scheduler}, {own}");
        let imported = import(&[("leaf0.json", scheduler, &with)]).unwrap();
        let said = "leaf0: SCHEDULER cir, cbs: no rate is guaranteed in a scenario but by weights";
        assert!(
            imported.left_out.iter().any(|it| it == said),
            "{own}: {:?}",
            imported.left_out
        );
    }
    let packets = format!("{scheduler}, \"pir\": \"1000\", \"meter_type\": \"packets\"");
    let error = import(&[("leaf0.json", scheduler, &packets)]).unwrap_err();
    assert!(error.contains("meter_type packets"), "{error}");
    assert!(error.contains("leaf0.json:38"), "{error}");
    assert!(error.contains("no shapers that count packets"), "{error}");
    // Without a rate, in what it would be counted does not matter.
    let packets = format!("{scheduler}, \"meter_type\": \"packets\"");
    assert!(import(&[("leaf0.json", scheduler, &packets)]).is_ok());
    let map = |to: u8| {
        let table = format!(
            "\"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP\": {{\"AZURE\": {{\"3\": \"{to}\"}}}}, \"PORT_QOS_MAP\": {{"
        );
        import(&[
            ("leaf0.json", "\"PORT_QOS_MAP\": {", &table),
            (
                "leaf0.json",
                "\"tc_to_pg_map\": \"AZURE\"",
                "\"tc_to_pg_map\": \"AZURE\", \"pfc_to_pg_map\": \"AZURE\"",
            ),
        ])
    };
    assert!(map(3).is_ok());
    let error = map(4).unwrap_err();
    let found = "3 -> 4 in PFC_PRIORITY_TO_PRIORITY_GROUP_MAP, at leaf0 Ethernet0";
    assert!(error.contains(found), "{error}");
    assert!(
        error.contains("a group asks for PAUSE of its own number"),
        "{error}"
    );
}
