//! `loss_recovery` of `[[scheme]]`. It has dice of its own, so that other scenarios stay what they were.

use toml::{Table, Value};

use super::sketch::Sketch;
use crate::case::{put, size, table, time};
use crate::dice::Dice;

/// Writes how RoCE flows of some schemes repair losses, where that has an effect.
pub fn recovery(sketch: &mut Sketch, dice: &mut Dice) {
    if !dice.percent(25) || !is_possible(&sketch.document) {
        return;
    }
    let of_roce: Vec<bool> = sketch.schemes.iter().map(|scheme| !scheme.1).collect();
    let mut chosen = Vec::new();
    for &is_roce in &of_roce {
        chosen.push((is_roce && dice.percent(80)).then(|| parameters(sketch, dice)));
    }
    if chosen.iter().all(Option::is_some) {
        let host = table(&mut sketch.document, "host");
        host.remove("retransmit_timeout");
        host.remove("ack_timeout");
        host.remove("nak_interval");
        if host.is_empty() {
            sketch.document.remove("host");
        }
    }
    let schemes = sketch.document["scheme"].as_array_mut();
    let schemes = schemes
        .into_iter()
        .flatten()
        .filter_map(Value::as_table_mut);
    for (scheme, (is_roce, parameters)) in schemes.zip(of_roce.into_iter().zip(chosen)) {
        let Some(parameters) = parameters else {
            if is_roce {
                put(scheme, "loss_recovery", "go-back-n");
            }
            continue;
        };
        put(scheme, "loss_recovery", "selective-repeat");
        if !parameters.is_empty() {
            put(scheme, "selective-repeat", parameters);
        }
    }
}

/// Writes how often RoCE flows time out before they give up, where some flow is RoCE.
pub fn retries(sketch: &mut Sketch, dice: &mut Dice) {
    if !dice.percent(20) {
        return;
    }
    let entries = sketch.document["traffic"].as_array().into_iter().flatten();
    let is_roce = |entry: &Value| {
        let transport = entry.get("transport").and_then(Value::as_str);
        entry.get("schemes").is_none() && transport == Some("roce")
    };
    let of_scheme = sketch.schemes.iter().any(|scheme| !scheme.1);
    if of_scheme || entries.into_iter().any(is_roce) {
        let count = dice.below(8) as i64;
        put(table(&mut sketch.document, "host"), "retry_count", count);
    }
}

/// Some flow of every scheme is RoCE, and nothing is there that needs go-back-N.
fn is_possible(document: &Table) -> bool {
    let nic = document.get("host").and_then(|host| host.get("nic"));
    let entries = document.get("traffic").and_then(Value::as_array);
    let is_roce = |entry: &Value| {
        let transport = entry.get("transport").and_then(Value::as_str);
        entry.get("schemes").is_none() && transport.is_none_or(|transport| transport == "roce")
    };
    nic.and_then(Value::as_str) != Some("hpcc")
        && entries.is_some_and(|entries| entries.iter().any(is_roce))
}

fn parameters(sketch: &mut Sketch, dice: &mut Dice) -> Table {
    let mut keys = Table::new();
    // The default of the smallest payloads would be more packets than a window can have.
    let most = 60_000 * sketch.payload;
    if sketch.payload < 100 || dice.percent(40) {
        let few = dice.between(1, 40) * sketch.payload;
        put(&mut keys, "window", size(few.min(most)));
    } else if dice.percent(30) {
        put(&mut keys, "base_rtt", time(dice.scale(1, sketch.rtt)));
    }
    if dice.percent(50) {
        let least = (sketch.rtt / 4).max(sketch.duration / 400 + 1);
        let low = dice.scale(least, 2 * least);
        put(&mut keys, "rto_low", time(low));
        put(&mut keys, "rto_high", time(dice.scale(low, 10 * low)));
    }
    if dice.percent(30) {
        put(&mut keys, "few_packets", dice.below(8) as i64);
    }
    if dice.percent(40) {
        put(&mut keys, "reordering", dice.below(20) as i64);
    }
    keys
}
