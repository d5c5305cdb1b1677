//! A run from its first window to its results: shards on threads of their own, of this process or of several, or one after the
//! other on one thread.

pub mod delays;
pub mod ideal_fct;
pub mod node;
pub mod operations;
pub mod partition;
pub mod provenance;
pub mod report;
pub mod session;
pub mod shard;
pub mod skip;
pub mod worker;

use std::ops::{ControlFlow, Range};
use std::thread;

use unpause_protocols::units::Time;

use crate::config::invalid::Invalid;
use crate::config::{Config, Skipping};
use crate::engine::exchange::{Exchange, Sequential, Status};
use crate::engine::ranks::{self, RankExchange, Ranks};
use crate::engine::threads::ThreadExchange;
use crate::fabric::ports::GlobalPort;
use crate::outcome::results::{Deadlock, Results};
use crate::outcome::series::{Merge, Samples};
use crate::plan::Plan;
use crate::run::partition::partition;
use crate::run::report::End;
use crate::run::shard::ShardEnd;
use crate::run::worker::Worker;
use crate::{Error, Progress};

/// Windows between two calls of the watcher; it is called sooner at first.
const WINDOWS_PER_WATCH: u64 = 256;
/// Windows of large fabrics, or of sites far apart, are long: it is called after this many packets in any case, about a tenth
/// of a second.
const HOPS_PER_WATCH: u64 = 1 << 20;

/// Who watches a run; an answer of `Break` ends it.
pub type Watch<'a> = dyn FnMut(Progress) -> ControlFlow<()> + 'a;

/// Runs `config` on `threads` threads; the results are the same for any number.
///
/// # Errors
///
/// [`Error::Invalid`] if the configuration cannot be run, [`Error::Interrupted`] if `watch` said so.
pub fn run(config: &Config, threads: usize, watch: &mut Watch<'_>) -> Result<Results, Error> {
    on_threads(config, threads.max(1), watch, None)
}

/// The same, but hands samples of ports to `samples` while it runs; the results have the last of them.
///
/// # Errors
///
/// As [`run`].
pub fn run_sampled(
    config: &Config,
    threads: usize,
    watch: &mut Watch<'_>,
    samples: &Samples<'_>,
) -> Result<Results, Error> {
    let threads = threads.max(1);
    on_threads(config, threads, watch, Some(&Merge::new(threads, samples)))
}

fn on_threads(
    config: &Config,
    threads: usize,
    watch: &mut Watch<'_>,
    series: Option<&Merge<'_>>,
) -> Result<Results, Error> {
    let exchange = ThreadExchange::new(threads);
    let shared = Shared::new(config, threads)?;
    let (shards, end) = shared.run(0..threads, |_| exchange.member(), watch, series)?;
    Ok(report::results(&shared.plan, shards, end))
}

/// Runs `config` on `threads` threads of each of `ranks`, which all call this with the same arguments; the
/// results, which rank 0 alone has, are those of [`run`]. If some have `samples`, all have; those of rank 0 are
/// handed what all sample.
///
/// # Errors
///
/// As [`run`], at all of them.
pub fn run_ranks(
    config: &Config,
    ranks: &dyn Ranks,
    threads: usize,
    watch: &mut Watch<'_>,
    samples: Option<&Samples<'_>>,
) -> Result<Option<Results>, Error> {
    let threads = threads.max(1);
    let (rank, count) = (ranks.rank(), ranks.count());
    let exchange = RankExchange::new(ranks, threads, samples);
    let sink = |samples| exchange.add_samples(samples);
    let series = samples.map(|_| Merge::new(threads, &sink));
    let shared = Shared::new(config, count * threads)?;
    let own = rank * threads..(rank + 1) * threads;
    let member = |thread| exchange.member(thread);
    let (shards, end) = shared.run(own, member, watch, series.as_ref())?;
    let all = ranks::gather(ranks, shards);
    Ok(all.map(|shards| report::results(&shared.plan, shards, end)))
}

/// The data that all threads of a run read.
struct Shared<'c> {
    plan: Plan<'c>,
    shard_of: Vec<u16>,
    /// How many there are; some may have no nodes.
    shards: usize,
}

impl<'c> Shared<'c> {
    /// For this many shards.
    fn new(config: &'c Config, shards: usize) -> Result<Self, Error> {
        let mut plan = Plan::new(config)?;
        let shard_of = partition(&plan, shards);
        assign_shards(&mut plan, &shard_of);
        plan.set_independent(&shard_of);
        Ok(Self {
            plan,
            shard_of,
            shards,
        })
    }

