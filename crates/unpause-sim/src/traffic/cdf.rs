//! Flow-size distributions as piecewise-linear CDFs.

use thiserror::Error;

/// A flow-size distribution: cumulative probabilities at some sizes, linear in bytes between them.
///
/// A first point above probability 0 puts that probability on its size; two points of equal size
/// put their difference on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cdf {
    points: Vec<(u64, f64)>,
}

/// Why points are no CDF. `index` is that of the offending point.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum CdfError {
    /// No points at all.
    #[error("a CDF needs at least one point")]
    Empty,
    /// Not within 0 to 1, or not a number.
    #[error("probability {probability} is not within 0 to 1")]
    Probability {
        /// Position of the point.
        index: usize,
        /// The value found.
        probability: f64,
    },
    /// Less than before it.
    #[error("bytes and probabilities must not decrease")]
    Decreasing {
        /// Position of the point.
        index: usize,
    },
    /// The last probability is not 1.
    #[error("the last probability is {probability}, not 1")]
    Incomplete {
        /// The value found.
        probability: f64,
    },
}

impl Cdf {
    /// CDF through `points`, each a size in bytes and the probability of at most that size.
    pub fn new(points: Vec<(u64, f64)>) -> Result<Self, CdfError> {
        let Some(&(_, last)) = points.last() else {
            return Err(CdfError::Empty);
        };
        let mut previous = (0, 0.0);
        for (index, &(bytes, probability)) in points.iter().enumerate() {
            if !(0.0..=1.0).contains(&probability) {
                return Err(CdfError::Probability { index, probability });
            }
            if bytes < previous.0 || probability < previous.1 {
                return Err(CdfError::Decreasing { index });
            }
            previous = (bytes, probability);
        }
        if last != 1.0 {
            return Err(CdfError::Incomplete { probability: last });
        }
        Ok(Self { points })
    }

    /// Its points: bytes and cumulative probability.
    pub fn points(&self) -> &[(u64, f64)] {
        &self.points
    }

    /// Mean size in bytes, before truncation to whole bytes.
    pub fn mean(&self) -> f64 {
        let (first_bytes, first) = self.points[0];
        let linear = self.points.windows(2).map(|pair| {
            let [(a, p), (b, q)] = [pair[0], pair[1]];
            (q - p) * (a as f64 + b as f64) / 2.0
        });
        first * first_bytes as f64 + linear.sum::<f64>()
    }

    /// The size below which a share `u` in [0, 1) of the flows is: interpolated, truncated to whole
    /// bytes, at least 1.
    pub fn inverse(&self, u: f64) -> u64 {
        let next = self.points.partition_point(|&(_, p)| p <= u);
        let bytes = match (next.checked_sub(1), self.points.get(next)) {
            (Some(previous), Some(&(b, q))) => {
                let (a, p) = self.points[previous];
                // The interpolation cannot leave [a, b], whatever the rounding.
                (a + ((u - p) / (q - p) * (b - a) as f64) as u64).min(b)
            }
            (None, Some(&(bytes, _))) => bytes,
            (_, None) => self.points[next - 1].0,
        };
        bytes.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn interpolates_truncates_and_never_returns_zero() {
        let cdf = Cdf::new(vec![(0, 0.0), (10, 0.5), (1000, 1.0)]).unwrap();
        assert_eq!(cdf.inverse(0.0), 1);
        assert_eq!(cdf.inverse(0.25), 5);
        assert_eq!(cdf.inverse(0.29), 5);
        assert_eq!(cdf.inverse(0.5), 10);
        assert_eq!(cdf.inverse(0.75), 505);
        assert_eq!(cdf.mean(), 0.5 * 5.0 + 0.5 * 505.0);
    }

    #[test]
    fn a_first_point_above_zero_and_a_jump_are_point_masses() {
        let cdf = Cdf::new(vec![(100, 0.5), (200, 0.5), (200, 1.0)]).unwrap();
        assert_eq!(cdf.inverse(0.49), 100);
        assert_eq!(cdf.inverse(0.5), 200);
        assert_eq!(cdf.inverse(0.99), 200);
        assert_eq!(cdf.mean(), 150.0);
    }

    #[test]
    fn refuses_what_is_no_cdf() {
        use CdfError::*;
        let cases = [
            (vec![], Empty),
            (vec![(1, 0.5)], Incomplete { probability: 0.5 }),
            (vec![(5, 0.5), (4, 1.0)], Decreasing { index: 1 }),
            (vec![(5, 0.5), (6, 0.4), (7, 1.0)], Decreasing { index: 1 }),
            (
                vec![(5, -0.5), (6, 1.0)],
                Probability {
                    index: 0,
                    probability: -0.5,
                },
            ),
        ];
        for (points, error) in cases {
            assert_eq!(Cdf::new(points), Err(error));
        }
        assert!(Cdf::new(vec![(1, f64::NAN), (2, 1.0)]).is_err());
    }

    fn cdfs() -> impl Strategy<Value = Cdf> {
        let point = (0u64..1 << 40, 0u32..=1000);
        proptest::collection::vec(point, 1..20).prop_map(|raw| {
            let (mut bytes, mut parts): (Vec<_>, Vec<_>) = raw.into_iter().unzip();
            bytes.sort_unstable();
            parts.sort_unstable();
            let mut points: Vec<_> = bytes
                .into_iter()
                .zip(parts.into_iter().map(|p| f64::from(p) / 1000.0))
                .collect();
            points.last_mut().unwrap().1 = 1.0;
            Cdf::new(points).unwrap()
        })
    }

    proptest! {
        #[test]
        fn inverse_stays_within_the_points_and_never_decreases(
            cdf in cdfs(),
            mut us in proptest::collection::vec(0u64..1 << 53, 1..50),
        ) {
            us.sort_unstable();
            let sizes: Vec<u64> = us
                .iter()
                .map(|&u| cdf.inverse(u as f64 / (1u64 << 53) as f64))
                .collect();
            let (low, high) = (cdf.points()[0].0, cdf.points().last().unwrap().0);
            prop_assert!(sizes.iter().all(|&s| s >= low.max(1) && s <= high.max(1)));
            prop_assert!(sizes.is_sorted());
        }

        #[test]
        fn mean_is_that_of_the_inverse(cdf in cdfs()) {
            let n = 20_000;
            let sum: f64 = (0..n).map(|i| cdf.inverse((f64::from(i) + 0.5) / f64::from(n)) as f64).sum();
            let largest = cdf.points().last().unwrap().0 as f64;
            prop_assert!((sum / f64::from(n) - cdf.mean()).abs() <= largest / 1000.0 + 1.0);
        }
    }
}
