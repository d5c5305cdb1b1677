//! `[[override]] headroom`, by ports and priorities. It draws from dice of its own, so that all other seeds stay the same.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::sketch::Sketch;
use crate::case::{push, put, size};
use crate::dice::Dice;

/// Gives some ports another headroom, in one scenario of eight with shared buffers and PFC.
pub fn headrooms(sketch: &mut Sketch, dice: &mut Dice) {
    let document = &sketch.document;
    let has = |section: &str, key: &str| {
        document
            .get(section)
            .and_then(|document| document.get(key))
            .is_some()
    };
    let is_paused = !sketch.lossless.is_empty() && !document.contains_key("hpcc");
    let credits = has("link", "flow_control");
    // Headroom that exceeds a buffer is refused.
    let bounded = has("switch", "buffer");
    let may = sketch.model == "shared-buffer" && is_paused && !credits && !bounded;
    if !may || !dice.percent(12) {
        return;
    }
    let hosts: BTreeSet<&str> = sketch.hosts.iter().map(|(host, _)| host.as_str()).collect();
    let ports = sketch.ports.iter();
    let ports = ports.filter(|(node, _)| !hosts.contains(node.as_str()));
    let ports: Vec<(String, String)> = ports.cloned().collect();
    if ports.is_empty() {
        return;
    }
    for _ in 0..dice.between(1, 3) {
        let mut own = Table::new();
        let (node, peer) = &ports[dice.below(ports.len() as u64) as usize];
        match dice.below(4) {
            0 => put(&mut own, "ports", format!("{node}->{peer}")),
            1 => put(&mut own, "ports", format!("*->{peer}")),
            2 => put(&mut own, "switches", node.clone()),
            _ => {}
        }
        if dice.percent(40) {
            let priority = i64::from(dice.pick(&sketch.lossless));
            put(&mut own, "priorities", Value::Array(vec![priority.into()]));
        }
        put(&mut own, "headroom", size(dice.below(20) * sketch.frame));
        push(&mut sketch.document, "override", own);
    }
}
