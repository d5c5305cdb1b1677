//! Jobs whose iterations were not all complete at the end.

use unpause_sim::jobs::Job;

use crate::run::job_totals::{iterations, warmup};
use crate::run::measured::Measured;
use crate::warnings::cut_off::CutOff;
use crate::warnings::foreseen::Foreseen;
use unpause_text::count::count;

/// Kind of the note where some of the iterations that statistics are of were complete.
pub const SOME: &str = "unfinished-iterations";

/// One for each such job that was to begin before the end.
pub fn of(measured: &Measured) -> Vec<Foreseen> {
    let Measured { run, results, .. } = measured;
    let complete = iterations(run, results);
    let jobs = run.config.jobs.iter().zip(&run.names.jobs);
    let found = jobs.filter_map(|(job, named)| {
        let own = complete.iter().filter(|it| it.job.entry == job.entry);
        let numbers: Vec<u32> = own.clone().map(|it| it.number).collect();
        let all = job.iterations;
        if numbers.len() == all as usize || job.start >= run.config.stop {
            return None;
        }
        let done = match numbers.len() {
            0 => "none".to_owned(),
            some => count(some as u64),
        };
        let warmup = warmup(run, named, own);
        let counted = numbers.iter().filter(|it| **it >= warmup).count();
        let name = &run.names.traffic[usize::from(job.entry)];
        let of_all = match all {
            1 => format!("job `{name}` did not complete its iteration"),
            _ => format!(
                "job `{name}` completed {done} of its {} iterations",
                count(all.into())
            ),
        };
        let message = match (counted, warmup) {
            (_, 0) => of_all,
            (0, _) => format!("{of_all}, none after the warm-up of {warmup}"),
            _ => format!("{of_all}, {counted} after the warm-up of {warmup}"),
        };
        Some(Foreseen {
            kind: if counted == 0 {
                "unfinished-jobs"
            } else {
                SOME
            },
            message,
            help: format!("{}; {}", missing(counted), longer(measured, job)),
            key: Vec::new(),
        })
    });
    found.collect()
}

/// The part that tables lack.
fn missing(counted: usize) -> &'static str {
    match counted {
        0 => "its iteration time and bandwidth are unknown",
        1 => "its time and bandwidth are those of the one that was complete",
        _ => "means and bandwidths are of those that were complete",
    }
}

/// Whether the job would get further in a longer run.
fn longer(measured: &Measured, job: &Job) -> &'static str {
    let mut cut_off = CutOff::new(measured);
    let mut own = measured
        .results
        .flows
        .iter()
        .filter(|it| it.group == job.entry);
    if measured.results.deadlock.is_some() {
        return "the deadlock ended the run, and a longer duration does not change that";
    }
    if own.clone().any(|flow| flow.gave_up) {
        return "connections of it gave up, so a longer duration does not help";
    }
    if own.any(|flow| flow.fct.is_none() && cut_off.separates(flow.src, flow.dst)) {
        return "no path joins some of its hosts at the end, because links are down: a longer duration does not help unless these return";
    }
    "a longer duration helps"
}
