//! Samples in which some observations are lower bounds: right-censored samples.
//!
//! A flow that has not finished when the run ends has an FCT of at least the time since its start. Without it, a slow
//! scheme looks fast. A percentile lies between that of the sample with the bounds and that of the sample with infinity
//! in their place; where the two are equal, it is known, else the first is a lower bound (D. Collett, Modelling Survival
//! Data in Medical Research, chapter 1). Python's `unpause.statistics.censored` computes the same.

use serde::ser::SerializeMap;

use crate::percentile;

/// With this many observations beyond a percentile, a single one does not decide its value.
const BEYOND: u64 = 10;
/// The percentiles that stand for a tail, the most telling first.
const TAILS: [(u64, &str); 3] = [(99, "p99"), (95, "p95"), (90, "p90")];
/// The largest value of a sample.
const LARGEST: &str = "max";
/// The statistics of a sample by name, in the order of a sweep's columns. The mean has no share below it.
const STATISTICS: [(&str, Option<f64>); 6] = [
    ("mean", None),
    ("p50", Some(0.50)),
    ("p90", Some(0.90)),
    ("p95", Some(0.95)),
    ("p99", Some(0.99)),
    (LARGEST, Some(1.0)),
];

/// A statistic of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The statistic, or a lower bound of it.
    pub at_least: f64,
    /// Whether it is the statistic itself.
    pub is_exact: bool,
}

impl Estimate {
    /// The statistic, `None` where only a bound is known.
    pub fn value(self) -> Option<f64> {
        self.is_exact.then_some(self.at_least)
    }
}

/// Observations of one quantity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// The values of those that were observed to their end.
    pub known: Vec<f64>,
    /// Lower bounds of the others.
    pub bounds: Vec<f64>,
}

/// Mean and percentiles of a sample; none of an empty one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics([Option<Estimate>; STATISTICS.len()]);

impl Statistics {
    /// The statistics of `sample`.
    pub fn of(sample: &Sample) -> Self {
        let Sample { known, bounds } = sample;
        let (mut lowest, mut highest) = ([&known[..], &bounds[..]].concat(), known.clone());
        highest.resize(lowest.len(), f64::INFINITY);
        lowest.sort_unstable_by(f64::total_cmp);
        highest.sort_unstable_by(f64::total_cmp);
        let of = |share: Option<f64>| {
            let Some(share) = share else {
                return mean(&lowest).map(|at_least| Estimate {
                    at_least,
                    is_exact: bounds.is_empty(),
                });
            };
            let at_least = percentile(&lowest, share)?;
            let is_exact = bounds.is_empty() || percentile(&highest, share) == Some(at_least);
            Some(Estimate { at_least, is_exact })
        };
        Self(STATISTICS.map(|(_, share)| of(share)))
    }

    /// The statistic of this name: `mean`, `p50` and others, `max`.
    pub fn get(&self, name: &str) -> Option<Estimate> {
        let at = STATISTICS.iter().position(|(own, _)| *own == name)?;
        self.0[at]
    }

    /// Writes them as entries of `map`, which have the names of columns of a sweep's table: `fct_p99_ns` and
    /// `fct_p99_at_least_ns` for the quantity `fct` and the suffix `_ns`.
    ///
    /// # Errors
    ///
    /// What the serialiser of `map` answers.
    pub fn write<M: SerializeMap>(
        &self,
        quantity: &str,
        suffix: &str,
        map: &mut M,
    ) -> Result<(), M::Error> {
        for ((name, _), estimate) in STATISTICS.iter().zip(self.0) {
            let value = estimate.and_then(Estimate::value);
            let at_least = estimate.map(|estimate| estimate.at_least);
            map.serialize_entry(&format!("{quantity}_{name}{suffix}"), &value)?;
            map.serialize_entry(&format!("{quantity}_{name}_at_least{suffix}"), &at_least)?;
        }
        Ok(())
    }
}

/// The mean of values, none without any.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The name of the highest percentile that `count` observations allow: ten of them lie beyond it. With few
/// observations, that of the largest.
pub fn tail(count: u64) -> &'static str {
    let is_enough = |percent: u64| is_enough(percent, count);
    let allowed = TAILS.iter().find(|(percent, _)| is_enough(*percent));
    allowed.map_or(LARGEST, |(_, name)| name)
}

/// Whether ten of `count` observations lie beyond this percentile.
pub fn is_enough(percent: u64, count: u64) -> bool {
    count * (100 - percent) >= 100 * BEYOND
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistics(known: &[f64], bounds: &[f64]) -> Statistics {
        Statistics::of(&Sample {
            known: known.to_vec(),
            bounds: bounds.to_vec(),
        })
    }

    fn estimate(at_least: f64, is_exact: bool) -> Option<Estimate> {
        Some(Estimate { at_least, is_exact })
    }

    #[test]
    fn statistics_above_a_bound_are_bounds() {
        let all = statistics(&[1.0, 4.0, 2.0, 3.0], &[9.0]);
        assert_eq!(all.get("p50"), estimate(3.0, true));
        assert_eq!(all.get("max"), estimate(9.0, false));
        assert_eq!(all.get("mean"), estimate(3.8, false));
        // It may have taken longer than any other.
        let early = statistics(&[1.0, 2.0, 3.0, 4.0], &[1.0]);
        assert_eq!(early.get("p50"), estimate(2.0, false));
        assert_eq!(statistics(&[], &[]), Statistics::default());
        assert_eq!(all.get("p98"), None);
    }

    #[test]
    fn ten_observations_lie_beyond_a_percentile() {
        let tails = [0, 8, 99, 100, 199, 200, 999, 1000].map(tail);
        assert_eq!(
            tails,
            ["max", "max", "max", "p90", "p90", "p95", "p95", "p99"]
        );
    }
}
