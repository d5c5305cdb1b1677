//! Rates and delays of links.

use crate::case::{rate, time};
use crate::dice::Dice;

/// Rates of links, Mb/s; at the last three a byte lasts a fraction of a picosecond more than whole ones.
const RATES: [u64; 16] = [
    1_000, 2_000, 2_500, 5_000, 10_000, 20_000, 25_000, 40_000, 50_000, 100_000, 200_000, 400_000,
    800_000, 2_880_000, 1_481_000, 100_300,
];

/// A rate that links can have, as the file has it.
pub(super) fn link_rate(dice: &mut Dice) -> String {
    rate(dice.pick(&RATES) * 1_000_000)
}

/// A delay of a link, as the file has it: from 10 ns to 1 ms, often a round one, so that packets of
/// several links meet at the same picosecond.
pub(super) fn link_delay(dice: &mut Dice) -> String {
    match dice.weighted(&[(4, 0), (3, 1), (2, 2), (1, 3)]) {
        0 => time(dice.pick(&[100_000, 500_000, 1_000_000, 2_000_000, 5_000_000])),
        1 => time(dice.scale(10_000, 5_000_000)),
        2 => time(dice.scale(1_000_000, 1_000_000_000)),
        // Multiples of the time that a frame of 1000 B lasts at 100 Gb/s.
        _ => time(80_000 * dice.between(1, 50)),
    }
}
