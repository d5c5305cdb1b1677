//! Inboxes: what is in flight to each node.

use unpause_protocols::state_visitor::{Show, StateVisitor};
use unpause_protocols::units::Time;

use crate::engine::arrivals::Arrivals;
use crate::engine::ring::Ring;
use crate::fabric::packet::Packet;
use crate::fabric::ports::Ports;
use crate::fabric::{NodeId, PortId};
use crate::prefetch::{prefetch, prefetch_at};

/// Packets of an inbox that are prefetched before they are taken: what is behind them the processor prefetches itself.
const MOST_AHEAD: usize = 6;
/// Room of a pile that has any, at first.
const FIRST_SIZE: usize = 4;

/// Packets in flight to every node.
#[derive(Debug)]
pub struct Inboxes {
    of: Vec<Inbox>,
    /// Packets taken by the switch that ran last. The next switch reuses this memory for its own, so that
    /// it writes where the processor has just read.
    taken: Vec<Packet>,
    /// The wires into switches that packets are on for many windows.
    far: Vec<FarWires>,
}

/// Packets in flight to a node, by all wires but far ones: those of each port in order of time.
#[derive(Clone, Debug)]
struct Inbox {
    packets: Vec<Packet>,
    /// How many of them its host has taken.
    first: u32,
    /// Where in `far` its far wires are.
    far: u32,
}

/// An [`Inbox::far`] of a node without such wires.
const NONE: u32 = u32::MAX;

/// The far wires into one switch.
#[derive(Debug)]
struct FarWires {
    wires: Vec<FarWire>,
    /// Of each port, which wire leads there, if it is one of them.
    into: Vec<Option<u16>>,
}

/// One of them.
#[derive(Debug)]
struct FarWire {
    /// When the next packet arrives.
    head: Time,
    packets: Ring,
}

/// Adds a packet and answers its place, for what is to be changed in it: writing there is cheaper than changing the packet
/// before it is copied.
#[inline(always)]
fn push<'p>(pile: &'p mut Vec<Packet>, packet: &Packet) -> &'p mut Packet {
    let at = pile.len();
    if at == pile.capacity() {
        return push_beyond(pile, packet);
    }
    pile.push(*packet);
    &mut pile[at]
}

#[cold]
#[inline(never)]
fn push_beyond<'p>(pile: &'p mut Vec<Packet>, packet: &Packet) -> &'p mut Packet {
    pile.reserve_exact(pile.len().max(FIRST_SIZE));
    push(pile, packet)
}

impl Inboxes {
    /// Empty ones for all nodes.
    pub fn new(ports: &Ports) -> Self {
        let mut far = Vec::new();
        let nodes = 0..ports.nodes() as NodeId;
        let of = nodes.map(|node| {
            let wires = FarWires::new(node, ports);
            let mut inbox = Inbox {
                packets: Vec::new(),
                first: 0,
                far: NONE,
            };
            if !wires.wires.is_empty() {
                inbox.far = far.len() as u32;
                far.push(wires);
            }
            inbox
        });
        Self {
            of: of.collect(),
            taken: Vec::new(),
            far,
        }
    }

    /// Puts a packet on the way to port `local` of `node`, by a wire that is not far, to arrive at `arrival` with `flags`
    /// set besides its own.
    #[inline(always)]
    pub fn push(
        &mut self,
        (node, local): (NodeId, PortId),
        packet: &Packet,
        arrival: Time,
        flags: u8,
    ) {
        let slot = push(&mut self.of[node as usize].packets, packet);
        slot.ingress = local;
        slot.time = arrival;
        // From where it is now: else the copy would be of pieces that are not those in which it was written.
        slot.bits |= flags;
    }

    /// Puts the packet at `place` of those taken on the way, as [`Self::push`] does.
    #[inline(always)]
    pub fn pass_on(&mut self, (node, local): (NodeId, PortId), place: u32, arrival: Time) {
        let packet = &self.taken[place as usize];
        let slot = push(&mut self.of[node as usize].packets, packet);
        slot.ingress = local;
        slot.time = arrival;
    }

    /// Puts a packet on the way to port `local` of `node` by any wire; it says when it arrives.
    pub fn put(&mut self, (node, local): (NodeId, PortId), packet: &Packet) {
        let far = self.far.get_mut(self.of[node as usize].far as usize);
        match far.and_then(|far| far.into(local)) {
            Some(wire) => wire.push(packet, local),
            None => self.push((node, local), packet, packet.time, 0),
        }
    }

