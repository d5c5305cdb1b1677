//! A shard's part in a run, step by step. It does not know how shards exchange batches and wait for one another.

use std::iter::Peekable;

use unpause_protocols::units::Time;

use crate::Error;
use crate::config::invalid::Invalid;
use crate::engine::arrivals::LONGEST_WINDOW;
use crate::engine::batch::FlowStart;
use crate::engine::exchange::{Exchange, Status};
use crate::followers;
use crate::outcome::deadlock::{self, Blocked};
use crate::outcome::results::{Deadlock, PortSample};
use crate::plan::Plan;
use crate::plan::schedule::{BOTH, Half, NextEvents};
use crate::run::shard::{Shard, ShardEnd};
use crate::run::skip::Skipper;
use crate::traffic::{Connections, ExtraDelay, FlowSpec, Traffic};

pub mod driven;

/// Flows are read from the traffic stream at least this many at a time.
const FLOWS_AHEAD: usize = 64;

/// A shard, and the traffic stream as it reads it.
///
/// Before each window shards exchange batches ([`Worker::send`], [`Worker::receive`]). The window is that of one half of the fabric,
/// which follows from when shards have something to do, or, of shards that run independently, several of the shard's own.
pub struct Worker<'p> {
    /// Every shard reads the whole stream, and keeps what is its own.
    traffic: Peekable<Traffic<'p>>,
    next_id: u32,
    /// Flows read so far, by entry.
    flows_of: Vec<u64>,
    /// Flows that start before this are known to their hosts.
    flow_horizon: Time,
    /// When to check for a deadlock; a window never reaches beyond.
    next_deadlock_check: Time,
    /// The last window, if nothing was run ahead of what follows it.
    last: Option<Last>,
    shard: Shard,
    /// Where what repeats itself is skipped.
    skipper: Option<Skipper>,
    plan: &'p Plan<'p>,
}

/// A window that has been run.
struct Last {
    half: Half,
    end: Time,
    /// Flows that start before this were known to their hosts.
    known: Time,
}

impl<'p> Worker<'p> {
    /// The nodes that `shard_of` gives to shard `index` of this many `shards`, before the first window.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if there is no such traffic.
    pub fn new(
        plan: &'p Plan<'p>,
        shard_of: &[u16],
        index: usize,
        shards: usize,
    ) -> Result<Self, Error> {
        let config = plan.config;
        let traffic = followers::leaders(config);
        let probe = config.probes.deadlock;
        let mut worker = Self {
            traffic: traffic
                .map_err(|why| Invalid::new("traffic", why))?
                .peekable(),
            next_id: 0,
            flows_of: vec![0; config.traffic.len()],
            flow_horizon: Time::ZERO,
            next_deadlock_check: probe.map_or(Time::NEVER, |probe| probe.interval),
            last: None,
            shard: Shard::new(plan, shard_of, index as u16, shards),
            skipper: Skipper::of(plan),
            plan,
        };
        for (id, (spec, _)) in (plan.followers.first..).zip(&plan.followers.flows) {
            worker.announce(id, *spec)?;
        }
        Ok(worker)
    }

    /// Sends what it has for other shards.
    pub fn send(&mut self, exchange: &mut impl Exchange) {
        let flows = NextEvents::both(self.next_flow());
        let due = self
            .shard
            .due()
            .min(self.shard.take_first_sent())
            .min(flows);
        let mut status = Status {
            packet_hops: self.packet_hops(),
            ..Status::due(due)
        };
        if let Some(skipper) = &mut self.skipper {
            skipper.tell(&self.shard, self.plan, &mut status);
        }
        let index = usize::from(self.shard.index);
        exchange.send(index, status, &mut self.shard.outboxes);
    }

    /// Begins with the next window while batches are in flight: interior nodes, which have links to nodes of this shard only, run as
    /// far as all shards will run.
    pub fn run_ahead(&mut self) {
        let Some(Last { half, end, known }) = self.last.take() else {
            return;
        };
        let outer = &self.plan.schedule.outer;
        let due = self.shard.due();
        let Some(half) = outer.next_half(half, end, &due) else {
            return;
        };
        // The next window starts no sooner than one link before this.
        let longest = end.saturating_sub(outer.lookahead);
        let until = end.saturating_add(outer.lookahead);
        let until = until.min(longest.saturating_add(LONGEST_WINDOW));
        let until = until.min(known).min(self.cut());
        if due.of(half) < until && !self.may_compare() {
            self.shard
                .run_interior(self.plan, half, due.of(half), until);
        }
    }

