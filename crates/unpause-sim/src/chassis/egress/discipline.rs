//! In which order an egress (port, class) serves the packets that wait for it.

use std::collections::VecDeque;

use unpause_protocols::state_visitor::{Show, StateVisitor};
use unpause_protocols::units::Time;

use crate::config::Queueing;
use crate::engine::ring::Ring;
use crate::fabric::PortId;
use crate::fabric::packet::Packet;

/// Packets waiting.
#[derive(Debug)]
pub enum Discipline {
    /// In order of arrival.
    Fifo(Ring),
    /// One packet of each ingress port in turn.
    Voq(Box<Turns>),
}

/// A queue for each ingress port, served round-robin.
#[derive(Debug)]
pub struct Turns {
    queues: Vec<Ring>,
    /// Ingress ports with packets, the next to be served first.
    turns: VecDeque<PortId>,
    len: u32,
}

impl Discipline {
    /// Nothing waiting, at a switch of `ports` ports.
    pub fn new(queueing: Queueing, ports: usize) -> Self {
        match queueing {
            Queueing::Fifo => Self::Fifo(Ring::default()),
            Queueing::Voq => Self::Voq(Box::new(Turns {
                queues: (0..ports).map(|_| Ring::default()).collect(),
                turns: VecDeque::new(),
                len: 0,
            })),
        }
    }
    /// How many packets there are.
    #[inline]
    pub fn len(&self) -> u32 {
        match self {
            Self::Fifo(ring) => ring.len(),
            Self::Voq(turns) => turns.len,
        }
    }
    /// True if there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Adds a packet that came in by port `from` and answers its place.
    #[inline(always)]
    pub fn push(&mut self, packet: &Packet, from: PortId) -> &mut Packet {
        match self {
            Self::Fifo(ring) => ring.push(packet),
            Self::Voq(turns) => turns.push(packet, from),
        }
    }
    /// Bytes of the next packet; none if there is none.
    pub fn head_bytes(&self) -> u32 {
        let ring = match self {
            Self::Fifo(ring) => Some(ring),
            Self::Voq(turns) => turns
                .turns
                .front()
                .map(|from| &turns.queues[*from as usize]),
        };
        let head = ring.and_then(Ring::front);
        head.map_or(0, |packet| u32::from(packet.bytes))
    }
    /// Prefetches the next packet, or the place of the next one to be added.
    #[inline]
    pub fn prefetch(&self) {
        if let Self::Fifo(ring) = self {
            ring.prefetch();
        }
    }
    /// Takes the next packet. There must be one.
    #[inline]
    pub fn pop(&mut self) -> Packet {
        match self {
            Self::Fifo(ring) => {
                let packet = ring.pop();
                ring.prefetch();
                packet
            }
            Self::Voq(turns) => turns.pop(),
        }
    }
    /// The packet that came last, where packets leave in order of arrival.
    #[cold]
    pub fn newest(&self) -> Option<&Packet> {
        match self {
            Self::Fifo(ring) => ring.from(ring.len().checked_sub(1)?).next(),
            Self::Voq(_) => None,
        }
    }
    /// Takes the packet that [`Self::newest`] says.
    #[cold]
    pub fn pop_newest(&mut self) -> Option<Packet> {
        match self {
            Self::Fifo(ring) => ring.pop_newest(),
            Self::Voq(_) => None,
        }
    }
    /// Shows every packet, and whose turn it is.
    pub fn show<L: StateVisitor>(&mut self, visitor: &mut L) {
        match self {
            Self::Fifo(ring) => ring.show(visitor),
            Self::Voq(all) => {
                let Turns { queues, turns, len } = &mut **all;
                visitor.same(u64::from(*len));
                for from in turns {
                    visitor.same(u64::from(*from));
                    queues[*from as usize].show(visitor);
                }
            }
        }
    }
    /// Since when a packet has been waiting.
    pub fn since(&self) -> Option<Time> {
        match self {
            Self::Fifo(ring) => ring.front().map(|packet| packet.time),
            Self::Voq(turns) => {
                let heads = turns.queues.iter().filter_map(Ring::front);
                heads.map(|packet| packet.time).min()
            }
        }
    }
    /// Every packet.
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        let rings = match self {
            Self::Fifo(ring) => std::slice::from_ref(ring),
            Self::Voq(turns) => &turns.queues,
        };
        rings.iter().flat_map(Ring::iter)
    }
}

impl Turns {
    fn push(&mut self, packet: &Packet, from: PortId) -> &mut Packet {
        let queue = &mut self.queues[from as usize];
        if queue.is_empty() {
            self.turns.push_back(from);
        }
        self.len += 1;
        queue.push(packet)
    }

    fn pop(&mut self) -> Packet {
        let from = self.turns.pop_front().expect("a packet is waiting");
        let queue = &mut self.queues[from as usize];
        let packet = queue.pop();
        if !queue.is_empty() {
            self.turns.push_back(from);
        }
        self.len -= 1;
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::packet::Kind;

    fn served(queueing: Queueing, arrivals: &[PortId]) -> Vec<(PortId, u32)> {
        let mut queue = Discipline::new(queueing, 4);
        for (number, &from) in arrivals.iter().enumerate() {
            let slot = queue.push(&Packet::new(Kind::Data, 3, 0, 1048), from);
            slot.seq = number as u32;
            slot.ingress = from;
        }
        assert_eq!(queue.iter().count(), arrivals.len());
        let served = (0..arrivals.len()).map(|_| queue.pop());
        let served = served.map(|packet| (packet.ingress, packet.seq)).collect();
        assert!(queue.is_empty());
        served
    }

    #[test]
    fn fifo_serves_in_order_of_arrival() {
        let expected = [(2, 0), (2, 1), (2, 2), (0, 3), (1, 4), (0, 5)];
        assert_eq!(served(Queueing::Fifo, &[2, 2, 2, 0, 1, 0]), expected);
    }

    #[test]
    fn voq_serves_ingress_ports_in_turn_and_each_in_order() {
        let expected = [(2, 0), (0, 3), (1, 4), (2, 1), (0, 5), (2, 2)];
        assert_eq!(served(Queueing::Voq, &[2, 2, 2, 0, 1, 0]), expected);
    }
}
