//! The packets that reach a switch within a window, in order.

use unpause_protocols::units::Time;

use crate::fabric::PortId;

/// Bits of a key for the place in the store of wires.
const PLACE_BITS: u32 = 28;

/// No window lasts longer, so that a time within it fits a key.
pub const LONGEST_WINDOW: Time = Time::from_ps(1 << (u64::BITS - PLACE_BITS));
/// Nor has the store more places.
pub const MOST_PLACES: u32 = 1 << PLACE_BITS;

/// So many, and fewer, are sorted as they are.
const FEW: usize = 20;
const MOST_BUCKETS: usize = 4096;

/// What reaches one switch within a window: by time; what arrives at one instant, by port. All of it is under way
/// when the window begins. All switches of a shard use one, in turn: it stays in the cache.
#[derive(Debug)]
pub struct Arrivals {
    /// When the window begins.
    start: Time,
    /// Time since then, and the place of the packet in the store of all wires. First in order of ports, and of time
    /// at each; then sorted by time alone, so that simultaneous ones stay as they are.
    keys: Vec<u64>,
    /// By which ports the packets go out, where that is looked up beforehand.
    ways: Vec<PortId>,
    // What sorting needs.
    ends: Box<[u32; MOST_BUCKETS]>,
    sorted: Vec<u64>,
}

impl Default for Arrivals {
    fn default() -> Self {
        Self {
            start: Time::ZERO,
            keys: Vec::new(),
            ways: Vec::new(),
            ends: Box::new([0; MOST_BUCKETS]),
            sorted: Vec::new(),
        }
    }
}

impl Arrivals {
    /// Begins with a window that starts at `start`.
    #[inline(always)]
    pub fn clear(&mut self, start: Time) {
        self.start = start;
        self.keys.clear();
    }

    /// Adds the next packet into a port, or the first into a port behind those before.
    #[inline(always)]
    pub fn add(&mut self, time: Time, place: usize) {
        let since = time - self.start;
        debug_assert!(since < LONGEST_WINDOW && place < MOST_PLACES as usize);
        self.keys.push(since.as_ps() << PLACE_BITS | place as u64);
    }

    /// Puts them into order. The window ends at `end`.
    #[inline(always)]
    pub fn sort(&mut self, end: Time) {
        match self.keys.len() {
            0 | 1 => {}
            2..=FEW => self.insert(),
            _ => self.distribute(end),
        }
    }

    /// Sorts many: into buckets of equal length, two for each and more, and those. Fewer would leave more to comparisons,
    /// half of which cannot be foreseen.
    #[inline(never)]
    fn distribute(&mut self, end: Time) {
        let count = self.keys.len();
        let buckets = (2 * count.next_power_of_two()).min(MOST_BUCKETS);
        let window_bits = u64::BITS - (end - self.start).as_ps().leading_zeros();
        let shift = PLACE_BITS + window_bits.saturating_sub(buckets.ilog2());
        let bucket = |key: u64| (key >> shift) as usize % MOST_BUCKETS;
        self.ends[..buckets].fill(0);
        let mut sizes = 0;
        for &key in &self.keys {
            let size = &mut self.ends[bucket(key)];
            *size += 1;
            sizes |= *size;
        }
        let mut sum = 0;
        for end in &mut self.ends[..buckets] {
            sum += *end;
            *end = sum;
        }
        self.sorted.resize(count, 0);
        // From the back, as ends become starts.
        for &key in self.keys.iter().rev() {
            let at = &mut self.ends[bucket(key)];
            *at -= 1;
            self.sorted[*at as usize] = key;
        }
        std::mem::swap(&mut self.keys, &mut self.sorted);
        match sizes as usize {
            ..FEW => self.insert(),
            _ => self.keys.sort_by_key(|key| key >> PLACE_BITS),
        }
    }

    /// Sorts by insertion.
    #[inline(always)]
    fn insert(&mut self) {
        let keys = &mut self.keys[..];
        for end in 1..keys.len() {
            let (key, mut at) = (keys[end], end);
            while at > 0 && keys[at - 1] >> PLACE_BITS > key >> PLACE_BITS {
                keys[at] = keys[at - 1];
                at -= 1;
            }
            keys[at] = key;
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
            crowd in prop_oneof![Just(1.0), 0.0..1.0],
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
                    for time in times {
                        let place = expected.len();
                        arrivals.add(Time::from_ps(start + time), place);
                        expected.push((start + time, port, place as u32));
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
