//! Ports that become free.

use std::collections::VecDeque;

use unpause_protocols::ledger::Ledger;
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
    line: VecDeque<(Time, PortId)>,
    others: Heap,
}

impl Default for Ready {
    fn default() -> Self {
        Self {
            first: Time::NEVER,
            line: VecDeque::new(),
            others: Heap::default(),
        }
    }
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
        let mut at = self.line.len();
        if at >= MOST_STEPS && self.line[at - MOST_STEPS] > (time, port) {
            return self.others.push(Entry::new(time, port.into(), 0));
        }
        self.line.push_back((time, port));
        // Field by field: what has just been written in pieces is slow to read as one.
        while at > 0 && self.line[at - 1] > (time, port) {
            (self.line[at].0, self.line[at].1) = self.line[at - 1];
            at -= 1;
        }
        (self.line[at].0, self.line[at].1) = (time, port);
    }
    /// Takes the first.
    #[inline]
    pub fn take_first(&mut self) -> Option<PortId> {
        if self.others.next_time() <= self.first {
            return self.take_other();
        }
        let (_, port) = self.line.pop_front()?;
        self.set_first();
        Some(port)
    }
    #[inline(never)]
    fn take_other(&mut self) -> Option<PortId> {
        let in_line = self.line.front();
        let other = self.others.peek()?;
        let port = match in_line {
            Some(&(time, port)) if (time, port) < (other.time(), other.key() as PortId) => {
                self.line.pop_front();
                port
            }
            _ => {
                self.others.pop();
                other.key() as PortId
            }
        };
        self.set_first();
        Some(port)
    }
    #[inline(always)]
    fn set_first(&mut self) {
        let in_line = self.line.front().map_or(Time::NEVER, |&(time, _)| time);
        self.first = in_line.min(self.others.next_time());
    }
    /// Shows all of them, by number.
    pub fn show<L: Ledger>(&mut self, ledger: &mut L) {
        let mut ports = Vec::new();
        while !self.first.is_never() {
            let time = self.first;
            ports.extend(self.take_first().map(|port| (port, time)));
        }
        ports.sort_unstable();
        ledger.same(ports.len() as u64);
        for (port, time) in &mut ports {
            ledger.same(u64::from(*port));
            ledger.time(time);
        }
        ports.sort_unstable_by_key(|&(port, time)| (time, port));
        for (port, time) in ports {
            self.add(time, port);
        }
    }
    /// Those that become free before `end`, of most.
    pub fn before(&self, end: Time) -> impl Iterator<Item = PortId> {
        let due = self.line.iter().take_while(move |(time, _)| *time < end);
        due.map(|&(_, port)| port)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_as_a_sorted_set(
            steps in prop::collection::vec((0_u64..30, 0_u16..60, prop::bool::weighted(0.3)), 0..300),
        ) {
            let (mut ready, mut sorted) = (Ready::default(), BTreeSet::new());
            for (time, port, take) in steps {
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
                let due = |port| sorted.iter().any(|&(time, other)| time < 15 && other == port);
                prop_assert!(ready.before(Time::from_ps(15)).all(due));
            }
        }
    }
}
