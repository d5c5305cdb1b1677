//! `jitter` of entries. It draws from dice of its own, so that all other seeds stay the same.

use toml::Value;

use super::sketch::Sketch;
use crate::case::{put, time};
use crate::dice::Dice;

/// Lets the flows of an entry that follow nothing start later, in one scenario of ten.
pub fn jitter(sketch: &mut Sketch, dice: &mut Dice) {
    if !dice.percent(10) {
        return;
    }
    let duration = sketch.duration;
    let entries = sketch.document.get_mut("traffic");
    let entries = entries.and_then(Value::as_array_mut);
    let tables = entries
        .into_iter()
        .flatten()
        .filter_map(Value::as_table_mut);
    for entry in tables.filter(|table| !table.contains_key("after")) {
        if dice.percent(50) {
            put(entry, "jitter", time(dice.scale(1, duration.max(2))));
        }
    }
}
