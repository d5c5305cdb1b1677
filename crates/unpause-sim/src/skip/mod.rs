//! Skipping what repeats itself.
//!
//! Flows that nothing disturbs send packet after packet, and all is again as it was a while ago, but for the time and for
//! what has been counted. What follows then is known: the same, over and over, up to what comes from outside or ends a
//! flow. So between windows the state of the run is compared with an earlier one, and if it has only moved on, it is moved
//! on by as many such periods as fit before the next thing that is not among what repeats itself. The packets under way are
//! there afterwards, as if each had been sent: results are the same, bit for bit.
//!
//! What a state is, nodes and mechanisms [show](unpause_protocols::ledger::Ledger) themselves; those that do not, refuse. When to
//! compare is R. P. Brent's way to find cycles ("An improved Monte Carlo factorization algorithm", BIT 20, 1980, section 2):
//! with a state that is renewed when the distance to it has doubled. It takes down so few states that what does not repeat
//! itself costs hardly more.

mod ledger;

use unpause_protocols::units::Time;

use crate::config::Skipping;
use crate::plan::Plan;
use crate::rng::mix;
use crate::shard::Shard;
use ledger::{State, Step};

/// A value may be taken down for every so many packets that go over a link: 1 % of what they cost.
const HOPS_PER_VALUE: u64 = 8;
/// So many for each that was skipped, half of what that has saved.
const VALUES_PER_SKIPPED_HOP: u64 = 4;
/// Of what may be taken down, so many states are saved up at most.
const MOST_SAVED: u64 = 8;
/// Values of a state for each port of the fabric, as long as no state has been taken down.
const VALUES_PER_PORT: usize = 30;
/// A state that others are compared with is kept for so many comparisons at most,
const MOST_PATIENCE: u64 = 1 << 6;
/// and for so many windows instead of each.
const WINDOWS_PER_COMPARISON: u64 = 1 << 6;

/// Windows by which the present is roughly told from the past.
const RECENT: usize = 4;

/// Looks for what repeats itself.
#[derive(Debug)]
pub struct Skipper {
    /// Values that may be taken down, and packets that had gone over links when that was last reckoned.
    saved: u64,
    reckoned_at: u64,
    /// As many as are asked for.
    always: bool,
    /// Values of a state.
    size: u64,
    /// Up to where the window that has come furthest went, and how many there were.
    reached: Time,
    windows: u64,
    /// Events up to the last window, and in some windows before it.
    events: u64,
    recent: [u64; RECENT],
    /// What the present is compared with, and after how many comparisons that is renewed.
    earlier: Option<Earlier>,
    patience: u64,
    /// Room for another one.
    spare: State,
}

/// A state, and when it was.
#[derive(Debug)]
struct Earlier {
    state: State,
    start: Time,
    windows: u64,
    pauses: usize,
    pattern: u64,
    /// How often it has been compared.
    comparisons: u64,
}

impl Skipper {
    /// Of a run in which nothing has happened; none if it is to simulate every packet.
    pub fn of(plan: &Plan<'_>) -> Option<Self> {
        let skipping = plan.config.skipping;
        let skipper = Self {
            saved: 0,
            reckoned_at: 0,
            always: skipping == Skipping::Always,
            size: (VALUES_PER_PORT * plan.ports.transmitters.len()) as u64,
            reached: Time::ZERO,
            windows: 0,
            earlier: None,
            events: 0,
            recent: [0; RECENT],
            patience: 1,
            spare: State::default(),
        };
        (skipping != Skipping::Never).then_some(skipper)
    }

    /// A window has been run up to `end`; there have been so many events in all.
    pub fn note(&mut self, end: Time, events: u64) {
        self.windows += 1;
        self.reached = self.reached.max(end);
        self.recent.rotate_right(1);
        self.recent[0] = events - self.events;
        self.events = events;
    }

