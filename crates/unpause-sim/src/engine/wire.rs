//! Wires: FIFOs of packets under way to a port.

use unpause_protocols::units::Time;

use crate::engine::ring::Ring;
use crate::packet::Packet;
use crate::ports::GlobalPort;
use crate::prefetch::prefetch;

/// The wires into every port.
#[derive(Debug)]
pub struct Wires {
    wires: Vec<Wire>,
}

/// A wire: half a cache line.
#[derive(Debug)]
#[repr(align(32))]
struct Wire {
    packets: Ring,
    /// Arrival time of the first of them.
    head: Time,
}

const _: () = assert!(size_of::<Wire>() == 32);

impl Wires {
    /// Empty wires into `ports` ports.
    pub fn new(ports: usize) -> Self {
        let empty = |_| Wire {
            packets: Ring::default(),
            head: Time::NEVER,
        };
        Self {
            wires: (0..ports).map(empty).collect(),
        }
    }
    /// Puts a packet on the wire into `port`, to arrive at `arrival` with `flags` set besides its
    /// own; true if the wire was empty.
    #[inline(always)]
    pub fn push(&mut self, port: GlobalPort, packet: &Packet, arrival: Time, flags: u8) -> bool {
        let Wire { packets, head } = &mut self.wires[port as usize];
        debug_assert!(
            packets.back().is_none_or(|last| last.time <= arrival),
            "a wire is a FIFO"
        );
        let was_empty = packets.is_empty();
        let slot = packets.push(packet);
        slot.time = arrival;
        slot.bits = packet.bits | flags;
        if was_empty {
            *head = arrival;
        }
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
                wire.packets.prefetch(0);
                wire.packets.prefetch(1);
            }
            wire.head
        })
    }
    /// Asks the memory for the next packets into `port`.
    #[inline]
    pub fn prefetch(&self, port: GlobalPort) {
        let packets = &self.wires[port as usize].packets;
        packets.prefetch(0);
        packets.prefetch(1);
    }
    /// Asks the memory for the wire into `port`.
    #[inline]
    pub fn prefetch_wire(&self, port: GlobalPort) {
        prefetch(&self.wires[port as usize]);
    }
    /// Asks the memory for where the next packet goes that is put onto the wire into `port`.
    #[inline]
    pub fn prefetch_push(&self, port: GlobalPort) {
        self.wires[port as usize].packets.prefetch_push();
    }
    /// The next packet into `port`.
    #[inline]
    pub fn front(&self, port: GlobalPort) -> Option<&Packet> {
        self.wires[port as usize].packets.front()
    }
    /// Takes the next packet into `port`.
    #[inline(always)]
    pub fn pop(&mut self, port: GlobalPort) -> Packet {
        let Wire { packets, head } = &mut self.wires[port as usize];
        let packet = packets.pop();
        *head = packets.front().map_or(Time::NEVER, |next| next.time);
        packets.prefetch(1);
        packet
    }
    /// Every packet under way.
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.wires.iter().flat_map(|wire| wire.packets.iter())
    }
}
