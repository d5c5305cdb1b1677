//! Randomness of timers and sampling intervals.

use rand_core::Rng;

/// `value` times a factor uniform in [0.85, 1.15], in steps of 1/1024: the jitter of 802.1Qau.
pub(crate) fn jittered<R: Rng>(value: u64, rng: &mut R) -> u64 {
    const LOW: u64 = 870;
    const HIGH: u64 = 1177;
    let factor = LOW + ((u64::from(rng.next_u32()) * (HIGH - LOW + 1)) >> 32);
    let product = (u128::from(value) * u128::from(factor)) >> 10;
    u64::try_from(product).unwrap_or(u64::MAX)
}

/// Uniform in `0..n`, but for a bias of n/2³² at most; 0 if `n` is.
pub(crate) fn below<R: Rng>(n: usize, rng: &mut R) -> usize {
    ((u128::from(rng.next_u32()) * n as u128) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn stays_within_fifteen_percent_and_uses_both_ends() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let (mut low, mut high) = (u64::MAX, 0);
        for _ in 0..10_000 {
            let jittered = jittered(1024, &mut rng);
            low = low.min(jittered);
            high = high.max(jittered);
        }
        assert_eq!((low, high), (870, 1177));
    }
}
