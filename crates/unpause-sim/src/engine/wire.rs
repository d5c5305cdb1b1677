//! Wires: FIFOs of packets under way to a port.

use unpause_protocols::units::Time;

use crate::packet::{Kind, Packet};
use crate::ports::GlobalPort;
use crate::prefetch::prefetch;

/// Places of a wire that has any, at first.
const FIRST_SIZE: u32 = 4;

/// The wires into every port: rings that grow and never shrink, in one store.
#[derive(Debug)]
pub struct Wires {
    wires: Vec<Wire>,
    /// Packets of all of them.
    slots: Vec<Packet>,
    /// Where pieces of the store begin that nobody uses, by the power of two that their size is.
    unused: Unused,
}

type Unused = [Vec<u32>; u32::BITS as usize];

/// A wire: half a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Wire {
    /// When the next packet arrives.
    head: Time,
    /// Its piece of the store: where it begins, and its size, a power of two or none.
    base: u32,
    size: u32,
    start: u32,
    len: u32,
}

const _: () = assert!(size_of::<Wire>() == 32);

impl Wire {
    /// The place in the store of the packet `at` places behind the oldest.
    #[inline(always)]
    fn place(&self, at: u32) -> usize {
        let within = self.start.wrapping_add(at) & self.size.wrapping_sub(1);
        self.base as usize + within as usize
    }
}

impl Wires {
    /// Empty wires into `ports` ports.
    pub fn new(ports: usize) -> Self {
        let empty = Wire {
            head: Time::NEVER,
            base: 0,
            size: 0,
            start: 0,
            len: 0,
        };
        Self {
            wires: vec![empty; ports],
            // Takes no memory until it is used.
            slots: Vec::with_capacity(ports * FIRST_SIZE as usize),
            unused: Default::default(),
        }
    }
    /// Puts a packet on the wire into `port`, to arrive at `arrival` with `flags` set besides its
    /// own; true if the wire was empty.
    // A packet is changed where it is copied to: that is cheaper than to change it before.
    #[inline(always)]
    pub fn push(&mut self, port: GlobalPort, packet: &Packet, arrival: Time, flags: u8) -> bool {
        let wire = &mut self.wires[port as usize];
        if wire.len == wire.size {
            grow(wire, &mut self.slots, &mut self.unused);
        }
        let place = wire.place(wire.len);
        debug_assert!(
            wire.len == 0 || self.slots[wire.place(wire.len - 1)].time <= arrival,
            "a wire is a FIFO"
        );
        let was_empty = wire.len == 0;
        wire.len += 1;
        if was_empty {
            wire.head = arrival;
        }
        let slot = &mut self.slots[place];
        *slot = *packet;
        slot.time = arrival;
        slot.bits = packet.bits | flags;
        was_empty
    }
    /// Arrival time of the next packet into `port`; [`Time::NEVER`] when the wire is empty.
    #[inline]
    pub fn head(&self, port: GlobalPort) -> Time {
        self.wires[port as usize].head
    }
    /// Arrival times of the next packets into a range of ports; asks the memory for those that arrive
    /// before `end`.
    #[inline]
    pub fn heads(
        &self,
        ports: std::ops::Range<GlobalPort>,
        end: Time,
    ) -> impl Iterator<Item = Time> {
        let wires = &self.wires[ports.start as usize..ports.end as usize];
        wires.iter().map(move |wire| {
            if wire.head < end {
                self.prefetch_packet(wire, 0);
                self.prefetch_packet(wire, 1);
            }
            wire.head
        })
    }
    /// Asks the memory for the next packets into `port`.
    #[inline]
    pub fn prefetch(&self, port: GlobalPort) {
        let wire = &self.wires[port as usize];
        self.prefetch_packet(wire, 0);
        self.prefetch_packet(wire, 1);
    }
    #[inline]
    fn prefetch_packet(&self, wire: &Wire, at: u32) {
        if let Some(packet) = self.slots.get(wire.place(at)) {
            prefetch(packet);
        }
    }
    /// Asks the memory for the wire into `port`.
    #[inline]
    pub fn prefetch_wire(&self, port: GlobalPort) {
        prefetch(&self.wires[port as usize]);
    }
    /// Asks the memory for where the next packet goes that is put onto the wire into `port`.
    #[inline]
    pub fn prefetch_push(&self, port: GlobalPort) {
        let wire = &self.wires[port as usize];
        self.prefetch_packet(wire, wire.len);
    }
    /// The next packet into `port`.
    #[inline]
    pub fn front(&self, port: GlobalPort) -> Option<&Packet> {
        let wire = &self.wires[port as usize];
        (wire.len > 0).then(|| &self.slots[wire.place(0)])
    }
    /// Takes the next packet into `port`. There must be one.
    #[inline(always)]
    pub fn pop(&mut self, port: GlobalPort) -> Packet {
        let wire = &mut self.wires[port as usize];
        debug_assert!(wire.len > 0, "there is a packet to take");
        let packet = self.slots[wire.place(0)];
        wire.len -= 1;
        if wire.len == 0 {
            // What was used last is what is in the caches.
            wire.start = 0;
            wire.head = Time::NEVER;
        } else {
            wire.start = wire.start.wrapping_add(1);
            wire.head = self.slots[wire.place(0)].time;
            let wire = *wire;
            self.prefetch_packet(&wire, 1);
        }
        packet
    }
    /// Every packet under way.
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        let packets = move |wire: &Wire| {
            let wire = *wire;
            (0..wire.len).map(move |at| &self.slots[wire.place(at)])
        };
        self.wires.iter().flat_map(packets)
    }
}

