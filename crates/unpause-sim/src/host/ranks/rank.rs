//! A rank: its position in its job, and what it waits for.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::Time;

use super::progress::Progress;
use crate::engine::batch::FlowStart;
use crate::engine::log::Log;
use crate::jobs::Job;
use crate::jobs::RankIteration;
use crate::jobs::collected::Taken;
use crate::jobs::connections::Connection;
use crate::plan::Plan;

/// A rank.
#[derive(Debug)]
pub struct Rank {
    /// Place of its job in [`crate::config::Config::jobs`].
    pub job: usize,
    pub number: u32,
    pub iteration: u32,
    pub phase: u32,
    /// It does nothing more: its job has failed.
    pub(super) stopped: bool,
    /// When the iteration began, and for how long the rank has computed in it.
    pub(super) began: Time,
    pub(super) computed: Time,
    /// When it began the collective operation of its phase.
    pub(super) joined: Time,
    /// Its progress in its program, if it runs one.
    pub progress: Progress,
    pub lanes: Vec<Lane>,
    /// Lanes that have not come to their end.
    pub running: usize,
    /// When the first lane began its latest step.
    pub stepped: Time,
    /// Connections by channel and the other rank.
    pub to: BTreeMap<(u32, u32), Outgoing>,
    /// Messages that have come and that nobody has waited for yet, less those waited for that have not come: by channel
    /// and the other rank, of each slice.
    pub(super) ahead: BTreeMap<(u32, u32), Vec<i32>>,
}

/// A slice of a channel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lane {
    pub step: u32,
    /// Messages and acknowledgements that the rank waits for in this step.
    pub left: u32,
    /// Bytes that it has received in this step and has to reduce.
    pub reduces: u64,
    /// How long it computes at the end of this step.
    pub computes: Time,
}

/// A connection that leads from a rank.
#[derive(Debug, Show)]
pub struct Outgoing {
    /// Its sender and its flow; of messages that have flows of their own, those of the last one posted.
    #[show(same)]
    pub slot: u32,
    #[show(same)]
    pub flow: u32,
    /// Messages posted.
    #[show(total)]
    pub posted: u32,
    /// Messages of steps that have begun: posted, or to be posted when they are launched.
    #[show(total)]
    pub begun: u32,
    /// Flows of those that are not, if each has one.
    #[show(skip = "of messages that are flows")]
    pub starts: VecDeque<FlowStart>,
    /// Of these messages, how many have been acknowledged before the first that has not, and which after that.
    #[show(skip = "of messages that are flows")]
    pub acknowledged: u32,
    #[show(skip = "of messages that are flows")]
    pub early: BTreeSet<u32>,
    /// The lane that waits until all has been acknowledged.
    #[show(same = waits.map_or(u64::MAX, u64::from))]
    pub waits: Option<u32>,
}

impl Outgoing {
    /// Nothing posted yet, over the connection in `slot` that is flow `flow`.
    pub fn new(slot: u32, flow: u32) -> Self {
        Self {
            slot,
            flow,
            posted: 0,
            begun: 0,
            starts: VecDeque::new(),
            acknowledged: 0,
            early: BTreeSet::new(),
            waits: None,
        }
    }

    /// Message `number`, which has a flow of its own, has been acknowledged. Answers how many have been up to the first that
    /// has not.
    pub fn acknowledge(&mut self, number: u32) -> u32 {
        self.early.insert(number);
        while self.early.remove(&self.acknowledged) {
            self.acknowledged += 1;
        }
        self.acknowledged
    }
}

impl Rank {
    /// Rank `number` of the job at place `job`, which starts at `start`.
    pub fn new(job: usize, number: u32, start: Time) -> Self {
        Self {
            job,
            number,
            iteration: 0,
            phase: 0,
            stopped: false,
            began: start,
            computed: Time::ZERO,
            joined: start,
            progress: Progress::default(),
            lanes: Vec::new(),
            running: 0,
            stepped: Time::ZERO,
            to: BTreeMap::new(),
            ahead: BTreeMap::new(),
        }
    }

    /// It begins a phase; answers for how long it computes.
    pub fn compute(&mut self, plan: &Plan<'_>) -> Time {
        let job = &plan.config.jobs[self.job];
        let phase = &job.phases[self.phase as usize];
        let place = (self.iteration, self.phase, self.number);
        let compute = phase.compute_of(plan.config.seed, job.entry, place);
        self.computed += compute;
        compute
    }

