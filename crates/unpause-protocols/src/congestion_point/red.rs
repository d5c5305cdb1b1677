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

use super::{Mechanism, Packet, Queue, Verdict};
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

/// State of RED: its parameters.
#[derive(Clone, Debug)]
pub struct Red {
    params: Params,
}

impl Red {
    /// A marker with these parameters.
    pub fn new<R: Rng>(params: &Params, _rng: &mut R) -> Self {
        Self { params: *params }
    }

    /// True when a draw uniform over `u32` falls below the marking probability for `bytes`, which lie
    /// between `kmin` and `kmax`.
    fn falls_below(&self, bytes: u64, draw: u32) -> bool {
        let Params { kmin, kmax, pmax } = self.params;
        let probability = u128::from(pmax.as_q32()) * u128::from(bytes - kmin);
        u128::from(draw) * u128::from(kmax - kmin) < probability
    }
}

impl Mechanism for Red {
    #[inline]
    fn on_dequeue<R: Rng>(
        &mut self,
        _now: Time,
        packet: &Packet,
        queue: Queue,
        rng: &mut R,
    ) -> Verdict {
        if !packet.ect || queue.bytes <= self.params.kmin {
            Verdict::Pass
        } else if queue.bytes > self.params.kmax || self.falls_below(queue.bytes, rng.next_u32()) {
            Verdict::MarkCe
        } else {
            Verdict::Pass
        }
    }
}
