//! Ports that become free.

use unpause_protocols::state_visitor::StateVisitor;
use unpause_protocols::units::Time;

use crate::engine::heap::{Entry, Heap};
use crate::fabric::PortId;

/// As many places a port is put before others that are in line.
const MOST_STEPS: usize = 16;

/// Ports of a switch that have something to send and become free: by time; at one instant, by number.
///
/// A port is added when it begins to send, and a packet takes about as long as another, so that most belong at the end of
/// a line or near it. Where many ports send packets of two lengths, or all at once, others do not: they are in a heap.
#[derive(Debug)]
pub struct Ready {
    /// When the first of them does.
    first: Time,
    /// Those in line, from `head` to `end`, as [keys](key); before them zeros, at least [`MOST_STEPS`] of them, which
    /// nothing is put before.
    line: Vec<u64>,
    head: usize,
    end: usize,
    others: Heap,
}

impl Default for Ready {
    fn default() -> Self {
        Self {
            first: Time::NEVER,
            line: Vec::new(),
            head: MOST_STEPS,
            end: MOST_STEPS,
            others: Heap::default(),
        }
    }
}

/// A time and a port in one number, which compares as they do, up to 281 s.
#[inline(always)]
fn key(time: Time, port: PortId) -> Option<u64> {
    (time.as_ps() >> 48 == 0).then_some(time.as_ps() << 16 | u64::from(port))
}

/// The two that a [key] is made of.
#[inline(always)]
fn of_key(key: u64) -> (Time, PortId) {
    (Time::from_ps(key >> 16), key as PortId)
}

impl Ready {
    /// When the first port becomes free; [`Time::NEVER`] if there is none.
    #[inline(always)]
    pub fn first_time(&self) -> Time {
        self.first
    }
    /// Adds a port.
    #[inline]
    pub fn add(&mut self, time: Time, port: PortId) {
        self.first = self.first.min(time);
        let last = self.line.get_mut(self.end - MOST_STEPS..);
        let Some(last) = last.and_then(|it| it.first_chunk_mut::<{ MOST_STEPS + 1 }>()) else {
            self.make_room();
            return self.add(time, port);
        };
        match key(time, port) {
            Some(key) if last[0] <= key => {
                put_behind(last, key);
                self.end += 1;
            }
            _ => self.others.push(Entry::new(time, port.into(), 0)),
        }
    }
    /// Moves those in line to its beginning, and makes it longer if that leaves less than half of it.
    #[cold]
    fn make_room(&mut self) {
        let count = self.end - self.head;
        self.line
            .resize(self.line.len().max(2 * (MOST_STEPS + count)), 0);
        self.line.copy_within(self.head..self.end, MOST_STEPS);
        (self.head, self.end) = (MOST_STEPS, MOST_STEPS + count);
    }
    /// Takes the first.
    #[inline]
    pub fn take_first(&mut self) -> Option<PortId> {
        if self.others.next_time() <= self.first {
            return self.take_other();
        }
        let (_, port) = self.first_in_line()?;
        self.take_from_line();
        Some(port)
    }
    #[inline(never)]
    fn take_other(&mut self) -> Option<PortId> {
        let other = self.others.peek()?;
        let other = (other.time(), other.key() as PortId);
        if let Some(first) = self.first_in_line().filter(|first| *first < other) {
            self.take_from_line();
            return Some(first.1);
        }
        self.others.pop();
        self.set_first();
        Some(other.1)
    }
    #[inline(always)]
    fn first_in_line(&self) -> Option<(Time, PortId)> {
        (self.head < self.end).then(|| of_key(self.line[self.head]))
    }
    #[inline(always)]
    fn take_from_line(&mut self) {
        self.line[self.head] = 0;
        self.head += 1;
        if self.head == self.end {
            (self.head, self.end) = (MOST_STEPS, MOST_STEPS);
        }
        self.set_first();
    }
    #[inline(always)]
    fn set_first(&mut self) {
        let in_line = self.first_in_line().map_or(Time::NEVER, |(time, _)| time);
        self.first = in_line.min(self.others.next_time());
    }
    /// Shows all of them, by number.
    pub fn show<L: StateVisitor>(&mut self, visitor: &mut L) {
        let mut ports = Vec::new();
        while !self.first.is_never() {
            let time = self.first;
            ports.extend(self.take_first().map(|port| (port, time)));
        }
        ports.sort_unstable();
        visitor.same(ports.len() as u64);
        for (port, time) in &mut ports {
            visitor.same(u64::from(*port));
            visitor.time(time);
        }
        ports.sort_unstable_by_key(|&(port, time)| (time, port));
        for (port, time) in ports {
            self.add(time, port);
        }
    }
    /// Those that become free before `end`, of most.
    pub fn before(&self, end: Time) -> impl Iterator<Item = PortId> {
        let in_line = self.line.get(self.head..self.end).unwrap_or_default();
        let each = in_line.iter().map(|key| of_key(*key));
        each.take_while(move |(time, _)| *time < end)
            .map(|(_, port)| port)
    }
}

/// Puts a key in line, behind the last of those there and before where there is room.
#[inline(always)]
fn put_behind(last: &mut [u64; MOST_STEPS + 1], key: u64) {
    let mut at = MOST_STEPS;
    while last[at - 1] > key {
        last[at] = last[at - 1];
        at -= 1;
    }
    last[at] = key;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_as_a_sorted_set(
            // Around the last time that a key has room for, too.
            begin in prop_oneof![Just(0), Just((1 << 48) - 15)],
            steps in prop::collection::vec((0_u64..30, 0_u16..60, prop::bool::weighted(0.3)), 0..300),
        ) {
            let (mut ready, mut sorted) = (Ready::default(), BTreeSet::new());
            for (since, port, take) in steps {
                let time = begin + since;
                let is_in = sorted.iter().any(|&(_, other)| other == port);
                if take || is_in {
                    let first = sorted.pop_first().map(|(_, port)| port);
                    prop_assert_eq!(ready.take_first(), first);
                } else {
                    ready.add(Time::from_ps(time), port);
                    sorted.insert((time, port));
                }
                let first = sorted.first().map_or(Time::NEVER, |(time, _)| Time::from_ps(*time));
                prop_assert_eq!(ready.first_time(), first);
                let due = |port| sorted.iter().any(|&(time, other)| time < begin + 15 && other == port);
                prop_assert!(ready.before(Time::from_ps(begin + 15)).all(due));
            }
        }
    }
}
