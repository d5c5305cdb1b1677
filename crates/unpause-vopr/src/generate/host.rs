//! `[host]`, `[tcp]` and `[pias]`.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::sketch::Sketch;
use crate::case::{put, size, table, time};
use crate::dice::Dice;

/// Writes what frames look like. Times come later, when the scale of the run is known.
pub fn host(document: &mut Table, dice: &mut Dice) {
    let host = table(document, "host");
    if dice.percent(35) {
        let payload =
            dice.weighted(&[(3, 1000), (2, 1460), (2, 4096), (1, 100), (1, 1), (1, 9000)]);
        put(host, "payload", size(payload));
    }
    if dice.percent(20) {
        put(host, "header", size(dice.between(1, 100)));
    }
    if dice.percent(10) {
        put(host, "min_frame", size(dice.between(0, 64)));
    }
    if dice.percent(30) {
        put(host, "preamble_and_gap", size(dice.pick(&[0, 20, 20, 24])));
    }
    if dice.percent(10) {
        put(host, "control_priority", dice.below(7) as i64);
    }
    if host.is_empty() {
        document.remove("host");
    }
}

/// Writes how hosts behave, over RoCE and over TCP.
pub fn transports(sketch: &mut Sketch) {
    roce(sketch);
    if sketch.schemes.iter().any(|scheme| scheme.2) {
        if sketch.dice.percent(70) {
            tcp(sketch);
            let keys = table(&mut sketch.document, "tcp");
            // Duplicate ACKs that signal nothing release nothing.
            if keys.get("dupack_threshold").is_some_and(Value::is_str) {
                keys.remove("limited_transmit");
            }
            if keys.is_empty() {
                sketch.document.remove("tcp");
            }
        }
        if sketch.dice.percent(25) {
            pias(sketch);
        }
    }
}

/// Writes shares of the NIC, where data has several priorities.
pub fn ets(sketch: &mut Sketch, dice: &mut Dice) {
    let entries = sketch.document["traffic"].as_array().into_iter().flatten();
    let all_schemes = entries.filter(|entry| entry.get("schemes").is_none());
    let used: BTreeSet<i64> = all_schemes
        .filter_map(|scheme| scheme.get("priority")?.as_integer())
        .collect();
    let host = sketch.document.get("host");
    let is_hpcc = host.is_some_and(|host| host.get("nic").and_then(Value::as_str) == Some("hpcc"));
    if used.len() < 2 || is_hpcc || !dice.percent(30) {
        return;
    }
    let mut weights = Table::new();
    for priority in 0..8 {
        if priority != sketch.control && dice.percent(70) {
            put(
                &mut weights,
                &priority.to_string(),
                dice.scale(1, 100) as i64,
            );
        }
    }
    if !weights.is_empty() {
        put(table(&mut sketch.document, "host"), "ets", weights);
    }
}

/// Keys that only RoCE has.
const OF_ROCE: [&str; 9] = [
    "ack_every",
    "ack_priority",
    "ack_size",
    "ack_timeout",
    "nak_interval",
    "notification_reaction",
    "pause_acks",
    "retransmit_timeout",
    "retry_count",
];

/// Keys of RoCE and UDP.
const OF_DATAGRAMS: [&str; 4] = ["min_frame", "rate_change", "window", "window_by_rate"];

/// Takes keys out that have no effect where all flows are TCP, or TCP and UDP.
pub fn without_idle(document: &mut Table, schemes: &[(String, bool, bool)]) {
    let (mut roce, mut udp) = (document.contains_key("job"), false);
    let entries = document.get("traffic").and_then(Value::as_array);
    for entry in entries.into_iter().flatten() {
        let own = entry.get("schemes").and_then(Value::as_array);
        let takes_part =
            |name: &str| own.is_none_or(|own| own.iter().any(|it| it.as_str() == Some(name)));
        let mut schemes = schemes.iter().filter(|scheme| takes_part(&scheme.0));
        match entry.get("transport").and_then(Value::as_str) {
            Some("roce") => roce = true,
            Some("udp") => udp = true,
            Some(_) => {}
            None => roce |= schemes.any(|scheme| !scheme.1),
        }
    }
    if roce {
        return;
    }
    let switch = document.get("switch");
    let lossless = switch.and_then(|switch| switch.get("lossless")?.as_array());
    // XON is two frames of RoCE below XOFF by default.
    let has_pfc = lossless.is_none_or(|it| !it.is_empty());
    let host = table(document, "host");
    let datagrams = OF_DATAGRAMS.iter().filter(|_| !udp);
    let frames = ["payload", "header"];
    let frames = frames.iter().filter(|_| !udp && !has_pfc);
    for key in OF_ROCE.iter().chain(datagrams).chain(frames) {
        host.remove(*key);
    }
    if host.is_empty() {
        document.remove("host");
    }
}

fn roce(sketch: &mut Sketch) {
    let mut keys = Vec::new();
    if sketch.dice.percent(25) {
        keys.push(("ack_every", (sketch.dice.between(1, 20) as i64).into()));
    }
    if sketch.dice.percent(50) {
        let timeout = sketch.period().max(sketch.rtt / 4);
        keys.push(if sketch.dice.percent(20) {
            ("ack_timeout", (sketch.dice.between(1, 6) as i64).into())
        } else {
            ("retransmit_timeout", time(timeout).into())
        });
    }
    if sketch.dice.percent(15) {
        keys.push(("notification_reaction", time(sketch.time()).into()));
    }
    if sketch.dice.percent(15) {
        keys.push(("extra_delay", extra_delay(sketch)));
    }
    keys.extend(as_hpcc(sketch));
    for (key, value) in keys {
        let value: Value = value;
        table(&mut sketch.document, "host").insert(key.into(), value);
    }
}