    /// Takes what other shards have for this one.
    pub fn receive(&mut self, exchange: &mut impl Exchange) {
        let (shard, plan) = (&mut self.shard, self.plan);
        exchange.deliver(usize::from(shard.index), |batch| shard.deliver(plan, batch));
    }

    /// Packets that have gone over a link.
    pub fn packet_hops(&self) -> u64 {
        self.shard.log.counts.packet_hops
    }

    /// True if it is time to look for a deadlock before a window that starts at `start`: it then has
    /// its blocked queues in the batches for all others.
    pub fn checks_deadlock(&mut self, start: Time) -> bool {
        let Some(probe) = self.plan.config.probes.deadlock else {
            return false;
        };
        let until = start.min(self.plan.config.stop);
        if self.next_deadlock_check > until {
            return false;
        }
        let since = until.saturating_sub(probe.hold);
        self.shard.report_blocked(since, self.plan);
        true
    }

    /// The deadlock that the blocked queues of all shards make, and when it was found: looks at every
    /// instant for it up to `start`, between which nothing happens.
    pub fn deadlock(&mut self, start: Time) -> Option<(Time, Deadlock)> {
        let probe = self.plan.config.probes.deadlock?;
        let all = deadlock::sorted(std::mem::take(&mut self.shard.blocked));
        while self.next_deadlock_check <= start.min(self.plan.config.stop) {
            let now = self.next_deadlock_check;
            self.next_deadlock_check = now.saturating_add(probe.interval);
            let is_blocked = |queue: &&Blocked| queue.since.saturating_add(probe.hold) <= now;
            let blocked: Vec<&Blocked> = all.iter().filter(is_blocked).collect();
            if let Some(found) = deadlock::find(&blocked, &self.plan.ports) {
                return Some((now, found));
            }
        }
        None
    }

    /// Runs the next window of a run that is not over, of shards that are `due`.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if a flow has no way to its receiver.
    pub fn window(&mut self, due: &NextEvents) -> Result<(), Error> {
        let schedule = &self.plan.schedule;
        let (half, end) = match schedule.independent {
            None => schedule.outer.next_window(due),
            Some(independent) => (0, due.earliest().saturating_add(independent)),
        };
        let start = due.of(half);
        let end = match schedule.independent {
            None => end.min(start.saturating_add(LONGEST_WINDOW)),
            Some(_) => end,
        };
        let end = end.min(self.cut());
        let known = self.flow_horizon;
        // The next window ends no later behind this one.
        let ahead = schedule.longest();
        if end.saturating_add(ahead) > known {
            self.flow_horizon = self.inject(end.saturating_add(ahead * 2))?;
        }
        let end = end.min(known);
        if schedule.independent.is_some() {
            self.run_until(end);
        } else {
            self.shard.run_window(self.plan, half, start, end);
            self.last = (self.shard.outboxes.len() > 1).then_some(Last { half, end, known });
        }
        if let Some(skipper) = &mut self.skipper {
            skipper.note(end, self.shard.log.counts.events);
        }
        Ok(())
    }

    /// Runs this shard through windows of its own up to `end`, before which it learns of no other.
    fn run_until(&mut self, end: Time) {
        let outer = &self.plan.schedule.outer;
        loop {
            let due = self.shard.due();
            let (half, until) = outer.next_window(&due);
            let start = due.of(half);
            if start >= end {
                return;
            }
            let until = until.min(start.saturating_add(LONGEST_WINDOW)).min(end);
            self.shard.run_window(self.plan, half, start, until);
        }
    }

    /// True if it is time to find out whether shards, which are in this `status` together, repeat themselves: it then has
    /// that in the batches for all others.
    pub fn compares(&mut self, status: &Status) -> bool {
        let until = self.reach();
        let skipper = self.skipper.as_mut();
        skipper.is_some_and(|it| it.compares(&mut self.shard, self.plan, status, until))
    }

    /// True if [`Worker::compares`] may look at nodes.
    fn may_compare(&self) -> bool {
        let until = self.reach();
        let skipper = self.skipper.as_ref();
        skipper.is_some_and(|it| it.may_compare(until))
    }

    /// No window goes beyond: [`Self::limit`], or the time at which states are compared.
    fn cut(&self) -> Time {
        let skipper = self.skipper.as_ref();
        self.limit().min(skipper.map_or(Time::NEVER, Skipper::cut))
    }

