//! A four-way min-heap of small keyed entries.
//!
//! Events, paced flows and timers of one node. An entry is one `u128`: time in the upper half, then
//! a key that makes the order of simultaneous entries a property of the model, never of insertion.

use unpause_protocols::state_visitor::StateVisitor;
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
    /// The payload that its owner gave it.
    #[inline]
    pub fn payload(self) -> u32 {
        self.0 as u32
    }
}

/// Comes after every entry.
const LAST: Entry = Entry(u128::MAX);

/// The heap.
#[derive(Clone, Debug)]
pub struct Heap {
    /// The root, and whole groups of children: what is not in use is [`LAST`], so that the least of
    /// a group is found without asking how many there are, nor by branches that cannot be foreseen.
    slots: Vec<Entry>,
    len: usize,
    /// When the first is due: who asks only that does not touch them.
    next: Time,
}

impl Default for Heap {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            len: 0,
            next: Time::NEVER,
        }
    }
}

impl Heap {
    /// The earliest entry.
    #[inline]
    pub fn peek(&self) -> Option<Entry> {
        self.slots.first().copied().filter(|_| self.len > 0)
    }
    /// When the earliest entry is due; [`Time::NEVER`] when there is none.
    #[inline]
    pub fn next_time(&self) -> Time {
        self.next
    }
    /// Shows every entry, by key and payload.
    pub fn show<L: StateVisitor>(&mut self, visitor: &mut L) {
        visitor.same(self.len as u64);
        if self.len == 0 {
            return;
        }
        let mut entries = self.slots[..self.len].to_vec();
        entries.sort_unstable_by_key(|entry| (entry.0 as u64, entry.time()));
        (self.len, self.next) = (0, Time::NEVER);
        self.slots.fill(LAST);
        for entry in entries {
            let mut time = entry.time();
            visitor.time(&mut time);
            visitor.same(entry.0 as u64);
            self.push(Entry::new(time, entry.key(), entry.payload()));
        }
    }
    /// Adds an entry.
    #[inline]
    pub fn push(&mut self, entry: Entry) {
        self.next = self.next.min(entry.time());
        match self.slots.first_mut() {
            Some(first) if self.len == 0 => {
                *first = entry;
                self.len = 1;
            }
            _ => self.rise(entry),
        }
    }

    /// Puts `entry` behind the last and lets it rise.
    #[inline(never)]
    fn rise(&mut self, entry: Entry) {
        let mut at = self.len;
        if at == self.slots.len() {
            self.grow();
        }
        self.len += 1;
        while at > 0 {
            let parent = (at - 1) / WAYS;
            if self.slots[parent] <= entry {
                break;
            }
            self.slots[at] = self.slots[parent];
            at = parent;
        }
        self.slots[at] = entry;
    }
    /// Prefetches the earliest entry.
    #[inline]
    pub fn prefetch(&self) {
        crate::prefetch::prefetch_first(&self.slots);
    }
    /// Takes the earliest entry.
    #[inline]
    pub fn pop(&mut self) -> Option<Entry> {
        let first = self.slots.first_mut().filter(|_| self.len > 0)?;
        self.len -= 1;
        if self.len == 0 {
            self.next = Time::NEVER;
            return Some(std::mem::replace(first, LAST));
        }
        let first = *first;
        self.sink_last();
        Some(first)
    }

    /// Puts the last entry in the place of the first and lets it sink.
    #[inline(never)]
    fn sink_last(&mut self) {
        let last = std::mem::replace(&mut self.slots[self.len], LAST);
        self.sift_down(last);
    }

    /// Takes the earliest entry away and adds `entry`, at the cost of one of the two.
    #[inline]
    pub fn replace_top(&mut self, entry: Entry) {
        debug_assert!(self.len > 0);
        self.sift_down(entry);
    }

    /// Puts `entry` in the place of the first and lets it sink.
    #[inline]
    fn sift_down(&mut self, entry: Entry) {
        let mut at = 0;
        while let Some(children) = self
            .slots
            .get(at * WAYS + 1..)
            .and_then(|s| s.first_chunk())
        {
            let (least, child) = least_of(children);
            if entry <= least {
                break;
            }
            self.slots[at] = least;
            at = at * WAYS + 1 + child;
        }
        self.slots[at] = entry;
        self.next = self.slots[0].time();
    }

    #[cold]
    fn grow(&mut self) {
        let more = if self.slots.is_empty() { 1 } else { WAYS };
        self.slots.resize(self.slots.len() + more, LAST);
    }
}

/// The least of a group, and which it is. The comparisons become conditional moves.
#[inline]
fn least_of(group: &[Entry; WAYS]) -> (Entry, usize) {
    let least = |a: (Entry, usize), b: (Entry, usize)| if b.0 < a.0 { b } else { a };
    least(
        least((group[0], 0), (group[1], 1)),
        least((group[2], 2), (group[3], 3)),
    )
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
