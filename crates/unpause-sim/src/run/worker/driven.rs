//! A run that somebody drives, who adds flows when others have ended.
//!
//! All packets that can arrive at a host in a window are in flight when it begins, so the instants at which flows may end are
//! known. Before the window is run, the hosts concerned are brought to these instants one by one, in order of time:
//! arrivals of that instant are executed, and no flow has started. Whoever drives the run is told what has ended, and the
//! flows that it adds start at the very instant, as if they had been there before: no host has gone beyond it. When
//! nothing is left that may end, all nodes of the half run through the window as in any other run.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use unpause_protocols::units::Time;

use super::Worker;
use crate::Error;
use crate::engine::arrivals::LONGEST_WINDOW;
use crate::engine::log::Ended;
use crate::fabric::NodeId;
use crate::outcome::results::{Deadlock, Results};
use crate::plan::Plan;
use crate::plan::schedule::{Half, NextEvents};
use crate::run::report::{self, End};
use crate::traffic::FlowSpec;

/// Windows between two calls of the watcher.
const WINDOWS_PER_WATCH: u64 = 256;

/// Why a run has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// Flows have ended at this time ([`Driven::take_ended`]).
    Ended(Time),
    /// It has come to where it was to stop.
    Limit,
    /// It is over, at this time.
    Over(Time),
    /// The watcher has stopped it at this time. It can continue, also with flows that start now.
    Interrupted(Time),
}

/// A run that somebody drives. Its one shard has all nodes.
pub struct Driven<'p> {
    worker: Worker<'p>,
    hosts: Vec<NodeId>,
    /// That of the hosts.
    half: Half,
    /// The instants before `known` at which flows may still end, and at which host.
    ends: BTreeSet<(Time, NodeId)>,
    known: Time,
    /// Flows may be added from here on: no host has gone further, nor has a switch that their packets could reach.
    reached: Time,
    /// The run ends here.
    stop: Time,
    windows: u64,
    /// The watcher is called when there have been this many.
    next_watch: u64,
    deadlock: Option<(Time, Deadlock)>,
}

impl<'p> Driven<'p> {
    /// Before the first window of a run whose plan is [for a driver](crate::plan::schedule::Schedule::for_driver).
    ///
    /// # Errors
    ///
    /// As [`Worker::new`].
    pub fn new(plan: &'p Plan<'p>) -> Result<Self, Error> {
        let nodes = plan.config.fabric.nodes.len();
        let hosts: Vec<NodeId> = (0..nodes as NodeId)
            .filter(|node| plan.is_host(*node))
            .collect();
        let half = hosts
            .first()
            .map_or(0, |host| plan.schedule.outer.of(*host));
        Ok(Self {
            worker: Worker::new(plan, &vec![0; nodes], 0, 1)?,
            hosts,
            half,
            ends: BTreeSet::new(),
            known: Time::ZERO,
            reached: Time::ZERO,
            stop: plan.config.stop,
            windows: 0,
            next_watch: WINDOWS_PER_WATCH,
            deadlock: None,
        })
    }

    /// Adds a flow, which starts no sooner than where the run is; answers its number.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if it has no way to its receiver.
    pub fn add(&mut self, spec: FlowSpec) -> Result<u32, Error> {
        // What the scenario has at the same instant comes first.
        self.read_flows(spec.start.saturating_add(Time::from_ps(1)))?;
        let id = self.worker.next_id;
        self.worker.announce(id, spec)?;
        self.worker.next_id += 1;
        Ok(id)
    }

    /// The flows that have ended since this was last called, in order.
    pub fn take_ended(&mut self) -> Vec<Ended> {
        let mut ended = std::mem::take(&mut self.worker.shard.log.ended);
        ended.sort_unstable_by_key(|it| (std::cmp::Reverse(it.ending), it.flow));
        ended
    }

