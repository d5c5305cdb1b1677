//! Random choices: the same from the same seed, on any machine. No floating point.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A stream of choices.
#[derive(Clone, Debug)]
pub struct Dice(Xoshiro256PlusPlus);

impl Dice {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// From 0 to `n - 1`.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(n.max(1))) >> 64) as u64
    }

    /// From `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.max(low) - low + 1)
    }

    /// From `low` to `high`, each binary order of magnitude as likely as another.
    pub fn scale(&mut self, low: u64, high: u64) -> u64 {
        let (low, high) = (low.max(1), high.max(low).max(1));
        let order = self.between(low.ilog2().into(), high.ilog2().into());
        let first = 1_u64 << order;
        self.between(first.max(low), (first - 1 + first).min(high))
    }

    /// True this many times of a hundred.
    pub fn percent(&mut self, of_hundred: u64) -> bool {
        self.below(100) < of_hundred
    }

    /// One of them.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.below(among.len() as u64) as usize]
    }

    /// One of them, each as often as its weight says.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub fn weighted<T: Copy>(&mut self, among: &[(u64, T)]) -> T {
        let mut at = self.below(among.iter().map(|(weight, _)| weight).sum());
        for &(weight, value) in among {
            match at.checked_sub(weight) {
                None => return value,
                Some(rest) => at = rest,
            }
        }
        unreachable!("the weights add up")
    }

    /// `count` different ones of them (at most all), in random order.
    pub fn some<T: Clone>(&mut self, among: &[T], count: usize) -> Vec<T> {
        let mut all = among.to_vec();
        let count = count.min(all.len());
        for at in 0..count {
            let other = self.between(at as u64, all.len() as u64 - 1) as usize;
            all.swap(at, other);
        }
        all.truncate(count);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_within_its_bounds_and_each_comes() {
        let mut dice = Dice::new(7);
        let mut seen = [0; 5];
        for _ in 0..1000 {
            seen[dice.below(5) as usize] += 1;
            assert!((3..=9).contains(&dice.between(3, 9)));
            assert!((5..=70_000).contains(&dice.scale(5, 70_000)));
            assert!(dice.weighted(&[(1, true), (0, false)]));
        }
        assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
        let mut few = dice.some(&[1, 2, 3, 4], 3);
        few.sort_unstable();
        few.dedup();
        assert_eq!(few.len(), 3);
    }

    #[test]
    fn the_same_seed_gives_the_same_stream() {
        let draw = |seed| {
            let mut dice = Dice::new(seed);
            [(); 20].map(|()| dice.scale(1, u64::MAX))
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
