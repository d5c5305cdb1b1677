//! A run from its first window to its results.

use std::iter::Peekable;
use std::ops::ControlFlow;

use unpause_protocols::units::Time;

use crate::config::Config;
use crate::engine::deadlock::{self, Blocked};
use crate::engine::exchange::Exchange;
use crate::engine::mail::FlowStart;
use crate::partition::partition;
use crate::plan::Plan;
use crate::report::End;
use crate::results::{Deadlock, Results};
use crate::shard::Shard;
use crate::traffic::{ExtraDelay, Traffic};
use crate::{Error, Progress, report};

/// Flows are read from the traffic stream at least so many at a time.
const FLOWS_AHEAD: usize = 64;
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
    let mut plan = Plan::new(config)?;
    let threads = threads.max(1);
    let shard_of = partition(config, &plan.ports, threads);
    plan.ports.share_out(&shard_of, &config.probes.packets);
    let plan = plan;
    let exchange = Exchange::new(threads);
    let worker = |index: usize, watch: Option<&mut Watch<'_>>| {
        let _member = exchange.member();
        let mut worker = Worker {
            traffic: Traffic::new(&config.traffic, &config.fabric, config.seed)
                .map_err(Error::Invalid)?
                .peekable(),
            next_id: 0,
            flows_of: vec![0; config.traffic.len()],
            next_look: plan
                .config
                .probes
                .deadlock
                .map_or(Time::NEVER, |probe| probe.interval),
            shard: Shard::new(&plan, &shard_of, index as u16),
            exchange: &exchange,
            plan: &plan,
        };
        let end = worker.run(watch)?;
        Ok((worker.shard.finish(end.at, &plan), end))
    };
    let finished: Vec<Result<_, Error>> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .map(|index| scope.spawn(move || worker(index, None)))
            .collect();
        let first = worker(0, Some(watch));
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
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

/// One thread's part in a run.
struct Worker<'a, 'p> {
    /// Every thread reads the whole stream, and keeps what is its own.
    traffic: Peekable<Traffic<'a>>,
    next_id: u32,
    /// Flows read so far, by entry.
    flows_of: Vec<u64>,
    /// When to look for a deadlock; a window never reaches beyond.
    next_look: Time,
    shard: Shard,
    exchange: &'a Exchange,
    plan: &'a Plan<'p>,
}

impl Worker<'_, '_> {
    /// Runs all windows.
    fn run(&mut self, mut watch: Option<&mut Watch<'_>>) -> Result<End, Error> {
        let lookahead = self.plan.lookahead;
        let stop = self.plan.config.stop;
        // Flows that start before the horizon are known to their hosts.
        let mut horizon = Time::ZERO;
        let mut round = 0;
        loop {
            let thread = usize::from(self.shard.index);
            let own = self.shard.calendar.earliest().min(self.next_flow());
            let outboxes = &mut self.shard.outboxes;
            let Some(start) = self.exchange.meet(round, thread, own, outboxes) else {
                return Err(Error::Interrupted);
            };
            self.exchange.deliver(round, thread, |mail| {
                self.shard.deliver(self.plan, mail);
            });
            if self.next_look <= start.min(stop)
                && let Some((at, deadlock)) = self.look(start.min(stop))
            {
                return Ok(End {
                    at,
                    windows: round,
                    deadlock: Some(deadlock),
                });
            }
            if start >= stop {
                return Ok(End {
                    at: stop,
                    windows: round,
                    deadlock: None,
                });
            }
            let end = start.saturating_add(lookahead).min(stop);
            let end = end.min(self.next_look);
            let known = horizon;
            if end > horizon {
                horizon = self.inject(end.saturating_add(lookahead))?;
            }
            self.shard.run_window(self.plan, end.min(known));
            round += 1;
            if let Some(watch) = &mut watch
                && round % WINDOWS_PER_WATCH == 0
            {
                let packet_hops = self.shard.log.counts.packet_hops;
                if watch(Progress {
                    now: start,
                    packet_hops,
                })
                .is_break()
                {
                    self.exchange.interrupt(round);
                }
            }
        }
    }

    /// Looks for a deadlock at every instant for it up to `until`, between which nothing happens;
    /// answers when it was found.
    fn look(&mut self, until: Time) -> Option<(Time, Deadlock)> {
        let probe = self.plan.config.probes.deadlock?;
        let own = self
            .shard
            .blocked(until.saturating_sub(probe.hold), self.plan);
        let all = self.exchange.gather(usize::from(self.shard.index), own);
        let all = deadlock::sorted(all);
        while self.next_look <= until {
            let now = self.next_look;
            self.next_look = now.saturating_add(probe.interval);
            let is_blocked = |queue: &&Blocked| queue.since.saturating_add(probe.hold) <= now;
            let blocked: Vec<&Blocked> = all.iter().filter(is_blocked).collect();
            if let Some(found) = deadlock::find(&blocked, &self.plan.ports) {
                return Some((now, found));
            }
        }
        None
    }

    /// Start of the first flow that has not been injected.
    fn next_flow(&mut self) -> Time {
        self.traffic.peek().map_or(Time::NEVER, |spec| spec.start)
    }

    /// Reads the flows that start before `until`, and at least [`FLOWS_AHEAD`], so that receivers
    /// know of a flow before its first packet, and flows far off cost nothing; answers the start of
    /// the first that was left. They are known to their senders after the next barrier.
    fn inject(&mut self, until: Time) -> Result<Time, Error> {
        let mut injected = 0;
        while let Some(mut spec) = self.traffic.peek().copied() {
            let start = spec.start;
            if start >= self.plan.config.stop || (start >= until && injected >= FLOWS_AHEAD) {
                break;
            }
            self.traffic.next();
            injected += 1;
            let id = self.next_id;
            self.next_id += 1;
            if !self
                .plan
                .routing
                .reaches(&self.plan.ports, spec.src, spec.dst)
            {
                let (src, dst) = (spec.src, spec.dst);
                return Err(Error::Invalid(format!(
                    "there is no way from host {src} to {dst}"
                )));
            }
            let number = &mut self.flows_of[usize::from(spec.group)];
            if let ExtraDelay::Drawn(from) = spec.extra_delay {
                let config = self.plan.config;
                let delays = &config.host.extra_delays[usize::from(from)];
                spec.extra_delay = ExtraDelay::Fixed(delays.draw(config.seed, spec.group, *number));
            }
            *number += 1;
            if self.shard.owns(spec.dst) {
                let receiver_slot = self.shard.host(spec.dst).expect(id, &spec, self.plan);
                self.shard.start_flow(FlowStart {
                    id,
                    spec,
                    receiver_slot,
                });
            }
        }
        Ok(self.next_flow())
    }
}
