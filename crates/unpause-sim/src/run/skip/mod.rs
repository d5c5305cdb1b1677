//! Skipping of the periodic stretches of a run.
//!
//! Flows that nothing disturbs send packet after packet, and after some time the whole state is as it was before, except for
//! the time and for counters. Everything that follows is then known: the same again, until an event from outside or the end
//! of a flow. So between windows the state of the run is compared with an earlier one. If it has only advanced in time, it is
//! advanced by as many periods as fit before the next event that is not periodic. Afterwards the packets in flight are where
//! they would be if each had been sent: results are the same, bit for bit. With several shards, each compares its own nodes,
//! and all advance together.
//!
//! Nodes and mechanisms pass their states to a [`StateVisitor`](unpause_protocols::state_visitor::StateVisitor), or refuse.
//! When to compare follows R. P. Brent's cycle detection ("An improved Monte Carlo factorization algorithm", BIT 20, 1980,
//! section 2): the reference state is renewed when the distance to it has doubled. So few states are recorded that a run
//! without periods takes hardly longer.

mod state_visitor;
mod steps;

use unpause_protocols::units::Time;

use crate::config::Skipping;
use crate::engine::exchange::Status;
use crate::engine::recorded::Recorded;
use crate::engine::repeat::Repeat;
use crate::fabric::rng::mix;
use crate::jobs::Job;
use crate::plan::Plan;
use crate::run::shard::Shard;
use state_visitor::{State, Step};
use steps::Steps;

/// One value may be recorded per this many packets that cross a link: 1 % of what they cost.
const HOPS_PER_VALUE: u64 = 8;
/// So many for each that was skipped, half of what that has saved.
const VALUES_PER_SKIPPED_HOP: u64 = 4;
/// Of what may be recorded, this many states are saved up at most.
const MOST_SAVED: u64 = 8;
/// Values of a state for each port of the fabric, as long as no state has been recorded.
const VALUES_PER_PORT: usize = 30;
/// A state that others are compared with is kept for this many comparisons at most,
const MOST_PATIENCE: u64 = 1 << 6;
/// and for this many windows instead of each.
const WINDOWS_PER_COMPARISON: u64 = 1 << 6;

/// Windows by which the present is roughly told from the past.
const RECENT: usize = 4;

/// Looks for what repeats itself, in one shard. All shards look at the same time: what that depends on, they
/// [tell](Status) one another.
#[derive(Debug)]
pub struct Skipper {
    budget: Budget,
    /// With jobs: when to compare.
    steps: Option<Steps>,
    /// True if states are compared where windows are cut, at fixed times after steps; else before any window.
    at_cuts: bool,
    /// It is worth looking now.
    looks: bool,
    /// Up to where the window that has come furthest went, and how many there were.
    reached: Time,
    windows: u64,
    /// Events up to the last window, and in some windows before it.
    events: u64,
    recent: [u64; RECENT],
    /// The states that the present is compared with, where windows are cut and elsewhere.
    past: [Past; 2],
    /// The value that this shard reported last, about work that is due.
    told: u64,
    /// The state that is being compared, its time, and how it advances, if this shard repeats itself.
    now: State,
    at: Time,
    step: Option<(Step, Repeat)>,
    /// Values recorded.
    values: u64,
}

/// A state that the present is compared with.
#[derive(Debug)]
struct Past {
    earlier: Option<Earlier>,
    /// After how many comparisons it is renewed.
    patience: u64,
}

impl Default for Past {
    fn default() -> Self {
        Self {
            earlier: None,
            patience: 1,
        }
    }
}

impl Past {
    /// The distance to what the present is compared with may double, or restarts.
    fn wait_longer(&mut self) {
        self.patience = if self.patience < MOST_PATIENCE {
            self.patience * 2
        } else {
            1
        };
    }
}

/// A state, and when it was.
#[derive(Debug)]
struct Earlier {
    state: State,
    start: Time,
    windows: u64,
    recorded: Recorded,
    pattern: u64,
    /// The value that this shard reported then.
    told: u64,
    /// How far windows may reach, which no window since has come to: it would have been cut there.
    until: Time,
    /// How often it has been compared.
    comparisons: u64,
}

impl Skipper {
    /// Of a run in which nothing has happened; none if it is to simulate every packet.
    pub fn of(plan: &Plan<'_>) -> Option<Self> {
        let skipping = plan.config.skipping;
        let skipper = Self {
            budget: Budget::new(plan),
            steps: Steps::of(plan),
            at_cuts: !plan.config.jobs.is_empty(),
            looks: false,
            reached: Time::ZERO,
            windows: 0,
            events: 0,
            recent: [0; RECENT],
            past: [Past::default(), Past::default()],
            told: 0,
            now: State::default(),
            at: Time::ZERO,
            step: None,
            values: 0,
        };
        let may_repeat = plan.config.jobs.iter().all(Job::may_repeat);
        (skipping != Skipping::Never && may_repeat).then_some(skipper)
    }

