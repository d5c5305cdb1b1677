//! `tcp` of `[[traffic]]`: window laws of entries. It has dice of its own, so that other scenarios stay what they were.

use toml::Value;
use unpause_scenario::CONGESTION_CONTROLS;

use super::sketch::Sketch;
use crate::case::put;
use crate::dice::Dice;

/// Gives some entries that are TCP wherever they take part a window law of their own.
pub fn laws(sketch: &mut Sketch, dice: &mut Dice) {
    let laws = CONGESTION_CONTROLS.into_iter().filter(|it| it.is_tcp());
    let laws = Vec::from_iter(laws);
    let entries = sketch.document.get_mut("traffic");
    let entries = entries.and_then(Value::as_array_mut).into_iter().flatten();
    for entry in entries.filter_map(Value::as_table_mut) {
        let is_tcp = entry.get("transport").and_then(Value::as_str) == Some("tcp");
        if is_tcp && dice.percent(40) {
            put(entry, "tcp", dice.pick(&laws).name());
        }
    }
}
