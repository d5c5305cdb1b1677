//! The packets that reach a switch within a window, in order.

use unpause_protocols::units::Time;

use crate::fabric::PortId;
use crate::fabric::packet::Packet;

/// Bits of a key below the time: for the port, and for the place among what is taken.
const ORDER_BITS: u32 = PORT_BITS + PLACE_BITS;
const PORT_BITS: u32 = 10;
const PLACE_BITS: u32 = 18;

/// Stands where a packet goes out by no port.
pub const NO_WAY: PortId = PortId::MAX;

/// No window lasts longer, so that a time within it fits a key.
pub const LONGEST_WINDOW: Time = Time::from_ps(1 << (u64::BITS - ORDER_BITS));

/// So many, and fewer, are sorted by insertion; more of them only if they move by no more places on average.
const FEW: usize = 20;
const MOST_BUCKETS: usize = 4096;

/// Packets that reach one switch within a window, by time, then by port. All of them are in flight
/// when the window begins. All switches of a shard use one, one after the other: it stays in the cache.
#[derive(Debug)]
pub struct Arrivals {
    /// When the window begins.
    start: Time,
    /// Keys: time since then, port, and the place of the packet among those taken; behind this many of them there is room.
    added: Vec<u64>,
    count: usize,
    /// The same in order.
    keys: Vec<u64>,
    /// The bits of a key that are the place.
    place_mask: u32,
    /// By which ports the packets go out, where that is looked up beforehand.
    ways: Vec<PortId>,
    /// Ends of the buckets while packets are sorted.
    ends: Box<[u32; MOST_BUCKETS]>,
}

impl Default for Arrivals {
    fn default() -> Self {
        Self {
            start: Time::ZERO,
            added: Vec::new(),
            count: 0,
            keys: Vec::new(),
            place_mask: 0,
            ways: Vec::new(),
            ends: Box::new([0; MOST_BUCKETS]),
        }
    }
}

impl Arrivals {
    /// Takes those of `packets` into a switch of this many `ports` that arrive in the window from `start` to `end`, with
    /// their numbers as places; answers how many. None arrives before.
    #[inline(always)]
    pub fn take(&mut self, packets: &[Packet], ports: usize, (start, end): (Time, Time)) -> usize {
        self.start = start;
        if ports > 1 << PORT_BITS || packets.len() > 1 << PLACE_BITS {
            return self.compare(packets, end);
        }
        self.place_mask = (1 << PLACE_BITS) - 1;
        if packets.len() > self.added.len() {
            self.make_room(packets.len());
        }
        let added = &mut self.added[..packets.len()];
        let mut count = 0;
        for (place, packet) in packets.iter().enumerate() {
            let since = packet.time.as_ps().wrapping_sub(start.as_ps());
            let order = usize::from(packet.ingress) << PLACE_BITS | place;
            // One of those left is overwritten by the next.
            added[count] = since << ORDER_BITS | order as u64;
            count += usize::from(packet.time < end);
        }
        self.count = count;
        self.sort(end);
        count
    }

    /// The same for more of them than keys can tell apart.
    #[cold]
    #[inline(never)]
    fn compare(&mut self, packets: &[Packet], end: Time) -> usize {
        let taken = packets.iter().zip(0_u32..);
        let taken = taken.filter(|(packet, _)| packet.time < end);
        let mut order: Vec<_> = taken
            .map(|(packet, place)| (packet.time, packet.ingress, place))
            .collect();
        order.sort_unstable();
        self.place_mask = (1 << ORDER_BITS) - 1;
        assert!(
            packets.len() <= 1 << ORDER_BITS,
            "fewer than 2^28 packets are under way to a switch"
        );
        self.keys.clear();
        let since = |time: Time| (time - self.start).as_ps();
        let keys = order
            .iter()
            .map(|&(time, _, place)| since(time) << ORDER_BITS | u64::from(place));
        self.keys.extend(keys);
        self.keys.len()
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self, needed: usize) {
        self.added.resize(needed.next_power_of_two(), 0);
    }

