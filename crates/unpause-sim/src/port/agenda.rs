//! What a switch does next: packets that arrive in a window, and ports that become free.

use unpause_protocols::units::Time;

use crate::fabric::PortId;

/// Slots that a window is cut into.
const SLOTS: u64 = 64;
/// No entry.
const NONE: u32 = u32::MAX;

/// Arrivals at ports, and ports that become free. Of what happens at one instant arrivals come first; among
/// them, as among the others, ports go by their numbers.
///
/// A calendar of one window: a slot holds its entries in order, and a bit says whether it has any. A port has
/// at most two entries, so slots are short however much happens in a window.
#[derive(Debug)]
pub struct Agenda {
    /// Where the first slot begins, and where the window ends.
    window: (Time, Time),
    /// A slot lasts two to the power of this, in ps.
    slot_bits: u32,
    /// Bit s set: slot s has entries.
    filled: u64,
    /// The first and the last entry of each slot that has any.
    first: [u32; SLOTS as usize],
    last: [u32; SLOTS as usize],
    /// Arrivals by port, then ports that become free.
    entries: Box<[Entry]>,
    /// Ports that become free after the window, and when the first of them does.
    later: Vec<PortId>,
    later_at: Time,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    time: Time,
    /// The entry after it in its slot.
    next: u32,
}

/// Something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A packet has arrived at this port.
    Arrival(PortId),
    /// This port becomes free.
    Ready(PortId),
}

impl Agenda {
    /// Nothing to do at a switch of so many ports. Windows last `lookahead` at most, if they are to be fast.
    pub fn new(ports: usize, lookahead: Time) -> Self {
        let blank = Entry {
            time: Time::NEVER,
            next: NONE,
        };
        let slot = lookahead.as_ps().div_ceil(SLOTS);
        Self {
            window: (Time::ZERO, Time::ZERO),
            slot_bits: slot.next_power_of_two().trailing_zeros(),
            filled: 0,
            first: [NONE; SLOTS as usize],
            last: [NONE; SLOTS as usize],
            entries: vec![blank; 2 * ports].into_boxed_slice(),
            later: Vec::new(),
            later_at: Time::NEVER,
        }
    }

    /// Begins a window, when all that lay before it is done.
    #[inline]
    pub fn open(&mut self, end: Time) {
        debug_assert!(self.filled == 0, "a window is done to its end");
        let length = Time::from_ps(SLOTS << self.slot_bits);
        self.window = (end.saturating_sub(length), end);
        if self.later_at < end {
            self.take_later();
        }
    }

    #[inline(never)]
    fn take_later(&mut self) {
        self.later_at = Time::NEVER;
        for port in std::mem::take(&mut self.later) {
            self.add_ready(self.entries[self.ready(port)].time, port);
        }
    }

    /// The place of a port that becomes free.
    #[inline(always)]
    fn ready(&self, port: PortId) -> usize {
        self.entries.len() / 2 + usize::from(port)
    }

    /// When the first thing is due in the window; [`Time::NEVER`] if there is nothing left.
    #[inline(always)]
    pub fn first_time(&self) -> Time {
        match self.filled {
            0 => Time::NEVER,
            filled => {
                let entry = self.first[filled.trailing_zeros() as usize];
                self.entries[entry as usize].time
            }
        }
    }

    /// When the first thing after the window is due.
    pub fn later_time(&self) -> Time {
        self.later_at
    }

    /// The first thing in the window, of which there must be one.
    #[inline(always)]
    pub fn take_first(&mut self) -> Item {
        let slot = self.filled.trailing_zeros() as usize % SLOTS as usize;
        let entry = self.first[slot];
        let next = self.entries[entry as usize].next;
        self.first[slot] = next;
        if next == NONE {
            self.filled &= self.filled.wrapping_sub(1);
        }
        let ports = (self.entries.len() / 2) as u32;
        match entry < ports {
            true => Item::Arrival(entry as PortId),
            false => Item::Ready((entry - ports) as PortId),
        }
    }

