//! Jobs whose iterations were not all complete at the end.

use crate::run::job_ends::JobEnd;
use crate::run::job_totals::{iterations, warmup};
use crate::run::measured::Measured;
use crate::warnings::foreseen::Foreseen;
use crate::warnings::timeouts;
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
        let end = JobEnd::of(measured, job, numbers.len() as u32);
        let message = match (counted, warmup) {
            (_, 0) => of_all,
            (0, _) => format!("{of_all}, none after the warm-up of {warmup}"),
            _ => format!("{of_all}, {counted} after the warm-up of {warmup}"),
        };
        let kind = match (&end.failure, end.stuck_since) {
            (Some(_), _) => "failed-jobs",
            (None, Some(_)) => "stuck-jobs",
            (None, None) if counted == 0 => "unfinished-jobs",
            (None, None) => SOME,
        };
        let why = end.text().map_or(String::new(), |why| format!(", {why}"));
        Some(Foreseen {
            kind,
            message: format!("{message}{why}"),
            help: format!("{}; {}", missing(counted), longer(measured, &end)),
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
fn longer(measured: &Measured, end: &JobEnd) -> String {
    let config = &measured.run.config;
    if end.failure.is_some() {
        let timeouts = timeouts::names(config);
        return format!(
            "host.retry_count, with {timeouts}, determines how long its connections try"
        );
    }
    if measured.results.deadlock.is_some() {
        return "the deadlock ended the run, and a longer duration does not change that".to_owned();
    }
    if end.stuck_since.is_some() {
        let ends = match config.host.retry_count {
            None => "; with host.retry_count the job fails, as with NCCL, whose default is 7",
            Some(_) => "",
        };
        return format!(
            "no path joins some of its hosts at the end, because links are down: a longer duration does not help unless these return{ends}"
        );
    }
    "a longer duration helps".to_owned()
}
