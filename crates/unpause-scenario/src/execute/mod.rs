//! Runs a scenario: every scheme at every sweep point, in parallel over cores.

mod at_place;
pub(crate) mod guard;
mod options;
pub(crate) mod progress;
pub mod session;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rayon::prelude::*;
use unpause_sim::results::Results;
use unpause_sim::{Samples, Watch};

use crate::compile::scenario::Scenario;
#[cfg(feature = "parquet")]
use at_place::AtPlace;
use at_place::{InMemory, Keep, last_samples};
pub use guard::{Admitted, Target};
pub use options::{Options, selected};
use progress::Progress;
use unpause_results::cost::{self, Cost, Effort};
#[cfg(feature = "parquet")]
use unpause_results::outcome::directory::{Cache, Place};
use unpause_results::outcome::hpcc_files;
use unpause_results::outcome::{FlowTimes, Outcome, Part, Timing};
use unpause_results::run::Run;
use unpause_results::run::job_totals;
use unpause_results::run::measured::Measured;
use unpause_results::tables::Tables;
use unpause_results::tables::series::SeriesFile;
use unpause_results::warnings;
use unpause_text::error::Error;

/// Runs the scenario. Results do not depend on the number of threads.
///
/// # Errors
///
/// If options name what there is not, the guard refuses the runs ([`Admitted::of`]), a run cannot be run, or it is interrupted.
pub fn execute(
    scenario: &Scenario,
    options: &Options,
    progress: &(dyn Progress + Sync),
) -> Result<Outcome, Error> {
    let admitted = Admitted::of(scenario, options, Target::Memory)?;
    all(scenario, admitted, progress, &InMemory, None)
}

/// Simulates a run; samples of ports go where it is told to during the run, if it is.
pub type Simulate<'a> = dyn Fn(&Run, &mut Watch<'_>, Option<&Samples<'_>>) -> Result<Results, unpause_sim::Error>
    + Sync
    + 'a;

/// Another simulator.
#[derive(Clone, Copy)]
pub struct Simulator<'a> {
    /// Simulates a run.
    pub simulate: &'a Simulate<'a>,
    /// On this many threads, wherever they are.
    pub threads: usize,
}

/// Runs the scenario by another simulator.
///
/// # Errors
///
/// As [`execute`].
pub fn execute_by(
    simulator: Simulator<'_>,
    scenario: &Scenario,
    admitted: Admitted,
    progress: &(dyn Progress + Sync),
) -> Result<Outcome, Error> {
    all(scenario, admitted, progress, &InMemory, Some(simulator))
}

/// The same, on the way to a result in `place`: finished runs are kept there if this process is stopped,
/// and those that an earlier one has left are not run again. Of runs admitted for [`Target::Streamed`], long series of ports
/// go to the disk while they are sampled, and are not in the outcome's table; [`Outcome::write_with`] writes them. With
/// `simulator`, by that. Runs that `cache` has are taken from it, others go into it.
///
/// # Errors
///
/// As [`execute`], or if finished runs cannot be written.
#[cfg(feature = "parquet")]
pub fn execute_at(
    place: &Place,
    scenario: &Scenario,
    admitted: Admitted,
    progress: &(dyn Progress + Sync),
    cache: Option<&Cache>,
    simulator: Option<Simulator<'_>>,
) -> Result<Outcome, Error> {
    let keep = AtPlace::new(place, scenario.sweep_columns(), cache, admitted.streams)?;
    let mut outcome = all(scenario, admitted, progress, &keep, simulator)?;
    if let Some(scratch) = keep.scratch {
        outcome.hold(scratch);
    }
    if let Some(cache) = keep.cache {
        cache.trim();
    }
    Ok(outcome)
}

/// The expected cost of each run.
///
/// # Errors
///
/// If options name what there is not.
pub fn costs(scenario: &Scenario, options: &Options, effort: Effort) -> Result<Vec<Cost>, Error> {
    Ok(cost::of(&selected(scenario, options)?, effort))
}

