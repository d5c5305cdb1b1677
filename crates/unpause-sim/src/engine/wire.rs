//! Wires: FIFOs of packets under way to a port.

use unpause_protocols::units::Time;

use crate::engine::ring::Ring;
use crate::packet::Packet;
use crate::ports::GlobalPort;

/// The wires into every port.
#[derive(Debug)]
pub struct Wires {
    rings: Vec<Ring>,
    head: Vec<Time>,
}

impl Wires {
    /// Empty wires into `ports` ports.
    pub fn new(ports: usize) -> Self {
        Self {
            rings: (0..ports).map(|_| Ring::default()).collect(),
            head: vec![Time::NEVER; ports],
        }
    }
    /// Puts a packet on the wire into `port`, to arrive at `arrival` with `flags` set besides its
    /// own; true if the wire was empty.
    #[inline(always)]
    pub fn push(&mut self, port: GlobalPort, packet: &Packet, arrival: Time, flags: u8) -> bool {
        let ring = &mut self.rings[port as usize];
        debug_assert!(
            ring.back().is_none_or(|last| last.time <= arrival),
            "a wire is a FIFO"
        );
        let was_empty = ring.is_empty();
        let slot = ring.push(packet);
        slot.time = arrival;
        slot.bits = packet.bits | flags;
        if was_empty {
            self.head[port as usize] = arrival;
        }
        was_empty
    }
    /// Arrival time of the next packet into `port`; [`Time::NEVER`] when the wire is empty.
    #[inline]
    pub fn head(&self, port: GlobalPort) -> Time {
        self.head[port as usize]
    }
    /// Arrival times of the next packets into a range of ports.
    #[inline]
    pub fn heads(&self, ports: std::ops::Range<GlobalPort>) -> &[Time] {
        &self.head[ports.start as usize..ports.end as usize]
    }
    /// Asks the memory for the next packets into `port`.
    #[inline]
    pub fn prefetch(&self, port: GlobalPort) {
        let ring = &self.rings[port as usize];
        ring.prefetch(0);
        ring.prefetch(1);
    }
    /// Takes the next packet into `port`.
    #[inline(always)]
    pub fn pop(&mut self, port: GlobalPort) -> Packet {
        let ring = &mut self.rings[port as usize];
        let packet = ring.pop();
        let next = ring.front().map_or(Time::NEVER, |next| next.time);
        ring.prefetch(1);
        self.head[port as usize] = next;
        packet
    }
    /// Every packet under way.
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.rings.iter().flat_map(Ring::iter)
    }
}
