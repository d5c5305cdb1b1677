//! In-band telemetry: the records that switches write into packets, kept beside the packets.
//!
//! A packet that asks for it carries the number of a place in the records of its shard in `stamp`, and its
//! ACK brings it back. What goes to another shard takes its record along, in the batch. Numbers say nothing of
//! the run: results do not depend on them.

use serde::{Deserialize, Serialize};
use slab::Slab;
use unpause_protocols::congestion_control::Hop;
use unpause_protocols::congestion_control::hpcc::MOST_HOPS;
use unpause_protocols::units::{Rate, Time};

use crate::fabric::packet::Packet;

/// The hops of one packet.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Record {
    hops: [Hop; MOST_HOPS],
    count: u8,
}

impl Record {
    fn new() -> Self {
        let blank = Hop {
            time: Time::ZERO,
            tx_bytes: 0,
            queue_bytes: 0,
            rate: Rate::ZERO,
        };
        Self {
            hops: [blank; MOST_HOPS],
            count: 0,
        }
    }

    /// In order; those beyond the room that there is are not there.
    pub fn hops(&self) -> &[Hop] {
        &self.hops[..usize::from(self.count)]
    }
}

/// Records of the packets in a shard.
#[derive(Debug, Default)]
pub struct Telemetry {
    records: Slab<Record>,
}

impl Telemetry {
    /// A place for the hops of a packet.
    pub fn open(&mut self) -> u64 {
        self.records.insert(Record::new()) as u64
    }

    /// A hop writes into a packet that asks for telemetry. Returns false if the packet has no room left.
    pub fn write(&mut self, packet: &Packet, hop: Hop) -> bool {
        let Some(record) = self.records.get_mut(packet.stamp as usize) else {
            return true;
        };
        let place = record.hops.get_mut(usize::from(record.count));
        let fits = place.is_some();
        if let Some(place) = place {
            *place = hop;
            record.count += 1;
        }
        fits
    }

    /// Takes the record of a packet, if it has one: it has come to its end, or leaves the shard.
    #[inline]
    pub fn take(&mut self, packet: &Packet) -> Option<Record> {
        if packet.has_telemetry() {
            self.remove(packet.stamp)
        } else {
            None
        }
    }

    #[inline(never)]
    fn remove(&mut self, place: u64) -> Option<Record> {
        self.records.try_remove(place as usize)
    }

    /// True if no packet has a record.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Gives a packet that has come from another shard its record.
    pub fn put(&mut self, packet: &mut Packet, record: Record) {
        packet.stamp = self.records.insert(record) as u64;
    }
}
