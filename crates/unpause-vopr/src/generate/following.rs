//! Entries of `[[traffic]]` that start when flows of another have ended.

use toml::{Table, Value};

use super::sketch::Sketch;
use crate::case::{push, put, time};
use crate::dice::Dice;

/// In one scenario of eight, lets one or two more entries follow one that there is. `dice` are its own, so that all
/// else stays what it was.
pub fn following(sketch: &mut Sketch, dice: &mut Dice) {
    if !dice.percent(12) {
        return;
    }
    for _ in 0..dice.between(1, 2) {
        let entries = sketch.document["traffic"].as_array();
        let tables = entries.into_iter().flatten().filter_map(Value::as_table);
        let leaders: Vec<Table> = tables.filter(|table| can_lead(table)).cloned().collect();
        if leaders.is_empty() {
            return;
        }
        let number = sketch.document["traffic"].as_array().map_or(0, Vec::len);
        let entry = follower(
            &leaders[dice.below(leaders.len() as u64) as usize],
            number,
            sketch.duration,
            dice,
        );
        push(&mut sketch.document, "traffic", entry);
    }
}

/// Its flows end, and are the same whatever the seed.
fn can_lead(entry: &Table) -> bool {
    let kind = entry["kind"].as_str();
    let sized = entry.contains_key("size");
    sized && matches!(kind, Some("flow" | "burst")) && !entry.contains_key("mean_interval")
}

/// Names in a key that has one or several.
fn names(entry: &Table, key: &str) -> Vec<String> {
    match &entry[key] {
        Value::Array(names) => names
            .iter()
            .filter_map(Value::as_str)
            .map(String::from)
            .collect(),
        name => name.as_str().map(String::from).into_iter().collect(),
    }
}

/// An entry of which flows wait for those of `leader`: at its receivers, which answer, or at its senders.
fn follower(leader: &Table, number: usize, duration: u64, dice: &mut Dice) -> Table {
    let mut entry = leader.clone();
    for key in [
        "start",
        "stop",
        "interval",
        "events",
        "flows",
        "flows_per_host",
        "after_end",
        "after_match",
    ] {
        entry.remove(key);
    }
    put(&mut entry, "name", format!("T{number}"));
    put(&mut entry, "kind", "flow");
    put(&mut entry, "after", leader["name"].clone());
    let (from, to) = (names(leader, "from"), names(leader, "to"));
    if dice.percent(60) {
        put(&mut entry, "from", to);
        put(&mut entry, "to", from);
    } else {
        put(&mut entry, "after_end", "acknowledged")
    }
    // Pairs of the same hosts, in the same order, are one by one if one side is a single host.
    let one = names(&entry, "from").len().min(names(&entry, "to").len()) == 1;
    let plain = leader["kind"].as_str() == Some("flow") && !leader.contains_key("after");
    if one && plain && dice.percent(40) {
        put(&mut entry, "after_match", "each");
    }
    if dice.percent(50) {
        put(&mut entry, "start", time(dice.below(duration / 4 + 1)));
    }
    entry
}
