//! The state of ranks that advances with time: steps, messages posted and received, timers.

use std::cmp::Reverse;

use unpause_protocols::state_visitor::{Show, StateVisitor, Total};

use super::rank::{Lane, Rank};
use super::state::{Incoming, Ranks};
use crate::jobs::Job;
use crate::jobs::connections::{Connection, Expected};
use crate::plan::Plan;

impl Ranks {
    /// Shows the state of all ranks. Ranks that run programs, or whose messages are flows, refuse.
    pub fn show<L: StateVisitor>(&mut self, plan: &Plan<'_>, visitor: &mut L) {
        let Self {
            ranks,
            timers: _,
            timers_set: _,
            incoming,
            outgoing,
            orders: _,
            room: _,
        } = self;
        let jobs = &plan.config.jobs;
        if ranks.iter().any(|rank| !jobs[rank.job].may_repeat()) {
            return visitor.refuse();
        }
        for rank in &mut *ranks {
            rank.show(&jobs[rank.job], visitor);
        }
        visitor.same(incoming.len() as u64);
        for (flow, it) in incoming {
            visitor.same(u64::from(*flow));
            it.show(&jobs[ranks[it.rank].job], visitor);
        }
        visitor.same(outgoing.len() as u64);
        outgoing
            .keys()
            .for_each(|flow| visitor.same(u64::from(*flow)));
        self.show_timers(visitor);
    }

    /// Timers of one instant expire in the order in which they were set, so the order is shown.
    fn show_timers<L: StateVisitor>(&mut self, visitor: &mut L) {
        visitor.same(self.timers.len() as u64);
        if self.timers.is_empty() {
            return;
        }
        if self.timers.len() > 1 && self.ranks.len() > 1 {
            // A timer that advances may come to the same instant as one that does not, which the order does not tell.
            return visitor.refuse();
        }
        let mut timers = std::mem::take(&mut self.timers).into_vec();
        timers.sort_unstable_by_key(|Reverse((at, set, ..))| (*at, *set));
        let mut order: Vec<u64> = timers.iter().map(|timer| timer.0.1).collect();
        order.sort_unstable();
        for Reverse((at, set, rank, due)) in &mut timers {
            visitor.time(at);
            visitor.same(order.partition_point(|earlier| *earlier < *set) as u64);
            visitor.same(*rank as u64);
            due.show(visitor);
        }
        self.timers = timers.into();
    }
}

impl Rank {
    fn show<L: StateVisitor>(&mut self, job: &Job, visitor: &mut L) {
        let Self {
            job: _,
            number,
            iteration,
            phase,
            began,
            computed,
            joined,
            // Of programs.
            progress: _,
            lanes,
            running,
            // Affects nothing.
            stepped,
            to,
            ahead,
            // Hosts where flows give up refuse.
            stopped: _,
        } = self;
        visitor.same(u64::from(*iteration) << 32 | u64::from(*phase));
        for time in [began, computed, joined] {
            visitor.same(time.as_ps());
        }
        visitor.same((*running as u64) << 32 | lanes.len() as u64);
        stepped.show_total(visitor);
        let exchange = job.phases[*phase as usize].collective.as_ref();
        let of_group = exchange.and_then(|exchange| Some((exchange, exchange.group_of(*number)?)));
        for (at, lane) in (0..).zip(lanes) {
            let Lane {
                step,
                left,
                reduces,
                computes,
            } = lane;
            let last = of_group.map_or(*step, |(it, group)| {
                let channel = at / it.collective.slices;
                it.last_alike(group, channel, *step)
            });
            visitor.step(step, last);
            visitor.same(u64::from(*left));
            if exchange.is_some_and(|exchange| exchange.reduce_rate.is_some()) {
                visitor.same(*reduces);
            }
            visitor.same(computes.as_ps());
        }
        visitor.same(to.len() as u64);
        to.values_mut().for_each(|it| it.show(visitor));
        visitor.same(ahead.len() as u64);
        for slice in ahead.values().flatten() {
            visitor.same(i64::from(*slice) as u64);
        }
    }
}

impl Incoming {
    fn show<L: StateVisitor>(&mut self, job: &Job, visitor: &mut L) {
        let Self {
            rank: _,
            connection,
            messages,
            // Of messages that are flows.
            only: _,
            came: _,
            next,
            answer: _,
            delivered,
        } = self;
        let connection = &*connection;
        let (iteration, phase, step, slice) = messages.place();
        visitor.same(u64::from(iteration) << 32 | u64::from(phase));
        visitor.same(u64::from(slice));
        visitor.step(step, last_alike(job, phase, connection, *step));
        visitor.same(u64::from(next.is_some()));
        if let Some(next) = next {
            let Expected {
                iteration,
                phase,
                step,
                slice,
                bytes,
            } = next;
            visitor.same(u64::from(*iteration) << 32 | u64::from(*phase));
            visitor.same(u64::from(*slice));
            visitor.same(*bytes);
            visitor.step(step, last_alike(job, *phase, connection, *step));
        }
        delivered.show_total(visitor);
    }
}

/// The last step that is like this one, as the receiver of a connection sees it.
fn last_alike(job: &Job, phase: u32, connection: &Connection, step: u32) -> u32 {
    let exchange = job.phases[phase as usize].collective.as_ref();
    let of_group =
        exchange.and_then(|exchange| Some((exchange, exchange.group_of(connection.to)?)));
    of_group.map_or(step, |(it, group)| {
        it.last_alike(group, connection.channel, step)
    })
}
