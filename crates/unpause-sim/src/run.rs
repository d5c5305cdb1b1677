//! A run from its first window to its results: shards on threads of their own, or in turn on one.

use std::ops::ControlFlow;
use std::thread;

use unpause_protocols::units::Time;

use crate::config::Config;
use crate::engine::exchange::Exchange;
use crate::partition::partition;
use crate::plan::Plan;
use crate::report::End;
use crate::results::{Deadlock, Results};
use crate::shard::ShardEnd;
use crate::worker::Worker;
use crate::{Error, Progress, report};

/// Windows between two calls of the watcher.
const WINDOWS_PER_WATCH: u64 = 256;

/// Who watches a run; an answer of `Break` ends it.
pub type Watch<'a> = dyn FnMut(Progress) -> ControlFlow<()> + 'a;

/// Runs `config` on `threads` threads; the results are the same for any number.
///
/// # Errors
///
/// [`Error::Invalid`] if the configuration cannot be run, [`Error::Interrupted`] if `watch` said so.
pub fn run(config: &Config, threads: usize, watch: &mut Watch<'_>) -> Result<Results, Error> {
    let threads = threads.max(1);
    let (plan, shard_of) = share_out(config, threads)?;
    let exchange = Exchange::new(threads);
    let on_a_thread = |index: usize, watch: Option<&mut Watch<'_>>| {
        let _member = exchange.member();
        let mut worker = Worker::new(&plan, &shard_of, index)?;
        let end = windows(&mut worker, index, &exchange, config.stop, watch)?;
        Ok((worker.finish(end.at), end))
    };
    let finished: Vec<Result<(ShardEnd, End), Error>> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
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
    let mut shards = Vec::with_capacity(threads);
    for result in finished {
        let (shard, shard_end) = result?;
        end = shard_end;
        shards.push(shard);
    }
    Ok(report::results(&plan, shards, end))
}

/// Runs `config` as on `threads` threads, but in turn on this one: what depends on how nodes are shared
/// out shows, without the cost of threads that wait for one another.
///
/// # Errors
///
/// As [`run`].
pub fn run_in_turn(
    config: &Config,
    threads: usize,
    watch: &mut Watch<'_>,
) -> Result<Results, Error> {
    let threads = threads.max(1);
    let (plan, shard_of) = share_out(config, threads)?;
    let workers = (0..threads).map(|index| Worker::new(&plan, &shard_of, index));
    let mut workers = workers.collect::<Result<Vec<_>, Error>>()?;
    let mut windows = 0;
    let end = loop {
        carry(&mut workers);
        let next = workers.iter_mut().map(Worker::next).min();
        let start = next.unwrap_or(Time::NEVER);
        if let Some((at, found)) = look(&mut workers, start) {
            break End {
                at,
                windows,
                deadlock: Some(found),
            };
        }
        if start >= config.stop {
            break End {
                at: config.stop,
                windows,
                deadlock: None,
            };
        }
        for worker in &mut workers {
            worker.window(start)?;
        }
        windows += 1;
        if windows % WINDOWS_PER_WATCH == 0 {
            let packet_hops = workers.iter().map(Worker::packet_hops).sum();
            if watch(Progress {
                now: start,
                packet_hops,
            })
            .is_break()
            {
                return Err(Error::Interrupted);
            }
        }
    };
    let shards = workers.into_iter().map(|worker| worker.finish(end.at));
    Ok(report::results(&plan, shards.collect(), end))
}

/// The plan, and which of `threads` shards each node belongs to.
fn share_out(config: &Config, threads: usize) -> Result<(Plan<'_>, Vec<u16>), Error> {
    let mut plan = Plan::new(config)?;
    let shard_of = partition(config, &plan.ports, threads);
    plan.ports.share_out(&shard_of, &config.probes.packets);
    Ok((plan, shard_of))
}

/// All windows of one worker of several, which meet before each.
fn windows(
    worker: &mut Worker<'_>,
    thread: usize,
    exchange: &Exchange,
    stop: Time,
    mut watch: Option<&mut Watch<'_>>,
) -> Result<End, Error> {
    let mut windows = 0;
    loop {
        let next = worker.next();
        let Some(start) = exchange.meet(windows, thread, next, worker.outboxes()) else {
            return Err(Error::Interrupted);
        };
        exchange.deliver(windows, thread, |mail| worker.deliver(mail));
        if let Some(own) = worker.blocked(start)
            && let Some((at, found)) = worker.deadlock(start, exchange.gather(thread, own))
        {
            return Ok(End {
                at,
                windows,
                deadlock: Some(found),
            });
        }
        if start >= stop {
            return Ok(End {
                at: stop,
                windows,
                deadlock: None,
            });
        }
        worker.window(start)?;
        windows += 1;
        if let Some(watch) = &mut watch
            && windows % WINDOWS_PER_WATCH == 0
        {
            let packet_hops = worker.packet_hops();
            if watch(Progress {
                now: start,
                packet_hops,
            })
            .is_break()
            {
                exchange.interrupt(windows);
            }
        }
    }
}

/// Hands over what workers have for one another.
fn carry(workers: &mut [Worker<'_>]) {
    for from in 0..workers.len() {
        // Shards without a node have none.
        for to in 0..workers[from].outboxes().len() {
            let mut mail = std::mem::take(&mut workers[from].outboxes()[to]);
            workers[to].deliver(&mut mail);
            workers[from].outboxes()[to] = mail;
        }
    }
}

/// The deadlock that is there at `start`, and when it was found; all workers find the same.
fn look(workers: &mut [Worker<'_>], start: Time) -> Option<(Time, Deadlock)> {
    let blocked = workers.iter_mut().map(|worker| worker.blocked(start));
    let all = blocked.collect::<Option<Vec<_>>>()?.concat();
    let found = workers
        .iter_mut()
        .map(|worker| worker.deadlock(start, all.clone()));
    found.last().flatten()
}