fn all(
    scenario: &Scenario,
    mut admitted: Admitted,
    progress: &(dyn Progress + Sync),
    keeper: &dyn Keep,
    simulator: Option<Simulator<'_>>,
) -> Result<Outcome, Error> {
    let _reserved = admitted.reserve(&|| progress.interrupted())?;
    let count = admitted.runs().len();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = admitted.threads.unwrap_or(cores).max(1);
    // Runs in parallel are faster than threads in a run: those get what is left.
    let at_once = threads.min(count).max(1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(at_once);
    let pool = pool.build().map_err(|error| Error::Other {
        message: format!("cannot start threads: {error}"),
        help: None,
    })?;
    let columns = scenario.sweep_columns();
    let runs = std::mem::take(&mut admitted.runs);
    let stopped = AtomicBool::new(false);
    let is_over = || progress.interrupted() || stopped.load(Ordering::Relaxed);
    let one = |(index, run): (usize, Run)| {
        progress.started(index, count, &run.label(columns));
        let asked = admitted.threads.is_some();
        let simulate = || {
            let series = keeper.series(&run)?;
            let (mut measured, timing) = simulate(
                run.clone(),
                (index, threads / at_once, asked),
                (series.as_ref(), simulator),
                progress,
                (&is_over, admitted.is_forced),
            )?;
            let series = last_samples(series, &mut measured.results.port_series)?;
            let part = part(columns, measured, timing, series);
            keeper.save(&run, &part).map(|()| part)
        };
        let part = match is_over() {
            true => Err(Error::Interrupted),
            false => keeper.load(&run).map_or_else(simulate, Ok),
        };
        match part {
            Ok(_) => progress.finished(index),
            Err(_) => stopped.store(true, Ordering::Relaxed),
        }
        part
    };
    let parts: Vec<_> = pool.install(|| {
        runs.into_par_iter()
            .enumerate()
            .with_max_len(1)
            .map(one)
            .collect()
    });
    let mut finished = Vec::with_capacity(count);
    let mut interrupted = false;
    for part in parts {
        match part {
            Ok(part) => finished.push(part),
            // Another run's mistake stops this one: that mistake is what to tell.
            Err(Error::Interrupted) => interrupted = true,
            Err(error) => return Err(error),
        }
    }
    if interrupted {
        return Err(Error::Interrupted);
    }
    scenario.outcome(finished)
}

/// Tables of a run, and what is worth saying of it.
pub(crate) fn part(
    columns: &[String],
    mut measured: Measured,
    timing: Timing,
    series: Option<PathBuf>,
) -> Part {
    let warnings = warnings::of_run(&measured);
    let hpcc = hpcc_files::of(&measured);
    let tables = Tables::taken(columns, &mut measured);
    let Measured { run, results, .. } = measured;
    Part {
        run,
        tables,
        warnings,
        timing,
        flows: FlowTimes::Measured(results.flows),
        hpcc,
        series,
    }
}

fn simulate(
    mut run: Run,
    (index, threads, asked): (usize, usize, bool),
    (series, simulator): (Option<&SeriesFile>, Option<Simulator<'_>>),
    progress: &(dyn Progress + Sync),
    (is_over, is_forced): (&dyn Fn() -> bool, bool),
) -> Result<(Measured, Timing), Error> {
    let (threads, why_fewer) = match simulator {
        Some(simulator) => (simulator.threads, None),
        None => unpause_sim::useful_threads(&run.config, threads),
    };
    if asked && let Some(why) = why_fewer {
        run.notes
            .push(format!("runs on only {threads} of the threads: {why}"));
    }
    let (wall, cpu) = (Instant::now(), cpu_time::ThreadTime::now());
    let stop = run.config.stop;
    let mut too_large = None;
    let mut watch = |at: unpause_sim::Progress| {
        progress.advanced(index, at.now, stop, at.packet_hops);
        too_large = guard::check_growth(is_forced, at.now, stop).err();
        if too_large.is_some() || is_over() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let push = |samples| {
        if let Some(series) = series {
            series.push(samples);
        }
    };
    let samples = series.map(|_| &push as &Samples<'_>);
    let results = match (simulator, samples) {
        (Some(simulator), _) => (simulator.simulate)(&run, &mut watch, samples),
        (None, None) => unpause_sim::run_threads(&run.config, threads, &mut watch),
        (None, Some(samples)) => {
            unpause_sim::run_sampled(&run.config, threads, &mut watch, samples)
        }
    };
    if let Some(error) = too_large {
        return Err(error);
    }
    let alone =
        results.and_then(|results| Ok((job_totals::alone(&run, threads, is_over)?, results)));
    let (alone, results) = alone.map_err(|error| match error {
        unpause_sim::Error::Interrupted => Error::Interrupted,
        unpause_sim::Error::Exchange(why) => Error::Other {
            message: format!("scheme {}: {why}", run.scheme),
            help: None,
        },
        unpause_sim::Error::Invalid(why) => Error::Other {
            message: format!("scheme {} cannot be run: {why}", run.scheme),
            help: None,
        },
    })?;
    let timing = Timing {
        run: run.index,
        wall_s: wall.elapsed().as_secs_f64(),
        threads,
        cpu_s: (threads == 1).then(|| cpu.elapsed().as_secs_f64()),
        packet_hops: results.totals.packet_hops,
    };
    Ok((Measured::new(run, results, alone), timing))
}

#[cfg(all(test, feature = "parquet"))]
mod tests {
    use std::path::Path;
    use std::sync::atomic::AtomicUsize;

    use std::time::{Duration, Instant};
    use unpause_protocols::units::Time;

    use super::*;
    use crate::execute::progress::NoProgress;
    use crate::{Saved, WriteOptions};
    use unpause_results::outcome::directory::Keeper;

    const SCENARIO: &str = r#"
duration = "100us"
[topology]
builder = "single-switch"
hosts = 3
rate = "40Gbps"
delay = "1us"
[[scheme]]
name = "PFC"
[[scheme]]
name = "PFC+DCQCN"
congestion_control = "dcqcn"
[[traffic]]
name = "F"
kind = "flow"
from = ["H0", "H1"]
to = "H2"
size = "40KB"
record = true
[probes]
interval = "10us"
ports = ["*->*"]
[hpcc]
fct = true
pfc = true
[[sweep]]
name = "number"
key = "seed"
values = [1, 2, 3]
"#;

    /// Stops everything when this many runs have begun; counts them.
    struct StopAfter(usize, AtomicUsize);

    impl Progress for StopAfter {
        fn started(&self, _run: usize, _runs: usize, _label: &str) {}
        fn advanced(&self, _run: usize, _now: Time, _stop: Time, _packet_hops: u64) {}
        fn finished(&self, _run: usize) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
        fn interrupted(&self) -> bool {
            self.1.load(Ordering::Relaxed) >= self.0
        }
    }

    /// Through the disk, on one thread or several, kept or not: the same bytes as through memory, and what
    /// a reader sees is the same.
    #[test]
    fn streamed_series_are_those_in_memory() {
        // More rows of a run than are written at a time.
        let source = SCENARIO.replace("100us", "1200us").replace("10us", "100ns");
        let source = source.replace("[1, 2, 3]", "[1]");
        let scenario = Scenario::parse(&source, Path::new("long.toml")).unwrap();
        let in_memory = execute(&scenario, &Options::default(), &NoProgress).unwrap();
        let written = |threads: usize, began: Instant| {
            let folder = tempfile::tempdir().unwrap();
            let place = Place::take(folder.path()).unwrap();
            let options = Options {
                threads: Some(threads),
                ..Options::default()
            };
            let admitted =
                |options| Admitted::of(&scenario, options, Target::Streamed(&place)).unwrap();
            let mut keep = AtPlace::new(&place, &[], None, true).unwrap();
            keep.began = began;
            // The second time, runs that were kept.
            let first = all(&scenario, admitted(&options), &NoProgress, &keep, None).unwrap();
            let kept = place.kept_runs();
            let mut outcome = match kept {
                0 => first,
                _ => all(&scenario, admitted(&options), &NoProgress, &keep, None).unwrap(),
            };
            assert_eq!(outcome.tables.port_series.num_rows(), 0);
            outcome.hold(keep.scratch.take().unwrap());
            outcome
                .write_with(&place, &WriteOptions::default())
                .unwrap();
            let bytes = std::fs::read(folder.path().join("port_series.parquet")).unwrap();
            let saved = Saved::load(folder.path()).unwrap();
            assert!(saved.tables.port_series == in_memory.tables.port_series);
            (bytes, kept)
        };
        let minute = Duration::from_secs(60);
        let just_now = Instant::now().checked_add(minute).unwrap();
        let long_ago = Instant::now().checked_sub(minute).unwrap();
        let (once, kept) = written(1, just_now);
        assert_eq!(kept, 0);
        assert!(written(7, just_now).0 == once);
        let (again, kept) = written(1, long_ago);
        assert_eq!(kept, 2);
        assert!(again == once);
    }

    #[test]
    fn finished_runs_are_kept_and_found_again() {
        let scenario = Scenario::parse(SCENARIO, Path::new("kept.toml")).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let place = Place::take(folder.path()).unwrap();
        let keep = AtPlace {
            keeper: Keeper::at(&place),
            scratch: None,
            columns: scenario.sweep_columns().to_vec(),
            cache: None,
            began: Instant::now().checked_sub(Duration::from_secs(60)).unwrap(),
        };
        let one_by_one = Options {
            threads: Some(1),
            ..Options::default()
        };
        let admitted = |options| Admitted::of(&scenario, options, Target::Memory).unwrap();
        let stopped = all(
            &scenario,
            admitted(&one_by_one),
            &StopAfter(4, AtomicUsize::new(0)),
            &keep,
            None,
        );
        assert!(matches!(stopped, Err(Error::Interrupted)));
        assert_eq!(place.kept_runs(), 4);
        drop(place);

        // One of them is damaged, as by a power cut.
        let place = Place::take(folder.path()).unwrap();
        let kept = folder.path().join(".unpause/runs");
        let first = std::fs::read_dir(kept).unwrap().next().unwrap().unwrap();
        std::fs::write(first.path().join("flows.parquet"), "x").unwrap();
        let runs = scenario.runs().iter();
        let found = runs.clone().filter(|run| keep.load(run).is_some()).count();
        assert_eq!(found, 3);
        let mut other = scenario.runs()[0].clone();
        other.config.seed = 7;
        assert!(keep.load(&other).is_none());

        let write = WriteOptions {
            fct_hpcc: true,
            ..WriteOptions::default()
        };
        let outcome = all(&scenario, admitted(&one_by_one), &NoProgress, &keep, None).unwrap();
        outcome.write_with(&place, &write).unwrap();
        assert_eq!(place.kept_runs(), 0);
        let undisturbed = tempfile::tempdir().unwrap();
        let at_once = Place::take(undisturbed.path()).unwrap();
        let outcome = execute(&scenario, &Options::default(), &NoProgress).unwrap();
        outcome.write_with(&at_once, &write).unwrap();
        let files = Saved::load(undisturbed.path()).unwrap().manifest.files;
        let of_hpcc = files.keys().filter(|name| name.starts_with("hpcc/"));
        assert_eq!(of_hpcc.count(), 2 * 6);
        for name in files.keys() {
            let read = |folder: &Path| std::fs::read(folder.join(name)).unwrap();
            assert!(read(folder.path()) == read(undisturbed.path()), "{name}");
        }
    }
}
