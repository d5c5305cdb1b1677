//! Oblivious spraying: every path in turn, whatever comes back.
//!
//! # What it does
//!
//! Each packet of a flow has another entropy value: the numbers of all paths, in an order that is drawn anew each time
//! that all have been used.
//!
//! # Source
//!
//! The reference simulator of the UEC transport (uet-htsim), `uec_mp.cpp`: a counter combined with a random mask by
//! exclusive or.
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `paths` | entropy values | 64 | uet-htsim |
//!
//! # Departures
//!
//! None.

use rand_core::Rng;

use super::mechanism::{DEFAULT_PATHS, Echo, MOST_PATHS, Mechanism};
use crate::units::Time;

/// Parameters of oblivious spraying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Entropy values of a flow: a power of two, at most [`super::MOST_PATHS`].
    pub paths: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            paths: DEFAULT_PATHS,
        }
    }
}

/// All values of a flow, round by round, each round in another order.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    /// One less than there are values.
    last: u16,
    next: u16,
    mask: u16,
}

impl Rounds {
    pub fn new(paths: u32) -> Self {
        let paths = paths.clamp(1, MOST_PATHS);
        Self {
            last: ((1_u32 << paths.ilog2()) - 1) as u16,
            next: 0,
            mask: 0,
        }
    }

    /// How many values there are.
    pub fn paths(&self) -> u32 {
        u32::from(self.last) + 1
    }

    #[inline]
    pub fn next<R: Rng>(&mut self, rng: &mut R) -> u16 {
        if self.next == 0 {
            self.mask = rng.next_u32() as u16 & self.last;
        }
        let value = self.next ^ self.mask;
        self.next = self.next.wrapping_add(1) & self.last;
        value
    }
}

/// The entropy values of a flow.
#[derive(Clone, Debug)]
pub struct Oblivious(Rounds);

impl Oblivious {
    /// A flow that has sent nothing. `paths` is rounded down to a power of two, and 1 at least.
    pub fn new(params: &Params) -> Self {
        Self(Rounds::new(params.paths))
    }
}

impl Mechanism for Oblivious {
    #[inline]
    fn next<R: Rng>(&mut self, _now: Time, rng: &mut R) -> u16 {
        self.0.next(rng)
    }

    fn on_echo(&mut self, _now: Time, _value: u16, _echo: Echo) {}
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn every_round_has_every_value_once_in_another_order() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for paths in [1, 2, 64, MOST_PATHS] {
            let mut flow = Oblivious::new(&Params { paths });
            let mut round = || Vec::from_iter((0..paths).map(|_| flow.next(Time::ZERO, &mut rng)));
            let (first, second) = (round(), round());
            for values in [&first, &second] {
                let all: BTreeSet<u16> = values.iter().copied().collect();
                assert_eq!(all.len(), paths as usize);
                assert!(all.iter().all(|value| u32::from(*value) < paths));
            }
            // Of two values, the second round may have the order of the first.
            assert!(first != second || paths < 64, "{paths}");
        }
    }

    #[test]
    fn paths_are_a_power_of_two() {
        assert_eq!(Oblivious::new(&Params { paths: 0 }).0.paths(), 1);
        assert_eq!(Oblivious::new(&Params { paths: 100 }).0.paths(), 64);
    }
}
