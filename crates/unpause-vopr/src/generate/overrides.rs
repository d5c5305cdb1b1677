//! `[[override]]`, shared headroom, shares of lossy queues, and hosts that do not obey PAUSE. It draws from dice of
//! its own, so that all other seeds stay the same.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::sketch::Sketch;
use crate::case::{push, put, size, table};
use crate::dice::Dice;

/// Sets some switches otherwise, in one scenario of eight with shared buffers.
pub fn overrides(sketch: &mut Sketch, dice: &mut Dice) {
    if sketch.model != "shared-buffer" || !dice.percent(12) {
        return;
    }
    let document = &sketch.document;
    let has = |section: &str, key: &str| {
        document
            .get(section)
            .and_then(|document| document.get(key))
            .is_some()
    };
    let credits = has("link", "flow_control");
    let is_paused = !sketch.lossless.is_empty() && !credits && !has_hpcc(document);
    let names_pfc = [document.get("sweep"), document.get("scheme")]
        .into_iter()
        .flatten()
        .any(|entries| entries.to_string().contains("pfc."));
    let dynamic = has("pfc", "alpha") || has("pfc", "dynamic_shift");
    let has_buffer = has("switch", "buffer");
    let hosts: BTreeSet<&str> = sketch.hosts.iter().map(|(host, _)| host.as_str()).collect();
    let nodes = sketch.ports.iter().map(|(node, _)| node.clone());
    let switches: BTreeSet<String> = nodes
        .filter(|node| !hosts.contains(node.as_str()))
        .collect();
    let switches: Vec<String> = switches.into_iter().collect();
    let lossless = sketch.lossless.clone();
    let frame = sketch.frame;
    let may = May {
        is_paused,
        names_pfc,
        dynamic,
    };
    for _ in 0..dice.between(0, 2) {
        if !switches.is_empty() {
            let own = one(&switches, &lossless, frame, may, dice);
            push(&mut sketch.document, "override", own);
        }
    }
    if is_paused && !names_pfc && !has_buffer && dice.percent(40) {
        let pfc = table(&mut sketch.document, "pfc");
        put(pfc, "headroom_pool", size(dice.between(1, 60) * frame));
    }
    if dice.percent(40) {
        let switch = table(&mut sketch.document, "switch");
        let shift = dice.below(9);
        if dice.percent(50) {
            put(switch, "lossy_alpha", 1_i64 << shift)
        } else {
            put(switch, "lossy_alpha", format!("1/{}", 1 << shift))
        }
    }
    let host = sketch.hosts[dice.below(sketch.hosts.len() as u64) as usize]
        .0
        .clone();
    if is_paused && dice.percent(40) {
        put(table(&mut sketch.document, "host"), "ignore_pause", host);
    }
}

/// The keys that an override may have.
#[derive(Clone, Copy)]
struct May {
    is_paused: bool,
    names_pfc: bool,
    dynamic: bool,
}

/// An override of some of these switches.
fn one(switches: &[String], lossless: &[u8], frame: u64, may: May, dice: &mut Dice) -> Table {
    let mut own = Table::new();
    let name = &switches[dice.below(switches.len() as u64) as usize];
    let few = dice.percent(70);
    put(
        &mut own,
        "switches",
        if few { name.clone() } else { "*".to_owned() },
    );
    if may.is_paused && dice.percent(50) {
        let kept: Vec<Value> = lossless
            .iter()
            .filter(|_| dice.percent(30))
            .map(|it| Value::from(i64::from(*it)))
            .collect();
        own.insert("lossless".into(), kept.into());
    }
    if may.is_paused && !may.names_pfc && dice.percent(50) {
        if may.dynamic {
            put(&mut own, "alpha", 1_i64 << dice.below(9))
        } else {
            put(&mut own, "xoff", size(dice.between(2, 40) * frame))
        }
    }
    // Thresholds have no effect where no priority is left.
    let is_lossy = own.get("lossless").and_then(Value::as_array);
    if is_lossy.is_some_and(Vec::is_empty) {
        own.remove("alpha");
        own.remove("xoff");
    }
    if may.is_paused && dice.percent(20) {
        let mut map = Table::new();
        let priority = lossless[dice.below(lossless.len() as u64) as usize];
        put(&mut map, &priority.to_string(), dice.below(8) as i64);
        put(&mut own, "pfc_to_queue", map);
    }
    if dice.percent(30) || own.len() == 1 {
        put(&mut own, "lossy_queue", size(dice.between(2, 100) * frame));
    }
    own
}

fn has_hpcc(document: &Table) -> bool {
    document.contains_key("hpcc")
}