    /// Runs `shards` on a thread each, of which this is the first; `member` is a thread's part in the exchange.
    fn run<P: Exchange>(
        &self,
        shards: Range<usize>,
        member: impl Fn(usize) -> P + Sync,
        watch: &mut Watch<'_>,
        series: Option<&Merge<'_>>,
    ) -> Result<(Vec<ShardEnd>, End), Error> {
        let Self {
            plan,
            shard_of,
            shards: count,
        } = self;
        let stop = plan.config.stop;
        let on_a_thread = |thread: usize, watch: Option<&mut Watch<'_>>| {
            let mut exchange = member(thread);
            let index = shards.start + thread;
            let mut workers = [Worker::new(plan, shard_of, index, *count)?];
            let end = windows(&mut workers, &mut exchange, (stop, series), watch)?;
            let [worker] = workers;
            Ok((worker.finish(end.at), end))
        };
        let finished: Vec<Result<(ShardEnd, End), Error>> = thread::scope(|scope| {
            let others: Vec<_> = (1..shards.len())
                .map(|index| scope.spawn(move || on_a_thread(index, None)))
                .collect();
            let first = on_a_thread(0, Some(watch));
            let join = |thread: thread::ScopedJoinHandle<'_, _>| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            std::iter::once(first)
                .chain(others.into_iter().map(join))
                .collect()
        });
        let mut end = End::default();
        let mut ends = Vec::with_capacity(shards.len());
        for result in finished {
            let (shard, shard_end) = result?;
            end = shard_end;
            ends.push(shard);
        }
        Ok((ends, end))
    }
}

/// Runs `config` with the shards of `threads` threads, one after the other on this thread: any dependence on how nodes are
/// distributed shows, without the cost of threads that wait for one another.
///
/// # Errors
///
/// As [`run`].
pub fn run_sequential(
    config: &Config,
    threads: usize,
    watch: &mut Watch<'_>,
) -> Result<Results, Error> {
    let threads = threads.max(1);
    let mut plan = Plan::new(config)?;
    let shard_of = partition(&plan, threads);
    assign_shards(&mut plan, &shard_of);
    plan.set_independent(&shard_of);
    sequential(&plan, &shard_of, &mut Sequential::new(threads), watch)
}

/// Runs `config` on this thread, each node in the shard that `shard_of` says; `exchange` carries every packet between shards.
/// The results are those of [`run`] if it delivers what it was given, except for the number of windows.
///
/// # Errors
///
/// As [`run`], and [`Error::Exchange`] if `exchange` says so.
///
/// # Panics
///
/// If `shard_of` has not an entry for each node.
pub fn run_over(
    config: &Config,
    shard_of: &[u16],
    exchange: &mut impl Exchange,
    watch: &mut Watch<'_>,
) -> Result<Results, Error> {
    // All of them are to be carried.
    let config = Config {
        skipping: Skipping::Never,
        ..config.clone()
    };
    let mut plan = Plan::new(&config)?;
    assign_shards(&mut plan, shard_of);
    sequential(&plan, shard_of, exchange, watch)
}

