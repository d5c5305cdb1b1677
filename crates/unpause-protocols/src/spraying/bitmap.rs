//! Spraying that leaves out congested paths for a while.
//!
//! # What it does
//!
//! The values are taken in turn, as in [`super::oblivious`]. Each has a penalty: a mark adds 1, a loss 4, and a timeout
//! sets it to 15, the most there is. A value with a penalty is skipped; the first one that a packet skips loses 1 of its
//! penalty for that. If every value has a penalty, none is skipped.
//!
//! # Source
//!
//! The reference simulator of the UEC transport (uet-htsim), `uec_mp.cpp`, "bitmap".
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `paths` | entropy values | 64 | uet-htsim |
//!
//! # Departures
//!
//! At most 256 values, so that the state has a fixed size.

use rand_core::Rng;

use super::mechanism::{DEFAULT_PATHS, Echo, Mechanism};
use super::oblivious::Rounds;
use crate::units::Time;

/// Most entropy values of a flow.
pub const MOST_PATHS: u32 = 256;

/// Largest penalty of a value.
const WORST: u8 = 15;

/// Parameters of spraying with penalties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Entropy values of a flow: a power of two, at most [`MOST_PATHS`].
    pub paths: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            paths: DEFAULT_PATHS,
        }
    }
}

/// The entropy values of a flow, and their penalties.
#[derive(Clone, Debug)]
pub struct Bitmap {
    rounds: Rounds,
    /// Two penalties in a byte.
    penalties: [u8; MOST_PATHS as usize / 2],
}

impl Bitmap {
    /// A flow that has sent nothing. `paths` is rounded down to a power of two, and 1 at least.
    pub fn new(params: &Params) -> Self {
        Self {
            rounds: Rounds::new(params.paths.min(MOST_PATHS)),
            penalties: [0; MOST_PATHS as usize / 2],
        }
    }

    fn penalty(&self, value: u16) -> u8 {
        self.penalties[usize::from(value / 2)] >> (4 * (value % 2)) & WORST
    }

    fn set_penalty(&mut self, value: u16, penalty: u8) {
        let shift = 4 * (value % 2);
        let both = &mut self.penalties[usize::from(value / 2)];
        *both = *both & !(WORST << shift) | penalty << shift;
    }
}

impl Mechanism for Bitmap {
    fn next<R: Rng>(&mut self, _now: Time, rng: &mut R) -> u16 {
        let first = self.rounds.next(rng);
        let penalty = self.penalty(first);
        if penalty == 0 {
            return first;
        }
        self.set_penalty(first, penalty - 1);
        for _ in 0..self.rounds.paths() {
            let value = self.rounds.next(rng);
            if self.penalty(value) == 0 {
                return value;
            }
        }
        self.rounds.next(rng)
    }

    fn on_echo(&mut self, _now: Time, value: u16, echo: Echo) {
        let more = match echo {
            Echo::Clear => return,
            Echo::Marked => 1,
            Echo::Lost => 4,
            Echo::Timeout => WORST,
        };
        let value = value & (self.rounds.paths() - 1) as u16;
        self.set_penalty(value, (self.penalty(value) + more).min(WORST));
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use super::*;
    use alloc::vec::Vec;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Values of the next packets.
    fn values(flow: &mut Bitmap, packets: u32, rng: &mut Xoshiro256PlusPlus) -> Vec<u16> {
        (0..packets).map(|_| flow.next(Time::ZERO, rng)).collect()
    }

    #[test]
    fn a_value_is_skipped_as_often_as_its_penalty_says() {
        let echoes: [(&[Echo], usize); 4] = [
            (&[Echo::Clear], 0),
            (&[Echo::Marked, Echo::Marked], 2),
            (&[Echo::Lost], 4),
            (&[Echo::Lost, Echo::Timeout], 15),
        ];
        for (echoes, rounds) in echoes {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
            let mut flow = Bitmap::new(&Params { paths: 8 });
            for echo in echoes {
                flow.on_echo(Time::ZERO, 5, *echo);
            }
            // Each round without it has seven packets.
            let before = values(&mut flow, 7 * rounds as u32, &mut rng);
            assert!(!before.contains(&5), "{echoes:?}: {before:?}");
            // Where it is the last of a round and the first of the next, it is skipped twice for 1.
            let after = values(&mut flow, 24, &mut rng);
            assert!(after.contains(&5), "{echoes:?}: {after:?}");
        }
    }

    #[test]
    fn where_all_are_congested_packets_go_on() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut flow = Bitmap::new(&Params { paths: 4 });
        (0..4).for_each(|value| flow.on_echo(Time::ZERO, value, Echo::Timeout));
        let sent = values(&mut flow, 40, &mut rng);
        assert!((0..4).all(|value| sent.contains(&value)), "{sent:?}");
    }
}
