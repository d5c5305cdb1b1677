//! Which paths packets take. It has dice of its own, so that other scenarios stay what they were.

use toml::{Table, Value};

use super::sketch::Sketch;
use crate::case::{put, size, table, time};
use crate::dice::Dice;

/// Writes how switches choose among next hops, how senders spray, and what is trimmed, where losses are repaired one by one.
pub fn paths(sketch: &mut Sketch, dice: &mut Dice) {
    if text(&sketch.document, "topology", "ecmp") == Some("hpcc") {
        return;
    }
    if dice.percent(20) {
        balancing(sketch, dice);
    }
    let trims = sketch.model == "shared-buffer" && sketch.lossless.len() < sketch.priorities.len();
    let frame = sketch.frame;
    for scheme in tables(&mut sketch.document, "scheme") {
        let repair = scheme.get("loss_recovery").and_then(Value::as_str);
        let selective = repair == Some("selective-repeat");
        if selective && dice.percent(50) {
            let set = table(scheme, "set");
            spraying(set, dice);
        }
        if selective && trims && dice.percent(40) {
            trimming(table(scheme, "set"), frame, dice);
        }
    }
}

fn text<'a>(document: &'a Table, section: &str, key: &str) -> Option<&'a str> {
    document.get(section)?.get(key)?.as_str()
}

fn tables<'a>(document: &'a mut Table, key: &str) -> impl Iterator<Item = &'a mut Table> {
    let entries = document.get_mut(key).and_then(Value::as_array_mut);
    let entries = entries.into_iter().flatten();
    entries.filter_map(Value::as_table_mut)
}

/// How many groups of switches the topology has.
fn groups(document: &Table) -> i64 {
    let number = |key: &str| document["topology"].get(key).and_then(Value::as_integer);
    let most = || Some(number("switches_per_group")? * number("global_links")? + 1);
    let is_dragonfly = text(document, "topology", "builder") == Some("dragonfly");
    let groups = is_dragonfly.then(|| number("groups").or_else(most));
    groups.flatten().unwrap_or(0)
}

fn balancing(sketch: &mut Sketch, dice: &mut Dice) {
    let mut kinds = vec!["round-robin", "random", "flowlet", "ecmp"];
    // There, frames may not wait at outputs.
    if sketch.model != "input-queued" {
        kinds.extend(["adaptive", "adaptive"]);
    }
    if groups(&sketch.document) > 2 {
        kinds.extend(["valiant"; 4]);
    }
    let kind = dice.pick(&kinds);
    let switch = table(&mut sketch.document, "switch");
    put(switch, "balancing", kind);
    if kind == "flowlet" && dice.percent(60) {
        put(switch, "flowlet_gap", time(dice.scale(1, sketch.rtt)));
    }
    if kind == "adaptive" && dice.percent(60) {
        let low = dice.between(0, 20) * sketch.frame;
        put(switch, "balancing_min", size(low));
        let high = low + dice.between(0, 20) * sketch.frame;
        put(switch, "balancing_max", size(high));
    }
}

/// Queues are short, so that there is something to trim.
fn trimming(set: &mut Table, frame: u64, dice: &mut Dice) {
    let least = dice.pick(&[64, 64, 64, 100, 128, 200]);
    put(set, "switch.trimming.size", size(least));
    if dice.percent(50) {
        put(set, "switch.lossy_queue", size(dice.between(1, 10) * frame));
    }
    if dice.percent(50) {
        let queue = least * dice.between(1, 200);
        put(set, "switch.trimming.control_queue", size(queue));
    }
    if dice.percent(50) {
        let cut = dice.pick(&["either", "arriving"]);
        put(set, "switch.trimming.cut", cut);
    }
}

fn spraying(set: &mut Table, dice: &mut Dice) {
    let kind = dice.pick(&["oblivious", "bitmap", "reps"]);
    put(set, "host.spraying", kind);
    if dice.percent(60) {
        put(set, "host.paths", 1 << dice.between(1, 8));
    }
    if kind == "reps" && dice.percent(50) {
        put(set, "host.reps_freeze", time(dice.scale(1, 1 << 30)));
    }
}