    /// The time at which windows are cut, to compare states there.
    pub fn cut(&self) -> Time {
        self.steps.as_ref().map_or(Time::NEVER, |it| it.cut)
    }

    /// The state that the present is compared with at the moment.
    fn past(&mut self) -> &mut Past {
        &mut self.past[usize::from(self.at_cuts)]
    }

    /// A window has been run up to `end`; there have been this many events in total.
    pub fn note(&mut self, end: Time, events: u64) {
        self.windows += 1;
        self.reached = self.reached.max(end);
        self.recent.rotate_right(1);
        self.recent[0] = events - self.events;
        self.events = events;
    }

    /// Adds what other shards need to know of `shard` to `status`.
    pub fn tell(&mut self, shard: &Shard, plan: &Plan<'_>, status: &mut Status) {
        status.values = self.values;
        if self.steps.is_some() {
            status.step = Steps::told_by(shard, plan);
        }
        if !self.looks {
            return;
        }
        let cut = self.cut();
        if self.at_cuts && !cut.is_never() {
            status.pattern = shard.pattern(cut);
        } else if !self.at_cuts {
            // What the last windows had to do, and what the next will have.
            let recent = self.recent.iter();
            status.pattern = recent.fold(shard.pattern(self.reached), |pattern, events| {
                mix(pattern ^ events)
            });
            self.told = status.pattern;
        }
    }

    /// False if the present will not be compared with what it was, nor recorded, whatever other shards tell.
    pub fn may_compare(&self, until: Time) -> bool {
        if self.at_cuts {
            return !self.cut().is_never();
        }
        let unlike = |it: &Earlier| it.until == until && it.told != self.told;
        let [anywhere, _] = &self.past;
        self.looks && !anywhere.earlier.as_ref().is_some_and(unlike)
    }

    /// True if the present, in which shards are in this `status` together and windows may reach `until` that time, is to be
    /// compared with what it was. How `shard` repeats itself all others are told then.
    pub fn compares(
        &mut self,
        shard: &mut Shard,
        plan: &Plan<'_>,
        status: &Status,
        until: Time,
    ) -> bool {
        self.budget.reckon(status);
        let compares = self.compares_now((shard, plan), status, until);
        let state = self.budget.size.saturating_mul(HOPS_PER_VALUE);
        let steps = self.steps.as_ref();
        let at_cuts = steps.is_some_and(|it| it.are_short(status, state));
        if !compares && at_cuts != self.at_cuts {
            match (&mut self.steps, at_cuts) {
                (Some(steps), false) => steps.forget_cut(),
                // The message during which the state was recorded is over.
                _ => self.forget(),
            }
            (self.at_cuts, self.looks) = (at_cuts, false);
        }
        compares
    }

