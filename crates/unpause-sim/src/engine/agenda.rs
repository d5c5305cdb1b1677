//! What a switch does next: packets that arrive in a window, and ports that become free.

use unpause_protocols::units::Time;

use crate::fabric::PortId;

/// Slots that a window is cut into: a word of bits for each of as many words.
const SLOTS: usize = WORD * WORDS;
const WORD: usize = 64;
const WORDS: usize = 16;
/// No entry.
const NONE: u32 = u32::MAX;

/// Arrivals at ports, and ports that become free, of the switch that runs its window. Of what happens at one
/// instant arrivals come first; among them, as among the others, ports go by their numbers.
///
/// A calendar of one window: a slot is a list of its entries in no order, which is sorted when the slot comes
/// up. Most slots have one entry; where hosts have started together, many things happen at one instant. All
/// switches of a shard use one, in turn: it stays in the cache.
#[derive(Debug)]
pub struct Agenda {
    /// Where the first slot begins, and where the window ends.
    window: (Time, Time),
    /// A slot lasts two to the power of this, in ps.
    slot_bits: u32,
    /// Bit w set: word w of `filled` is not zero.
    words: u64,
    /// A bit for each slot that has entries and has not come up.
    filled: [u64; WORDS],
    /// Slots below this have come up.
    unopened: usize,
    /// The first of what is left in them, and the rest of it, the next at the end.
    head: Due,
    due: Vec<Due>,
    /// The first entry in the list of each slot that is filled.
    first: Box<[u32; SLOTS]>,
    /// Arrivals by port, then ports that become free.
    entries: Box<[Entry]>,
}

/// Ports of a switch that become free after its window.
#[derive(Debug)]
pub struct Later {
    /// When the first of them does.
    at: Time,
    ports: Vec<(Time, PortId)>,
}

/// An entry of a slot that has come up: when, and which.
type Due = (Time, u32);

/// Stands for none.
const NOTHING: Due = (Time::NEVER, NONE);

#[derive(Clone, Copy, Debug)]
struct Entry {
    time: Time,
    /// Another one in its slot.
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

impl Default for Later {
    fn default() -> Self {
        Self {
            at: Time::NEVER,
            ports: Vec::new(),
        }
    }
}

impl Later {
    /// Those that become free before `end`.
    pub fn before(&self, end: Time) -> impl Iterator<Item = PortId> {
        let ports = self.ports.iter().filter(move |(time, _)| *time < end);
        ports.map(|&(_, port)| port)
    }
    /// When the first port becomes free.
    pub fn time(&self) -> Time {
        self.at
    }
}

impl Agenda {
    /// Nothing to do at switches of so many ports at most. Windows last `lookahead` at most, if they are to be
    /// fast.
    pub fn new(ports: usize, lookahead: Time) -> Self {
        let blank = Entry {
            time: Time::NEVER,
            next: NONE,
        };
        let slot = lookahead.as_ps().div_ceil(SLOTS as u64);
        Self {
            window: (Time::ZERO, Time::ZERO),
            slot_bits: slot.next_power_of_two().trailing_zeros(),
            words: 0,
            filled: [0; WORDS],
            unopened: 0,
            head: NOTHING,
            due: Vec::with_capacity(2 * ports),
            first: Box::new([NONE; SLOTS]),
            entries: vec![blank; 2 * ports].into_boxed_slice(),
        }
    }

    /// Begins a window of a switch, which has had `later` to do after those before.
    #[inline]
    pub fn open(&mut self, end: Time, later: &mut Later) {
        debug_assert!(
            self.words == 0 && self.due.is_empty() && self.head == NOTHING,
            "a window is done to its end"
        );
        let length = Time::from_ps((SLOTS as u64) << self.slot_bits);
        self.window = (end.saturating_sub(length), end);
        self.unopened = 0;
        if later.at < end {
            self.take(later);
        }
    }

    #[inline(never)]
    fn take(&mut self, later: &mut Later) {
        later.at = Time::NEVER;
        later.ports.retain(|&(time, port)| {
            let stays = time >= self.window.1;
            match stays {
                true => later.at = later.at.min(time),
                false => self.add(time, self.ready(port)),
            }
            stays
        });
    }

