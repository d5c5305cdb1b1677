//! WRED as switches apply it: marks packets that are ECN-capable, and drops the others.
//!
//! # What it does
//!
//! A packet that arrives finds a queue. Up to `kmin` it passes; above, the switch acts with a probability that grows to `pmax`
//! at `kmax`; above `kmax` it always acts. To act is to mark a packet whose ECN field is ECT, and to drop any other.
//!
//! # Source
//!
//! K. Ramakrishnan et al., RFC 3168, section 5: a router that would drop a packet marks it instead if it is ECN-capable. SONiC's
//! `WRED_PROFILE` with `ecn = ecn_all`, and SAI's WRED object. Two flows in one queue of which only one is ECN-capable:
//! G. Judd, "Attaining the Promise and Avoiding the Pitfalls of TCP in the Datacenter", NSDI 2015, section 5.
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `kmin` | bytes | 1 048 576 | SONiC's profile AZURE_LOSSLESS |
//! | `kmax` | bytes | 2 097 152 | SONiC's profile AZURE_LOSSLESS |
//! | `pmax` | fraction | 5 % | SONiC's profile AZURE_LOSSLESS |
//!
//! # Departures
//!
//! The queue length is the instantaneous one, as in switches whose averaging has weight 0, SAI's default. All packets of a queue
//! have one color.

use rand_core::Rng;

use super::{Indifference, Mechanism, Packet, Queue, Verdict, red};
use crate::state_visitor::Show;
use crate::units::{Fraction, Time};

/// Parameters of WRED.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Every packet passes that finds a queue of at most this length, in bytes.
    pub kmin: u64,
    /// Every packet that finds more than this, in bytes, is marked or dropped.
    pub kmax: u64,
    /// Probability at `kmax`.
    pub pmax: Fraction,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            kmin: 1_048_576,
            kmax: 2_097_152,
            pmax: Fraction::from_ppm(50_000),
        }
    }
}

/// State of WRED: its curve.
#[derive(Clone, Debug, Show)]
pub struct Wred {
    #[show(skip)]
    curve: red::Params,
}

impl Wred {
    /// A queue with these parameters.
    pub fn new<R: Rng>(params: &Params, _rng: &mut R) -> Self {
        let Params { kmin, kmax, pmax } = *params;
        Self {
            curve: red::Params { kmin, kmax, pmax },
        }
    }
}

impl Mechanism for Wred {
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
        rng: &mut R,
    ) -> Verdict {
        let found = queue.bytes.saturating_sub(packet.bytes.into());
        if !(found > self.curve.kmin && self.curve.acts(found, rng)) {
            Verdict::Pass
        } else if packet.ect {
            Verdict::MarkCe
        } else {
            Verdict::Drop
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// The fate of 100,000 packets of 1,000 B that find this much: marked, dropped.
    fn fates(params: Params, found: u64, ect: bool) -> (u32, u32) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut wred = Wred::new(&params, &mut rng);
        let packet = Packet {
            bytes: 1000,
            ect,
            enqueued_at: Time::ZERO,
        };
        let queue = Queue {
            bytes: found + 1000,
            packets: 9,
        };
        let (mut marked, mut dropped) = (0, 0);
        for _ in 0..100_000 {
            match wred.on_enqueue(Time::ZERO, &packet, queue, &mut rng) {
                Verdict::MarkCe => marked += 1,
                Verdict::Drop => dropped += 1,
                _ => {}
            }
        }
        (marked, dropped)
    }

    #[test]
    fn the_capable_are_marked_and_the_others_dropped() {
        let params = Params::default();
        for ect in [true, false] {
            assert_eq!(fates(params, 1_048_576, ect), (0, 0));
        }
        assert_eq!(fates(params, 2_097_153, true), (100_000, 0));
        assert_eq!(fates(params, 2_097_153, false), (0, 100_000));
    }

    #[test]
    fn both_by_the_same_curve() {
        let params = Params {
            pmax: Fraction::of(1, 2),
            ..Params::default()
        };
        // Half way 25 %; four standard deviations are 0.55 %.
        let (marked, dropped) = fates(params, 1_572_864, true);
        assert!(marked.abs_diff(25_000) < 550 && dropped == 0, "{marked}");
        assert_eq!(fates(params, 1_572_864, false), (0, marked));
    }
}