    /// No window goes beyond.
    fn limit(&self) -> Time {
        let until = self.plan.config.stop.min(self.next_deadlock_check);
        until.min(self.shard.next_change(self.plan))
    }

    /// When links or routes change next, if that is before the end of the run.
    pub fn next_change(&self) -> Time {
        self.shard.next_change(self.plan)
    }

    /// Changes links and routes as is due next, where nothing is left to do before.
    pub fn change(&mut self) {
        self.shard.change(self.plan);
        self.last = None;
        if let Some(skipper) = &mut self.skipper {
            skipper.on_change();
        }
    }

    /// Windows may go so far before something is done between them.
    fn reach(&self) -> Time {
        // Flows are read a window before one needs them.
        let unread = self
            .flow_horizon
            .saturating_sub(self.plan.schedule.longest());
        self.limit().min(unread)
    }

    /// Skips what all shards repeat; answers how many windows that were.
    pub fn skip(&mut self, status: &Status) -> u64 {
        let shards = self.shard.outboxes.len();
        let skipper = self.skipper.as_mut();
        skipper.map_or(0, |it| {
            it.skip((&mut self.shard, shards), self.plan, status)
        })
    }

    /// The samples of ports before `time`, which all nodes have reached, since this was last called.
    pub fn take_port_series(&mut self, time: Time) -> Vec<PortSample> {
        let series = &mut self.shard.log.port_series;
        series.extract_if(.., |sample| sample.time < time).collect()
    }

    /// When the first of its events is due that is known now.
    pub fn next(&self) -> Time {
        self.shard.due().earliest()
    }

    /// Runs everything before `to`, which no packet can precede that has not been received yet. Flows that
    /// start within two link delays are read, and known to their senders since batches were exchanged.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if a flow has no way to its receiver.
    pub fn advance(&mut self, to: Time) -> Result<(), Error> {
        let to = to.min(self.plan.config.stop);
        let lookahead = self.plan.schedule.outer.lookahead;
        let known = self.flow_horizon;
        if to.saturating_add(lookahead) >= known {
            self.flow_horizon = self.inject(to.saturating_add(lookahead * 2))?;
        }
        let to = to.min(known);
        while self.next() < to {
            let start = self.next();
            let end = to.min(start.saturating_add(LONGEST_WINDOW));
            for half in BOTH {
                self.shard.run_window(self.plan, half, start, end);
            }
        }
        Ok(())
    }

    /// Closes the run, which has come to `at`.
    pub fn finish(self, at: Time) -> ShardEnd {
        self.shard.finish(at, self.plan)
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
        while let Some(spec) = self.traffic.peek().copied() {
            let start = spec.start;
            if start >= self.plan.config.stop || (start >= until && injected >= FLOWS_AHEAD) {
                break;
            }
            self.traffic.next();
            if let Some(next) = self.traffic.peek() {
                self.shard.prefetch_host(next.dst);
            }
            injected += 1;
            self.next_id += 1;
            self.announce(self.next_id - 1, spec)?;
        }
        Ok(self.next_flow())
    }

    /// Tells the ends of flow `id` of it, those in this shard.
    fn announce(&mut self, id: u32, mut spec: FlowSpec) -> Result<(), Error> {
        let plan = self.plan;
        if !plan.routing.reaches(&plan.ports, spec.src, spec.dst) {
            let (src, dst) = (spec.src, spec.dst);
            let message = format!("there is no path from host {src} to {dst}");
            return Err(Invalid::new("fabric.links", message).into());
        }
        let jobs = &plan.config.jobs;
        if plan.config.counts_job_links() && jobs.iter().any(|it| it.entry == spec.group) {
            self.shard.log.job_links.expect(id, spec.group);
        }
        let number = self.flows_of[usize::from(spec.group)];
        self.flows_of[usize::from(spec.group)] += 1;
        if let ExtraDelay::Drawn(from) = spec.extra_delay {
            let config = plan.config;
            let delays = &config.host.extra_delays[usize::from(from)];
            spec.extra_delay = ExtraDelay::Fixed(delays.draw(config.seed, spec.group, number));
            if let Connections::Pool(pool) = &mut spec.connections {
                pool.delays = Some(from);
            }
        }
        if self.shard.owns(spec.dst) {
            let number = number as u32;
            let receiver_slot = self.shard.expect_flow(plan, (id, number), &spec);
            let start = FlowStart {
                id,
                spec,
                receiver_slot,
                number,
            };
            self.shard.start_flow(plan, start);
        }
        Ok(())
    }
}
