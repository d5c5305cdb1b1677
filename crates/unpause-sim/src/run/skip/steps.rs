//! When to compare the state of a run with jobs.
//!
//! What repeats itself there is a step, or some, and where windows begin in it is another matter each time. So they are cut: as
//! long after a step of one rank has begun as the time before after the one before.

use unpause_protocols::units::Time;

use crate::engine::post::Status;
use crate::plan::Plan;
use crate::run::shard::Shard;

/// If that many windows have gone without a step, messages are long, and what they consist of may repeat itself.
const WINDOWS_WITHOUT_STEP: u64 = 1 << 10;
/// Bits of [`Status::step`] that say when it began; those above say of which job.
const TIME_BITS: u32 = 48;
const TIME_MASK: u64 = (1 << TIME_BITS) - 1;

/// Where windows are cut.
#[derive(Debug)]
pub struct Steps {
    /// The step that was begun last, and windows before it was known.
    last: u64,
    windows: u64,
    /// The longest window.
    longest: Time,
    /// Windows go no further: [`Time::NEVER`] if they may.
    pub cut: Time,
    /// They were cut after the step before, too. In which order packets are kept that are under way follows from windows.
    again: bool,
}

impl Steps {
    /// Those of a run in which nothing has happened; none if it has no jobs.
    pub fn of(plan: &Plan<'_>) -> Option<Self> {
        (!plan.config.jobs.is_empty()).then(|| Self {
            last: 0,
            windows: 0,
            longest: plan.turns.longest(),
            cut: Time::NEVER,
            again: false,
        })
    }

    /// All have come to the cut; true if they had come to one before.
    pub fn pass(&mut self) -> bool {
        self.cut = Time::NEVER;
        std::mem::replace(&mut self.again, true)
    }

    /// Windows go as far as they may.
    pub fn stop(&mut self) {
        (self.cut, self.again) = (Time::NEVER, false);
    }

    /// The last step that the first rank of the first job has begun that has not come to its end, if that is in `shard`.
    pub fn told_by(shard: &Shard, plan: &Plan<'_>) -> u64 {
        let steps = (0..).zip(&plan.config.jobs).find_map(|(job, it)| {
            let begun = shard.last_step(it.hosts[0], job)?;
            Some(((u64::MAX - job as u64) << TIME_BITS) | (begun.as_ps() & TIME_MASK))
        });
        steps.unwrap_or(0)
    }

    /// True if windows are cut, of which there have been so many: the last step is not long ago.
    pub fn are_short(&self, windows: u64) -> bool {
        windows - self.windows < WINDOWS_WITHOUT_STEP
    }

    /// Hears of all shards, no window of which has gone beyond `reached`. If a step has begun, windows are cut some time after
    /// it, unless that has passed.
    pub fn hear(&mut self, status: &Status, (reached, windows): (Time, u64)) {
        if status.step == self.last {
            return;
        }
        let is_first = self.last >> TIME_BITS != status.step >> TIME_BITS;
        (self.last, self.windows) = (status.step, windows);
        if is_first || !self.cut.is_never() {
            return;
        }
        // Some windows may have been begun ahead of what is known.
        let ago = reached.as_ps().wrapping_sub(status.step) & TIME_MASK;
        let cut = (self.longest * 3).as_ps().checked_sub(ago);
        let cut = cut.map(|later| reached + Time::from_ps(later));
        self.cut = cut
            .filter(|cut| *cut >= reached + self.longest)
            .unwrap_or(Time::NEVER);
    }
}
