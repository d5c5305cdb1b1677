//! Selection of a culprit by buffer occupancy, as hardware does it.
//!
//! # What it does
//!
//! A word for each unit of a port's packet memory says whether the unit is in use, of which priority, and
//! where the packet that it is part of begins. Drawing a unit in use at random draws a flow in proportion
//! to the memory that it holds, without any state of flows.
//!
//! # Source
//!
//! The CulpritArray of the QCN-at-inputs paper of Chrysos et al. (IBM), section V.
//!
//! # Parameters
//!
//! | name | unit | value | origin |
//! |---|---|---|---|
//! | `row` | words | 16 | the paper: 320 bits of memory a read |
//! | [`RANDOM_READS`] | rows | 16 | ours; the paper gives no number |
//! | [`WORD_BITS`] | bits | 20 | the paper |
//!
//! # Departures
//!
//! - A uniform choice among the hits of a row favours units of sparse rows. With a row of one word a
//!   unit's chance is exactly one over the number in use, as long as a random read finds one.
//! - The sequential search starts at a random row; the paper does not say where.

use rand_core::Rng;

use crate::jitter::below;

/// Random rows read before the search continues row by row.
pub const RANDOM_READS: usize = 16;

/// Bits of a word in hardware: 14 of address for the 12K units of a port, 3 of priority, 1 of validity and
/// 2 of error detection.
pub const WORD_BITS: u32 = 20;

/// The state of one unit of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// The priority it holds a packet of; `None` if the unit is free.
    priority: Option<u8>,
    head: u32,
}

/// The array of one port, in storage of the caller: `[Word; N]`, `&mut [Word]`, `Box<[Word]>`.
#[derive(Clone, Debug)]
pub struct CulpritArray<S> {
    words: S,
    row: usize,
}

impl<S: AsRef<[Word]> + AsMut<[Word]>> CulpritArray<S> {
    /// An array with a word for each unit, of which `row` (at least 1) are read at once. All units are free.
    pub fn new(mut words: S, row: usize) -> Self {
        words.as_mut().fill(Word::default());
        Self {
            words,
            row: row.max(1),
        }
    }

    /// `unit` now holds a part of the packet of `priority` that begins in unit `head`. A unit beyond the
    /// array is not stored.
    #[inline]
    pub fn store(&mut self, unit: u32, priority: u8, head: u32) {
        if let Some(word) = self.words.as_mut().get_mut(unit as usize) {
            *word = Word {
                priority: Some(priority),
                head,
            };
        }
    }

    /// `unit` is free again.
    #[inline]
    pub fn free(&mut self, unit: u32) {
        if let Some(word) = self.words.as_mut().get_mut(unit as usize) {
            word.priority = None;
        }
    }

    /// The first unit of a packet of `priority`, drawn by the units that packets hold; `None` if there is
    /// no such packet.
    pub fn select<R: Rng>(&self, priority: u8, rng: &mut R) -> Option<u32> {
        let words = self.words.as_ref();
        let rows = words.len().div_ceil(self.row);
        let row = |number: usize| {
            let start = number * self.row;
            &words[start..words.len().min(start + self.row)]
        };
        let is_hit = |word: &&Word| word.priority == Some(priority);
        for _ in 0..RANDOM_READS {
            if rows == 0 {
                return None;
            }
            let row = row(below(rows, rng));
            let hits = row.iter().filter(is_hit).count();
            if hits > 0 {
                let hit = row.iter().filter(is_hit).nth(below(hits, rng));
                return hit.map(|word| word.head);
            }
        }
        let start = below(rows, rng);
        (start..rows)
            .chain(0..start)
            .find_map(|number| row(number).iter().find(is_hit))
            .map(|word| word.head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    const DRAWS: u32 = 100_000;

    /// How often each of three packets of this many units is drawn, whose units alternate over the memory.
    fn frequencies<const UNITS: usize>(row: usize, held: [u32; 3]) -> [u32; 3] {
        let mut array = CulpritArray::new([Word::default(); UNITS], row);
        let mut left = held;
        let mut unit = 0;
        while left.iter().any(|units| *units > 0) {
            for (packet, units) in left.iter_mut().enumerate() {
                if *units > 0 {
                    *units -= 1;
                    array.store(unit, 3, packet as u32);
                    unit += 1;
                }
            }
        }
        // Those of another priority are never drawn.
        array.store(unit, 5, 99);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut drawn = [0; 3];
        for _ in 0..DRAWS {
            let head = array.select(3, &mut rng).expect("units are in use");
            drawn[head as usize] += 1;
        }
        drawn
    }

    /// True if each number of draws is within four standard deviations of its packet's share.
    fn within_four_sigma(drawn: [u32; 3], held: [u32; 3]) -> bool {
        let total = i64::from(held.iter().sum::<u32>());
        let draws = i64::from(DRAWS);
        drawn.into_iter().zip(held).all(|(drawn, held)| {
            let held = i64::from(held);
            // Both sides are times the square of the total.
            let off = i64::from(drawn) * total - draws * held;
            off * off <= 16 * draws * held * (total - held)
        })
    }

    #[test]
    fn single_words_are_drawn_in_proportion_to_what_packets_hold() {
        let held = [6, 30, 204];
        let drawn = frequencies::<586>(1, held);
        assert!(within_four_sigma(drawn, held), "{drawn:?}");
        assert!(
            !within_four_sigma(drawn, [7, 29, 204]),
            "the test tells them apart"
        );
    }

    /// A full row of 16, and a row of 8: by rows the second packet's 8 units have half the chance.
    #[test]
    fn rows_favour_units_of_sparse_rows() {
        let mut array = CulpritArray::new([Word::default(); 32], 16);
        (0..16).for_each(|unit| array.store(unit, 0, 0));
        (16..24).for_each(|unit| array.store(unit, 0, 1));
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let second = (0..DRAWS)
            .filter(|_| array.select(0, &mut rng) == Some(1))
            .count();
        assert!((49_000..51_000).contains(&second), "{second}");
    }

    #[test]
    fn one_unit_among_twelve_thousand_is_found() {
        let mut array = CulpritArray::new([Word::default(); 12_288], 16);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        assert_eq!(array.select(2, &mut rng), None);
        array.store(4711, 2, 4700);
        assert_eq!(array.select(2, &mut rng), Some(4700));
        assert_eq!(array.select(1, &mut rng), None);
        array.free(4711);
        assert_eq!(array.select(2, &mut rng), None);
    }

    /// Section V: less than 1 % of the packet memory.
    #[test]
    fn a_word_takes_less_than_a_hundredth_of_its_unit() {
        const { assert!(WORD_BITS * 100 < 256 * 8) }
        let address = 12_288_u32.next_power_of_two().ilog2();
        assert_eq!(address + 3 + 1 + 2, WORD_BITS);
    }
}
