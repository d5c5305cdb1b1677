//! Fractions.

use std::fmt;

/// An exact fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    /// Numerator.
    pub num: u64,
    /// Denominator, above zero.
    pub den: u64,
}

impl Ratio {
    /// 0.
    pub const ZERO: Self = Self { num: 0, den: 1 };
    /// 1.
    pub const ONE: Self = Self { num: 1, den: 1 };

    /// The nearest floating-point number.
    pub fn as_f64(self) -> f64 {
        self.num as f64 / self.den as f64
    }
    /// Scaled by `one` (a power of two for fixed point), rounded to nearest; `None` if too large.
    pub fn scaled(self, one: u64) -> Option<u64> {
        let den = u128::from(self.den);
        let scaled = (u128::from(self.num) * u128::from(one) + den / 2) / den;
        u64::try_from(scaled).ok()
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.as_f64())
    }
}
