//! The packets that reach a switch within a window, in order.

use unpause_protocols::units::Time;

use crate::fabric::PortId;

/// Bits of a key for the place in the store of wires.
const PLACE_BITS: u32 = 28;

/// No window lasts longer, so that a time within it fits a key.
pub const LONGEST_WINDOW: Time = Time::from_ps(1 << (u64::BITS - PLACE_BITS));
/// Nor has the store more places.
pub const MOST_PLACES: u32 = 1 << PLACE_BITS;

/// So many, and fewer, are sorted by insertion; more of them only if they move by no more places on average.
const FEW: usize = 20;
const MOST_BUCKETS: usize = 4096;

/// What reaches one switch within a window: by time; what arrives at one instant, by port. All of it is under way
/// when the window begins. All switches of a shard use one, in turn: it stays in the cache.
#[derive(Debug)]
pub struct Arrivals {
    /// When the window begins.
    start: Time,
    /// Keys: time since then, and the place of the packet in the store of all wires. In order of ports, and of time at
    /// each; behind so many of them there is room.
    added: Vec<u64>,
    count: usize,
    /// The same in order of time, simultaneous ones as they were.
    keys: Vec<u64>,
    /// By which ports the packets go out, where that is looked up beforehand.
    ways: Vec<PortId>,
    /// What sorting needs.
    ends: Box<[u32; MOST_BUCKETS]>,
}

impl Default for Arrivals {
    fn default() -> Self {
        Self {
            start: Time::ZERO,
            added: Vec::new(),
            count: 0,
            keys: Vec::new(),
            ways: Vec::new(),
            ends: Box::new([0; MOST_BUCKETS]),
        }
    }
}

impl Arrivals {
    /// Begins with a window that starts at `start`.
    #[inline(always)]
    pub fn clear(&mut self, start: Time) {
        self.start = start;
        self.count = 0;
    }

    /// Adds packets into a port behind those before: when `packet` of their numbers says that they arrive, and their
    /// places, up to the first of which it says nothing, and `most` at most. Answers how many.
    #[inline(always)]
    pub fn add(&mut self, most: u32, mut packet: impl FnMut(u32) -> Option<(Time, usize)>) -> u32 {
        let needed = self.count + most as usize;
        if needed > self.added.len() {
            self.make_room(needed);
        }
        let mut number = 0;
        for key in &mut self.added[self.count..needed] {
            let Some((time, place)) = packet(number) else {
                break;
            };
            let since = time - self.start;
            debug_assert!(since < LONGEST_WINDOW && place < MOST_PLACES as usize);
            *key = since.as_ps() << PLACE_BITS | place as u64;
            number += 1;
        }
        self.count += number as usize;
        number
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self, needed: usize) {
        self.added.resize(needed.next_power_of_two(), 0);
    }

    /// Puts them into order. The window ends at `end`.
    #[inline(always)]
    pub fn sort(&mut self, end: Time) {
        if self.count > FEW {
            return self.distribute(end);
        }
        self.keys.clear();
        self.keys.extend_from_slice(&self.added[..self.count]);
        self.insert();
    }

    /// Sorts many: into buckets of equal length, two for each and more, and those. Fewer would leave more to comparisons,
    /// half of which cannot be foreseen.
    #[inline(never)]
    fn distribute(&mut self, end: Time) {
        let added = &self.added[..self.count];
        let buckets = (2 * added.len().next_power_of_two()).min(MOST_BUCKETS);
        let window_bits = u64::BITS - (end - self.start).as_ps().leading_zeros();
        let shift = PLACE_BITS + window_bits.saturating_sub(buckets.ilog2());
        let bucket = |key: u64| (key >> shift) as usize % MOST_BUCKETS;
        self.ends[..buckets].fill(0);
        for &key in added {
            self.ends[bucket(key)] += 1;
        }
        let mut sum = 0;
        for end in &mut self.ends[..buckets] {
            sum += *end;
            *end = sum;
        }
        self.keys.resize(added.len(), 0);
        // From the back, as ends become starts.
        for &key in added.iter().rev() {
            let at = &mut self.ends[bucket(key)];
            *at -= 1;
            self.keys[*at as usize] = key;
        }
        self.insert();
    }

