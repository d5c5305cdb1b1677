//! `[slow_receiver]`.

use toml::Table;

use super::sketch::Sketch;
use crate::case::{put, rate, size, time};

/// Writes some NICs that do not take what comes.
pub fn slow_receiver(sketch: &mut Sketch) {
    // What sends PAUSE for long is what a watchdog finds.
    let switch = sketch.document.get("switch");
    let watched = switch.is_some_and(|switch| switch.get("watchdog").is_some());
    if !sketch.dice.percent(if watched { 70 } else { 10 }) {
        return;
    }
    let Sketch {
        dice,
        hosts,
        frame,
        duration,
        slowest_bps,
        lossless,
        ..
    } = sketch;
    let (frame, duration) = (*frame, *duration);
    let count = dice.between(1, 2) as usize;
    let names: Vec<String> = hosts.iter().map(|(name, _)| name.clone()).collect();
    let names = dice.some(&names, count);
    if names.is_empty() {
        return;
    }
    let mut keys = Table::new();
    put(&mut keys, "hosts", names);
    if dice.percent(70) {
        let part = dice.between(1, 20);
        put(
            &mut keys,
            "drain_rate",
            rate((*slowest_bps / 10 * part).max(1)),
        );
    }
    let start = dice.below(duration / 2 + 1);
    if dice.percent(60) {
        put(&mut keys, "start", time(start));
    }
    if dice.percent(60) {
        let stop = dice.between(start + 1, duration.max(start + 1));
        put(&mut keys, "stop", time(stop));
    }
    let xoff = dice.between(0, 20) * frame;
    if !lossless.is_empty() && dice.percent(70) {
        put(&mut keys, "xoff", size(xoff));
        if dice.percent(50) {
            put(&mut keys, "xon", size(dice.below(xoff + 1)));
        }
        if dice.percent(40) {
            put(
                &mut keys,
                "buffer",
                size(xoff + dice.between(1, 20) * frame),
            );
        }
    }
    sketch.document.insert("slow_receiver".into(), keys.into());
}
