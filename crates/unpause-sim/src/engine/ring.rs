//! A FIFO of packets in a ring that grows and never shrinks.

use unpause_protocols::state_visitor::{Show, StateVisitor};

use crate::fabric::packet::{Kind, Packet};
use crate::prefetch::prefetch;

/// The FIFO.
#[derive(Debug, Default)]
pub struct Ring {
    /// A power of two of them, or none.
    slots: Box<[Packet]>,
    start: u32,
    len: u32,
}

impl Ring {
    /// How many packets are in it.
    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }
    /// True if there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    #[inline]
    fn index(&self, at: u32) -> usize {
        (self.start.wrapping_add(at)) as usize & self.slots.len().wrapping_sub(1)
    }
    /// The oldest.
    #[inline]
    pub fn front(&self) -> Option<&Packet> {
        if self.len == 0 {
            None
        } else {
            Some(&self.slots[self.index(0)])
        }
    }
    /// Adds a packet and answers its place, for what is to be changed in it: writing there is
    /// cheaper than changing the packet before it is copied.
    #[inline(always)]
    pub fn push(&mut self, packet: &Packet) -> &mut Packet {
        if self.len as usize == self.slots.len() {
            self.grow();
        }
        let at = self.index(self.len);
        self.len += 1;
        let slot = &mut self.slots[at];
        *slot = *packet;
        slot
    }
    /// Takes the oldest. The ring must not be empty.
    #[inline]
    pub fn pop(&mut self) -> Packet {
        debug_assert!(self.len > 0, "there is a packet to take");
        let packet = self.slots[self.index(0)];
        self.len -= 1;
        // What was used last is what is in the caches.
        self.start = match self.len {
            0 => 0,
            _ => self.start.wrapping_add(1),
        };
        packet
    }
    /// Takes the newest, if there is one.
    #[cold]
    pub fn pop_newest(&mut self) -> Option<Packet> {
        self.len = self.len.checked_sub(1)?;
        Some(self.slots[self.index(self.len)])
    }
    /// Moves the newest before those that arrive later.
    #[cold]
    pub fn sort_newest(&mut self) {
        for at in (1..self.len).rev() {
            let (before, this) = (self.index(at - 1), self.index(at));
            if self.slots[before].time <= self.slots[this].time {
                return;
            }
            self.slots.swap(before, this);
        }
    }
    /// Every packet, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.from(0)
    }
    /// Every packet but the `first` oldest.
    pub fn from(&self, first: u32) -> impl Iterator<Item = &Packet> {
        (first..self.len).map(|at| &self.slots[self.index(at)])
    }
    /// Prefetches the oldest packet, or the place where the first one goes.
    #[inline]
    pub fn prefetch(&self) {
        if let Some(packet) = self.slots.get(self.index(0)) {
            prefetch(packet);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(4);
        let blank = Packet::new(Kind::Data, 0, 0, 0);
        let mut slots: Vec<Packet> = self.iter().copied().collect();
        slots.resize(size, blank);
        self.slots = slots.into_boxed_slice();
        self.start = 0;
    }
}

/// Shows every packet.
impl Show for Ring {
    fn show<L: StateVisitor>(&mut self, visitor: &mut L) {
        visitor.same(self.len.into());
        for at in 0..self.len {
            let index = self.index(at);
            self.slots[index].show(visitor);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_as_a_deque(pushes in prop::collection::vec(any::<bool>(), 0..300)) {
            let mut ring = Ring::default();
            let mut deque = VecDeque::new();
            for (number, push) in pushes.into_iter().enumerate() {
                if push || deque.is_empty() {
                    let packet = Packet::new(Kind::Data, 3, 0, 1048);
                    ring.push(&packet).seq = number as u32;
                    deque.push_back(number as u32);
                } else {
                    prop_assert_eq!(ring.pop().seq, deque.pop_front().unwrap());
                }
                prop_assert_eq!(ring.front().map(|p| p.seq), deque.front().copied());
                let all: Vec<u32> = ring.iter().map(|p| p.seq).collect();
                prop_assert_eq!(all, Vec::from(deque.clone()));
            }
        }
    }
}
