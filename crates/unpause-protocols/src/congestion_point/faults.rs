//! Faults: losses and marks that no queue is the reason of.
//!
//! # What it does
//!
//! Drops each arriving packet with a fixed probability, and drops or marks packets chosen by number:
//! the first that comes to the queue is number 0. The rest passes.
//!
//! # Source
//!
//! The periodic or independent loss under which M. Mathis et al., "The Macroscopic Behavior of the TCP
//! Congestion Avoidance Algorithm", CCR 1997, derive what a TCP gets. Chosen packets are ours, to show
//! what a sender makes of one loss or mark.
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `drop_probability` | fraction | 0 | - |
//! | `drop` | numbers of packets | none | - |
//! | `mark` | numbers of packets | none | - |
//!
//! # Departures
//!
//! A chosen packet that is not ECN-capable is not marked.

use rand_core::Rng;

use super::{Mechanism, Packet, Queue, Verdict};
use crate::state_visitor::Show;
use crate::units::{Fraction, Time};

/// Packets that can be chosen: the state of every queue has room for this many.
pub const CHOSEN: usize = 6;
/// Stands for no packet where fewer are chosen.
pub const NO_PACKET: u32 = u32::MAX;

/// Parameters of the faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Every packet is dropped with this probability.
    pub drop_probability: Fraction,
    /// Numbers of packets to drop.
    pub drop: [u32; CHOSEN],
    /// Numbers of packets to mark.
    pub mark: [u32; CHOSEN],
}

impl Default for Params {
    fn default() -> Self {
        Self {
            drop_probability: Fraction::ZERO,
            drop: [NO_PACKET; CHOSEN],
            mark: [NO_PACKET; CHOSEN],
        }
    }
}

impl Params {
    /// Every packet is dropped with this probability.
    pub fn random(drop_probability: Fraction) -> Self {
        Self {
            drop_probability,
            ..Self::default()
        }
    }

    /// Packets to drop and to mark, by number; those past the sixth are ignored.
    pub fn chosen(drop: &[u32], mark: &[u32]) -> Self {
        let fill = |numbers: &[u32]| {
            let mut all = [NO_PACKET; CHOSEN];
            all.iter_mut()
                .zip(numbers)
                .for_each(|(to, number)| *to = *number);
            all
        };
        Self {
            drop: fill(drop),
            mark: fill(mark),
            ..Self::default()
        }
    }
}

/// State of the faults of one queue.
#[derive(Clone, Debug, Show)]
#[show(refuse)]
pub struct Faults {
    params: Params,
    /// Number of the next packet.
    next: u32,
}

impl Faults {
    /// No packet has come yet.
    pub fn new<R: Rng>(params: &Params, _rng: &mut R) -> Self {
        Self {
            params: *params,
            next: 0,
        }
    }
}

impl Mechanism for Faults {
    fn on_enqueue<R: Rng>(
        &mut self,
        _now: Time,
        packet: &Packet,
        _queue: Queue,
        rng: &mut R,
    ) -> Verdict {
        let number = self.next;
        self.next = self.next.saturating_add(1);
        let p = self.params.drop_probability;
        let by_chance = p > Fraction::ZERO && u64::from(rng.next_u32()) < p.as_q32();
        let chosen = |numbers: &[u32]| number != NO_PACKET && numbers.contains(&number);
        if by_chance || chosen(&self.params.drop) {
            Verdict::Drop
        } else if packet.ect && chosen(&self.params.mark) {
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

    fn verdicts(params: &Params, packets: u64, ect: bool) -> impl Iterator<Item = Verdict> + use<> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut faults = Faults::new(params, &mut rng);
        let queue = Queue {
            bytes: 0,
            packets: 1,
        };
        let packet = Packet {
            bytes: 1000,
            ect,
            enqueued_at: Time::ZERO,
        };
        (0..packets).map(move |_| faults.on_enqueue(Time::ZERO, &packet, queue, &mut rng))
    }

    #[test]
    fn chosen_packets_are_dropped_and_marked_and_no_other() {
        let params = Params::chosen(&[0, 3], &[1, 3]);
        for (ect, mark) in [(true, Verdict::MarkCe), (false, Verdict::Pass)] {
            let expected = [
                Verdict::Drop,
                mark,
                Verdict::Pass,
                Verdict::Drop,
                Verdict::Pass,
            ];
            assert!(verdicts(&params, 5, ect).eq(expected));
        }
    }

    /// Else a run without loss would have other random numbers for having been able to lose.
    #[test]
    fn what_never_drops_draws_no_random_numbers() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let mut faults = Faults::new(&Params::default(), &mut rng);
        let before = rng.clone();
        let queue = Queue {
            bytes: 0,
            packets: 1,
        };
        let packet = Packet {
            bytes: 1000,
            ect: true,
            enqueued_at: Time::ZERO,
        };
        faults.on_enqueue(Time::ZERO, &packet, queue, &mut rng);
        assert_eq!(rng, before);
    }

    #[test]
    fn the_share_of_drops_is_the_probability() {
        let params = Params::random(Fraction::of(1, 50));
        let drops = verdicts(&params, 200_000, true).filter(|verdict| *verdict == Verdict::Drop);
        // Standard deviation 63.
        assert!(drops.count().abs_diff(4_000) < 250);
        let none = verdicts(&Params::default(), 10_000, true);
        assert!(none.into_iter().all(|it| it == Verdict::Pass));
        let all = verdicts(&Params::random(Fraction::ONE), 1_000, true);
        assert!(all.into_iter().all(|it| it == Verdict::Drop));
    }
}