    /// The place of a port that becomes free.
    #[inline(always)]
    fn ready(&self, port: PortId) -> usize {
        self.entries.len() / 2 + usize::from(port)
    }

    /// When the first thing is due in the window; [`Time::NEVER`] if there is nothing left.
    #[inline(always)]
    pub fn first_time(&mut self) -> Time {
        if self.head.1 == NONE {
            match self.due.pop() {
                Some(due) => self.head = due,
                None if self.words != 0 => self.open_next(),
                None => {}
            }
        }
        self.head.0
    }

    /// The next slot comes up.
    #[inline(always)]
    fn open_next(&mut self) {
        let word = self.words.trailing_zeros() as usize % WORDS;
        let bits = self.filled[word];
        let slot = word * WORD + bits.trailing_zeros() as usize % WORD;
        let bits = bits & bits.wrapping_sub(1);
        self.filled[word] = bits;
        if bits == 0 {
            self.words &= self.words.wrapping_sub(1);
        }
        self.unopened = slot + 1;
        let at = self.first[slot];
        let Entry { time, next } = self.entries[at as usize];
        self.head = (time, at);
        if next != NONE {
            self.open_rest(next);
        }
    }

    /// The first entry of a slot has come up; this is the next one.
    #[inline(never)]
    fn open_rest(&mut self, mut at: u32) {
        self.due.push(self.head);
        while at != NONE {
            let Entry { time, next } = self.entries[at as usize];
            self.due.push((time, at));
            at = next;
        }
        self.due.sort_unstable_by(|a, b| b.cmp(a));
        self.head = self.due.pop().unwrap_or(NOTHING);
    }

    /// The first thing in the window, whose time has been asked for, and of which there must be one.
    #[inline(always)]
    pub fn take_first(&mut self) -> Item {
        let entry = std::mem::replace(&mut self.head, NOTHING).1;
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

    /// A port becomes free, maybe `later`.
    #[inline]
    pub fn add_ready(&mut self, time: Time, port: PortId, later: &mut Later) {
        if time < self.window.1 {
            return self.add(time, self.ready(port));
        }
        later.ports.push((time, port));
        later.at = later.at.min(time);
    }

    #[inline(always)]
    fn add(&mut self, time: Time, place: usize) {
        let since = time.saturating_sub(self.window.0).as_ps();
        let slot = (since >> self.slot_bits) as usize % SLOTS;
        if slot < self.unopened {
            return self.insert(time, place as u32);
        }
        let bits = &mut self.filled[slot / WORD];
        let bit = 1 << (slot % WORD);
        let next = match *bits & bit {
            0 => NONE,
            _ => self.first[slot],
        };
        *bits |= bit;
        self.words |= 1 << (slot / WORD);
        self.first[slot] = place as u32;
        self.entries[place] = Entry { time, next };
    }

    /// Adds an entry to a slot that has come up.
    #[inline(never)]
    fn insert(&mut self, time: Time, place: u32) {
        let mut due = (time, place);
        if self.head.1 == NONE && self.due.is_empty() {
            self.head = due;
            return;
        }
        if self.head.1 != NONE && due < self.head {
            due = std::mem::replace(&mut self.head, due);
        }
        let at = self.due.partition_point(|other| *other > due);
        self.due.insert(at, due);
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
            let mut later = Later::default();
            let mut sorted: Vec<(u64, bool, usize)> = Vec::new();
            let mut start = 0;
            for (length, entries) in windows {
                let end = start + length;
                agenda.open(Time::from_ps(end), &mut later);
                for (port, is_ready, after) in entries {
                    let time = start + after;
                    let has = sorted.iter().any(|&(_, kind, of)| (kind, of) == (is_ready, port));
                    if has || (!is_ready && time >= end) {
                        continue;
                    }
                    match is_ready {
                        true => agenda.add_ready(Time::from_ps(time), port as PortId, &mut later),
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
                prop_assert_eq!(later.time(), next);
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