/// Settings in which HPCC's simulator differs.
fn as_hpcc(sketch: &mut Sketch) -> Vec<(&'static str, Value)> {
    let mut keys: Vec<(&str, Value)> = Vec::new();
    let bytes = sketch.bytes();
    let period = sketch.period();
    let dice = &mut sketch.dice;
    if dice.percent(20) {
        let priority = dice.pick(&["flow", "flow", "control"]);
        keys.push(("ack_priority", priority.into()));
        if priority == "flow" && dice.percent(50) {
            keys.push(("pause_acks", dice.percent(50).into()));
        }
    }
    if dice.percent(15) {
        keys.push(("ack_size", size(dice.between(1, 200)).into()));
    }
    if dice.percent(15) {
        let change = dice.pick(&["at-once", "next-packet"]);
        keys.push(("rate_change", change.into()));
    }
    if dice.percent(15) {
        keys.push(("nic", dice.pick(&["own", "hpcc", "hpcc"]).into()));
    }
    if dice.percent(15) {
        let window = if dice.percent(50) {
            "path".to_owned()
        } else {
            size(bytes)
        };
        keys.push(("window", window.into()));
        if dice.percent(50) {
            keys.push(("window_by_rate", dice.percent(70).into()));
        }
    }
    if dice.percent(15) {
        keys.push(("nak_interval", time(period).into()));
    }
    keys
}

/// A delay, several, or a file of them.
pub fn extra_delay(sketch: &mut Sketch) -> Value {
    match sketch.dice.below(3) {
        0 => time(sketch.time()).into(),
        1 => {
            let count = sketch.dice.between(1, 3);
            let times: Vec<String> = (0..count).map(|_| time(sketch.time())).collect();
            times.into()
        }
        _ => {
            let (low, more) = (sketch.time(), sketch.time());
            let text = format!(
                "{},0\n{},0.5\n{},1\n",
                time(low),
                time(low + more / 2),
                time(low + more)
            );
            sketch.files.insert("delays.csv".into(), text);
            "delays.csv".into()
        }
    }
}

fn tcp(sketch: &mut Sketch) {
    let mut keys = Table::new();
    let mss = sketch.dice.pick(&[1400, 1448, 536, 8960, 100]);
    let said_mss = sketch.dice.percent(40);
    if said_mss {
        put(&mut keys, "mss", size(mss));
    }
    if sketch.dice.percent(10) {
        put(&mut keys, "header", size(sketch.dice.between(1, 120)));
    }
    let dice = &mut sketch.dice;
    for (key, percent, high) in [
        ("initial_window", 40, 20),
        ("max_burst", 30, 8),
        ("dupack_threshold", 30, 5),
        ("retries", 20, 4),
        ("syn_tries", 20, 4),
    ] {
        if dice.percent(percent) {
            put(&mut keys, key, dice.between(1, high) as i64);
        }
    }
    for key in ["max_burst", "dupack_threshold"] {
        if dice.percent(15) {
            put(&mut keys, key, "none");
        }
    }
    if dice.percent(20) {
        put(&mut keys, "limited_transmit", dice.percent(50));
    }
    for key in ["grow_only_if_limiting", "fin"] {
        if dice.percent(25) {
            put(&mut keys, key, dice.percent(50));
        }
    }
    if dice.percent(25) {
        put(&mut keys, "qdisc", dice.pick(&["fq", "pfifo", "pfifo"]));
    }
    if dice.percent(20) {
        put(&mut keys, "ack_priority", dice.pick(&["flow", "control"]));
    }
    if dice.percent(15) {
        put(&mut keys, "buffer", size(dice.scale(9000, 1_000_000)));
    }
    if sketch.dice.percent(30) {
        put(&mut keys, "delayed_ack", sketch.dice.between(1, 4) as i64);
        if sketch.dice.percent(70) {
            put(&mut keys, "delayed_ack_timeout", time(sketch.period()));
        }
    }
    if sketch.dice.percent(60) {
        let least = sketch.period().max(sketch.rtt / 4);
        put(&mut keys, "min_rto", time(least));
        if sketch.dice.percent(40) {
            put(
                &mut keys,
                "max_rto",
                time(least * sketch.dice.between(1, 20)),
            );
        }
    }
    for key in ["rto_granularity", "initial_rtt", "syn_timeout"] {
        if sketch.dice.percent(25) {
            put(&mut keys, key, time(sketch.period()));
        }
    }
    if !keys.is_empty() {
        put(&mut sketch.document, "tcp", keys);
    }
}

fn pias(sketch: &mut Sketch) {
    let mut priorities = sketch.priorities.clone();
    priorities.sort_unstable_by(|a, b| b.cmp(a));
    let mut pias = Table::new();
    let mut threshold = 0;
    let mut thresholds = Vec::new();
    for _ in 1..priorities.len() {
        threshold += sketch.bytes();
        thresholds.push(size(threshold));
    }
    put(&mut pias, "thresholds", thresholds);
    let priorities: Vec<i64> = priorities.into_iter().map(i64::from).collect();
    put(&mut pias, "priorities", priorities);
    put(&mut sketch.document, "pias", pias);
    sketch.pias = true;
}
