//! The packet memory of an input port: units linked to virtual output queues.
//!
//! A frame takes whole units. The first one, its head, stands for it: queues are lists of heads, and an
//! array of culprits, where there is one, leads from any unit to the head.

use rand_core::Rng;
use unpause_protocols::congestion_point::culprit::{CulpritArray, Word};
use unpause_protocols::congestion_point::qcn::Selection;

use crate::chassis::culprit::largest;
use crate::fabric::packet::{Kind, Packet};

/// Ends a list of units.
const NONE: u32 = u32::MAX;
/// Words of the array of culprits that are read at once: 320 bits, 16 words.
const ROW: usize = 16;

#[derive(Clone, Copy, Debug)]
struct Unit {
    /// In a head: the frame.
    packet: Packet,
    /// The frame's next unit; the next free one.
    next: u32,
    /// In a head: the next frame of the queue.
    next_frame: u32,
}

/// Frames of one (input, output, class) that wait to cross.
#[derive(Clone, Copy, Debug)]
struct Voq {
    head: u32,
    tail: u32,
    /// The oldest frame that has not been granted.
    not_granted: u32,
}

/// The memory of one input port.
#[derive(Debug)]
pub struct Memory {
    units: Vec<Unit>,
    /// Free units are used in turn, so that frames lie scattered.
    first_free: u32,
    last_free: u32,
    /// By output, then class.
    voqs: Vec<Voq>,
    unit_bytes: u32,
    culprits: Option<CulpritArray<Box<[Word]>>>,
}

impl Memory {
    /// `units` free units of `unit_bytes`, and `voqs` empty queues.
    pub fn new(units: usize, unit_bytes: u32, voqs: usize, culprits: bool) -> Self {
        let unit = |at: usize| Unit {
            packet: Packet::new(Kind::Data, 0, 0, 0),
            next: if at + 1 < units { at as u32 + 1 } else { NONE },
            next_frame: NONE,
        };
        let empty = Voq {
            head: NONE,
            tail: NONE,
            not_granted: NONE,
        };
        Self {
            units: (0..units).map(unit).collect(),
            first_free: if units > 0 { 0 } else { NONE },
            last_free: (units as u32).wrapping_sub(1),
            voqs: vec![empty; voqs],
            unit_bytes,
            culprits: culprits.then(|| CulpritArray::new(vec![Word::default(); units].into(), ROW)),
        }
    }

    /// Bytes of the units that a frame takes.
    #[inline]
    pub fn bytes_of(&self, packet: &Packet) -> u32 {
        u32::from(packet.bytes).div_ceil(self.unit_bytes) * self.unit_bytes
    }

    /// Adds a frame of `class` to a queue. There must be room.
    pub fn push(&mut self, packet: &Packet, class: u8, voq: usize) {
        let head = self.first_free;
        let mut unit = head;
        for _ in 0..u32::from(packet.bytes).div_ceil(self.unit_bytes) {
            debug_assert_ne!(self.first_free, NONE, "admission leaves room");
            unit = self.first_free;
            self.first_free = self.units[unit as usize].next;
            if let Some(culprits) = &mut self.culprits {
                culprits.store(unit, class, head);
            }
        }
        self.units[unit as usize].next = NONE;
        let first = &mut self.units[head as usize];
        first.packet = *packet;
        first.next_frame = NONE;
        let voq = &mut self.voqs[voq];
        let tail = std::mem::replace(&mut voq.tail, head);
        if voq.head == NONE {
            voq.head = head;
        } else {
            self.units[tail as usize].next_frame = head;
        }
        if voq.not_granted == NONE {
            voq.not_granted = head;
        }
    }

    /// Size of the oldest frame of a queue that has not been granted; there must be one.
    pub fn next_bytes(&self, voq: usize) -> u16 {
        let head = self.voqs[voq].not_granted;
        self.units[head as usize].packet.bytes
    }

    /// The oldest frame of a queue that has not been granted is granted now.
    pub fn grant(&mut self, voq: usize) {
        let voq = &mut self.voqs[voq];
        voq.not_granted = self.units[voq.not_granted as usize].next_frame;
    }

    /// Takes the oldest frame out of its queue, which has been granted; it keeps its memory. Answers its
    /// head, too.
    pub fn pop(&mut self, voq: usize) -> (Packet, u32) {
        let voq = &mut self.voqs[voq];
        let head = voq.head;
        debug_assert_ne!(head, voq.not_granted, "only a granted frame leaves");
        let unit = &self.units[head as usize];
        voq.head = unit.next_frame;
        (unit.packet, head)
    }