    /// It begins the collective operation of its phase; answers how many lanes that has, none if it takes no part.
    pub fn begin_lanes(&mut self, now: Time, plan: &Plan<'_>) -> u32 {
        self.joined = now;
        let exchange = plan.config.jobs[self.job].phases[self.phase as usize]
            .collective
            .as_ref();
        let taking_part = exchange.filter(|exchange| exchange.place(self.number).is_some());
        let lanes = taking_part.map_or(0, |part| part.collective.lanes());
        self.lanes.clear();
        self.lanes.resize(lanes as usize, Lane::default());
        self.running = lanes as usize;
        lanes
    }

    /// A lane has come to its end: records its channel, if there are several.
    pub fn end_lane(&mut self, now: Time, lane: u32, (plan, log): (&Plan<'_>, &mut Log)) {
        self.running -= 1;
        let job = &plan.config.jobs[self.job];
        let Some(exchange) = &job.phases[self.phase as usize].collective else {
            return;
        };
        let it = &exchange.collective;
        if it.lanes_of_channels() > 1
            && let Some(group) = exchange.group_of(self.number)
        {
            let channel = Some(lane / it.slices);
            let key = (job.entry, self.iteration, self.phase, group, channel);
            log.collectives.add(key, Taken::of_one(self.joined, now));
        }
    }

    /// Records the collective operations of its program that have ended.
    pub fn record_operations(&mut self, plan: &Plan<'_>, log: &mut Log) {
        let entry = plan.config.jobs[self.job].entry;
        for (span, start, end) in self.progress.taken.drain(..) {
            let key = (entry, self.iteration, span.of, 0, span.channel);
            log.collectives.add(key, Taken::of_one(start, end));
        }
    }

    /// A phase is over; false if it was the last of all.
    pub fn end_phase(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) -> bool {
        let job = &plan.config.jobs[self.job];
        let exchange = job.phases[self.phase as usize].collective.as_ref();
        if let Some(group) = exchange.and_then(|exchange| exchange.group_of(self.number)) {
            let key = (job.entry, self.iteration, self.phase, group, None);
            log.collectives.add(key, Taken::of_one(self.joined, now));
        }
        self.phase += 1;
        if (self.phase as usize) < job.phases.len() {
            return true;
        }
        self.phase = 0;
        let computed = self.computed;
        self.end_iteration(now, computed, plan, log)
    }

    /// An iteration is over, in which it has computed so long; false if it was the last.
    pub fn end_iteration(
        &mut self,
        now: Time,
        computed: Time,
        plan: &Plan<'_>,
        log: &mut Log,
    ) -> bool {
        let job = &plan.config.jobs[self.job];
        log.rank_iterations.push(RankIteration {
            entry: job.entry,
            iteration: self.iteration,
            rank: self.number,
            start: self.began,
            end: now,
            computed,
        });
        self.iteration += 1;
        (self.began, self.computed) = (now, Time::ZERO);
        self.iteration < job.iterations
    }

    /// Waits for a message of a slice from rank `from`; answers 1 if that has not come yet.
    pub fn wait_for(&mut self, channel: u32, from: u32, (slice, slices): (u32, u32)) -> u32 {
        let ahead = self.ahead.entry((channel, from)).or_default();
        if ahead.len() < slices as usize {
            ahead.resize(slices as usize, 0);
        }
        let of_slice = &mut ahead[slice as usize];
        *of_slice -= 1;
        u32::from(*of_slice < 0)
    }

    /// A message of a slice has come; answers the lane whose step that ends.
    pub fn take(&mut self, connection: &Connection, slice: u32, job: &Job) -> Option<u32> {
        let key = (connection.channel, connection.from);
        let ahead = self.ahead.entry(key).or_default();
        if ahead.len() <= slice as usize {
            ahead.resize(slice as usize + 1, 0);
        }
        let of_slice = &mut ahead[slice as usize];
        *of_slice += 1;
        if *of_slice > 0 {
            return None;
        }
        let exchange = job.phases[self.phase as usize].collective.as_ref();
        let slices = exchange.map_or(1, |exchange| exchange.collective.slices);
        let lane = connection.channel * slices + slice;
        let waiting = &mut self.lanes[lane as usize];
        waiting.left -= 1;
        (waiting.left == 0).then_some(lane)
    }

    /// A lane has all that its step waits for; answers how long it then computes, or reduces what it has received.
    pub fn end_step(&mut self, lane: u32, plan: &Plan<'_>) -> Time {
        let computes = self.lanes[lane as usize].computes;
        self.computed += computes;
        let phase = &plan.config.jobs[self.job].phases[self.phase as usize];
        let rate = phase
            .collective
            .as_ref()
            .and_then(|collective| collective.reduce_rate);
        let bytes = self.lanes[lane as usize].reduces;
        computes
            + rate.map_or(Time::ZERO, |rate| match bytes {
                0 => Time::ZERO,
                _ => rate.time_for(bytes),
            })
    }
}
