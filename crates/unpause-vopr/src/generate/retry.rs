//! `retry` of `[link]`: links that resend corrupted frames. It draws from dice of its own, so that all other seeds stay the same.

use toml::{Table, Value};

use super::sketch::Sketch;
use crate::case::{push, put, size, table, time};
use crate::dice::Dice;

/// Lets links send again, and lose frames to errors; takes out what they cannot have beside that.
pub fn retry(sketch: &mut Sketch, dice: &mut Dice) {
    let nic = sketch
        .document
        .get("host")
        .and_then(|document| document.get("nic"));
    let is_hpcc = sketch.document.contains_key("hpcc") || nic.is_some();
    if !dice.percent(12) || is_hpcc || sketch.ports.is_empty() {
        return;
    }
    keep_errors(sketch);
    sketch.document.remove("routing");
    if let Some(switch) = sketch
        .document
        .get_mut("switch")
        .and_then(Value::as_table_mut)
    {
        switch.remove("cut_through");
        if switch.is_empty() {
            sketch.document.remove("switch");
        }
    }
    let (frame, duration) = (sketch.frame, sketch.duration);
    let link = table(&mut sketch.document, "link");
    put(link, "retry", "llr");
    if dice.percent(50) {
        put(
            link,
            "retry_buffer",
            size((frame + 20) * dice.between(1, 30) + 200),
        );
    }
    if dice.percent(30) {
        put(link, "replay_timer", time(dice.scale(100_000, 20_000_000)));
    }
    if dice.percent(30) {
        put(link, "max_replays", dice.below(5) as i64);
    }
    for _ in 0..dice.between(0, 2) {
        let (from, to) = sketch.ports[dice.below(sketch.ports.len() as u64) as usize].clone();
        let mut event = Table::new();
        put(&mut event, "kind", "error-rate");
        put(&mut event, "link", format!("{from}-{to}"));
        match dice.below(3) {
            0 => put(&mut event, "loss", 1.0 / dice.scale(1, 1_000) as f64),
            _ => put(&mut event, "ber", 0.1 / dice.scale(100, 1_000_000) as f64),
        }
        if dice.percent(50) {
            put(&mut event, "at", time(dice.below(duration / 2)));
        }
        push(&mut sketch.document, "event", event);
    }
}

fn keep_errors(sketch: &mut Sketch) {
    let events = sketch.document.get_mut("event");
    let Some(events) = events.and_then(Value::as_array_mut) else {
        return;
    };
    let is_error = |it: &Value| it.get("kind").and_then(Value::as_str) == Some("error-rate");
    events.retain(is_error);
    if events.is_empty() {
        sketch.document.remove("event");
    }
}
