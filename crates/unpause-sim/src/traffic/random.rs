//! Random streams of the traffic generators, equal on every platform and in every build.
//!
//! Entry `g` of a run with root seed `s` draws from Xoshiro256++ seeded (by `seed_from_u64`) with
//! `mix(mix(s) + (g + 1) * GOLDEN)`, `mix` and `GOLDEN` being those of SplitMix64. So no entry
//! depends on how many others there are, nor on what they draw.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// SplitMix64's increment: 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// SplitMix64's output function (Steele, Lea, Flood 2014; Vigna's constants).
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The random stream of one traffic entry.
#[derive(Clone, Debug)]
pub(super) struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// Stream of entry `group` of a run seeded with `seed`.
    pub(super) fn new(seed: u64, group: u16) -> Self {
        let offset = (u64::from(group) + 1).wrapping_mul(GOLDEN);
        let seed = mix(mix(seed).wrapping_add(offset));
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    pub(super) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in `0..n`, without bias (Lemire 2019); `n` above 0.
    pub(super) fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        loop {
            let product = u128::from(self.0.next_u64()) * u128::from(n);
            if product as u64 >= n.wrapping_neg() % n {
                return (product >> 64) as usize;
            }
        }
    }

    /// Exponential with mean 1, by inverse transform. `libm` gives the same bits everywhere, the
    /// standard library's logarithm does not promise to.
    pub(super) fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }

    /// A RoCEv2 source port: 0xC000 with 14 bits of entropy, as Linux's RDMA stack chooses it
    /// (`rdma_flow_label_to_udp_sport`).
    pub(super) fn source_port(&mut self) -> u16 {
        0xC000 | (self.0.next_u64() >> 50) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_pinned_and_differ_by_group_and_seed() {
        let first = |seed, group| Stream::new(seed, group).0.next_u64();
        assert_eq!(first(1, 0), first(1, 0));
        assert_ne!(first(1, 0), first(1, 1));
        assert_ne!(first(1, 0), first(2, 0));
        // A change of the derivation changes every result: it must be deliberate.
        assert_eq!(first(1, 0), 13_544_648_624_572_954_784);
    }

    #[test]
    fn below_reaches_every_value_evenly() {
        let mut stream = Stream::new(7, 0);
        let mut counts = [0u32; 5];
        for _ in 0..50_000 {
            counts[stream.below(5)] += 1;
        }
        // Standard deviation of each count is 89.
        assert!(
            counts.iter().all(|c| c.abs_diff(10_000) < 450),
            "{counts:?}"
        );
    }

    #[test]
    fn exponential_has_mean_one() {
        let mut stream = Stream::new(7, 0);
        let mean = (0..100_000).map(|_| stream.exponential()).sum::<f64>() / 1e5;
        assert!((mean - 1.0).abs() < 0.015, "{mean}");
    }
}
