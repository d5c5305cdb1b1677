//! RED on the instantaneous queue: the congestion point of DCQCN.
//!
//! # What it does
//!
//! Marks a departing packet with a probability that grows with the bytes it leaves behind: none up to
//! `kmin`, `pmax` at `kmax`, certainty above.
//!
//! # Source
//!
//! Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, congestion
//! point; evaluated at dequeue as in ns3-rdma.
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `kmin` | bytes | 5000 | DCQCN paper, 40 Gb/s |
//! | `kmax` | bytes | 200 000 | DCQCN paper, 40 Gb/s |
//! | `pmax` | fraction | 1 % | DCQCN paper |
//!
//! # Departures
//!
//! None from the paper's law; where it is evaluated is ns3-rdma's choice.

use rand_core::Rng;

use super::{Indifference, Mechanism, Packet, Queue, Verdict};
use crate::state_visitor::Show;
use crate::units::{Fraction, Time};

/// Parameters of RED.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// No marking up to this queue length, in bytes.
    pub kmin: u64,
    /// Every packet is marked above this queue length, in bytes.
    pub kmax: u64,
    /// Marking probability at `kmax`.
    pub pmax: Fraction,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            kmin: 5_000,
            kmax: 200_000,
            pmax: Fraction::from_ppm(10_000),
        }
    }
}

impl Params {
    /// Decides by chance whether RED acts at this queue length, which is above `kmin`.
    #[inline(never)]
    pub(super) fn acts<R: Rng>(&self, bytes: u64, rng: &mut R) -> bool {
        bytes > self.kmax || self.falls_below(bytes, rng.next_u32())
    }

    /// True when a draw uniform over `u32` falls below the probability for `bytes`, which lie between `kmin` and `kmax`.
    fn falls_below(&self, bytes: u64, draw: u32) -> bool {
        let Self { kmin, kmax, pmax } = *self;
        let probability = u128::from(pmax.as_q32()) * u128::from(bytes - kmin);
        u128::from(draw) * u128::from(kmax - kmin) < probability
    }
}

/// State of RED: its parameters.
#[derive(Clone, Debug, Show)]
pub struct Red {
    #[show(skip)]
    params: Params,
}

impl Red {
    /// A marker with these parameters.
    pub fn new<R: Rng>(params: &Params, _rng: &mut R) -> Self {
        Self { params: *params }
    }
}

impl Mechanism for Red {
    fn indifference(&self) -> Indifference {
        Indifference {
            to_dequeue_below: self.params.kmin.saturating_add(1),
            ..Indifference::TO_ALL
        }
    }

    #[inline]
    fn on_dequeue<R: Rng>(
        &mut self,
        _now: Time,
        packet: &Packet,
        queue: Queue,
        rng: &mut R,
    ) -> Verdict {
        if packet.ect && queue.bytes > self.params.kmin && self.params.acts(queue.bytes, rng) {
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

    fn marked(params: Params, bytes: u64, ect: bool) -> u32 {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut red = Red::new(&params, &mut rng);
        let packet = Packet {
            bytes: 1000,
            ect,
            enqueued_at: Time::ZERO,
        };
        let queue = Queue {
            bytes,
            packets: u32::MAX,
        };
        let mark = |_| red.on_dequeue(Time::ZERO, &packet, queue, &mut rng) == Verdict::MarkCe;
        (0..100_000).map(mark).map(u32::from).sum()
    }

    #[test]
    fn nothing_is_marked_up_to_kmin_and_everything_above_kmax() {
        let params = Params::default();
        assert_eq!(marked(params, 5_000, true), 0);
        assert_eq!(marked(params, 200_001, true), 100_000);
        assert_eq!(marked(params, 200_001, false), 0);
    }

    #[test]
    fn between_the_thresholds_marking_is_linear() {
        let params = Params {
            pmax: Fraction::from_ppm(500_000),
            ..Params::default()
        };
        // Half way 25 %, at the end 50 %; four standard deviations are 0.6 %.
        assert!(marked(params, 102_500, true).abs_diff(25_000) < 600);
        assert!(marked(params, 200_000, true).abs_diff(50_000) < 700);
        let paper = Params::default();
        assert!(marked(paper, 200_000, true).abs_diff(1_000) < 130);
    }

    #[test]
    fn probability_is_exact_at_the_edges_of_a_draw() {
        let params = Params {
            kmin: 0,
            kmax: 4,
            pmax: Fraction::ONE,
        };
        assert!(params.falls_below(1, (1 << 30) - 1));
        assert!(!params.falls_below(1, 1 << 30));
        assert!(params.falls_below(4, u32::MAX));
    }

    #[test]
    fn equal_thresholds_make_a_step() {
        let params = Params {
            kmin: 1000,
            kmax: 1000,
            pmax: Fraction::ONE,
        };
        assert_eq!(marked(params, 1000, true), 0);
        assert_eq!(marked(params, 1001, true), 100_000);
    }
}
