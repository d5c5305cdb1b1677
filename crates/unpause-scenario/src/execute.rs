//! Runs a scenario: every scheme at every sweep point, in parallel over cores.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rayon::prelude::*;
use unpause_protocols::units::Time;
use unpause_sim::results::Totals;

use crate::measured::Measured;
use crate::outcome::{Outcome, Timing};
use crate::run::Run;
use crate::scenario::Scenario;
use crate::tables::Tables;
use crate::text::error::{Error, nearest};
use crate::warnings;

/// What to run, other than the file says.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Schemes to run; empty for all.
    pub schemes: Vec<String>,
    /// Another seed.
    pub seed: Option<u64>,
    /// Another duration.
    pub duration: Option<Time>,
    /// Threads, shared among the runs; one per core if `None`.
    pub threads: Option<usize>,
}

/// Watches the runs. Methods are called from several threads.
pub trait Progress {
    /// A run begins: its number from 0, how many there are, and what it is.
    fn started(&self, run: usize, runs: usize, label: &str);
    /// A run has come to `now` on its way to `stop`.
    fn advanced(&self, run: usize, now: Time, stop: Time, packet_hops: u64);
    /// A run is over.
    fn finished(&self, run: usize);
    /// True ends all runs.
    fn interrupted(&self) -> bool;
}

/// Nobody watches.
pub struct NoProgress;

impl Progress for NoProgress {
    fn started(&self, _run: usize, _runs: usize, _label: &str) {}
    fn advanced(&self, _run: usize, _now: Time, _stop: Time, _packet_hops: u64) {}
    fn finished(&self, _run: usize) {}
    fn interrupted(&self) -> bool {
        false
    }
}

/// Runs the scenario. Results do not depend on the number of threads.
pub fn execute(
    scenario: &Scenario,
    options: &Options,
    progress: &(dyn Progress + Sync),
) -> Result<Outcome, Error> {
    let runs = selected(scenario, options)?;
    let count = runs.len();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = options.threads.unwrap_or(cores).max(1);
    // Runs in parallel are faster than threads in a run: those get what is left.
    let at_once = threads.min(count).max(1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(at_once);
    let pool = pool.build().map_err(|error| Error::Other {
        message: format!("cannot start threads: {error}"),
        help: None,
    })?;
    let columns = scenario.sweep_columns();
    let stopped = AtomicBool::new(false);
    let one = |(index, run): (usize, Run)| {
        progress.started(index, count, &run.label(columns));
        let asked = options.threads.is_some();
        let outcome = simulate(run, index, threads / at_once, asked, progress, &stopped);
        if outcome.is_err() {
            stopped.store(true, Ordering::Relaxed);
        }
        progress.finished(index);
        outcome
    };
    let outcomes: Vec<_> = pool.install(|| {
        runs.into_par_iter()
            .enumerate()
            .with_max_len(1)
            .map(one)
            .collect()
    });
    let mut measured = Vec::with_capacity(count);
    let mut timings = Vec::with_capacity(count);
    let mut interrupted = false;
    for outcome in outcomes {
        match outcome {
            Ok((run, timing)) => {
                measured.push(run);
                timings.push(timing);
            }
            // Another run's mistake stops this one: that mistake is what to tell.
            Err(Error::Interrupted) => interrupted = true,
            Err(error) => return Err(error),
        }
    }
    if interrupted {
        return Err(Error::Interrupted);
    }
    let warnings = warnings::of_runs(&measured);
    let tables = Tables::new(columns, &measured);
    let flows = measured
        .into_iter()
        .map(|m| (m.run.label(columns), m.results.flows))
        .collect();
    Ok(Outcome::new(scenario, tables, warnings, timings, flows))
}

/// The runs that the options ask for, numbered from 0.
fn selected(scenario: &Scenario, options: &Options) -> Result<Vec<Run>, Error> {
    let mut known: Vec<&str> = scenario
        .runs()
        .iter()
        .map(|run| run.scheme.as_str())
        .collect();
    known.dedup();
    for scheme in &options.schemes {
        if !known.contains(&scheme.as_str()) {
            return Err(Error::Other {
                message: format!("there is no scheme `{scheme}` in this scenario"),
                help: nearest(scheme, &known),
            });
        }
    }
    if options.duration == Some(Time::ZERO) {
        return Err(Error::Other {
            message: "a duration of zero".into(),
            help: None,
        });
    }
    let wanted = |run: &&Run| options.schemes.is_empty() || options.schemes.contains(&run.scheme);
    let mut runs: Vec<Run> = scenario.runs().iter().filter(wanted).cloned().collect();
    for (run, index) in runs.iter_mut().zip(0..) {
        run.index = index;
        run.config.seed = options.seed.unwrap_or(run.config.seed);
        run.config.stop = options.duration.unwrap_or(run.config.stop);
    }
    Ok(runs)
}

fn simulate(
    mut run: Run,
    index: usize,
    threads: usize,
    asked: bool,
    progress: &(dyn Progress + Sync),
    stopped: &AtomicBool,
) -> Result<(Measured, Timing), Error> {
    let (threads, why_fewer) = unpause_sim::useful_threads(&run.config, threads);
    if asked && let Some(why) = why_fewer {
        run.notes
            .push(format!("runs on {threads} of the threads given: {why}"));
    }
    let (wall, cpu) = (Instant::now(), cpu_time::ThreadTime::now());
    let stop = run.config.stop;
    let mut watch = |at: unpause_sim::Progress| {
        progress.advanced(index, at.now, stop, at.packet_hops);
        match progress.interrupted() || stopped.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    if progress.interrupted() || stopped.load(Ordering::Relaxed) {
        return Err(Error::Interrupted);
    }
    let results =
        unpause_sim::run_threads(&run.config, threads, &mut watch).map_err(
            |error| match error {
                unpause_sim::Error::Interrupted => Error::Interrupted,
                unpause_sim::Error::Post(why) => Error::Other {
                    message: format!("scheme {}: {why}", run.scheme),
                    help: None,
                },
                unpause_sim::Error::Invalid(why) => Error::Other {
                    message: format!("scheme {} cannot be run: {why}", run.scheme),
                    help: None,
                },
            },
        )?;
    let Totals { packet_hops, .. } = results.totals;
    let timing = Timing {
        run: run.index,
        wall_s: wall.elapsed().as_secs_f64(),
        threads,
        cpu_s: (threads == 1).then(|| cpu.elapsed().as_secs_f64()),
        packet_hops,
    };
    Ok((Measured { run, results }, timing))
}
