//! `[[override]]` of ports, priorities and classes. It draws from dice of its own, so that all other seeds stay the same.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::sketch::Sketch;
use crate::case::{push, put, rate, size};
use crate::dice::Dice;

/// Sets some ports, queues or classes otherwise, in one scenario of eight with shared buffers and no credits.
pub fn places(sketch: &mut Sketch, dice: &mut Dice) {
    let document = &sketch.document;
    let has = |section: &str, key: &str| {
        document
            .get(section)
            .and_then(|document| document.get(key))
            .is_some()
    };
    let credits = has("link", "flow_control");
    if sketch.model != "shared-buffer" || credits || !dice.percent(12) {
        return;
    }
    let may = May::of(document, &sketch.lossless);
    let hosts: BTreeSet<&str> = sketch.hosts.iter().map(|(host, _)| host.as_str()).collect();
    let ports = sketch.ports.iter();
    let ports = ports.filter(|(node, _)| !hosts.contains(node.as_str()));
    let ports: Vec<(String, String)> = ports.cloned().collect();
    if ports.is_empty() {
        return;
    }
    let (fastest, frame) = (
        sketch.rates.iter().copied().max().unwrap_or(1),
        sketch.frame,
    );
    for _ in 0..dice.between(1, 3) {
        let mut own = Table::new();
        let (node, peer) = &ports[dice.below(ports.len() as u64) as usize];
        match dice.below(if may.maps { 4 } else { 3 }) {
            0 => put(&mut own, "ports", format!("{node}->{peer}")),
            1 => put(&mut own, "ports", format!("*->{peer}")),
            2 => {}
            _ => {
                put(&mut own, "switches", node.clone());
                maps(&mut own, &may, dice);
                push(&mut sketch.document, "override", own);
                continue;
            }
        }
        if !own.contains_key("ports") || dice.percent(50) {
            let all = (0..8).filter(|it| *it != may.control && dice.percent(40));
            let all: Vec<Value> = all.map(Value::from).collect();
            if !all.is_empty() {
                own.insert("priorities".into(), all.into());
            }
        }
        settings(&mut own, &may, (fastest, frame), dice);
        push(&mut sketch.document, "override", own);
    }
}

/// The keys that overrides may have.
struct May {
    control: i64,
    lossless: Vec<u8>,
    fixed: bool,
    dynamic: bool,
    marks: bool,
    maps: bool,
}

impl May {
    fn of(document: &Table, lossless: &[u8]) -> Self {
        let get =
            |section: &str, key: &str| document.get(section).and_then(|document| document.get(key));
        let schemes = document.get("scheme").and_then(Value::as_array);
        let schemes = || schemes.into_iter().flatten();
        let control =
            |it: &Value| it.get("congestion_control").and_then(Value::as_str) == Some("dcqcn");
        let named = [document.get("sweep"), document.get("scheme")];
        let mut named = named.into_iter().flatten();
        let names_pfc = named.any(|entries| entries.to_string().contains("pfc."));
        let thresholds = !lossless.is_empty() && !document.contains_key("hpcc") && !names_pfc;
        let dynamic = get("pfc", "alpha")
            .or(get("pfc", "dynamic_shift"))
            .is_some();
        let apart = [
            ("probes", "causes"),
            ("probes", "deadlock"),
            ("switch", "watchdog"),
            ("switch", "trimming"),
        ];
        Self {
            control: get("host", "control_priority")
                .and_then(Value::as_integer)
                .unwrap_or(7),
            lossless: lossless.to_vec(),
            fixed: thresholds && !dynamic,
            dynamic: thresholds && dynamic,
            marks: schemes().any(|it| control(it) && it.get("marking").is_none()),
            maps: !apart
                .iter()
                .any(|(section, key)| get(section, key).is_some())
                && !schemes().any(|scheme| scheme.to_string().contains("qcn")),
        }
    }
}

/// Which queue and group some priority has, and which queue PAUSE of another stops.
fn maps(own: &mut Table, may: &May, dice: &mut Dice) {
    let data: Vec<i64> = (0..8).filter(|it| *it != may.control).collect();
    let entry = |dice: &mut Dice| {
        let mut map = Table::new();
        put(&mut map, &dice.pick(&data).to_string(), dice.pick(&data));
        map
    };
    let (queue, group) = (entry(dice), entry(dice));
    if dice.percent(60) {
        put(own, "tc_to_queue", queue);
    }
    if dice.percent(40) || own.len() == 1 {
        put(own, "tc_to_pg", group);
    }
}

/// Settings of ports and queues: one at least.
fn settings(own: &mut Table, may: &May, (fastest, frame): (u64, u64), dice: &mut Dice) {
    let places = own.len();
    let with_pfc = match own.get("priorities").and_then(Value::as_array) {
        None => true,
        Some(all) => all
            .iter()
            .filter_map(Value::as_integer)
            .any(|it| may.lossless.contains(&(it as u8))),
    };
    if with_pfc && may.fixed && dice.percent(40) {
        put(own, "xoff", size(dice.between(2, 40) * frame));
    }
    if with_pfc && may.dynamic && dice.percent(40) {
        put(own, "alpha", 1_i64 << dice.below(9));
    }
    if may.marks && dice.percent(30) {
        if dice.percent(50) {
            put(own, "marking", "none")
        } else {
            let kmin = dice.below(20) * frame;
            put(own, "kmin", size(kmin));
            put(own, "kmax", size(kmin + dice.below(20) * frame));
            put(own, "pmax", "1/4");
        }
    }
    if dice.percent(40) {
        if dice.percent(50) {
            put(own, "queue_limit", size(dice.between(1, 100) * frame))
        } else {
            put(own, "queue_alpha", 1_i64 << dice.below(9))
        }
    }
    if dice.percent(40) || own.len() == places {
        put(
            own,
            "max_rate",
            rate(dice.between(fastest / 20 + 1, fastest)),
        );
        if dice.percent(50) {
            put(own, "burst", size(dice.below(20) * frame));
        }
    }
}
