//! The ranks at a host, and their connections.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::Time;

use super::order::Order;
use super::rank::Rank;
use crate::engine::log::MessageEnd;
use crate::fabric::NodeId;
use crate::jobs::connections::{Connection, Expected, Messages};
use crate::jobs::step::Step;
use crate::plan::Plan;

/// The ranks of jobs at a host.
///
/// The host [finds](Self::of) them before the run. It calls [`Self::on_timer`] when the first of their timers is due, and reports
/// [messages](Self::on_message) that have arrived and [acknowledgements](Self::on_acknowledged). Ranks act on the host's senders, and
/// give the time of their next timer to its machine.
#[derive(Debug, Default)]
pub struct Ranks {
    pub ranks: Vec<Rank>,
    pub timers: BinaryHeap<Reverse<(Time, u64, usize, Due)>>,
    pub(super) timers_set: u64,
    /// Connections that lead here, by their flow.
    pub incoming: BTreeMap<u32, Incoming>,
    /// Connections that lead from here, by their flow.
    pub outgoing: BTreeMap<u32, From>,
    /// Messages that have flows of their own, by rank, channel and the other rank.
    pub orders: BTreeMap<(usize, u32, u32), Order>,
    pub room: Step,
}

/// The purpose of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Show)]
pub enum Due {
    /// The rank starts.
    Start,
    /// The rank has computed.
    Computed,
    /// A message counts that has arrived over this flow: its slice, or the number of its receive.
    Came(#[show(same)] u32, #[show(same)] u32),
    /// A message is launched: its channel, the rank that it goes to, its bytes.
    Launched(#[show(same)] u32, #[show(same)] u32, #[show(same)] u64),
    /// A lane has reduced what it has received.
    Reduced(#[show(same)] u32),
    /// An operation of its program has computed.
    #[show(refuse)]
    Ended(u32),
    /// A send of its program may be posted.
    #[show(refuse)]
    Ready(u32),
    /// Its job has failed elsewhere.
    #[show(refuse)]
    Stop,
}

/// A connection that leads from a rank here.
#[derive(Debug)]
pub struct From {
    pub rank: usize,
    pub connection: Connection,
    /// Messages before it, if it is a flow of its own.
    pub number: Option<u32>,
}

/// A connection that leads to a rank here.
#[derive(Debug)]
pub struct Incoming {
    pub rank: usize,
    pub connection: Connection,
    pub messages: Messages,
    /// If there is only one, how many come before it from the same rank.
    pub only: Option<u32>,
    /// The record of that message when it counts.
    pub came: Option<MessageEnd>,
    /// The one in flight.
    pub next: Option<Expected>,
    /// The time from the arrival of a message until it counts.
    pub answer: Time,
    /// Messages before it.
    pub delivered: u32,
}

impl Ranks {
    /// The ranks at host `id`.
    pub fn of(id: NodeId, plan: &Plan<'_>) -> Option<Box<Self>> {
        let mut ranks = Self::default();
        for (job, it) in plan.config.jobs.iter().enumerate() {
            let Some(number) = it.hosts.iter().position(|host| *host == id) else {
                continue;
            };
            let at = ranks.ranks.len();
            ranks.ranks.push(Rank::new(job, number as u32, it.start));
            ranks.set(it.start, at, Due::Start);
        }
        (!ranks.ranks.is_empty()).then(|| Box::new(ranks))
    }

    /// When the first timer is due.
    pub fn next_timer(&self) -> Time {
        self.timers.peek().map_or(Time::NEVER, |first| first.0.0)
    }

    /// Sets a timer of the rank at this place.
    pub fn set(&mut self, at: Time, rank: usize, due: Due) {
        self.timers.push(Reverse((at, self.timers_set, rank, due)));
        self.timers_set += 1;
    }

    /// True if the rank at this place runs a program.
    pub fn runs_program(&self, rank: usize, plan: &Plan<'_>) -> bool {
        plan.config.jobs[self.ranks[rank].job].program.is_some()
    }

    /// The place of the rank of a job.
    pub fn rank_of(&self, job: usize) -> usize {
        let of_job = self.ranks.iter().position(|rank| rank.job == job);
        of_job.expect("connections of a job join its ranks")
    }
}