    /// A packet arrives at `port` in this window.
    #[inline(always)]
    pub fn add_arrival(&mut self, time: Time, port: PortId) {
        self.add(time, usize::from(port));
    }

    /// A port becomes free.
    #[inline]
    pub fn add_ready(&mut self, time: Time, port: PortId) {
        let place = self.ready(port);
        if time < self.window.1 {
            return self.add(time, place);
        }
        self.entries[place].time = time;
        self.later.push(port);
        self.later_at = self.later_at.min(time);
    }

    #[inline(always)]
    fn add(&mut self, time: Time, place: usize) {
        let since = time.saturating_sub(self.window.0).as_ps();
        let slot = (since >> self.slot_bits) as usize % SLOTS as usize;
        let bit = 1 << slot;
        if self.filled & bit == 0 {
            self.filled |= bit;
            self.first[slot] = place as u32;
        } else {
            // What comes at one instant mostly comes in order.
            let last = self.last[slot] as usize;
            if (time, place) < (self.entries[last].time, last) {
                return self.insert(slot, time, place);
            }
            self.entries[last].next = place as u32;
        }
        self.last[slot] = place as u32;
        self.entries[place] = Entry { time, next: NONE };
    }

    /// Adds an entry before the last one of its slot.
    #[inline(never)]
    fn insert(&mut self, slot: usize, time: Time, place: usize) {
        let mut before = None;
        let mut at = self.first[slot] as usize;
        while (self.entries[at].time, at) < (time, place) {
            before = Some(at);
            at = self.entries[at].next as usize;
        }
        match before {
            None => self.first[slot] = place as u32,
            Some(before) => self.entries[before].next = place as u32,
        }
        self.entries[place] = Entry {
            time,
            next: at as u32,
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PORTS: usize = 5;
    const LOOKAHEAD: Time = Time::from_ns(1);

    proptest! {
        /// Windows of any length up to twice what it is made for, and entries at any time in them or after.
        #[test]
        fn behaves_as_a_sorted_list(
            windows in prop::collection::vec((1_u64..2000, prop::collection::vec((0..PORTS, any::<bool>(), 0_u64..3000), 0..20)), 1..20),
        ) {
            let mut agenda = Agenda::new(PORTS, LOOKAHEAD);
            let mut sorted: Vec<(u64, bool, usize)> = Vec::new();
            let mut start = 0;
            for (length, entries) in windows {
                let end = start + length;
                agenda.open(Time::from_ps(end));
                for (port, is_ready, after) in entries {
                    let time = start + after;
                    let has = sorted.iter().any(|&(_, kind, of)| (kind, of) == (is_ready, port));
                    if has || (!is_ready && time >= end) {
                        continue;
                    }
                    match is_ready {
                        true => agenda.add_ready(Time::from_ps(time), port as PortId),
                        false => agenda.add_arrival(Time::from_ps(time), port as PortId),
                    }
                    sorted.push((time, is_ready, port));
                    // Now and then something is done in between.
                    if after % 3 == 0 && agenda.first_time() != Time::NEVER {
                        sorted.sort_unstable();
                        prop_assert_eq!(taken(&mut agenda), sorted.remove(0));
                    }
                }
                sorted.sort_unstable();
                while agenda.first_time() != Time::NEVER {
                    prop_assert_eq!(taken(&mut agenda), sorted.remove(0));
                }
                let next = sorted.first().map_or(Time::NEVER, |first| Time::from_ps(first.0));
                prop_assert_eq!(agenda.later_time(), next);
                start = end;
            }
        }
    }

    fn taken(agenda: &mut Agenda) -> (u64, bool, usize) {
        let time = agenda.first_time().as_ps();
        match agenda.take_first() {
            Item::Arrival(port) => (time, false, usize::from(port)),
            Item::Ready(port) => (time, true, usize::from(port)),
        }
    }
}
