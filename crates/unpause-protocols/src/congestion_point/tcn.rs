//! TCN: ECN on the time a packet waited.
//!
//! # What it does
//!
//! Marks a departing packet that waited longer than a threshold: the same as a queue length threshold
//! for one queue, and right for each of several queues however the scheduler shares the link.
//!
//! # Source
//!
//! W. Bai et al., "Enabling ECN over Generic Packet Scheduling", CoNEXT 2016; comparison in the ECN#
//! paper (IEEE TCC 2022).
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `threshold` | time | 150 us | ECN# paper, scheduler experiment |
//!
//! # Departures
//!
//! None.

use rand_core::Rng;

use super::{Indifference, Mechanism, Packet, Queue, Verdict};
use crate::state_visitor::Show;
use crate::units::Time;

/// Parameters of TCN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Mark above this waiting time.
    pub threshold: Time,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            threshold: Time::from_us(150),
        }
    }
}

/// State of TCN: its parameters.
#[derive(Clone, Debug, Show)]
pub struct Tcn {
    #[show(skip)]
    params: Params,
}

impl Tcn {
    /// A marker with these parameters.
    pub fn new<R: Rng>(params: &Params, _rng: &mut R) -> Self {
        Self { params: *params }
    }
}

impl Mechanism for Tcn {
    fn indifference(&self) -> Indifference {
        Indifference {
            to_dequeue_below: 0,
            ..Indifference::TO_ALL
        }
    }

    #[inline]
    fn on_dequeue<R: Rng>(
        &mut self,
        now: Time,
        packet: &Packet,
        _queue: Queue,
        _rng: &mut R,
    ) -> Verdict {
        if packet.ect && now.saturating_sub(packet.enqueued_at) > self.params.threshold {
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

    #[test]
    fn marks_packets_that_waited_longer_than_the_threshold() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut tcn = Tcn::new(&Params::default(), &mut rng);
        let mut verdict = |sojourn, ect| {
            let packet = Packet {
                bytes: 1500,
                ect,
                enqueued_at: Time::from_us(10),
            };
            let queue = Queue {
                bytes: 0,
                packets: 0,
            };
            tcn.on_dequeue(Time::from_us(10) + sojourn, &packet, queue, &mut rng)
        };
        let longer = Time::from_ps(Time::from_us(150).as_ps() + 1);
        assert_eq!(verdict(Time::from_us(150), true), Verdict::Pass);
        assert_eq!(verdict(longer, true), Verdict::MarkCe);
        assert_eq!(verdict(longer, false), Verdict::Pass);
    }
}
