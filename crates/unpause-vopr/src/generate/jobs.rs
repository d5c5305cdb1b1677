//! `[[job]]`: collective operations of some hosts.

use toml::{Table, Value};

use super::sketch::Sketch;
use crate::case::{push, put, size, time};
use crate::dice::Dice;

/// In one scenario of eight, lets one or two jobs run beside the flows. `dice` are its own, so that all else stays what it
/// was.
pub fn jobs(sketch: &mut Sketch, dice: &mut Dice) {
    let of_roce = |(name, is_tcp, _): &(String, bool, bool)| (!is_tcp).then(|| name.clone());
    let schemes: Vec<String> = sketch.schemes.iter().filter_map(of_roce).collect();
    if schemes.is_empty() || sketch.hosts.len() < 2 || !dice.percent(12) {
        return;
    }
    let mut own = Dice::new(dice.clone().below(u64::MAX));
    for number in 0..dice.between(1, 2) {
        let mut entry = job(sketch, number, dice);
        connections(&mut entry, &mut own);
        if schemes.len() < sketch.schemes.len() {
            put(&mut entry, "schemes", schemes.clone());
        }
        push(&mut sketch.document, "job", entry);
    }
}

fn job(sketch: &Sketch, number: u64, dice: &mut Dice) -> Table {
    let mut entry = Table::new();
    put(&mut entry, "name", format!("J{number}"));
    let most = sketch.hosts.len().min(8) as u64;
    let ranks = dice.between(2, most);
    // Jobs may share hosts where these are named.
    let first = dice.below(sketch.hosts.len() as u64) as usize;
    let names: Vec<String> = (0..ranks as usize)
        .map(|at| sketch.hosts[(first + at) % sketch.hosts.len()].0.clone())
        .collect();
    put(&mut entry, "ranks", names);
    put(
        &mut entry,
        "priority",
        i64::from(dice.pick(&sketch.priorities)),
    );
    put(&mut entry, "iterations", dice.between(1, 3) as i64);
    if dice.percent(30) {
        put(
            &mut entry,
            "start",
            time(dice.below(sketch.duration / 4 + 1)),
        );
    }
    if dice.percent(20) {
        put(&mut entry, "launch", time(dice.scale(1, sketch.rtt + 1)));
    }
    if dice.percent(20) {
        put(&mut entry, "messages", false);
    }
    if dice.percent(30) {
        put(&mut entry, "alone", false);
    }
    if dice.percent(60) {
        let reduces = step(sketch, ranks, dice, &mut entry);
        if reduces && !entry.contains_key("slices") && dice.percent(20) {
            put(&mut entry, "reduce_rate", "50Gbps");
        }
        return entry;
    }
    let mut steps = Vec::new();
    for _ in 0..dice.between(1, 3) {
        let mut table = Table::new();
        step(sketch, ranks, dice, &mut table);
        if dice.percent(20) {
            put(&mut table, "repeat", 2);
        }
        steps.push(Value::Table(table));
    }
    put(&mut entry, "step", Value::Array(steps));
    entry
}

/// The connections of messages, and when messages complete.
fn connections(to: &mut Table, dice: &mut Dice) {
    if dice.percent(30) {
        let which = dice.pick(&["kept", "per-message"]);
        put(to, "connection", which);
    }
    if dice.percent(30) {
        let which = dice.pick(&["delivered", "ack"]);
        put(to, "completion", which);
    }
}

/// A step of the ranks: they compute or exchange something; true if they reduce.
fn step(sketch: &Sketch, ranks: u64, dice: &mut Dice, to: &mut Table) -> bool {
    let computes = dice.percent(40);
    if computes {
        put(to, "compute", time(dice.scale(1, sketch.duration / 8 + 1)));
        if dice.percent(50) {
            put(to, "jitter", "30%");
        }
    }
    if computes && dice.percent(20) {
        return false;
    }
    let (operation, algorithms): (&str, &[&str]) = dice.pick(&[
        (
            "all-reduce",
            &["ring", "halving-doubling", "direct", "double-binary-tree"][..],
        ),
        ("all-gather", &["ring", "direct"]),
        ("reduce-scatter", &["ring", "direct"]),
        ("all-to-all", &["direct", "pairwise"]),
        ("all-to-all-v", &["direct", "pairwise"]),
        ("broadcast", &["ring"]),
        ("send-receive", &["ring"]),
    ]);
    let algorithm = dice.pick(algorithms);
    put(to, "collective", operation);
    put(to, "algorithm", algorithm);
    let most = 20 * sketch.frame;
    match operation {
        "all-to-all-v" => {
            let sizes = (0..ranks * ranks).map(|_| {
                if dice.percent(30) {
                    size(0)
                } else {
                    size(dice.scale(1, most))
                }
            });
            let sizes: Vec<String> = sizes.collect();
            put(to, "matrix", sizes);
        }
        _ => put(to, "size", size(dice.scale(1, most * ranks))),
    }
    if operation == "broadcast" && dice.percent(50) {
        put(to, "root", dice.below(ranks) as i64);
    }
    if dice.percent(30) {
        put(to, "channels", dice.between(1, 3) as i64);
    }
    let in_order = matches!(algorithm, "ring" | "double-binary-tree")
        || algorithm == "direct" && operation != "all-reduce";
    if in_order && dice.percent(30) {
        put(to, "slices", dice.between(1, 4) as i64);
    }
    matches!(operation, "all-reduce" | "reduce-scatter")
}
