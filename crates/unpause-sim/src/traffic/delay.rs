//! Extra delay of a flow at its hosts.
//!
//! Stacks, hypervisors and software load balancers add a delay that differs from flow to flow. It is
//! the same for all packets of a flow, and applies to data packets only, at the receiving host: in the
//! round-trip time and the flow completion time that is the same as a delay at the sender, and leaves
//! the sender's network card alone.

use serde::{Deserialize, Serialize};
use unpause_protocols::units::Time;

use super::cdf::Cdf;
use crate::fabric::rng::mix;

/// Extra delay of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExtraDelay {
    /// So long.
    Fixed(Time),
    /// Drawn for each flow from this entry of [`crate::config::HostConfig::extra_delays`].
    Drawn(u16),
}

impl ExtraDelay {
    /// No extra delay.
    pub const NONE: Self = Self::Fixed(Time::ZERO);

    /// The delay, once it has been drawn.
    #[inline]
    pub(crate) fn time(self) -> Time {
        match self {
            Self::Fixed(time) => time,
            Self::Drawn(_) => unreachable!("delays are drawn before a flow starts"),
        }
    }
}

impl Default for ExtraDelay {
    fn default() -> Self {
        Self::NONE
    }
}

/// A distribution of extra delays.
#[derive(Clone, Debug, PartialEq)]
pub enum Delays {
    /// One of these, each as likely as another.
    OneOf(Vec<Time>),
    /// A distribution whose sizes are picoseconds.
    Cdf(Cdf),
}

impl Delays {
    /// The delay of flow `number` of traffic entry `group`, in a run seeded with `seed`: it depends on
    /// nothing else.
    pub fn draw(&self, seed: u64, group: u16, number: u64) -> Time {
        let stream = mix(seed ^ 0x6465_6c61_7973).wrapping_add(u64::from(group) << 40);
        let bits = mix(mix(stream).wrapping_add(number));
        match self {
            Self::OneOf(times) => {
                let at = (u128::from(bits) * times.len() as u128) >> 64;
                times.get(at as usize).copied().unwrap_or(Time::ZERO)
            }
            Self::Cdf(cdf) => {
                let unit = (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
                Time::from_ps(cdf.inverse(unit))
            }
        }
    }

    /// The longest delay that it can give.
    pub fn longest(&self) -> Time {
        match self {
            Self::OneOf(times) => times.iter().copied().max().unwrap_or(Time::ZERO),
            Self::Cdf(cdf) => Time::from_ps(cdf.points().last().map_or(0, |(ps, _)| *ps)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_drawn_evenly_and_by_seed_entry_and_flow() {
        let times: Vec<Time> = [1, 20, 50, 80, 160].map(Time::from_us).into();
        let delays = Delays::OneOf(times.clone());
        let drawn = |seed, group| (0..50_000).map(move |i| (seed, group, i));
        let all: Vec<Time> = drawn(1, 0).map(|(s, g, i)| delays.draw(s, g, i)).collect();
        for time in times {
            // Standard deviation 89.
            let count = all.iter().filter(|it| **it == time).count();
            assert!(count.abs_diff(10_000) < 450, "{time}: {count}");
        }
        for (seed, group) in [(2, 0), (1, 1)] {
            let other = drawn(seed, group).map(|(s, g, i)| delays.draw(s, g, i));
            let same = all.iter().zip(other).filter(|(a, b)| *a == b).count();
            assert!(same.abs_diff(10_000) < 450, "{same} the same");
        }
    }

    #[test]
    fn a_distribution_is_interpolated() {
        let us = |us| Time::from_us(us).as_ps();
        let points = vec![(us(80), 0.0), (us(120), 0.5), (us(240), 1.0)];
        let delays = Delays::Cdf(Cdf::new(points).unwrap());
        let sum: f64 = (0..100_000).map(|i| delays.draw(1, 0, i).as_ns_f64()).sum();
        assert!((sum / 1e5 - 140_000.0).abs() < 500.0, "{sum}");
        assert_eq!(delays.longest(), Time::from_us(240));
    }
}