/// Runs `config` without windows that shards agree on: `drive` advances each shard by [`Worker::advance`] up to the end of the
/// run, by any clock, and returns how many data packets were lost between shards. Results are those of [`run`] only as far as
/// packets reach other shards in time.
///
/// # Errors
///
/// As [`run_over`].
///
/// # Panics
///
/// If `shard_of` has not an entry for each node.
pub fn run_unsynchronized(
    config: &Config,
    shard_of: &[u16],
    drive: impl FnOnce(&mut [Worker<'_>]) -> Result<u64, Error>,
) -> Result<Results, Error> {
    if !config.events.is_empty() {
        let message = "links fail between windows, and this run has none";
        return Err(Invalid::new("events.links", message).into());
    }
    let mut plan = Plan::new(config)?;
    assign_shards(&mut plan, shard_of);
    let mut workers = workers(&plan, shard_of)?;
    let end = End {
        at: config.stop,
        lost_data_packets: drive(&mut workers)?,
        ..End::default()
    };
    let shards = workers.into_iter().map(|worker| worker.finish(end.at));
    Ok(report::results(&plan, shards.collect(), end))
}

fn workers<'p>(plan: &'p Plan<'p>, shard_of: &[u16]) -> Result<Vec<Worker<'p>>, Error> {
    let shards = 1 + shard_of.iter().copied().max().map_or(0, usize::from);
    let workers = (0..shards).map(|index| Worker::new(plan, shard_of, index, shards));
    workers.collect()
}

fn sequential(
    plan: &Plan<'_>,
    shard_of: &[u16],
    exchange: &mut impl Exchange,
    watch: &mut Watch<'_>,
) -> Result<Results, Error> {
    let mut workers = workers(plan, shard_of)?;
    let end = windows(
        &mut workers,
        exchange,
        (plan.config.stop, None),
        Some(watch),
    )?;
    let shards = workers.into_iter().map(|worker| worker.finish(end.at));
    Ok(report::results(plan, shards.collect(), end))
}

/// Records in the plan which shard each node belongs to.
pub(crate) fn assign_shards(plan: &mut Plan<'_>, shard_of: &[u16]) {
    plan.schedule.keep_whole(&plan.ports, shard_of);
    plan.find_far_wires();
    let traced = &plan.config.probes.packets;
    let mut watched = plan.epochs.watched();
    let switch = &plan.config.switch;
    if switch.cbfc.is_some() || switch.retry.is_some() || plan.config.counts_job_links() {
        watched.extend(0..plan.ports.transmitters.len() as GlobalPort);
    }
    plan.ports.assign_shards(shard_of, traced, &watched);
}

/// All windows of the shards that this thread drives, until `stop`; samples of ports leave them for `series`.
fn windows(
    workers: &mut [Worker<'_>],
    exchange: &mut impl Exchange,
    (stop, series): (Time, Option<&Merge<'_>>),
    mut watch: Option<&mut Watch<'_>>,
) -> Result<End, Error> {
    let mut windows = 0;
    // Packets that had gone over links when the watcher was last called.
    let mut watched = 0;
    let (at, deadlock) = loop {
        let status = exchange_batches(workers, exchange)?;
        let start = status.due.earliest();
        let next_change = workers.first().map_or(Time::NEVER, Worker::next_change);
        if let Some((at, found)) = check_deadlock(workers, exchange, start.min(next_change))? {
            break (at, Some(found));
        }
        if next_change <= start && !next_change.is_never() {
            workers.iter_mut().for_each(Worker::change);
            continue;
        }
        if start >= stop {
            break (stop, None);
        }
        let skipped = skip(workers, exchange, &status)?;
        if skipped > 0 {
            windows += skipped;
            continue;
        }
        for worker in &mut *workers {
            worker.window(&status.due)?;
        }
        windows += 1;
        if let Some(series) = series
            && windows % WINDOWS_PER_WATCH == 0
        {
            for worker in &mut *workers {
                series.put(windows, worker.take_port_series(start));
            }
        }
        let packet_hops: u64 = workers.iter().map(Worker::packet_hops).sum();
        if let Some(watch) = &mut watch
            && (windows % WINDOWS_PER_WATCH == 0
                || windows < WINDOWS_PER_WATCH && windows.is_power_of_two()
                || packet_hops >= watched + HOPS_PER_WATCH)
        {
            watched = packet_hops;
            if watch(Progress {
                now: start,
                packet_hops,
                windows,
            })
            .is_break()
            {
                exchange.interrupt();
            }
        }
    };
    Ok(End {
        at,
        windows,
        deadlock,
        lost_data_packets: exchange.lost_data_packets(),
    })
}

/// Exchanges what shards have for one another; returns the status of all shards together.
fn exchange_batches(
    workers: &mut [Worker<'_>],
    exchange: &mut impl Exchange,
) -> Result<Status, Error> {
    for worker in &mut *workers {
        worker.send(exchange);
    }
    for worker in &mut *workers {
        worker.run_ahead();
    }
    let status = exchange.synchronize()?;
    for worker in workers {
        worker.receive(exchange);
    }
    Ok(status)
}

/// Skips what all shards repeat, which are in this `status` together; returns how many windows that were. All shards find the
/// same.
fn skip(
    workers: &mut [Worker<'_>],
    exchange: &mut impl Exchange,
    status: &Status,
) -> Result<u64, Error> {
    let compare = workers
        .iter_mut()
        .fold(false, |_, worker| worker.compares(status));
    if !compare {
        return Ok(0);
    }
    exchange_batches(workers, exchange)?;
    let skipped = workers.iter_mut().map(|worker| worker.skip(status));
    Ok(skipped.last().unwrap_or(0))
}

/// The deadlock that is there at `start`, and when it was found; all shards find the same.
fn check_deadlock(
    workers: &mut [Worker<'_>],
    exchange: &mut impl Exchange,
    start: Time,
) -> Result<Option<(Time, Deadlock)>, Error> {
    // Every one of them has to tell.
    let check = workers
        .iter_mut()
        .fold(false, |_, worker| worker.checks_deadlock(start));
    if !check {
        return Ok(None);
    }
    exchange_batches(workers, exchange)?;
    let found = workers.iter_mut().map(|worker| worker.deadlock(start));
    Ok(found.last().flatten())
}
