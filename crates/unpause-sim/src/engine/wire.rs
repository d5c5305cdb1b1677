//! Wires: FIFOs of packets under way to a port.

use std::ops::Range;

use unpause_protocols::ledger::Ledger;
use unpause_protocols::units::Time;

use crate::engine::arrivals::{Arrivals, MOST_PLACES};
use crate::fabric::PortId;
use crate::packet::{Kind, Packet};
use crate::ports::GlobalPort;
use crate::prefetch::prefetch;

/// Places of a wire that has any, at first.
const FIRST_SIZE: u32 = 4;
/// Packets of a wire that are asked for before they are taken: what is behind them the processor asks for itself.
const MOST_AHEAD: u32 = 6;

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

    /// Takes the oldest packet away.
    #[inline(always)]
    fn drop_first(&mut self, slots: &[Packet]) {
        self.len -= 1;
        if self.len == 0 {
            // What was used last is what is in the caches.
            self.start = 0;
            self.head = Time::NEVER;
        } else {
            self.start = self.start.wrapping_add(1);
            self.head = slots[self.place(0)].time;
        }
    }

    /// Takes packets away that arrive before `end`.
    #[inline(always)]
    fn take_until(&mut self, end: Time, slots: &[Packet], arrivals: &mut Arrivals) {
        let wire = *self;
        let mut head = wire.head;
        let count = arrivals.add(wire.len, |at| {
            let place = wire.place(at);
            head = slots[place].time;
            (head < end).then_some((head, place))
        });
        self.len -= count;
        if self.len == 0 {
            // What was used last is what is in the caches.
            self.start = 0;
            self.head = Time::NEVER;
        } else {
            self.start = wire.start.wrapping_add(count);
            self.head = head;
        }
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
    /// Puts a packet on the wire into `port`, whose number at its node is `local`, to arrive at `arrival` with `flags`
    /// set besides its own; true if the wire was empty.
    // A packet is changed where it is copied to: that is cheaper than to change it before.
    #[inline(always)]
    pub fn push(
        &mut self,
        (port, local): (GlobalPort, PortId),
        packet: &Packet,
        arrival: Time,
        flags: u8,
    ) -> bool {
        let (place, was_empty) = self.lengthen(port, arrival);
        let slot = &mut self.slots[place];
        *slot = *packet;
        slot.ingress = local;
        slot.time = arrival;
        // From where it is now: else the copy would be of pieces that are not those in which it was written.
        slot.bits |= flags;
        was_empty
    }
    /// Puts the packet at `place` of the store on the wire into `port`, as [`Self::push`] does.
    #[inline(always)]
    pub fn pass_on(
        &mut self,
        (port, local): (GlobalPort, PortId),
        place: u32,
        arrival: Time,
    ) -> bool {
        let (to, was_empty) = self.lengthen(port, arrival);
        let packet = self.slots[place as usize];
        let slot = &mut self.slots[to];
        *slot = packet;
        slot.time = arrival;
        slot.ingress = local;
        was_empty
    }
    /// Makes place for a packet on the wire into `port`; answers where, and whether the wire was empty.
    #[inline(always)]
    fn lengthen(&mut self, port: GlobalPort, arrival: Time) -> (usize, bool) {
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
        (place, was_empty)
    }
    /// Arrival time of the next packet into `port`; [`Time::NEVER`] when the wire is empty.
    #[inline]
    pub fn head(&self, port: GlobalPort) -> Time {
        self.wires[port as usize].head
    }
    /// Takes what arrives at a range of ports before `end`; answers when the first packet does that is left.
    /// Packets stay at their places while nothing is put onto these wires.
    #[inline(never)]
    pub fn take_until(
        &mut self,
        ports: Range<GlobalPort>,
        end: Time,
        arrivals: &mut Arrivals,
    ) -> Time {
        let slots = &self.slots[..];
        let mut after = Time::NEVER;
        let wires = &mut self.wires[ports.start as usize..ports.end as usize];
        for wire in wires {
            if wire.head < end {
                wire.take_until(end, slots, arrivals);
            }
            after = after.min(wire.head);
        }
        after
    }
    /// Asks the memory for the packets that arrive first at a range of ports, before `end`.
    #[inline]
    pub fn prefetch_until(&self, ports: Range<GlobalPort>, end: Time) {
        let wires = &self.wires[ports.start as usize..ports.end as usize];
        for wire in wires.iter().filter(|wire| wire.head < end) {
            for at in 0..wire.len.min(MOST_AHEAD) {
                self.prefetch_packet(wire, at);
            }
        }
    }
    /// The packet at a place of the store.
    #[inline(always)]
    pub fn at(&self, place: u32) -> &Packet {
        &self.slots[place as usize]
    }
    /// The next packet into `port`.
    #[inline]
    pub fn first(&self, port: GlobalPort) -> Option<&Packet> {
        let wire = &self.wires[port as usize];
        (wire.len > 0).then(|| &self.slots[wire.place(0)])
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
    /// Takes the next packet into `port`. There must be one.
    #[inline(always)]
    pub fn pop(&mut self, port: GlobalPort) -> Packet {
        let wire = &mut self.wires[port as usize];
        debug_assert!(wire.len > 0, "there is a packet to take");
        let packet = self.slots[wire.place(0)];
        wire.drop_first(&self.slots);
        packet
    }
    /// Shows what is under way.
    pub fn show<L: Ledger>(&mut self, ledger: &mut L) {
        for wire in &mut self.wires {
            ledger.same(wire.len.into());
            for at in 0..wire.len {
                self.slots[wire.place(at)].show(ledger);
            }
            if wire.len > 0 {
                wire.head = self.slots[wire.place(0)].time;
            }
        }
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
        u32::try_from(end + size as usize)
            .ok()
            .filter(|end| *end <= MOST_PLACES)
            .expect("fewer than 2^28 packets are under way");
        end as u32
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
            steps in prop::collection::vec((0..PORTS, 0..10_u32, 0_u64..40), 0..400),
        ) {
            let mut wires = Wires::new(PORTS);
            let mut deques = [const { VecDeque::new() }; PORTS];
            for (number, (port, step, back)) in (0_u32..).zip(steps) {
                let (at, deque) = (port as GlobalPort, &mut deques[port]);
                if step == 0 {
                    let end = Time::from_ps(u64::from(number).saturating_sub(back));
                    let mut arrivals = Arrivals::default();
                    let after = wires.take_until(0..PORTS as GlobalPort, end, &mut arrivals);
                    arrivals.sort(end);
                    let taken = (0..arrivals.len()).map(|at| arrivals.get(at).unwrap());
                    let taken: Vec<_> = taken.map(|(when, place)| (when, wires.at(place).ingress, wires.at(place).seq)).collect();
                    let mut expected = Vec::new();
                    for (port, deque) in (0..).zip(&mut deques) {
                        while let Some(&seq) = deque.front() && Time::from_ps(u64::from(seq)) < end {
                            expected.push((Time::from_ps(u64::from(seq)), port, seq));
                            deque.pop_front();
                        }
                    }
                    expected.sort_unstable();
                    prop_assert_eq!(taken, expected);
                    let first = deques.iter().filter_map(VecDeque::front).min();
                    prop_assert_eq!(after, first.map_or(Time::NEVER, |seq| Time::from_ps(u64::from(*seq))));
                } else if step < 7 || deque.is_empty() {
                    let packet = Packet { seq: number, ..Packet::new(Kind::Data, 3, 0, 1048) };
                    let arrival = Time::from_ps(number.into());
                    prop_assert_eq!(wires.push((at, port as PortId), &packet, arrival, 0), deque.is_empty());
                    deque.push_back(number);
                } else {
                    prop_assert_eq!(wires.pop(at).seq, deque.pop_front().unwrap());
                }
                for (port, deque) in (0..).zip(&deques) {
                    let time = deque.front().map_or(Time::NEVER, |seq| Time::from_ps(u64::from(*seq)));
                    prop_assert_eq!(wires.head(port), time);
                }
                let all: Vec<u32> = wires.iter().map(|packet| packet.seq).collect();
                prop_assert_eq!(all, deques.iter().flatten().copied().collect::<Vec<_>>());
            }
        }

        /// A packet that goes from one wire to the next, as if it were put there.
        #[test]
        fn passes_on_what_it_holds(seqs in prop::collection::vec(any::<u32>(), 1..40)) {
            let mut wires = Wires::new(2);
            for (number, &seq) in (0..).zip(&seqs) {
                let packet = Packet { seq, ..Packet::new(Kind::Data, 3, 0, 1048) };
                wires.push((0, 0), &packet, Time::from_ps(number), 0);
            }
            let mut arrivals = Arrivals::default();
            let end = Time::from_ps(seqs.len() as u64);
            wires.take_until(0..1, end, &mut arrivals);
            arrivals.sort(end);
            for at in 0..seqs.len() {
                let (when, place) = arrivals.get(at).unwrap();
                prop_assert_eq!(wires.pass_on((1, 0), place, when * 2), at == 0);
            }
            for (number, seq) in (0..).zip(seqs) {
                let packet = wires.pop(1);
                prop_assert_eq!((packet.seq, packet.time), (seq, Time::from_ps(2 * number)));
            }
        }
    }
}