    /// The same with one that may overtake those on the wire that arrive later.
    #[cold]
    #[inline(never)]
    pub fn put_early(&mut self, (node, local): (NodeId, PortId), packet: &Packet) {
        let far = self.far.get_mut(self.of[node as usize].far as usize);
        if let Some(wire) = far.and_then(|far| far.into(local)) {
            return wire.push_early(packet, local);
        }
        let packets = &mut self.of[node as usize].packets;
        let is_later = |it: &Packet| it.ingress == local && it.time > packet.time;
        // Frames of a wire are in order.
        let at = packets.iter().position(is_later).unwrap_or(packets.len());
        let ingress = local;
        packets.insert(at, Packet { ingress, ..*packet });
    }

    /// Takes what arrives at switch `node`, of this many `ports`, from `start` on and before `end`; answers when the first
    /// packet does that is left. Those taken stay at their places until this is called again.
    #[inline(never)]
    pub fn take_until(
        &mut self,
        (node, ports): (NodeId, usize),
        (start, end): (Time, Time),
        arrivals: &mut Arrivals,
    ) -> Time {
        let inbox = &mut self.of[node as usize];
        let mut after = Time::NEVER;
        if inbox.far != NONE {
            for wire in &mut self.far[inbox.far as usize].wires {
                after = after.min(wire.take_until(end, &mut inbox.packets));
            }
        }
        debug_assert!(are_fifos(&inbox.packets, ports), "a wire is a FIFO");
        let count = arrivals.take(&inbox.packets, ports, (start, end));
        if count == 0 {
            let times = inbox.packets.iter().map(|packet| packet.time);
            return times.fold(after, Time::min);
        }
        self.taken.clear();
        std::mem::swap(&mut self.taken, &mut inbox.packets);
        if count < self.taken.len() {
            let left = self.taken.iter();
            for packet in left.filter(|packet| packet.time >= end) {
                after = after.min(packet.time);
                push(&mut inbox.packets, packet);
            }
        }
        after
    }

    /// The packet at a place of those taken.
    #[inline(always)]
    pub fn at(&self, place: u32) -> &Packet {
        &self.taken[place as usize]
    }

    /// Puts what is in flight to a host by several wires in order: by time, then by port. All that arrives in its window is
    /// there when that begins.
    pub fn sort(&mut self, node: NodeId) {
        let inbox = &mut self.of[node as usize];
        let left = &mut inbox.packets[inbox.first as usize..];
        left.sort_by_key(|packet| (packet.time, packet.ingress));
    }

    /// The next packet to host `node`.
    #[inline(always)]
    pub fn first(&self, node: NodeId) -> Option<&Packet> {
        let inbox = &self.of[node as usize];
        inbox.packets.get(inbox.first as usize)
    }

    /// The packets on their way to host `node`, in order.
    pub fn waiting(&self, node: NodeId) -> &[Packet] {
        let inbox = &self.of[node as usize];
        &inbox.packets[inbox.first as usize..]
    }

    /// When the next packet to host `node` arrives; [`Time::NEVER`] if there is none.
    #[inline(always)]
    pub fn head(&self, node: NodeId) -> Time {
        self.first(node).map_or(Time::NEVER, |packet| packet.time)
    }

    /// Takes the next packet to host `node`. There must be one.
    #[inline(always)]
    pub fn pop(&mut self, node: NodeId) -> Packet {
        let inbox = &mut self.of[node as usize];
        debug_assert!((inbox.first as usize) < inbox.packets.len(), "there is one");
        let packet = inbox.packets[inbox.first as usize];
        debug_assert!(
            inbox.packets[inbox.first as usize..].is_sorted_by_key(|packet| packet.time),
            "a wire is a FIFO"
        );
        inbox.first += 1;
        if inbox.first as usize == inbox.packets.len() {
            // What was used last is what is in the caches.
            inbox.packets.clear();
            inbox.first = 0;
        }
        packet
    }

    /// The window of host `node` is over: makes room where half of it is of packets that have been taken.
    #[inline(always)]
    pub fn close(&mut self, node: NodeId) {
        let inbox = &mut self.of[node as usize];
        if inbox.first as usize * 2 > inbox.packets.len() {
            inbox.packets.drain(..inbox.first as usize);
            inbox.first = 0;
        }
    }

    /// Takes everything off the wire into port `local` of `node`.
    pub fn lose(&mut self, (node, local): (NodeId, PortId)) -> Vec<Packet> {
        let inbox = &mut self.of[node as usize];
        inbox.packets.drain(..inbox.first as usize);
        inbox.first = 0;
        let on_wire = |packet: &mut Packet| packet.ingress == local;
        let mut lost: Vec<Packet> = inbox.packets.extract_if(.., on_wire).collect();
        let far = self.far.get_mut(inbox.far as usize);
        if let Some(wire) = far.and_then(|far| far.into(local)) {
            while !wire.packets.is_empty() {
                lost.push(wire.packets.pop());
            }
            wire.set_head();
        }
        lost
    }

