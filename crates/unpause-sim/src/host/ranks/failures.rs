//! Ranks that fail: a connection has given up, and with it the job.
//!
//! As in NCCL, where the error of a queue pair ends the communicator, and whoever has launched the ranks ends the others. The rank
//! itself stops at once, the others when they learn of it ([`Plan::failure_notice`](crate::plan::Plan::failure_notice)).

use std::cmp::Reverse;
use std::collections::BTreeSet;

use unpause_protocols::units::Time;

use super::super::machine::Machine;
use super::super::senders::Senders;
use super::state::{Due, Ranks};
use crate::engine::window::Window;
use crate::jobs::JobFailure;

impl Ranks {
    /// The connection that is `flow` has given up, if it is one: its rank fails.
    #[cold]
    pub fn on_give_up(
        &mut self,
        now: Time,
        flow: u32,
        senders: &mut Senders,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let Some(from) = self.outgoing.get(&flow) else {
            return;
        };
        let (rank, connection) = (from.rank, from.connection);
        let job = &window.plan.config.jobs[self.ranks[rank].job];
        window.log.job_failures.push(JobFailure {
            entry: job.entry,
            at: now,
            stops: now.saturating_add(window.plan.failure_notice()),
            rank: connection.from,
            peer: connection.to,
            flow,
        });
        self.stop(now, rank, senders, machine, window);
        machine.set_rank(self.next_timer());
    }

    /// The rank of job number `job`, if one is here, stops at this time: the job has failed.
    pub fn stop_at(&mut self, at: Time, job: usize) {
        let rank = self.ranks.iter().position(|rank| rank.job == job);
        if let Some(rank) = rank {
            // It comes before all else of that instant, whenever its shard hears of it.
            let stop = Reverse((at, 0, rank, Due::Stop));
            // Several connections may have given up at once: shards elsewhere hear of that once.
            if !self.timers.iter().any(|timer| *timer == stop) {
                self.timers.push(stop);
            }
        }
    }

    /// A rank does nothing more, and sends nothing more. What comes is still acknowledged.
    pub(super) fn stop(
        &mut self,
        now: Time,
        rank: usize,
        senders: &mut Senders,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        if std::mem::replace(&mut self.ranks[rank].stopped, true) {
            return;
        }
        let own = self.outgoing.iter().filter(|(_, from)| from.rank == rank);
        let own: BTreeSet<u32> = own.map(|(flow, _)| *flow).collect();
        senders.stop_connections(now, &own, machine, window);
        self.outgoing.retain(|_, from| from.rank != rank);
        self.ranks[rank].to.clear();
    }
}
