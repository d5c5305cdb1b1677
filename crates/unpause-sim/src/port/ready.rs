//! Ports that become free.

use std::collections::VecDeque;

use unpause_protocols::units::Time;

use crate::fabric::PortId;

/// Ports of a switch that have something to send and become free: by time; at one instant, by number.
#[derive(Debug)]
pub struct Ready {
    /// When the first of them does.
    first: Time,
    ports: VecDeque<(Time, PortId)>,
}

impl Default for Ready {
    fn default() -> Self {
        Self {
            first: Time::NEVER,
            ports: VecDeque::new(),
        }
    }
}

impl Ready {
    /// When the first port becomes free; [`Time::NEVER`] if there is none.
    #[inline(always)]
    pub fn first_time(&self) -> Time {
        self.first
    }
    /// Adds a port. A packet takes about as long as another, so that it is mostly the last.
    #[inline]
    pub fn add(&mut self, time: Time, port: PortId) {
        self.first = self.first.min(time);
        let mut at = self.ports.len();
        self.ports.push_back((time, port));
        while at > 0 && self.ports[at - 1] > (time, port) {
            self.ports.swap(at - 1, at);
            at -= 1;
        }
    }
    /// Takes the first.
    #[inline]
    pub fn take_first(&mut self) -> Option<PortId> {
        let (_, port) = self.ports.pop_front()?;
        self.first = self.ports.front().map_or(Time::NEVER, |(time, _)| *time);
        Some(port)
    }
    /// Those that become free before `end`.
    pub fn before(&self, end: Time) -> impl Iterator<Item = PortId> {
        let ports = self.ports.iter().take_while(move |(time, _)| *time < end);
        ports.map(|&(_, port)| port)
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
            steps in prop::collection::vec((0_u64..30, 0_u16..40, prop::bool::weighted(0.4)), 0..200),
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
                let before = sorted.iter().filter(|(time, _)| *time < 15).map(|(_, port)| *port);
                prop_assert_eq!(ready.before(Time::from_ps(15)).collect::<Vec<_>>(), before.collect::<Vec<_>>());
            }
        }
    }
}
