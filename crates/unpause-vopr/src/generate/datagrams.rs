//! `transport = "udp"` of `[[traffic]]`. It has dice of its own, so that other scenarios stay what they were.

use toml::Value;

use super::sketch::Sketch;
use crate::case::put;
use crate::dice::Dice;

/// Makes some entries UDP that are RoCE wherever they take part.
pub fn datagrams(sketch: &mut Sketch, dice: &mut Dice) {
    let host = sketch.document.get("host");
    let nic = host
        .and_then(|host| host.get("nic"))
        .and_then(Value::as_str);
    if nic == Some("hpcc") || sketch.document.contains_key("hpcc") {
        return;
    }
    let entries = sketch.document.get_mut("traffic");
    let entries = entries.and_then(Value::as_array_mut).into_iter().flatten();
    for entry in entries.filter_map(Value::as_table_mut) {
        let is_roce = entry.get("transport").and_then(Value::as_str) == Some("roce");
        if is_roce && dice.percent(25) {
            put(entry, "transport", "udp");
            entry.remove("controlled");
        }
    }
}
