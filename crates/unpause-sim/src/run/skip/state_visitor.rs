//! Two visitors: one that records a state, one that moves it on; and what two states have in common.

use std::collections::HashMap;

use unpause_protocols::state_visitor::StateVisitor;
use unpause_protocols::units::Time;

use crate::engine::repeat::Repeat;

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Same,
    Time,
    Earliest,
    Deadline,
    Total,
    Number,
    /// The packets left before the end of a flow or a message.
    Left,
    End,
    Step,
}

/// A value of a state.
#[derive(Clone, Copy, Debug)]
struct Entry {
    kind: Kind,
    /// The flow of a number; the last alike step of a step.
    flow: u32,
    value: u64,
}

/// A state, recorded.
#[derive(Debug, Default)]
pub struct State {
    entries: Vec<Entry>,
    refused: bool,
}

impl State {
    /// Begins anew.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.refused = false;
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    fn is_complete(&self) -> bool {
        !self.refused
    }

    fn add(&mut self, kind: Kind, flow: u32, value: u64) {
        self.entries.push(Entry { kind, flow, value });
    }
}

impl StateVisitor for State {
    fn same(&mut self, value: u64) {
        self.add(Kind::Same, 0, value);
    }
    fn time(&mut self, time: &mut Time) {
        self.add(Kind::Time, 0, time.as_ps());
    }
    fn earliest(&mut self, time: &mut Time) {
        self.add(Kind::Earliest, 0, time.as_ps());
    }
    fn deadline(&mut self, time: Time) {
        self.add(Kind::Deadline, 0, time.as_ps());
    }
    fn total(&mut self, total: &mut u64) {
        self.add(Kind::Total, 0, *total);
    }
    fn number(&mut self, flow: u32, number: &mut u32) {
        self.add(Kind::Number, flow, u64::from(*number));
    }
    fn before_end(&mut self, flow: u32, number: u32, end: u32) {
        self.add(Kind::Left, flow, u64::from(end.saturating_sub(number)));
    }
    fn end(&mut self, flow: u32, end: &mut u32) {
        self.add(Kind::End, flow, u64::from(*end));
    }
    fn step(&mut self, step: &mut u32, last: u32) {
        self.add(Kind::Step, last, u64::from(*step));
    }
    fn refuse(&mut self) {
        self.refused = true;
    }
}

/// How a state that repeats itself moves on.
#[derive(Debug)]
pub struct Step {
    /// By how much each value moves on in a period.
    steps: Vec<u64>,
}

impl Step {
    /// The difference between two states, of which the second begins at `start`, a `period` after the first, and how it continues;
    /// none if more than that time has gone by.
    pub fn between(
        first: &State,
        second: &State,
        period: Time,
        start: Time,
    ) -> Option<(Self, Repeat)> {
        let complete = first.is_complete() && second.is_complete();
        if !complete || first.len() != second.len() {
            return None;
        }
        let mut steps = Vec::with_capacity(second.len());
        let mut repeat = Repeat {
            most: u64::MAX,
            until: Time::NEVER,
            latest: Time::ZERO,
            flows: Vec::new(),
        };
        let mut flows = HashMap::new();
        // Times that stay and times that advance are always visited in the same order.
        let (mut passed, mut moving) = (Time::ZERO, Time::NEVER);
        for (before, now) in first.entries.iter().zip(&second.entries) {
            let by = now.value.wrapping_sub(before.value);
            let holds = before.kind == now.kind
                && before.flow == now.flow
                && match now.kind {
                    Kind::Same | Kind::Deadline => by == 0,
                    Kind::Time | Kind::Earliest => by == 0 || by == period.as_ps(),
                    Kind::Total | Kind::Step => now.value >= before.value,
                    Kind::End if by == 0 => true,
                    Kind::Number | Kind::End => {
                        now.value >= before.value && *flows.entry(now.flow).or_insert(by) == by
                    }
                    Kind::Left => now.value <= before.value,
                };
            if !holds {
                return None;
            }
            let at = Time::from_ps(now.value);
            match now.kind {
                Kind::Time | Kind::Earliest | Kind::Deadline if by == 0 => {
                    if at < start {
                        passed = passed.max(at)
                    } else {
                        repeat.until = repeat.until.min(at)
                    }
                }
                Kind::Time | Kind::Earliest => {
                    moving = moving.min(Time::from_ps(before.value));
                    if now.kind == Kind::Earliest {
                        repeat.latest = repeat.latest.max(at);
                    }
                }
                _ => {}
            }
            steps.push(by);
        }
        if passed >= moving.min(start - period) {
            return None;
        }
        let step = Self { steps };
        repeat.most = step.before_ends(second, &flows)?;
        repeat.flows = flows.into_iter().collect();
        Some((step, repeat))
    }

    /// The number of periods until a flow ends, a message ends that did not advance with its flow, or steps stop being alike:
    /// the period contains none of these.
    fn before_ends(&self, now: &State, flows: &HashMap<u32, u64>) -> Option<u64> {
        let mut most = u64::MAX;
        // The advance of the end that was shown last.
        let mut end_by = 0;
        for (entry, step) in now.entries.iter().zip(&self.steps) {
            let (left, by) = match entry.kind {
                Kind::End => {
                    end_by = *step;
                    continue;
                }
                Kind::Left => {
                    let by = flows.get(&entry.flow).copied().unwrap_or(0);
                    if *step != end_by.wrapping_sub(by) {
                        return None;
                    }
                    if end_by == by {
                        continue;
                    }
                    (entry.value.saturating_sub(1), by)
                }
                Kind::Step => (u64::from(entry.flow).saturating_sub(entry.value), *step),
                _ => continue,
            };
            most = most.min(left.checked_div(by).unwrap_or(u64::MAX));
        }
        Some(most)
    }

    /// Moves the second of the states on by this many periods.
    pub fn times(&self, periods: u64) -> Mover<'_> {
        Mover {
            steps: self.steps.iter(),
            periods,
        }
    }
}

/// Moves a state on, value by value.
#[derive(Debug)]
pub struct Mover<'s> {
    steps: std::slice::Iter<'s, u64>,
    periods: u64,
}

impl Mover<'_> {
    fn by(&mut self) -> u64 {
        let step = self.steps.next().expect("as many values as before");
        step.wrapping_mul(self.periods)
    }
}

impl StateVisitor for Mover<'_> {
    fn same(&mut self, _value: u64) {
        self.by();
    }
    fn time(&mut self, time: &mut Time) {
        *time = Time::from_ps(time.as_ps() + self.by());
    }
    fn earliest(&mut self, time: &mut Time) {
        self.time(time);
    }
    fn deadline(&mut self, _time: Time) {
        self.by();
    }
    fn total(&mut self, total: &mut u64) {
        *total += self.by();
    }
    fn number(&mut self, _flow: u32, number: &mut u32) {
        *number += self.by() as u32;
    }
    fn before_end(&mut self, _flow: u32, _number: u32, _end: u32) {
        self.by();
    }
    fn end(&mut self, _flow: u32, end: &mut u32) {
        *end += self.by() as u32;
    }
    fn step(&mut self, step: &mut u32, _last: u32) {
        *step += self.by() as u32;
    }
    fn refuse(&mut self) {}
}
