//! `[probes]`: series of ports and flows, packets, PAUSE records, deadlocks.

use toml::Table;

use super::sketch::Sketch;
use crate::case::{put, table, time};

/// Writes `[probes]`.
pub fn probes(sketch: &mut Sketch) {
    for file in ["fct", "pfc"] {
        if sketch.dice.percent(8) {
            put(table(&mut sketch.document, "hpcc"), file, true);
        }
    }
    if !sketch.dice.percent(70) {
        return;
    }
    let mut probes = Table::new();
    let interval = sketch.time().max(sketch.duration / 50 + 1);
    put(&mut probes, "interval", time(interval));
    if sketch.dice.percent(25) {
        let times = sketch.dice.between(1, 4);
        put(&mut probes, "flow_interval", time(interval * times));
    }
    if sketch.dice.percent(25) {
        let start = sketch.dice.below(sketch.duration);
        // Sometimes exactly when a sample would be taken.
        let start = if sketch.dice.percent(50) {
            start - start % interval
        } else {
            start
        };
        put(&mut probes, "start", time(start));
    }
    if sketch.dice.percent(70) {
        let ports = ports(sketch);
        put(&mut probes, "ports", ports);
    }
    if sketch.dice.percent(20) {
        put(&mut probes, "pauses", sketch.dice.percent(30));
    }
    if sketch.dice.percent(40) {
        let ports = ports(sketch);
        put(&mut probes, "packets", ports);
        if sketch.dice.percent(25) {
            put(
                &mut probes,
                "packet_flows",
                vec![0, sketch.dice.below(5) as i64],
            );
        }
    }
    // Only where queues are paused; refused elsewhere, which comes, too.
    let pauses = !sketch.lossless.is_empty() && sketch.model != "cioq";
    if sketch.dice.percent(if pauses { 20 } else { 1 }) {
        put(&mut probes, "deadlock", time(sketch.period()));
        if sketch.dice.percent(70) {
            put(&mut probes, "deadlock_hold", time(sketch.time()));
        }
    }
    put(&mut sketch.document, "probes", probes);
}

fn ports(sketch: &mut Sketch) -> Vec<String> {
    if sketch.ports.is_empty() || sketch.dice.percent(30) {
        return vec!["*->*".into()];
    }
    let count = sketch.dice.between(1, 3) as usize;
    let some = sketch.dice.some(&sketch.ports, count);
    some.into_iter()
        .map(|(node, peer)| match sketch.dice.below(5) {
            0 => format!("*->{peer}"),
            1 => format!("{node}->*"),
            _ => format!("{node}->{peer}"),
        })
        .collect()
}
