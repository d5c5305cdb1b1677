//! Jitter: each flow of an entry starts later by a random time of its own.

use std::collections::BTreeMap;

use unpause_protocols::units::Time;

use super::random::Stream;
use super::spec::FlowSpec;

/// A random stream of its own, so that jitter changes nothing else about the flows.
const STREAM: u64 = 0x6a69_7474_6572_2121;

/// Delays flows, and sorts them by start again.
#[derive(Debug)]
pub(super) struct Jitter {
    most: Time,
    random: Stream,
    /// The next flow as the entry has it.
    next: Option<FlowSpec>,
    /// Delayed flows, by start and order.
    waiting: BTreeMap<(Time, u64), FlowSpec>,
    drawn: u64,
}

impl Jitter {
    /// Of entry `group` in a run of this `seed`: by a time up to `most`.
    pub(super) fn new(most: Time, seed: u64, group: u16) -> Self {
        Self {
            most,
            random: Stream::new(seed ^ STREAM, group),
            next: None,
            waiting: BTreeMap::new(),
            drawn: 0,
        }
    }

    /// The next flow by start; `flows` answers with those of the entry, in order of start.
    pub(super) fn next(&mut self, mut flows: impl FnMut() -> Option<FlowSpec>) -> Option<FlowSpec> {
        loop {
            if self.next.is_none() {
                self.next = flows();
            }
            let first = self.waiting.first_key_value().map(|((start, _), _)| *start);
            match &self.next {
                // All later flows start no sooner than this one.
                Some(flow) if first.is_none_or(|first| flow.start <= first) => {
                    let flow = *flow;
                    self.next = None;
                    self.put_off(flow);
                }
                _ => return self.waiting.pop_first().map(|(_, flow)| flow),
            }
        }
    }

    fn put_off(&mut self, flow: FlowSpec) {
        let steps = usize::try_from(self.most.as_ps()).unwrap_or(usize::MAX - 1);
        let later = Time::from_ps(self.random.below(steps + 1) as u64);
        // A flow that ends at a given time starts before it.
        let start = flow.start.saturating_add(later).min(flow.stop);
        self.waiting
            .insert((start, self.drawn), FlowSpec { start, ..flow });
        self.drawn += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flows stay what they are, start up to `most` later, and come in order of start; another seed has other starts.
    #[test]
    fn flows_start_later_and_in_order() {
        let most = Time::from_us(3);
        let starts = |seed| {
            let mut given = (0..200).map(|number: u32| FlowSpec {
                start: Time::from_ns(u64::from(number / 10) * 1_000),
                source_port: number as u16,
                ..FlowSpec::between(0, 1)
            });
            let mut jitter = Jitter::new(most, seed, 0);
            let flows: Vec<FlowSpec> =
                std::iter::from_fn(|| jitter.next(|| given.next())).collect();
            assert_eq!(flows.len(), 200);
            assert!(flows.is_sorted_by_key(|flow| flow.start));
            let mut late: Vec<(u16, Time)> = flows
                .iter()
                .map(|flow| {
                    let own = Time::from_ns(u64::from(flow.source_port / 10) * 1_000);
                    (flow.source_port, flow.start - own)
                })
                .collect();
            late.sort_unstable();
            assert!(late.iter().zip(0..).all(|((port, _), at)| *port == at));
            assert!(late.iter().all(|(_, late)| *late <= most));
            let mean = late.iter().map(|(_, late)| late.as_ps()).sum::<u64>() / 200;
            assert!((1_200_000..1_800_000).contains(&mean), "{mean}");
            late
        };
        assert_eq!(starts(1), starts(1));
        assert_ne!(starts(1), starts(2));
    }
}
