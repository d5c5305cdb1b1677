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

/// Parameters of oblivious spraying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Entropy values of a flow: a power of two, at most 65,536.
    pub paths: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { paths: 64 }
    }
}

/// The entropy values of a flow.
#[derive(Clone, Debug)]
pub struct Oblivious {
    /// One less than there are values.
    last: u16,
    next: u16,
    mask: u16,
}

impl Oblivious {
    /// A flow that has sent nothing. `paths` is rounded down to a power of two, and 1 at least.
    pub fn new(params: &Params) -> Self {
        let paths = params.paths.clamp(1, 1 << 16);
        Self {
            last: ((1_u32 << paths.ilog2()) - 1) as u16,
            next: 0,
            mask: 0,
        }
    }

    /// The value of the next packet, below the number of paths.
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
        for paths in [1, 2, 64, 1 << 16] {
            let mut flow = Oblivious::new(&Params { paths });
            let mut round = || Vec::from_iter((0..paths).map(|_| flow.next(&mut rng)));
            let (first, second) = (round(), round());
            for values in [&first, &second] {
                let all: BTreeSet<u16> = values.iter().copied().collect();
                assert_eq!(all.len(), paths as usize);
                assert!(all.iter().all(|value| u32::from(*value) < paths));
            }
            assert_eq!(first == second, paths == 1, "{paths}");
        }
    }

    #[test]
    fn paths_are_a_power_of_two() {
        assert_eq!(Oblivious::new(&Params { paths: 0 }).last, 0);
        assert_eq!(Oblivious::new(&Params { paths: 100 }).last, 63);
    }
}