    /// Frees the memory of the frame at `head`; answers how many bytes that is.
    pub fn free(&mut self, head: u32) -> u32 {
        let mut unit = head;
        let mut last = head;
        let mut bytes = 0;
        while unit != NONE {
            bytes += self.unit_bytes;
            if let Some(culprits) = &mut self.culprits {
                culprits.free(unit);
            }
            last = unit;
            unit = self.units[unit as usize].next;
        }
        if self.first_free == NONE {
            self.first_free = head;
        } else {
            self.units[self.last_free as usize].next = head;
        }
        self.last_free = last;
        bytes
    }

    /// A frame of the flow to be accused of congestion of `class`; `arrived` is the frame that has just been
    /// stored. `queues` are those of the class.
    pub fn culprit<R: Rng>(
        &self,
        selection: Selection,
        arrived: &Packet,
        class: u8,
        queues: impl Iterator<Item = usize>,
        rng: &mut R,
    ) -> Option<Packet> {
        match selection {
            Selection::Arrived => Some(*arrived),
            Selection::RandomUnit => {
                let head = self.culprits.as_ref()?.select(class, rng)?;
                Some(self.units[head as usize].packet)
            }
            Selection::Largest => largest(queues.flat_map(|voq| self.frames(voq))),
        }
    }

    /// The frames of a queue, oldest first.
    pub fn frames(&self, voq: usize) -> impl Iterator<Item = &Packet> {
        let mut at = self.voqs[voq].head;
        std::iter::from_fn(move || {
            let unit = self.units.get(at as usize)?;
            at = unit.next_frame;
            Some(&unit.packet)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use unpause_protocols::units::Time;

    fn frame(flow: u32, bytes: u16, us: u64) -> Packet {
        Packet {
            flow,
            time: Time::from_us(us),
            ..Packet::new(Kind::Data, 3, 0, bytes)
        }
    }

    /// Two queues: flow 1 holds 5 units in the first, flow 2 holds 6 + 6 and flow 3 holds 12 in the second.
    fn memory() -> Memory {
        let mut memory = Memory::new(64, 256, 2, true);
        memory.push(&frame(1, 1200, 1), 0, 0);
        memory.push(&frame(2, 1522, 2), 0, 1);
        memory.push(&frame(3, 3000, 3), 0, 1);
        memory.push(&frame(2, 1522, 4), 0, 1);
        memory
    }

    fn accused(memory: &Memory, queues: std::ops::Range<usize>) -> Option<u32> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let arrived = frame(9, 64, 5);
        let culprit = memory.culprit(Selection::Largest, &arrived, 0, queues, &mut rng);
        culprit.map(|packet| packet.flow)
    }

    #[test]
    fn who_holds_most_now_is_accused() {
        let mut memory = memory();
        assert_eq!(accused(&memory, 0..2), Some(2));
        memory.grant(1);
        let (packet, head) = memory.pop(1);
        assert_eq!((packet.flow, packet.time), (2, Time::from_us(2)));
        memory.free(head);
        assert_eq!(accused(&memory, 0..2), Some(3));
        assert_eq!(accused(&memory, 0..1), Some(1));
    }

    #[test]
    fn random_units_accuse_whoever_holds_memory() {
        let memory = memory();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut drawn = [0_u32; 4];
        for _ in 0..10_000 {
            let culprit =
                memory.culprit(Selection::RandomUnit, &frame(9, 64, 5), 0, 0..2, &mut rng);
            drawn[culprit.expect("memory is in use").flow as usize] += 1;
        }
        // Of 29 units 5, 12 and 12; rows of 16 favour those of the sparser row a little.
        assert!((1_500..2_100).contains(&drawn[1]), "{drawn:?}");
        assert!((3_600..4_600).contains(&drawn[2]), "{drawn:?}");
    }

    #[test]
    fn memory_comes_back() {
        let mut memory = Memory::new(12, 256, 1, true);
        for round in 0..100 {
            memory.push(&frame(round, 1522, 0), 0, 0);
            memory.push(&frame(round, 1400, 0), 0, 0);
            for bytes in [1522, 1400] {
                assert_eq!(memory.next_bytes(0), bytes);
                memory.grant(0);
                let (packet, head) = memory.pop(0);
                assert_eq!((packet.flow, packet.bytes), (round, bytes));
                memory.free(head);
            }
        }
        assert_eq!(accused(&memory, 0..1), None);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let arrived = frame(9, 64, 5);
        let culprit = memory.culprit(Selection::RandomUnit, &arrived, 0, 0..1, &mut rng);
        assert!(culprit.is_none());
    }
}
