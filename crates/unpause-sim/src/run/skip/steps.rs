//! When to compare the state of a run with jobs.
//!
//! The period of such a run is one step, or several, and windows begin at other times in each step. So windows are cut a fixed time
//! after each step of one rank, and states are compared there.

use unpause_protocols::units::Time;

use crate::engine::exchange::Status;
use crate::plan::Plan;
use crate::run::shard::Shard;

/// After as many packet-hops without a new step as pay for this many states, messages are long, and there may be a shorter period
/// inside a message.
const STATES_WITHOUT_STEP: u64 = 4;
/// Bits of [`Status::step`] that say when it began; those above say of which job.
const TIME_BITS: u32 = 48;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;

/// Where windows are cut.
#[derive(Debug)]
pub struct Steps {
    /// The latest step, and the number of packet-hops until it was known.
    last: u64,
    packet_hops: u64,
    /// The longest window.
    longest: Time,
    /// No window goes beyond; [`Time::NEVER`] if windows are not cut.
    pub cut: Time,
    /// True if they were cut after the previous step, too. The order of packets in inboxes depends on the windows before.
    again: bool,
}

impl Steps {
    /// At the beginning of a run; `None` if it has no jobs.
    pub fn of(plan: &Plan<'_>) -> Option<Self> {
        (!plan.config.jobs.is_empty()).then(|| Self {
            last: 0,
            packet_hops: 0,
            longest: plan.schedule.longest(),
            cut: Time::NEVER,
            again: false,
        })
    }

    /// All shards have reached the cut. Returns true if they had reached one after the previous step, too.
    pub fn pass(&mut self) -> bool {
        self.cut = Time::NEVER;
        std::mem::replace(&mut self.again, true)
    }

    /// Stops cutting windows.
    pub fn stop(&mut self) {
        (self.cut, self.again) = (Time::NEVER, false);
    }

    /// Does not cut windows after this step, if that is still to come.
    pub fn forget_cut(&mut self) {
        if !self.cut.is_never() {
            self.stop();
        }
    }

    /// The latest step of the first rank of the first unfinished job, if that rank is in `shard`.
    pub fn told_by(shard: &Shard, plan: &Plan<'_>) -> u64 {
        let steps = (0..).zip(&plan.config.jobs).find_map(|(job, it)| {
            let begun = shard.last_step(it.hosts[0], job)?;
            Some(((u64::MAX - job as u64) << TIME_BITS) | (begun.as_ps() & TIME_MASK))
        });
        steps.unwrap_or(0)
    }

    /// True if a state costs as much as this many packet-hops, and the latest step was not long ago.
    pub fn are_short(&self, status: &Status, state: u64) -> bool {
        status.packet_hops - self.packet_hops < state.saturating_mul(STATES_WITHOUT_STEP)
    }

    /// Takes the status of all shards, whose windows have not gone beyond `reached`. After a new step, chooses the time at which
    /// windows are cut, unless that has passed.
    pub fn hear(&mut self, status: &Status, reached: Time) {
        if status.step == self.last {
            return;
        }
        let is_first = self.last >> TIME_BITS != status.step >> TIME_BITS;
        (self.last, self.packet_hops) = (status.step, status.packet_hops);
        if is_first || !self.cut.is_never() {
            return;
        }
        // Some windows may have been started before the step was known.
        let ago = reached.as_ps().wrapping_sub(status.step) & TIME_MASK;
        let cut = (self.longest * 3).as_ps().checked_sub(ago);
        let cut = cut.map(|later| reached + Time::from_ps(later));
        self.cut = cut
            .filter(|cut| *cut >= reached + self.longest)
            .unwrap_or(Time::NEVER);
    }
}
