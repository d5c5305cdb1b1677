//! The rare events of a host, and the flows that it will start.

use std::collections::VecDeque;

use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::Time;

use super::super::flow::gates::Waiting;
use crate::engine::batch::FlowStart;
use crate::engine::log::{Ended, Log};
use crate::fabric::NodeId;
use crate::link::pause::PendingPauses;
use crate::plan::Plan;
use crate::plan::sampling::{Sampling, grid_after};
use crate::traffic::{Ending, FlowSpec};

/// Rare events of a host: PAUSEs that take effect later, starts of flows, timers of ranks, samples.
///
/// The [`Machine`](super::Machine) that it belongs to keeps the time of the first one, and asks for it again after every change here.
#[derive(Debug, Show)]
pub struct Agenda {
    /// PAUSEs that have arrived and are not obeyed yet.
    #[show(nested)]
    pub pauses: PendingPauses,
    /// When flows and ports are sampled.
    #[show(deadline = sampling.at)]
    pub sampling: Sampling,
    #[show(same = starts.len())]
    #[show(deadline = first_start(starts))]
    starts: VecDeque<FlowStart>,
    /// The first start of a flow, or `rank_at` if that is earlier.
    #[show(skip = "follows from `starts` and `rank_at`")]
    pub start_at: Time,
    /// The first timer of the ranks at this host.
    #[show(skip = "shown by the ranks")]
    rank_at: Time,
    /// Flows are sampled at multiples of it only.
    #[show(skip)]
    pub flow_interval: Time,
    /// Flows that start when others have ended here, if there are any.
    #[show(same = waiting.as_ref().map_or(0, |waiting| waiting.left()))]
    pub waiting: Option<Box<Waiting>>,
}

/// When the first of these flows starts.
fn first_start(starts: &VecDeque<FlowStart>) -> Time {
    starts.front().map_or(Time::NEVER, |start| start.spec.start)
}

impl Agenda {
    /// No events. Sampling begins with the first recorded flow, or with the probes if one is at a port of this host.
    pub fn new(id: NodeId, plan: &Plan<'_>) -> Self {
        let probes = &plan.config.probes;
        let flow_interval = probes.flow_interval.unwrap_or(probes.interval);
        let samples_port = probes.ports.iter().any(|&(node, _)| node == id);
        let interval = if samples_port {
            probes.interval
        } else {
            flow_interval
        };
        Self {
            pauses: PendingPauses::default(),
            sampling: Sampling {
                at: Time::NEVER,
                interval,
                first: grid_after(probes.start, interval),
                port: samples_port,
            },
            starts: VecDeque::new(),
            start_at: Time::NEVER,
            rank_at: Time::NEVER,
            flow_interval,
            waiting: None,
        }
    }

    /// The time of the first rare event.
    pub fn next_time(&self) -> Time {
        let pause = self.pauses.next_time();
        pause.min(self.start_at).min(self.sampling.at)
    }

    /// When the first flow starts.
    pub fn first_start(&self) -> Time {
        first_start(&self.starts)
    }

    /// Adds a flow that starts here. Flows come in order of start, except those that another thread has sent.
    pub fn schedule(&mut self, start: FlowStart) {
        self.sample_from(&start.spec);
        let key = |start: &FlowStart| (start.spec.start, start.id);
        let at = self
            .starts
            .partition_point(|earlier| key(earlier) < key(&start));
        if self.starts.capacity() == 0 {
            self.starts.reserve_exact(1);
        }
        self.starts.insert(at, start);
        self.set_start();
    }

    /// Takes the flow that starts now.
    pub fn take_start(&mut self) -> FlowStart {
        let start = self.starts.pop_front().expect("a start is due");
        self.set_start();
        start
    }

    /// Computes [`Self::start_at`] again.
    #[inline(always)]
    pub fn set_start(&mut self) {
        self.start_at = self.first_start().min(self.rank_at);
    }

    /// The first timer of the ranks is due at `at`.
    pub fn set_rank(&mut self, at: Time) {
        self.rank_at = at;
        self.set_start();
    }

    /// Sampling begins with the first recorded flow, on the grid of the interval.
    pub fn sample_from(&mut self, spec: &FlowSpec) {
        if spec.recorded {
            let after = grid_after(spec.start, self.sampling.interval);
            self.sampling.at = self.sampling.at.min(after.max(self.sampling.first));
        }
    }

    /// Keeps a flow of an entry that follows others until those have ended.
    pub fn wait_for(&mut self, start: FlowStart, plan: &Plan<'_>) {
        let group = start.spec.group;
        let mut following = plan.config.following.iter();
        let following = following.find(|following| following.entry == group);
        let following = following.expect("only flows of such entries wait");
        let waiting = self.waiting.get_or_insert_default();
        waiting.gate(following, &start, plan).flows.push(start);
    }

    /// Watches for this end of flow `flow`, number `number` of its entry, if other flows wait for it.
    pub fn watch(
        &mut self,
        (flow, number): (u32, u32),
        spec: &FlowSpec,
        ending: Ending,
        plan: &Plan<'_>,
    ) {
        if plan.followers.watches(spec.group, ending) {
            let waiting = self.waiting.get_or_insert_default();
            waiting.driven = plan.followers.driven();
            waiting.watched.insert((flow, ending), (spec.group, number));
        }
    }

    /// A flow has ended here: schedules the flows that waited for this end alone, at times that count from now.
    #[cold]
    pub fn end_flow(&mut self, now: Time, flow: u32, ending: Ending, log: &mut Log) {
        let Some(waiting) = &mut self.waiting else {
            return;
        };
        let Some((entry, number)) = waiting.watched.remove(&(flow, ending)) else {
            return;
        };
        if waiting.driven == Some(entry) {
            log.ended.push(Ended { flow, ending });
        }
        for mut start in waiting.end((entry, number), ending) {
            let spec = &mut start.spec;
            spec.start = now.saturating_add(spec.start);
            // Time::NEVER stays.
            spec.stop = now.saturating_add(spec.stop);
            log.released.push((start.id, spec.start));
            self.schedule(start);
        }
    }
}
