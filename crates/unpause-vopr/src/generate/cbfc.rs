//! `[link]`: credits instead of PFC, where nothing of PFC is written. It has dice of its own, so that other scenarios stay what
//! they were.

use toml::{Table, Value};

use super::sketch::Sketch;
use crate::case::{put, size, table};
use crate::dice::Dice;

/// Gives links credits, and takes out what only PFC has.
pub fn cbfc(sketch: &mut Sketch, dice: &mut Dice) {
    if !dice.percent(20) || !is_possible(sketch) {
        return;
    }
    for key in ["pfc", "slow_receiver", "routing"] {
        sketch.document.remove(key);
    }
    keep_rate_events(sketch);
    for (section, keys) in [
        ("switch", &["watchdog", "cut_through", "buffer"][..]),
        ("host", &["ack_priority", "pause_acks"]),
        ("probes", &["causes"]),
    ] {
        let Some(inner) = sketch
            .document
            .get_mut(section)
            .and_then(Value::as_table_mut)
        else {
            continue;
        };
        for key in keys {
            inner.remove(*key);
        }
        if inner.is_empty() {
            sketch.document.remove(section);
        }
    }
    let frame = sketch.frame;
    let link = table(&mut sketch.document, "link");
    put(link, "flow_control", "cbfc");
    if dice.percent(60) {
        put(link, "credit_buffer", size(frame * dice.between(2, 40)));
    }
    if dice.percent(40) {
        put(link, "credit_size", size(dice.pick(&[1, 8, 64, 128, 256])));
    }
    if dice.percent(40) {
        put(
            link,
            "update_spacing",
            size(dice.pick(&[0, 800, 2048, 6400, 262_144])),
        );
    }
}

/// Links with credits may change their rate, but neither fail nor have errors.
fn keep_rate_events(sketch: &mut Sketch) {
    let events = sketch.document.get_mut("event");
    let Some(events) = events.and_then(Value::as_array_mut) else {
        return;
    };
    let is_rate = |it: &Value| it.get("kind").and_then(Value::as_str) == Some("rate");
    events.retain(is_rate);
    if events.is_empty() {
        sketch.document.remove("event");
    }
}

/// False if credits would be refused: such scenarios need not be frequent.
fn is_possible(sketch: &Sketch) -> bool {
    let document = &sketch.document;
    let text = |section: &str, key: &str| document.get(section)?.get(key)?.as_str();
    let text_of_pfc = [document.get("sweep"), document.get("scheme")];
    let names_pfc = text_of_pfc
        .into_iter()
        .flatten()
        .any(|entries| entries.to_string().contains("pfc."));
    let traffic = document.get("traffic").and_then(Value::as_array);
    let is_tcp = |entry: &Table| entry.get("transport").and_then(Value::as_str) == Some("tcp");
    let uses_tcp = traffic
        .into_iter()
        .flatten()
        .filter_map(Value::as_table)
        .any(is_tcp);
    sketch.model == "shared-buffer"
        && !sketch.lossless.is_empty()
        && !names_pfc
        && !uses_tcp
        && document.get("hpcc").is_none()
        && text("host", "nic") != Some("hpcc")
}