    /// Prefetches the inbox of `node`.
    #[inline]
    pub fn prefetch(&self, node: NodeId) {
        prefetch(&self.of[node as usize]);
    }

    /// Prefetches the place of the next packet to `node`.
    #[inline]
    pub fn prefetch_push(&self, node: NodeId) {
        let packets = &self.of[node as usize].packets;
        prefetch_at(packets.as_ptr().wrapping_add(packets.len()));
    }

    /// Prefetches the packets that `node` takes first.
    #[inline]
    pub fn prefetch_packets(&self, node: NodeId) {
        let inbox = &self.of[node as usize];
        let packets = inbox.packets.iter().skip(inbox.first as usize);
        packets.take(MOST_AHEAD).for_each(prefetch);
    }

    /// Shows what is in flight.
    pub fn show<L: StateVisitor>(&mut self, visitor: &mut L) {
        for inbox in &mut self.of {
            let Inbox {
                packets,
                first,
                far: _,
            } = inbox;
            let packets = &mut packets[*first as usize..];
            visitor.same(packets.len() as u64);
            packets.iter_mut().for_each(|packet| packet.show(visitor));
        }
        for wire in self.far.iter_mut().flat_map(|far| &mut far.wires) {
            wire.packets.show(visitor);
            wire.set_head();
        }
    }

    /// Every packet in flight.
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        let near = self
            .of
            .iter()
            .flat_map(|inbox| &inbox.packets[inbox.first as usize..]);
        let far = self.far.iter().flat_map(|far| &far.wires);
        near.chain(far.flat_map(|wire| wire.packets.iter()))
    }
}

/// True if those of each of this many ports are in order of time.
fn are_fifos(packets: &[Packet], ports: usize) -> bool {
    let mut last = vec![Time::ZERO; ports];
    packets.iter().all(|packet| {
        let before = std::mem::replace(&mut last[usize::from(packet.ingress)], packet.time);
        before <= packet.time
    })
}

impl FarWires {
    /// Those into `node`, empty.
    fn new(node: NodeId, ports: &Ports) -> Self {
        let mut wires = Vec::new();
        let into = ports.transmitters_of(node).iter().map(|out| {
            let is_far = ports.transmitters[out.peer_port as usize].is_far;
            is_far.then(|| {
                wires.push(FarWire {
                    head: Time::NEVER,
                    packets: Ring::default(),
                });
                wires.len() as u16 - 1
            })
        });
        let into = into.collect();
        Self { wires, into }
    }

    /// The one into a port, if that is far.
    fn into(&mut self, port: PortId) -> Option<&mut FarWire> {
        let at = self.into[usize::from(port)]?;
        Some(&mut self.wires[usize::from(at)])
    }
}

impl FarWire {
    fn push(&mut self, packet: &Packet, port: PortId) {
        self.head = self.head.min(packet.time);
        self.packets.push(packet).ingress = port;
    }

    fn push_early(&mut self, packet: &Packet, port: PortId) {
        self.packets.push(packet).ingress = port;
        self.packets.sort_newest();
        self.set_head();
    }

    /// Adds what arrives before `end` to what is taken; answers when the first packet does that is left.
    fn take_until(&mut self, end: Time, taken: &mut Vec<Packet>) -> Time {
        while self.head < end {
            push(taken, &self.packets.pop());
            self.set_head();
        }
        self.head
    }

