//! Content of an egress queue by flow and ingress, brought up to date on demand.
//!
//! Switches keep no such counts: nothing is done when a packet passes. Each time, only what has come and
//! gone since the last is gone through, so that a queue may be asked often.

use std::collections::VecDeque;

use unpause_protocols::units::Time;

use crate::engine::ring::Ring;
use crate::fabric::packet::Packet;
use crate::fabric::{NodeId, PortId};

/// The identity of a packet in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    time: Time,
    flow: u32,
    ingress: PortId,
    bytes: u16,
}

impl Entry {
    fn of(packet: &Packet) -> Self {
        Self {
            time: packet.time,
            flow: packet.flow,
            ingress: packet.ingress,
            bytes: packet.bytes,
        }
    }
}

/// Bytes of one flow that came by one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The flow.
    pub flow: u32,
    /// The port.
    pub ingress: PortId,
    /// Host that it came from.
    pub src: NodeId,
    packets: u32,
    /// Bytes in the queue.
    pub bytes: u64,
}

/// The queue as it was when it was last asked.
#[derive(Clone, Debug, Default)]
pub struct Mirror {
    entries: VecDeque<Entry>,
    /// By flow, then ingress.
    parts: Vec<Part>,
}

impl Mirror {
    /// Catches up with a queue that is served in order of arrival.
    pub fn follow(&mut self, queue: &Ring) {
        let Some(front) = queue.front().map(Entry::of) else {
            return self.clear();
        };
        while self.entries.front().is_some_and(|entry| *entry != front) {
            self.drop_oldest();
        }
        let known = self.entries.len() as u32;
        let last = self.entries.back();
        let as_known = known <= queue.len()
            && last.is_none_or(|last| queue.from(known - 1).next().map(Entry::of) == Some(*last));
        if !as_known {
            self.clear();
        }
        for packet in queue.from(self.entries.len() as u32) {
            self.join(packet);
        }
    }

    /// Goes through the whole of a queue that is not.
    pub fn count<'a>(&mut self, packets: impl Iterator<Item = &'a Packet>) {
        self.clear();
        for packet in packets {
            self.join(packet);
        }
    }

    /// Counts a packet that is about to join the queue.
    pub fn join(&mut self, packet: &Packet) {
        let entry = Entry::of(packet);
        self.entries.push_back(entry);
        match self.place(&entry) {
            Ok(at) => {
                self.parts[at].packets += 1;
                self.parts[at].bytes += u64::from(entry.bytes);
            }
            Err(at) => {
                let part = Part {
                    flow: entry.flow,
                    ingress: entry.ingress,
                    src: packet.src,
                    packets: 1,
                    bytes: u64::from(entry.bytes),
                };
                self.parts.insert(at, part);
            }
        }
    }

    /// Content of the queue by flow, then ingress.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.parts.clear();
    }

    fn drop_oldest(&mut self) {
        let Some(entry) = self.entries.pop_front() else {
            return;
        };
        if let Ok(at) = self.place(&entry) {
            let part = &mut self.parts[at];
            part.packets -= 1;
            part.bytes -= u64::from(entry.bytes);
            if part.packets == 0 {
                self.parts.remove(at);
            }
        }
    }

    fn place(&self, entry: &Entry) -> Result<usize, usize> {
        let key = (entry.flow, entry.ingress);
        self.parts
            .binary_search_by_key(&key, |part| (part.flow, part.ingress))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fabric::packet::Kind;

    fn packet(time: u64, flow: u32, ingress: PortId) -> Packet {
        Packet {
            time: Time::from_ns(time),
            flow,
            ingress,
            ..Packet::new(Kind::Data, 3, 0, 1048)
        }
    }

    proptest! {
        /// Whatever comes and goes between two questions, the answer is that of counting everything; a
        /// packet that was announced and did not come is forgotten.
        #[test]
        fn it_knows_what_counting_would_tell(
            steps in prop::collection::vec((0u8..5, 0u32..4, 0u16..3), 1..300),
        ) {
            let (mut queue, mut mirror) = (Ring::default(), Mirror::default());
            for (time, (what, flow, ingress)) in steps.into_iter().enumerate() {
                let packet = packet(time as u64, flow, ingress);
                match what {
                    0 | 1 => {
                        queue.push(&packet);
                    }
                    2 if !queue.is_empty() => {
                        queue.pop();
                    }
                    3 => {
                        mirror.follow(&queue);
                        mirror.join(&packet);
                    }
                    _ => {
                        mirror.follow(&queue);
                        let mut counted = Mirror::default();
                        counted.count(queue.iter());
                        prop_assert_eq!(mirror.parts(), counted.parts());
                    }
                }
            }
        }
    }
}