    /// Sorts by insertion what is nearly in order, and by comparison if it turns out not to be.
    #[inline(always)]
    fn insert(&mut self) {
        let keys = &mut self.keys[..];
        let (mut before, mut moves) = (0, FEW * keys.len());
        for end in 0..keys.len() {
            let key = keys[end];
            // No key of its time is larger.
            let last = key | u64::from(MOST_PLACES - 1);
            if before <= last {
                before = key;
                continue;
            }
            let mut at = end;
            while at > 0 && keys[at - 1] > last {
                keys[at] = keys[at - 1];
                at -= 1;
            }
            keys[at] = key;
            moves = moves.saturating_sub(end - at);
            if moves == 0 {
                return keys.sort_by_key(|key| key >> PLACE_BITS);
            }
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// When number `at` arrives, and the place of its packet, if there are so many.
    #[inline(always)]
    pub fn get(&self, at: usize) -> Option<(Time, u32)> {
        let key = *self.keys.get(at)?;
        let since = Time::from_ps(key >> PLACE_BITS);
        Some((self.start + since, place(key)))
    }

    /// The places of some packets, from number `first` on, and where to note by which ports they go out.
    pub fn block(
        &mut self,
        first: usize,
        count: usize,
    ) -> impl Iterator<Item = (u32, &mut PortId)> {
        self.ways.resize(self.keys.len(), 0);
        let end = self.keys.len().min(first + count);
        let keys = self.keys.get(first..end).unwrap_or_default();
        let ways = self.ways.get_mut(first..end).unwrap_or_default();
        keys.iter().map(|key| place(*key)).zip(ways)
    }

    /// What has been noted for number `at`.
    #[inline(always)]
    pub fn way(&self, at: usize) -> Option<PortId> {
        self.ways.get(at).copied()
    }
}

/// The place that a key tells.
#[inline(always)]
fn place(key: u64) -> u32 {
    key as u32 % MOST_PLACES
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Few and many, spread over a window or at its end, short windows and the longest.
        #[test]
        fn go_by_time_then_by_port(
            start in 0_u64..1 << 50,
            length in prop_oneof![1_u64..5_000, Just(LONGEST_WINDOW.as_ps())],
            crowd in prop_oneof![Just(1.0), 0.0..1.0, 0.0..1e-4],
            per_port in prop::collection::vec(prop::collection::vec(0.0..1.0, 0..30), 1..40),
        ) {
            let mut arrivals = Arrivals::default();
            let mut expected = Vec::new();
            for _ in 0..2 {
                arrivals.clear(Time::from_ps(start));
                expected.clear();
                for (port, parts) in per_port.iter().enumerate() {
                    let within = |part: &f64| ((1.0 - crowd * part) * (length - 1) as f64) as u64;
                    let mut times: Vec<u64> = parts.iter().map(within).collect();
                    times.sort_unstable();
                    let first = expected.len();
                    let of = |number: u32| times.get(number as usize).map(|time| Time::from_ps(start + time));
                    let count = arrivals.add(32, |number| Some((of(number)?, first + number as usize)));
                    prop_assert_eq!(count as usize, times.len());
                    for time in times {
                        expected.push((start + time, port, expected.len() as u32));
                    }
                }
                arrivals.sort(Time::from_ps(start + length));
            }
            // Stable: what stands first at a port comes first.
            expected.sort_by_key(|&(time, port, _)| (time, port));
            prop_assert_eq!(arrivals.len(), expected.len());
            for (at, &(time, _, place)) in expected.iter().enumerate() {
                prop_assert_eq!(arrivals.get(at).unwrap(), (Time::from_ps(time), place));
            }
            prop_assert!(arrivals.get(expected.len()).is_none());
            prop_assert_eq!(arrivals.block(expected.len(), 16).count(), 0);
        }
    }
}