    fn set_head(&mut self) {
        let first = self.packets.front();
        self.head = first.map_or(Time::NEVER, |packet| packet.time);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;
    use crate::fabric::packet::Kind;
    use crate::fabric::{Fabric, NodeKind};

    /// A switch and as many others, a wire of 1 us from each of them.
    const PORTS: u32 = 4;

    /// The switch's inbox; wires from the first of them on that are marked are far.
    fn inboxes(far: &[bool]) -> (Inboxes, Ports) {
        let links: Vec<_> = (1..=PORTS).map(|other| (0, other, 1)).collect();
        let nodes = vec![NodeKind::Switch; PORTS as usize + 1];
        let mut ports = Ports::new(&Fabric::of(nodes, &links));
        for (port, &is_far) in far.iter().enumerate() {
            let far_end = ports.transmitters[port].peer_port;
            ports.transmitters[far_end as usize].is_far = is_far;
        }
        (Inboxes::new(&ports), ports)
    }

    fn numbered(seq: u32, time: Time) -> Packet {
        Packet {
            seq,
            time,
            ..Packet::new(Kind::Data, 3, 0, 1048)
        }
    }

    proptest! {
        /// A packet that was put on a wire, far or not, is taken once, in order of time, then port.
        #[test]
        fn a_switch_takes_what_is_due(
            far in prop::collection::vec(any::<bool>(), PORTS as usize),
            steps in prop::collection::vec((0..PORTS, 0..10_u64, 0..30_u64), 0..300),
        ) {
            let (mut inboxes, ports) = inboxes(&far);
            let mut arrivals = Arrivals::default();
            let mut wires = vec![VecDeque::new(); PORTS as usize];
            let (mut now, mut last) = (0, vec![0; PORTS as usize]);
            for (number, (port, step, time)) in (0..).zip(steps) {
                if step > 0 {
                    // A wire is a FIFO.
                    let arrival = last[port as usize].max(now + time);
                    last[port as usize] = arrival;
                    let far_end = ports.transmitters[port as usize].peer_port;
                    let sender = &ports.transmitters[far_end as usize];
                    inboxes.put(sender.far_end(), &numbered(number, Time::from_ps(arrival)));
                    wires[port as usize].push_back((arrival, number));
                    continue;
                }
                let end = now + time;
                let window = (Time::from_ps(now), Time::from_ps(end));
                let after = inboxes.take_until((0, PORTS as usize), window, &mut arrivals);
                let mut expected = Vec::new();
                for (port, wire) in (0..).zip(&mut wires) {
                    while let Some(&(arrival, seq)) = wire.front() && arrival < end {
                        wire.pop_front();
                        expected.push((arrival, port, seq));
                    }
                }
                expected.sort_unstable();
                let taken: Vec<_> = (0..arrivals.len())
                    .filter_map(|at| arrivals.get(at))
                    .map(|(when, place)| (when.as_ps(), inboxes.at(place).ingress, inboxes.at(place).seq))
                    .collect();
                prop_assert_eq!(taken, expected);
                let first = wires.iter().filter_map(|wire| wire.front()).min();
                prop_assert_eq!(after, first.map_or(Time::NEVER, |(arrival, _)| Time::from_ps(*arrival)));
                now = end;
            }
            let mut left: Vec<u32> = inboxes.iter().map(|packet| packet.seq).collect();
            let mut expected: Vec<u32> = wires.iter().flatten().map(|(_, seq)| *seq).collect();
            left.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(left, expected);
        }

        /// A host takes packet after packet, and more come between its windows.
        #[test]
        fn a_host_takes_in_order(steps in prop::collection::vec((0..6_u32, 0..6_u32), 0..60)) {
            let (mut inboxes, _) = inboxes(&[]);
            let mut deque = VecDeque::new();
            let mut number = 0;
            for (pushes, pops) in steps {
                for _ in 0..pushes {
                    let arrival = Time::from_ps(number.into());
                    inboxes.push((1, 0), &numbered(number, Time::ZERO), arrival, 0);
                    deque.push_back(number);
                    number += 1;
                }
                for _ in 0..pops.min(deque.len() as u32) {
                    prop_assert_eq!(Some(inboxes.pop(1).seq), deque.pop_front());
                }
                inboxes.close(1);
                let head = deque.front().map_or(Time::NEVER, |seq| Time::from_ps(u64::from(*seq)));
                prop_assert_eq!(inboxes.head(1), head);
                let all: Vec<u32> = inboxes.iter().map(|packet| packet.seq).collect();
                prop_assert_eq!(all, deque.iter().copied().collect::<Vec<_>>());
            }
        }
    }

    /// A packet that continues, as if it were put on the way.
    #[test]
    fn passes_on_what_has_been_taken() {
        let (mut inboxes, _) = inboxes(&[]);
        let us = Time::from_us;
        inboxes.push((0, 2), &numbered(7, Time::ZERO), us(1), 0);
        let mut arrivals = Arrivals::default();
        let after = inboxes.take_until((0, PORTS as usize), (Time::ZERO, us(2)), &mut arrivals);
        assert_eq!((after, arrivals.len()), (Time::NEVER, 1));
        let (_, place) = arrivals.get(0).expect("one has come");
        inboxes.pass_on((1, 0), place, us(3));
        let packet = inboxes.pop(1);
        assert_eq!((packet.seq, packet.ingress, packet.time), (7, 0, us(3)));
    }
}
