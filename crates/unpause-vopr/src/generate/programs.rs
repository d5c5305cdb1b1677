//! `[[job]] goal = …`: small schedules, whose sends and receives match.

use std::fmt::Write;

use toml::{Table, Value};

use super::sketch::Sketch;
use crate::case::put;
use crate::dice::Dice;

/// Lets some jobs with steps do what a schedule says instead. `dice` are their own, so that all else stays what it was.
pub fn programs(sketch: &mut Sketch, dice: &mut Dice) {
    let jobs = sketch.document.get("job").and_then(Value::as_array);
    for at in 0..jobs.map_or(0, Vec::len) {
        if !dice.percent(50) {
            continue;
        }
        let most = 20 * sketch.frame;
        let longest = (sketch.duration / 8_000).max(1);
        let Some(job) = job(sketch, at) else {
            continue;
        };
        let ranks = job["ranks"].as_array().map_or(0, Vec::len);
        job.remove("step");
        let name = format!("program{at}.goal");
        put(job, "goal", name.clone());
        let text = schedule(ranks as u64, (most, longest), dice);
        sketch.files.insert(name, text);
    }
}

/// The job at this place, if it has steps.
fn job(sketch: &mut Sketch, at: usize) -> Option<&mut Table> {
    let jobs = sketch.document.get_mut("job")?.as_array_mut()?;
    let job = jobs.get_mut(at)?.as_table_mut()?;
    job.contains_key("step").then_some(job)
}

/// Operations of each rank come in an order in which all can be done: each waits for some that stand further up. Messages
/// have at most this many bytes, computations this many ns.
fn schedule(ranks: u64, (most, longest): (u64, u64), dice: &mut Dice) -> String {
    let mut bodies = vec![(String::new(), 0_u64); ranks as usize];
    for tag in 0..dice.between(1, 30) {
        let from = dice.below(ranks);
        let to = (from + dice.between(1, ranks - 1)) % ranks;
        let bytes = if dice.percent(10) {
            0
        } else {
            dice.scale(1, most)
        };
        let cpu = if dice.percent(30) {
            format!(" cpu {}", dice.between(1, 2))
        } else {
            String::new()
        };
        let source = if dice.percent(10) {
            "-1".into()
        } else {
            from.to_string()
        };
        let operations = [
            (from, format!("send {bytes}b to {to} tag {tag}{cpu}")),
            (to, format!("recv {bytes}b from {source} tag {tag}")),
        ];
        for (rank, text) in operations {
            add(&mut bodies[rank as usize], &text, dice);
        }
        if dice.percent(30) {
            let text = format!("calc {}{cpu}", dice.scale(1, longest) - 1);
            add(&mut bodies[from as usize], &text, dice);
        }
    }
    let head = format!("num_ranks {ranks}\n");
    bodies
        .iter()
        .zip(0..)
        .fold(head, |text, ((body, _), rank)| {
            text + &format!("rank {rank} {{\n{body}}}\n")
        })
}

/// One more operation of a rank.
fn add((body, count): &mut (String, u64), operation: &str, dice: &mut Dice) {
    let number = *count;
    *count += 1;
    writeln!(body, "l{number}: {operation}").expect("text can be written");
    for _ in 0..dice.below(3).min(number) {
        let before = dice.below(number);
        let waits = dice.pick(&["requires", "requires", "irequires"]);
        writeln!(body, "l{number} {waits} l{before}").expect("text can be written");
    }
}