    /// Puts keys into order. The window ends at `end`.
    #[inline(always)]
    fn sort(&mut self, end: Time) {
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
        let shift = ORDER_BITS + window_bits.saturating_sub(buckets.ilog2());
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
            if before <= key {
                before = key;
                continue;
            }
            let mut at = end;
            while at > 0 && keys[at - 1] > key {
                keys[at] = keys[at - 1];
                at -= 1;
            }
            keys[at] = key;
            moves = moves.saturating_sub(end - at);
            if moves == 0 {
                return keys.sort_unstable();
            }
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// When number `at` arrives, and the place of its packet, if there are that many.
    #[inline(always)]
    pub fn get(&self, at: usize) -> Option<(Time, u32)> {
        let key = *self.keys.get(at)?;
        let since = Time::from_ps(key >> ORDER_BITS);
        Some((self.start + since, key as u32 & self.place_mask))
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
        let mask = self.place_mask;
        keys.iter().map(move |key| *key as u32 & mask).zip(ways)
    }

    /// The egress port of packet number `at`, if it was looked up.
    #[inline(always)]
    pub fn way(&self, at: usize) -> Option<PortId> {
        self.ways.get(at).copied().filter(|to| *to != NO_WAY)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fabric::packet::Kind;

    fn packet(time: u64, ingress: PortId) -> Packet {
        let time = Time::from_ps(time);
        Packet {
            time,
            ingress,
            ..Packet::new(Kind::Data, 3, 0, 1048)
        }
    }

    proptest! {
        /// Few and many, spread over a window or at its end or beyond, short windows and the longest, more ports than
        /// keys can tell apart.
        #[test]
        fn go_by_time_then_by_port(
            start in 0_u64..1 << 50,
            length in prop_oneof![1_u64..5_000, Just(LONGEST_WINDOW.as_ps())],
            crowd in prop_oneof![Just(1.0), 0.0..1.0, 0.0..1e-4],
            beyond in 0_u64..3,
            step in prop_oneof![Just(1_u16), Just(1_500)],
            parts in prop::collection::vec((0.0..1.0, 0_u16..40), 0..600),
        ) {
            let mut arrivals = Arrivals::default();
            let (end, ports) = (start + length, usize::from(step) * 40);
            let packets: Vec<Packet> = parts.iter().map(|(part, port)| {
                let within = ((1.0 - crowd * part) * (length - 1) as f64) as u64;
                packet(start + within + beyond * length / 2, port * step)
            }).collect();
            let mut expected: Vec<(u64, PortId, u32)> = packets
                .iter()
                .zip(0..)
                .map(|(packet, place)| (packet.time.as_ps(), packet.ingress, place))
                .filter(|(time, ..)| *time < end)
                .collect();
            expected.sort_unstable();
            for _ in 0..2 {
                let window = (Time::from_ps(start), Time::from_ps(end));
                prop_assert_eq!(arrivals.take(&packets, ports, window), expected.len());
            }
            prop_assert_eq!(arrivals.len(), expected.len());
            for (at, &(time, _, place)) in expected.iter().enumerate() {
                prop_assert_eq!(arrivals.get(at), Some((Time::from_ps(time), place)));
            }
            prop_assert!(arrivals.get(expected.len()).is_none());
            prop_assert_eq!(arrivals.block(expected.len(), 16).count(), 0);
        }
    }

    #[test]
    fn more_packets_than_keys_can_tell_apart() {
        let many = (1 << PLACE_BITS) + 5;
        let packets: Vec<Packet> = (0..many)
            .map(|at| packet(many - at, at as PortId % 2))
            .collect();
        let mut arrivals = Arrivals::default();
        let end = Time::from_ps(many / 2);
        let count = arrivals.take(&packets, 2, (Time::ZERO, end));
        assert_eq!(count as u64, many / 2 - 1);
        let first = arrivals.get(0).expect("there are many");
        assert_eq!(first, (Time::from_ps(1), many as u32 - 1));
    }
}