    /// The same with a budget that has been reckoned.
    fn compares_now(
        &mut self,
        (shard, plan): (&mut Shard, &Plan<'_>),
        status: &Status,
        until: Time,
    ) -> bool {
        if let Some(steps) = &mut self.steps {
            steps.hear(status, self.reached);
        }
        let looked = self.looks;
        // What is recorded is worth nothing if another cannot follow soon.
        let states = self.past().earlier.as_ref().map_or(2, |_| 1);
        self.looks = self.budget.allows(states);
        if !self.looks {
            if let Some(steps) = &mut self.steps
                && self.at_cuts
            {
                steps.stop();
            }
            self.forget();
            return false;
        }
        let start = status.due.earliest();
        if self.at_cuts {
            return self.compares_at_cut((shard, plan), status, (start, until));
        }
        if !looked {
            // No shard has told what there is to do.
            return false;
        }
        self.at = start;
        if self.is_until_another(until) {
            self.forget();
        }
        let windows = self.windows;
        let past = self.past();
        let Some(earlier) = &past.earlier else {
            self.take_down(shard, plan);
            self.begin(shard, status, until);
            return false;
        };
        if status.pattern != earlier.pattern || start == earlier.start {
            if windows - earlier.windows >= past.patience * WINDOWS_PER_COMPARISON {
                self.forget();
                self.past().wait_longer();
            }
            return false;
        }
        self.compare(shard, plan);
        true
    }

    /// The same where windows are cut. The next event is at `start`; all events before the cut have been executed by then.
    fn compares_at_cut(
        &mut self,
        (shard, plan): (&mut Shard, &Plan<'_>),
        status: &Status,
        (start, until): (Time, Time),
    ) -> bool {
        let cut = self.cut();
        if start < cut || cut.is_never() {
            return false;
        }
        let again = self.steps.as_mut().is_some_and(Steps::pass);
        self.at = cut;
        if self.is_until_another(until) {
            self.forget();
        }
        let past = self.past();
        let Some(earlier) = &mut past.earlier else {
            if again {
                self.take_down(shard, plan);
                self.begin(shard, status, until);
            }
            return false;
        };
        if status.pattern == earlier.pattern {
            self.compare(shard, plan);
            return true;
        }
        earlier.comparisons += 1;
        if earlier.comparisons >= past.patience {
            self.forget();
            self.past().wait_longer();
        }
        false
    }

    /// True if windows could reach another time than now when the state was recorded.
    fn is_until_another(&mut self, until: Time) -> bool {
        let earlier = self.past().earlier.as_ref();
        earlier.is_some_and(|it| it.until != until)
    }

    /// Compares the present state with the earlier one. If this shard repeats itself, tells all others its period.
    fn compare(&mut self, shard: &mut Shard, plan: &Plan<'_>) {
        self.take_down(shard, plan);
        let past = &mut self.past[usize::from(self.at_cuts)];
        if let Some(earlier) = &mut past.earlier {
            earlier.comparisons += 1;
            let period = self.at - earlier.start;
            self.step = Step::between(&earlier.state, &self.now, period, self.at);
        }
        if let Some((_, repeat)) = &self.step {
            shard.tell_repeat(repeat);
        }
    }

    /// Moves `shard`, one of this many, which has been compared and has heard from all others, on by what is known. Answers how
    /// many windows that were.
    pub fn skip(
        &mut self,
        (shard, shards): (&mut Shard, usize),
        plan: &Plan<'_>,
        status: &Status,
    ) -> u64 {
        let mut repeats = std::mem::take(&mut shard.repeats);
        let Some(earlier) = self.past().earlier.take() else {
            return 0;
        };
        if let Some((step, repeat)) = self.step.take() {
            repeats.push(repeat);
            let together = (repeats.len() == shards).then(|| Repeat::together(repeats));
            let period = self.at - earlier.start;
            let periods = together
                .flatten()
                .map_or(0, |it| it.periods(period, self.reached, earlier.until));
            if periods > 0 {
                shard.show(plan, &mut step.times(periods));
                earlier.recorded.repeat(&mut shard.log, period, periods);
                self.reached += period * periods;
                self.events = shard.log.counts.events;
                self.past().patience = 1;
                self.steps.iter_mut().for_each(Steps::forget_cut);
                self.budget.skipped = true;
                return (self.windows - earlier.windows) * periods;
            }
        }
        if earlier.comparisons >= self.past().patience {
            self.begin(shard, status, earlier.until);
            self.now = earlier.state;
            self.past().wait_longer();
        } else {
            self.past().earlier = Some(earlier);
        }
        0
    }

    /// Links or routes have changed: nothing is compared with what was before.
    pub fn on_change(&mut self) {
        self.past.iter_mut().for_each(|it| it.earlier = None);
    }

    /// Nothing is compared with what was recorded last any more; its room is used again.
    fn forget(&mut self) {
        if let Some(earlier) = self.past().earlier.take() {
            self.now = earlier.state;
        }
    }

    /// The next states are compared with this one.
    fn begin(&mut self, shard: &Shard, status: &Status, until: Time) {
        let earlier = Earlier {
            state: std::mem::take(&mut self.now),
            start: self.at,
            windows: self.windows,
            recorded: Recorded::of(&shard.log),
            pattern: status.pattern,
            told: self.told,
            until,
            comparisons: 0,
        };
        self.past().earlier = Some(earlier);
    }

    /// Takes the present state down.
    fn take_down(&mut self, shard: &mut Shard, plan: &Plan<'_>) {
        self.now.clear();
        shard.show(plan, &mut self.now);
        self.values += self.now.len() as u64;
    }
}

/// How much may be recorded, by all shards together.
#[derive(Debug)]
struct Budget {
    /// Values that may be.
    saved: u64,
    /// As many as are asked for.
    unlimited: bool,
    /// Values of a state.
    size: u64,
    /// The values recorded and the packets sent over links when this was last computed.
    values: u64,
    packet_hops: u64,
    /// Since then packets have been skipped.
    skipped: bool,
}

impl Budget {
    fn new(plan: &Plan<'_>) -> Self {
        Self {
            saved: 0,
            unlimited: plan.config.skipping == Skipping::Always,
            size: (VALUES_PER_PORT * plan.ports.transmitters.len()) as u64,
            values: 0,
            packet_hops: 0,
            skipped: false,
        }
    }

    /// Reckons with what has been done meanwhile.
    fn reckon(&mut self, status: &Status) {
        let hops = status.packet_hops - self.packet_hops;
        let gained = if self.skipped {
            hops.saturating_mul(VALUES_PER_SKIPPED_HOP)
        } else {
            hops / HOPS_PER_VALUE
        };
        // What is left over of a value is reckoned next time.
        self.packet_hops += if self.skipped {
            hops
        } else {
            gained * HOPS_PER_VALUE
        };
        self.skipped = false;
        let state = status.values - self.values;
        self.values = status.values;
        self.size = self.size.max(state);
        self.saved = self.saved.saturating_sub(state).saturating_add(gained);
        self.saved = self.saved.min(MOST_SAVED * self.size);
    }

    /// True if this many states may be recorded.
    fn allows(&self, states: u64) -> bool {
        self.unlimited || self.saved >= self.size * states
    }
}
