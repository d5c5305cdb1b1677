//! A four-way min-heap of small keyed entries.
//!
//! Events, paced flows and timers of one node. An entry is one `u128`: time in the upper half, then
//! a key that makes the order of simultaneous entries a property of the model, never of insertion.

use unpause_protocols::units::Time;

const WAYS: usize = 4;

/// An entry: a time, a key that breaks ties, and a payload that never does when keys are unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry(u128);

impl Entry {
    /// Due at `time`; simultaneous entries go by `key`.
    #[inline]
    pub fn new(time: Time, key: u32, payload: u32) -> Self {
        Self(u128::from(time.as_ps()) << 64 | u128::from(key) << 32 | u128::from(payload))
    }
    /// When it is due.
    #[inline]
    pub fn time(self) -> Time {
        Time::from_ps((self.0 >> 64) as u64)
    }
    /// Its tie-breaking key.
    #[inline]
    pub fn key(self) -> u32 {
        (self.0 >> 32) as u32
    }
    /// What it is about.
    #[inline]
    pub fn payload(self) -> u32 {
        self.0 as u32
    }
}

/// The heap.
#[derive(Clone, Debug, Default)]
pub struct Heap {
    entries: Vec<Entry>,
}

impl Heap {
    /// The earliest entry.
    #[inline]
    pub fn peek(&self) -> Option<Entry> {
        self.entries.first().copied()
    }
    /// When the earliest entry is due; [`Time::NEVER`] when there is none.
    #[inline]
    pub fn next_time(&self) -> Time {
        self.entries
            .first()
            .map_or(Time::NEVER, |entry| entry.time())
    }
    /// Adds an entry.
    #[inline]
    pub fn push(&mut self, entry: Entry) {
        let mut at = self.entries.len();
        self.entries.push(entry);
        while at > 0 {
            let parent = (at - 1) / WAYS;
            if self.entries[parent] <= entry {
                break;
            }
            self.entries[at] = self.entries[parent];
            at = parent;
        }
        self.entries[at] = entry;
    }
    /// Takes the earliest entry.
    #[inline]
    pub fn pop(&mut self) -> Option<Entry> {
        let last = self.entries.pop()?;
        match self.entries.first().copied() {
            None => Some(last),
            Some(first) => {
                self.sift_down(last);
                Some(first)
            }
        }
    }
    /// Takes the earliest entry away and adds `entry`, at the cost of one of the two.
    #[inline]
    pub fn replace_top(&mut self, entry: Entry) {
        debug_assert!(!self.entries.is_empty());
        self.sift_down(entry);
    }

    /// Puts `entry` in the place of the first and lets it sink.
    #[inline]
    fn sift_down(&mut self, entry: Entry) {
        let entries = &mut self.entries[..];
        let mut at = 0;
        loop {
            let first = at * WAYS + 1;
            if first >= entries.len() {
                break;
            }
            let last = (first + WAYS).min(entries.len());
            let mut least = first;
            for child in first + 1..last {
                if entries[child] < entries[least] {
                    least = child;
                }
            }
            if entry <= entries[least] {
                break;
            }
            entries[at] = entries[least];
            at = least;
        }
        entries[at] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pops_in_order(times in prop::collection::vec((0u64..50, 0u32..9), 0..200)) {
            let mut heap = Heap::default();
            for &(ps, key) in &times {
                heap.push(Entry::new(Time::from_ps(ps), key, 7));
            }
            let mut sorted = times.clone();
            sorted.sort_unstable();
            for (ps, key) in sorted {
                let entry = heap.pop().unwrap();
                prop_assert_eq!((entry.time().as_ps(), entry.key(), entry.payload()), (ps, key, 7));
            }
            prop_assert!(heap.pop().is_none());
        }

        #[test]
        fn replace_is_pop_then_push(
            times in prop::collection::vec(0u64..50, 1..60),
            next in prop::collection::vec(0u64..90, 1..60),
        ) {
            let mut a = Heap::default();
            for &ps in &times {
                a.push(Entry::new(Time::from_ps(ps), 0, 0));
            }
            let mut b = a.clone();
            for ps in next {
                let entry = Entry::new(Time::from_ps(ps), 0, 0);
                a.replace_top(entry);
                b.pop();
                b.push(entry);
                prop_assert_eq!(a.peek(), b.peek());
            }
        }
    }
}
