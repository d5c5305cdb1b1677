//! Clocks of ports, each a little faster or slower than the rate of its link says.
//!
//! IEEE 802.3 allows each end of a link a clock within 100 ppm of its rate: Table 52-7 for 10GBASE-S, Table 88-7 for
//! 100GBASE-LR4. Without such differences, senders of equal rates keep their order at a full queue for ever.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use unpause_protocols::units::{Fraction, LinkSpeed, Rate};

/// The largest tolerance. Beyond it, links of one rate would no longer count as such.
pub const MOST_TOLERANCE: Fraction = Fraction::from_ppm(1_000);

/// A random stream of its own, so that clocks change nothing else that is drawn.
const STREAM: u64 = 0x636c_6f63_6b73_2121;

/// How far the clock of each port is off, in steps of 2^-32 of its rate; empty if all are exact.
#[derive(Clone, Debug, Default)]
pub struct Clocks(Vec<i64>);

impl Clocks {
    /// Clocks of this many ports, uniform within `tolerance`, by the seed of a run.
    pub fn drawn(tolerance: Fraction, seed: u64, ports: usize) -> Self {
        if tolerance == Fraction::ZERO {
            return Self::default();
        }
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ STREAM);
        let most = tolerance.as_q32();
        let values = u128::from(2 * most + 1);
        let mut draw = || ((u128::from(random.next_u64()) * values) >> 64) as i64 - most as i64;
        Self((0..ports).map(|_| draw()).collect())
    }

    /// A rate by the clock of `port`, of all ports of the fabric, in whole bits per second.
    #[inline]
    pub fn rate(&self, port: u32, rate: Rate) -> Rate {
        let Some(off) = self.0.get(port as usize) else {
            return rate;
        };
        let off = (i128::from(rate.as_bps()) * i128::from(*off)) >> 32;
        Rate::from_bps((i128::from(rate.as_bps()) + off).max(1) as u64)
    }

    /// The speed of a link of this rate by the clock of `port`; `None` at rate 0 and above [`LinkSpeed::MAX`].
    pub fn speed(&self, port: u32, rate: Rate) -> Option<LinkSpeed> {
        LinkSpeed::of(rate)?;
        LinkSpeed::of(self.rate(port, rate).min(LinkSpeed::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_lie_within_the_tolerance_and_differ_by_seed() {
        let rate = Rate::from_gbps(100);
        let rates = |seed| -> Vec<u64> {
            let clocks = Clocks::drawn(Fraction::from_ppm(100), seed, 1_000);
            (0..1_000)
                .map(|port| clocks.rate(port, rate).as_bps())
                .collect()
        };
        let one = rates(1);
        let within = 99_990_000_000 - 50..=100_010_000_000 + 50;
        assert!(one.iter().all(|rate| within.contains(rate)));
        let mean = one.iter().sum::<u64>() / 1_000;
        assert!((99_999_000_000..100_001_000_000).contains(&mean), "{mean}");
        // Both ends of the range are reached nearly.
        assert!(one.iter().any(|rate| *rate < 99_991_000_000));
        assert!(one.iter().any(|rate| *rate > 100_009_000_000));
        assert_eq!(one, rates(1));
        assert_ne!(one, rates(2));
    }

    #[test]
    fn exact_clocks_change_no_rate() {
        let clocks = Clocks::drawn(Fraction::ZERO, 1, 10);
        let rate = Rate::from_gbps(25);
        assert_eq!(clocks.rate(3, rate), rate);
        assert_eq!(clocks.speed(3, rate), LinkSpeed::of(rate));
        assert_eq!(clocks.speed(3, Rate::ZERO), None);
    }
}