/// Gives a full wire a piece of the store of twice the size.
#[cold]
#[inline(never)]
fn grow(wire: &mut Wire, slots: &mut Vec<Packet>, unused: &mut Unused) {
    let size = (wire.size * 2).max(FIRST_SIZE);
    let base = unused[size.ilog2() as usize].pop().unwrap_or_else(|| {
        let end = slots.len();
        let blank = Packet::new(Kind::Data, 0, 0, 0);
        slots.resize(end + size as usize, blank);
        u32::try_from(end).expect("fewer than 2^32 packets are under way")
    });
    for at in 0..wire.len {
        slots[(base + at) as usize] = slots[wire.place(at)];
    }
    if wire.size > 0 {
        unused[wire.size.ilog2() as usize].push(wire.base);
    }
    *wire = Wire {
        base,
        size,
        start: 0,
        ..*wire
    };
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    const PORTS: usize = 3;

    proptest! {
        #[test]
        fn behaves_as_a_deque_for_each_port(
            steps in prop::collection::vec((0..PORTS, prop::bool::weighted(0.6)), 0..400),
        ) {
            let mut wires = Wires::new(PORTS);
            let mut deques = [const { VecDeque::new() }; PORTS];
            for (number, (port, push)) in steps.into_iter().enumerate() {
                let (at, deque) = (port as GlobalPort, &mut deques[port]);
                if push || deque.is_empty() {
                    let packet = Packet { seq: number as u32, ..Packet::new(Kind::Data, 3, 0, 1048) };
                    let arrival = Time::from_ps(number as u64);
                    prop_assert_eq!(wires.push(at, &packet, arrival, 0), deque.is_empty());
                    deque.push_back(number as u32);
                } else {
                    prop_assert_eq!(wires.pop(at).seq, deque.pop_front().unwrap());
                }
                let front = deque.front().copied();
                prop_assert_eq!(wires.front(at).map(|packet| packet.seq), front);
                let time = front.map_or(Time::NEVER, |number| Time::from_ps(number.into()));
                prop_assert_eq!(wires.head(at), time);
                let all: Vec<u32> = wires.iter().map(|packet| packet.seq).collect();
                prop_assert_eq!(all, deques.iter().flatten().copied().collect::<Vec<_>>());
            }
        }
    }
}
