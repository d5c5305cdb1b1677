//! Warnings that follow from the configuration alone: settings that cannot do what they are meant to.

use unpause_protocols::units::Time;
use unpause_sim::traffic::{TrafficSpec, Transport};

use crate::run::Run;
use crate::warnings::blind_watchdog;
use crate::warnings::buffers;
use crate::warnings::fast_watchdog;
pub use crate::warnings::said::Foreseen;
use crate::warnings::{egress, maps, thresholds, trimming, unreachable, wred};

/// Everything of `run`.
pub fn of(run: &Run) -> Vec<Foreseen> {
    let mut found = late(run);
    found.extend(wrong_class(run));
    found.extend(blind_watchdog(run));
    found.extend(fast_watchdog(run));
    found.extend(default_thresholds(run));
    found.extend(wred(run));
    found.extend(unreachable::of(run));
    found.extend(maps::of(run));
    found.extend(egress::of(run));
    found.extend(trimming::of(run));
    found.extend(buffers::of(run).into_iter().map(|it| Foreseen {
        kind: it.kind,
        message: it.message,
        help: it.help,
        key: path(&it.key),
    }));
    found
}

/// WRED that drops what PFC is to protect.
fn wred(run: &Run) -> Option<Foreseen> {
    let wred::Drops { why, help } = wred::of(run)?;
    Some(Foreseen {
        kind: wred::KIND,
        message: why,
        help,
        key: wred::key(run),
    })
}

fn path(steps: &[&str]) -> Vec<String> {
    steps.iter().map(|step| (*step).to_owned()).collect()
}

/// A PFC watchdog that cannot see a storm.
fn blind_watchdog(run: &Run) -> Option<Foreseen> {
    let (message, help) = blind_watchdog::why(run)?;
    Some(Foreseen {
        kind: "blind-watchdog",
        message,
        help,
        key: path(&["switch", "watchdog"]),
    })
}

/// A PFC watchdog that polls so often that the run takes long.
fn fast_watchdog(run: &Run) -> Option<Foreseen> {
    let (message, help) = fast_watchdog::why(run)?;
    Some(Foreseen {
        kind: fast_watchdog::KIND,
        message,
        help,
        key: path(&["switch", "watchdog", "poll_interval"]),
    })
}

/// Thresholds of slower links than there are.
fn default_thresholds(run: &Run) -> Option<Foreseen> {
    let (message, help) = thresholds::why(run)?;
    Some(Foreseen {
        kind: thresholds::KIND,
        message,
        help,
        key: path(&["scheme", &run.scheme]),
    })
}

/// Flows that start when the run is over.
fn late(run: &Run) -> Vec<Foreseen> {
    let stop = run.config.stop;
    let of_entry = |(entry, (spec, name)): (usize, (&TrafficSpec, &String))| {
        if run.follows(entry) {
            return None;
        }
        let (first, late, all) = match spec {
            TrafficSpec::Flows(flows) => {
                let late = flows.iter().filter(|flow| flow.start >= stop);
                let first = late.clone().map(|flow| flow.start).min()?;
                (first, late.count(), flows.len())
            }
            generated => (Some(first_of(generated)).filter(|it| *it >= stop)?, 0, 0),
        };
        let job = run
            .config
            .jobs
            .iter()
            .find(|it| usize::from(it.entry) == entry);
        if let Some(job) = job {
            let start = job.start;
            return (start >= stop).then(|| Foreseen {
                kind: "late-traffic",
                message: format!(
                    "job `{name}` starts at {start}, the run ends at {stop}: it does not run"
                ),
                help: format!(
                    "set a duration longer than {start}, or an earlier `start` of the job"
                ),
                key: path(&["duration"]),
            });
        }
        let message = match (late, all) {
            (1, 1) | (0, 0) => {
                format!(
                    "traffic `{name}` starts at {first}, the run ends at {stop}: no flow of it runs"
                )
            }
            (late, all) if late == all => format!(
                "all {all} flows of traffic `{name}` start after the run's end: the first at {first}, the run ends at \
                 {stop}"
            ),
            (late, all) => format!(
                "{late} of {all} flows of traffic `{name}` start after the run's end at {stop}, the first of them at \
                 {first}: they do not run"
            ),
        };
        Some(Foreseen {
            kind: "late-traffic",
            message,
            help: format!("set a duration longer than {first}, or let the flows start earlier"),
            key: path(&["duration"]),
        })
    };
    run.config
        .traffic
        .iter()
        .zip(&run.names.traffic)
        .enumerate()
        .filter_map(of_entry)
        .collect()
}

/// When its first flow may start.
pub fn first_of(spec: &TrafficSpec) -> Time {
    match spec {
        TrafficSpec::Flows(flows) => flows.iter().map(|it| it.start).min().unwrap_or(Time::ZERO),
        TrafficSpec::Pattern(pattern) => pattern.arrivals.start,
    }
}

/// RoCE in a lossy class, while no traffic uses the class under PFC.
fn wrong_class(run: &Run) -> Vec<Foreseen> {
    let config = &run.config;
    let lossless = config.switch.lossless;
    if lossless == 0 || lossless & config.data_priorities() != 0 {
        return Vec::new();
    }
    let guarded: Vec<String> = (0..8)
        .filter(|priority| lossless & 1 << priority != 0)
        .map(|priority| priority.to_string())
        .collect();
    let guarded = guarded.join(", ");
    let of_entry = |(entry, (spec, name)): (u16, (&TrafficSpec, &String))| {
        let used = spec.priorities();
        if used == 0 || !spec.uses(Transport::Roce) {
            return None;
        }
        let priority = used.trailing_zeros();
        let is_job = run.names.jobs.iter().any(|job| job.entry == entry);
        let table = if is_job { "job" } else { "traffic" };
        let mut place = format!("[[{table}]] `{name}`");
        if !is_job && matches!(spec, TrafficSpec::Flows(_)) {
            place += ", or in its file if it has one";
        }
        Some(Foreseen {
            kind: "lossy-roce",
            message: format!(
                "`{name}` has priority {priority}, which is not in switch.lossless [{guarded}]: no traffic is under PFC"
            ),
            help: format!(
                "set priority = {guarded} in {place}, or lossless = [{priority}] in [switch]; lossless = [] declares that loss is intended"
            ),
            key: path(&[table, name, "priority"]),
        })
    };
    let entries = config.traffic.iter().zip(&run.names.traffic);
    (0..).zip(entries).filter_map(of_entry).collect()
}