    /// Moves `shard`, which next has something to do at `start`, on by what is known, as far as `until` at most. Answers how
    /// many windows that were.
    pub fn skip(
        &mut self,
        shard: &mut Shard,
        plan: &Plan<'_>,
        start: Time,
        until: Time,
    ) -> Option<u64> {
        self.save(shard.log.counts.packet_hops);
        // What is taken down is worth nothing if another cannot follow soon.
        let states = self.earlier.as_ref().map_or(2, |_| 1);
        if self.saved < self.size * states && !self.always {
            self.spare = self.earlier.take()?.state;
            return None;
        }
        let pattern = self.pattern(shard, start);
        let Some(earlier) = &mut self.earlier else {
            let state = self.take_down(shard, plan)?;
            self.begin(shard, state, start, pattern);
            return None;
        };
        let windows = self.windows - earlier.windows;
        if pattern != earlier.pattern || start == earlier.start {
            if windows >= self.patience * WINDOWS_PER_COMPARISON {
                self.spare = self.earlier.take()?.state;
                self.wait_longer();
            }
            return None;
        }
        earlier.comparisons += 1;
        let comparisons = earlier.comparisons;
        let now = self.take_down(shard, plan)?;
        let earlier = self.earlier.as_ref()?;
        if let Some((step, periods)) = self.compare(earlier, &now, start, until) {
            let period = start - earlier.start;
            shard.show(plan, &mut step.times(periods));
            shard.log.repeat_pauses(earlier.pauses, period, periods);
            self.reached += period * periods;
            self.save_skipped(shard.log.counts.packet_hops);
            self.events = shard.log.counts.events;
            self.patience = 1;
            self.spare = self.earlier.take()?.state;
            return Some(windows * periods);
        }
        if comparisons >= self.patience {
            self.spare = self.earlier.take()?.state;
            self.begin(shard, now, start, pattern);
            self.wait_longer();
        } else {
            self.spare = now;
        }
        None
    }

    /// The distance to what the present is compared with may double, or begins anew.
    fn wait_longer(&mut self) {
        self.patience = match self.patience < MOST_PATIENCE {
            true => self.patience * 2,
            false => 1,
        };
    }

    /// The next states are compared with this one.
    fn begin(&mut self, shard: &Shard, state: State, start: Time, pattern: u64) {
        self.earlier = Some(Earlier {
            state,
            start,
            windows: self.windows,
            pauses: shard.log.pauses.len(),
            pattern,
            comparisons: 0,
        });
    }

    /// Looks roughly at the present: what the last windows had to do, and what the next will have, counted from `start`.
    fn pattern(&self, shard: &Shard, start: Time) -> u64 {
        let recent = self.recent.iter();
        recent.fold(
            shard.pattern(start),
            |pattern, events| mix(pattern ^ events),
        )
    }

    /// Reckons what may be taken down.
    fn save(&mut self, packet_hops: u64) {
        let values = (packet_hops - self.reckoned_at) / HOPS_PER_VALUE;
        self.reckoned_at += values * HOPS_PER_VALUE;
        self.saved = (self.saved + values).min(MOST_SAVED * self.size);
    }

    /// The same when packets have been skipped since it was last reckoned.
    fn save_skipped(&mut self, packet_hops: u64) {
        let values = (packet_hops - self.reckoned_at).saturating_mul(VALUES_PER_SKIPPED_HOP);
        self.reckoned_at = packet_hops;
        self.saved = self
            .saved
            .saturating_add(values)
            .min(MOST_SAVED * self.size);
    }

    /// The present state; none if it is not known completely.
    fn take_down(&mut self, shard: &mut Shard, plan: &Plan<'_>) -> Option<State> {
        let mut state = std::mem::take(&mut self.spare);
        state.clear();
        shard.show(plan, &mut state);
        self.size = self.size.max(state.len() as u64);
        self.saved = self.saved.saturating_sub(state.len() as u64);
        if !state.is_complete() {
            self.saved = 0;
            self.spare = state;
            return None;
        }
        Some(state)
    }

    /// What lies between then and now, and how often that follows again before `until`.
    fn compare(
        &self,
        earlier: &Earlier,
        now: &State,
        start: Time,
        until: Time,
    ) -> Option<(Step, u64)> {
        let period = start - earlier.start;
        let step = Step::between(&earlier.state, now, period, start)?;
        let periods = step.periods(self.reached, until);
        (periods > 0).then_some((step, periods))
    }
}
