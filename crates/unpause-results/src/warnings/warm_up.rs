//! The flows and iterations that no statistic is of, because they began in the warm-up.

use unpause_sim::results::FlowRecord;
use unpause_text::count::count;

use crate::run::job_totals::iterations;
use crate::run::measured::Measured;
use crate::warnings::foreseen::Foreseen;

/// Kind of the note.
pub const KIND: &str = "warm-up";
/// Kind of the warning where nothing is left.
const NOTHING_LEFT: &str = "all-warm-up";

/// A note for a run with a warm-up, or a warning if nothing began after it.
pub fn of(measured: &Measured) -> Option<Foreseen> {
    let Measured { run, results, .. } = measured;
    let warmup = run.warmup;
    if warmup.as_ps() == 0 {
        return None;
    }
    let of_job = |flow: &&FlowRecord| run.config.jobs.iter().all(|job| job.entry != flow.group);
    let flows: Vec<bool> = results
        .flows
        .iter()
        .filter(of_job)
        .map(|flow| flow.start < warmup)
        .collect();
    let steps: Vec<bool> = iterations(run, results)
        .iter()
        .map(|iteration| iteration.start < warmup)
        .collect();
    let early = |of: &[bool]| of.iter().filter(|is_early| **is_early).count();
    let part = |what: &str, of: &[bool]| {
        let (early, all) = (count(early(of) as u64), count(of.len() as u64));
        (!of.is_empty()).then(|| format!("{early} of {all} {what}"))
    };
    let parts: Vec<String> = [part("flows", &flows), part("iterations", &steps)]
        .into_iter()
        .flatten()
        .collect();
    if parts.is_empty() {
        return None;
    }
    let parts = parts.join(" and ");
    let left = flows.len() + steps.len() - early(&flows) - early(&steps);
    Some(Foreseen {
        kind: if left == 0 { NOTHING_LEFT } else { KIND },
        message: format!("what began in the warm-up of {warmup} is in no statistic: {parts}"),
        help: match left {
            0 => "nothing is left: set a shorter warmup, or a longer duration".to_owned(),
            _ => "tables have every flow; counters of ports (PAUSE, drops, marks, queues) are of the whole run"
                .to_owned(),
        },
        key: Vec::new(),
    })
}