    /// Goes on until flows have ended, or up to `limit`: arrivals of that instant are executed, no flow has started, and
    /// nothing that was added later is missed. It stops as well if `watch`, which is called now and then, says so.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if a flow has no way to its receiver.
    pub fn run_to(
        &mut self,
        limit: Time,
        watch: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Reached, Error> {
        loop {
            if self.windows >= self.next_watch {
                self.next_watch = self.windows + WINDOWS_PER_WATCH;
                if watch().is_break() {
                    return Ok(Reached::Interrupted(self.reached));
                }
            }
            let mut due = self.due();
            due.add(self.half, limit);
            let start = due.earliest();
            if self.change_links(start) {
                continue;
            }
            if self.is_over(start) {
                return Ok(Reached::Over(self.end()));
            }
            let (half, end) = self.worker.plan.schedule.outer.next_window(&due);
            let mut end = self.shorten(start, end);
            if half == self.half {
                self.find_ends(start, end);
                end = end.min(self.known);
                let first = self.ends.first().map_or(Time::NEVER, |(at, _)| *at);
                if first.min(limit) < end {
                    match self.step(first, limit, end)? {
                        Some(reached) => return Ok(reached),
                        None => continue,
                    }
                }
            }
            self.run(half, start, end)?;
            debug_assert!(self.worker.shard.log.ended.is_empty(), "all are told");
        }
    }

    /// Goes to the instant `first` at which flows may end, or to `limit` if that is earlier, in a window up to `end`.
    fn step(&mut self, first: Time, limit: Time, end: Time) -> Result<Option<Reached>, Error> {
        if first > limit {
            return Ok(Some(Reached::Limit));
        }
        self.read_flows(first)?;
        self.reached = self.reached.max(first);
        while let Some(&(at, host)) = self.ends.first()
            && at == first
        {
            self.ends.pop_first();
            let shard = &mut self.worker.shard;
            shard.run_to_instant(self.worker.plan, host, first);
            // Hosts that hold packets back know only their next instant.
            shard.ends_after(host, end, &mut self.ends);
        }
        let ended = !self.worker.shard.log.ended.is_empty();
        Ok(if ended {
            Some(Reached::Ended(first))
        } else {
            (first == limit).then_some(Reached::Limit)
        })
    }

    /// Runs up to `stop` and closes the run; nobody is told of flows that end.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if a flow has no way to its receiver.
    pub fn finish(mut self, stop: Time) -> Result<Results, Error> {
        self.stop = self.stop.min(stop);
        loop {
            let due = self.due();
            let start = due.earliest();
            if self.change_links(start) {
                continue;
            }
            if self.is_over(start) {
                break;
            }
            let (half, end) = self.worker.plan.schedule.outer.next_window(&due);
            self.run(half, start, self.shorten(start, end))?;
        }
        let at = self.end();
        let end = End {
            at,
            windows: self.windows,
            deadlock: self.deadlock.map(|(_, deadlock)| deadlock),
            lost_data_packets: 0,
        };
        let plan = self.worker.plan;
        let mut results = report::results(plan, vec![self.worker.finish(at)], end);
        // The plan has those up to the end of the scenario.
        results.link_changes.retain(|change| change.at() < at);
        Ok(results)
    }

    /// Beyond the instant at which hosts are, switches may be by so much: nothing that hosts do then comes sooner.
    pub fn ahead(&self) -> Time {
        self.worker.plan.schedule.outer.lookahead
    }

    /// Packets that have gone over a link.
    pub fn packet_hops(&self) -> u64 {
        self.worker.packet_hops()
    }

    /// When each half has something to do.
    fn due(&mut self) -> NextEvents {
        let mut due = self.worker.shard.due();
        due.add(self.half, self.worker.next_flow());
        due
    }

    /// When the run ends, or ended.
    fn end(&self) -> Time {
        self.deadlock.as_ref().map_or(self.stop, |(at, _)| *at)
    }

    /// True if it is over before a window that starts at `start`, by its time or by a deadlock.
    fn is_over(&mut self, start: Time) -> bool {
        if self.deadlock.is_none() && self.worker.checks_deadlock(start.min(self.stop)) {
            self.deadlock = self.worker.deadlock(start.min(self.stop));
        }
        self.deadlock.is_some() || start >= self.stop
    }

    /// Changes links and routes if that is due at `start`, before which nothing is left to do, or sooner. True if it was.
    fn change_links(&mut self, start: Time) -> bool {
        let change = self.worker.next_change();
        let is_due = change <= start && !change.is_never() && !self.is_over(change);
        if is_due {
            self.worker.change();
        }
        is_due
    }

    /// Where a window from `start` has to end that would go up to `end`, if nobody has to be told anything.
    fn shorten(&self, start: Time, end: Time) -> Time {
        let longest = start.saturating_add(LONGEST_WINDOW);
        end.min(longest).min(self.stop).min(self.worker.limit())
    }

    /// Finds out when flows may end in a window of the hosts from `start` to `end`, unless that is known.
    fn find_ends(&mut self, start: Time, end: Time) {
        if self.known > start {
            return;
        }
        debug_assert!(self.ends.is_empty(), "all that was known is over");
        self.known = end;
        self.worker.shard.ends(&self.hosts, end, &mut self.ends);
    }

    fn run(&mut self, half: Half, start: Time, end: Time) -> Result<(), Error> {
        // Switches may be ahead of hosts, at which others may be added before.
        let mut reached = end.saturating_sub(self.ahead());
        if half == self.half {
            self.read_flows(end)?;
            reached = end;
        }
        self.reached = self.reached.max(reached);
        let plan = self.worker.plan;
        self.worker.shard.run_window(plan, half, start, end);
        self.windows += 1;
        Ok(())
    }

    /// Reads the flows of the scenario that start before `until`.
    fn read_flows(&mut self, until: Time) -> Result<(), Error> {
        while self.worker.next_flow() < until.min(self.stop) {
            let worker = &mut self.worker;
            if let Some(spec) = worker.traffic.next() {
                worker.next_id += 1;
                worker.announce(worker.next_id - 1, spec)?;
            }
        }
        Ok(())
    }
}
