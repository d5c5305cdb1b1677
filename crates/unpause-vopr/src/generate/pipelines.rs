//! Pipelines of `[[job]]`. They draw from dice of their own, so that all other seeds stay the same.

use toml::{Table, Value};

use super::sketch::Sketch;
use crate::case::{put, size, time};
use crate::dice::Dice;

/// The keys of a job's exchange, which a pipeline replaces.
const EXCHANGE: [&str; 8] = [
    "collective",
    "algorithm",
    "size",
    "matrix",
    "root",
    "channels",
    "slices",
    "reduce_rate",
];

/// Lets jobs without steps be pipelines, in one scenario of three that has such.
pub fn pipelines(sketch: &mut Sketch, dice: &mut Dice) {
    if !dice.percent(33) {
        return;
    }
    let (frame, duration) = (sketch.frame, sketch.duration);
    let jobs = sketch.document.get_mut("job").and_then(Value::as_array_mut);
    let jobs = jobs.into_iter().flatten().filter_map(Value::as_table_mut);
    for job in jobs.filter(|job| job.contains_key("collective")) {
        pipeline(job, (frame, duration), dice);
    }
}

fn pipeline(job: &mut Table, (frame, duration): (u64, u64), dice: &mut Dice) {
    let ranks = job.get("ranks").and_then(Value::as_array);
    let ranks = ranks.map_or(0, Vec::len) as u64;
    for key in EXCHANGE {
        job.remove(key);
    }
    put(job, "collective", "pipeline");
    let possible: &[&str] = match ranks {
        0..3 => &["1f1b", "gpipe"],
        _ => &["1f1b", "gpipe", "interleaved"],
    };
    let algorithm = dice.pick(possible);
    put(job, "algorithm", algorithm);
    let micro_batches = match algorithm {
        "interleaved" => ranks * dice.between(1, 2),
        _ => dice.between(1, 8),
    };
    if algorithm == "interleaved" && dice.percent(50) {
        put(job, "virtual_stages", dice.between(2, 4) as i64);
    }
    put(job, "micro_batches", micro_batches as i64);
    for key in ["forward", "backward"] {
        put(job, key, time(dice.scale(1, duration / 32 + 1)));
    }
    put(job, "size", size(dice.scale(1, 20 * frame)));
}
