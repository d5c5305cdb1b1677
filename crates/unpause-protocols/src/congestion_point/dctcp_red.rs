//! DCTCP-RED: ECN at one queue length.
//!
//! # What it does
//!
//! Marks an arriving packet that finds a queue at or above a threshold: RED on the instantaneous queue
//! with Kmin = Kmax. A packet that cannot be marked joins all the same; dropping is left to the buffer.
//!
//! # Source
//!
//! M. Alizadeh et al., "Data Center TCP", SIGCOMM 2010, section 3.1; in the form of the ECN# authors'
//! ns-3 code (snowzjx/ns3-ecn-sharp).
//!
//! # Parameters
//!
//! | name | unit | default | `average` | origin |
//! |---|---|---|---|---|
//! | `threshold` | bytes or packets | 250 KB | 80 KB | ECN# paper, testbed: K from the 90th percentile RTT and from the average |
//!
//! # Departures
//!
//! - The queue is measured before the packet joins, K itself marks, and a queue of one packet never
//!   does, as in the authors' code; the DCTCP paper marks strictly above K.
//! - The code counts packets; bytes are ours, for the thresholds that the paper gives in bytes.

use rand_core::Rng;

use super::{Indifference, Mechanism, Packet, Queue, Verdict};
use crate::state_visitor::Show;
use crate::units::Time;

/// A queue length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// In bytes.
    Bytes(u64),
    /// In packets.
    Packets(u32),
}

/// Parameters of DCTCP-RED.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// K: a packet that finds at least this much is marked.
    pub threshold: Threshold,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            threshold: Threshold::Bytes(250_000),
        }
    }
}

impl Params {
    /// DCTCP-RED-AVG of the testbed: K from the average RTT.
    pub const fn average() -> Self {
        Self {
            threshold: Threshold::Bytes(80_000),
        }
    }
}

/// State of DCTCP-RED: its parameters.
#[derive(Clone, Debug, Show)]
pub struct DctcpRed {
    #[show(skip)]
    params: Params,
}

impl DctcpRed {
    /// A marker with these parameters.
    pub fn new<R: Rng>(params: &Params, _rng: &mut R) -> Self {
        Self { params: *params }
    }
}

impl Mechanism for DctcpRed {
    fn indifference(&self) -> Indifference {
        Indifference {
            to_enqueue: false,
            to_enqueue_behind: false,
            ..Indifference::TO_ALL
        }
    }

    #[inline]
    fn on_enqueue<R: Rng>(
        &mut self,
        _now: Time,
        packet: &Packet,
        queue: Queue,
        _rng: &mut R,
    ) -> Verdict {
        let packets = queue.packets.saturating_sub(1);
        let reached = match self.params.threshold {
            Threshold::Bytes(k) => queue.bytes.saturating_sub(u64::from(packet.bytes)) >= k,
            Threshold::Packets(k) => packets >= k,
        };
        if packet.ect && reached && packets > 1 {
            Verdict::MarkCe
        } else {
            Verdict::Pass
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// The verdict on a packet that finds this many others of its size.
    fn verdict(threshold: Threshold, found: u32, ect: bool) -> Verdict {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut red = DctcpRed::new(&Params { threshold }, &mut rng);
        let packet = Packet {
            bytes: 1000,
            ect,
            enqueued_at: Time::ZERO,
        };
        let queue = Queue {
            bytes: u64::from(found + 1) * 1000,
            packets: found + 1,
        };
        red.on_enqueue(Time::ZERO, &packet, queue, &mut rng)
    }

    #[test]
    fn a_packet_that_finds_the_threshold_is_marked() {
        for threshold in [Threshold::Packets(40), Threshold::Bytes(40_000)] {
            assert_eq!(verdict(threshold, 39, true), Verdict::Pass);
            assert_eq!(verdict(threshold, 40, true), Verdict::MarkCe);
            assert_eq!(verdict(threshold, 40, false), Verdict::Pass);
        }
        assert_eq!(verdict(Threshold::Bytes(40_001), 40, true), Verdict::Pass);
    }

    #[test]
    fn a_single_packet_is_no_queue() {
        for threshold in [Threshold::Packets(0), Threshold::Bytes(0)] {
            assert_eq!(verdict(threshold, 0, true), Verdict::Pass);
            assert_eq!(verdict(threshold, 1, true), Verdict::Pass);
            assert_eq!(verdict(threshold, 2, true), Verdict::MarkCe);
        }
    }

    #[test]
    fn the_threshold_of_the_testbed_is_250_kilobytes() {
        let Params { threshold } = Params::default();
        assert_eq!(verdict(threshold, 249, true), Verdict::Pass);
        assert_eq!(verdict(threshold, 250, true), Verdict::MarkCe);
    }
}
