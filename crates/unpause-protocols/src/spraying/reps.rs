//! REPS: recycled entropies.
//!
//! # What it does
//!
//! A packet that comes back without a mark shows a path with room, so its entropy value is used again, once: the last 8
//! such values wait in a ring, and the oldest that has not been used goes with the next packet. Without one, the value is
//! drawn from all. After a timeout the flow is *frozen* for some time: it uses the values of the ring over and over, used
//! or not, and takes in no others, because a path that has brought something back is known not to have failed. When that
//! time is over, the ring is emptied, and the next 16 packets have values drawn from all.
//!
//! # Source
//!
//! The reference simulator of the UEC transport (uet-htsim), `uec_mp.cpp` and `buffer_reps.cpp`.
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `paths` | entropy values | 64 | uet-htsim |
//! | `freeze` | time | 10 ms | uet-htsim |
//!
//! # Departures
//!
//! There a flow freezes only where switches trim packets, since a timeout means a failed link only there. Here `freeze`
//! decides: 0 for fabrics that lose packets to congestion.

use rand_core::Rng;

use super::mechanism::{DEFAULT_PATHS, Echo, MOST_PATHS, Mechanism};
use crate::units::Time;

/// Values in the ring.
const RING: usize = 8;

/// Packets with a value drawn from all, after the flow was frozen.
const EXPLORED: u8 = 16;

/// Parameters of REPS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Entropy values of a flow, at most [`super::MOST_PATHS`].
    pub paths: u32,
    /// How long a timeout freezes a flow; 0: it does not.
    pub freeze: Time,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            paths: DEFAULT_PATHS,
            freeze: Time::from_ms(10),
        }
    }
}

/// The entropy values of a flow.
#[derive(Clone, Debug)]
pub struct Reps {
    paths: u32,
    freeze: Time,
    /// Values that have come back clear, the newest before `next`.
    ring: [u16; RING],
    /// Where the next one goes.
    next: u8,
    /// How many there are.
    known: u8,
    /// How many of them, the newest ones, have not been used again.
    fresh: u8,
    /// Packets left with values drawn from all.
    explore: u8,
    /// Until then it is frozen, if it is.
    frozen: Option<Time>,
    /// The place of the next value of a frozen ring.
    again: u8,
}

impl Reps {
    /// A flow that has sent nothing.
    pub fn new(params: &Params) -> Self {
        Self {
            paths: params.paths.clamp(1, MOST_PATHS),
            freeze: params.freeze,
            ring: [0; RING],
            next: 0,
            known: 0,
            fresh: 0,
            explore: 0,
            frozen: None,
            again: 0,
        }
    }

    /// Any value.
    fn draw<R: Rng>(&self, rng: &mut R) -> u16 {
        ((u64::from(rng.next_u32()) * u64::from(self.paths)) >> 32) as u16
    }

    /// The place in the ring `count` before the next one.
    fn before(&self, count: u8) -> usize {
        (usize::from(self.next) + RING - usize::from(count)) % RING
    }

    /// Ends the time in which it is frozen, if that is over.
    fn thaw(&mut self, now: Time) {
        if self.frozen.is_some_and(|until| now > until) {
            self.frozen = None;
            (self.known, self.fresh) = (0, 0);
            self.explore = EXPLORED;
        }
    }
}

impl Mechanism for Reps {
    fn next<R: Rng>(&mut self, now: Time, rng: &mut R) -> u16 {
        self.thaw(now);
        if self.explore > 0 {
            self.explore -= 1;
            return self.draw(rng);
        }
        if self.frozen.is_some() && self.known > 0 {
            self.again = (self.again + 1) % self.known;
            return self.ring[self.before(self.known - self.again)];
        }
        if self.fresh == 0 {
            return self.draw(rng);
        }
        let oldest = self.before(self.fresh);
        self.fresh -= 1;
        self.ring[oldest]
    }

    fn on_echo(&mut self, now: Time, value: u16, echo: Echo) {
        self.thaw(now);
        match echo {
            Echo::Clear if self.frozen.is_none() => {
                self.ring[usize::from(self.next)] = value;
                self.next = (self.next + 1) % RING as u8;
                self.known = (self.known + 1).min(RING as u8);
                self.fresh = (self.fresh + 1).min(RING as u8);
            }
            Echo::Timeout
                if self.frozen.is_none() && self.explore == 0 && self.freeze > Time::ZERO =>
            {
                self.frozen = Some(now.saturating_add(self.freeze));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use super::*;
    use alloc::vec::Vec;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    const NOW: Time = Time::from_us(1);

    struct Flow {
        reps: Reps,
        rng: Xoshiro256PlusPlus,
    }

    impl Flow {
        /// With enough values that a random one is almost never one of those used below.
        fn new() -> Self {
            let params = Params {
                paths: MOST_PATHS,
                freeze: Time::from_us(100),
            };
            Self {
                reps: Reps::new(&params),
                rng: Xoshiro256PlusPlus::seed_from_u64(1),
            }
        }
        fn send(&mut self, now: Time, packets: u32) -> Vec<u16> {
            let mut next = || self.reps.next(now, &mut self.rng);
            (0..packets).map(|_| next()).collect()
        }
        fn clear(&mut self, values: impl IntoIterator<Item = u16>) {
            for value in values {
                self.reps.on_echo(NOW, value, Echo::Clear);
            }
        }
    }

    #[test]
    fn clear_values_go_again_once_the_oldest_first() {
        let mut flow = Flow::new();
        flow.clear([3, 1, 2]);
        flow.reps.on_echo(NOW, 4, Echo::Marked);
        assert_eq!(flow.send(NOW, 3), [3, 1, 2]);
        let drawn = flow.send(NOW, 4);
        assert!(drawn.iter().all(|value| *value > 4), "{drawn:?}");
    }

    #[test]
    fn the_ring_keeps_the_last_eight() {
        let mut flow = Flow::new();
        flow.clear(1..=11);
        assert_eq!(flow.send(NOW, 8), [4, 5, 6, 7, 8, 9, 10, 11]);
    }

    #[test]
    fn a_timeout_freezes_the_ring() {
        let mut flow = Flow::new();
        flow.clear([1, 2, 3]);
        flow.send(NOW, 3);
        flow.reps.on_echo(NOW, 9, Echo::Timeout);
        flow.clear([7]);
        let mut twice = flow.send(NOW + Time::from_us(100), 6);
        twice.sort_unstable();
        assert_eq!(twice, [1, 1, 2, 2, 3, 3]);
        let later = NOW + Time::from_us(101);
        let drawn = flow.send(later, u32::from(EXPLORED));
        assert!(drawn.iter().all(|value| *value > 9), "{drawn:?}");
        flow.reps.on_echo(later, 5, Echo::Clear);
        assert_eq!(flow.send(later, 1), [5]);
    }

    #[test]
    fn without_a_time_to_freeze_a_timeout_says_nothing() {
        let mut flow = Flow::new();
        flow.reps.freeze = Time::ZERO;
        flow.clear([1]);
        flow.reps.on_echo(NOW, 9, Echo::Timeout);
        flow.clear([2]);
        assert_eq!(flow.send(NOW, 2), [1, 2]);
    }
}
