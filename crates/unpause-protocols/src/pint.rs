//! The code by which PINT packs how much of a link is in use into a byte or two.
//!
//! # What it does
//!
//! Codes are logarithms: each stands for a use greater by a fixed step than the one below it, the lowest for 1/512. What
//! lies between two codes becomes one of them by chance, so that on average it is told as it is.
//!
//! # Source
//!
//! R. Ben Basat et al., "PINT: Probabilistic In-band Network Telemetry", SIGCOMM 2020, 4.3 (approximating numeric
//! values, randomised rounding), as the simulator of HPCC has it (alibaba-edu/High-Precision-Congestion-Control,
//! `CC_MODE` 10): units of 1/512, and a byte if that is enough for a use of 512.
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `log_step` | fraction | - | the owner's |
//!
//! # Departures
//!
//! - What is beyond the highest code becomes that; in the simulator it wraps.
//! - Powers are counted in steps of 2^-32.

use rand_core::Rng;

use crate::units::Fraction;

/// Units of a use of 1.
const UNITS: u64 = 512;
const ONE: u64 = 1 << 32;
/// Smaller steps would need more than two bytes.
const SMALLEST_STEP: u64 = ONE / 5000;

/// The code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogCode {
    /// In steps of 2^-32, as all powers of it.
    base: u64,
    highest: u16,
}

impl LogCode {
    /// Each code stands for so much more than the one below it; steps below 1/5000 count as that.
    pub fn new(log_step: Fraction) -> Self {
        let base = ONE + log_step.as_q32().max(SMALLEST_STEP);
        let mut code = Self {
            base,
            highest: u16::MAX,
        };
        if code.power(256) >> 32 >= UNITS * UNITS {
            code.highest = u8::MAX.into();
        }
        code
    }

    /// The code of a use in steps of 2^-32, rounded up to whole units first.
    pub fn encode<R: Rng>(&self, used: u64, rng: &mut R) -> u16 {
        let units = used.div_ceil(ONE / UNITS).clamp(1, u32::MAX.into());
        let value = units << 32;
        let mut squares = [self.base; 16];
        for n in 1..squares.len() {
            squares[n] = product(squares[n - 1], squares[n - 1]);
        }
        let (mut code, mut lower) = (0, ONE);
        for (n, square) in squares.iter().enumerate().rev() {
            let next = product(lower, *square);
            if next <= value {
                lower = next;
                code |= 1 << n;
            }
        }
        let upper = product(lower, self.base);
        let drawn = u128::from(rng.next_u32() >> 16);
        let rises = drawn * u128::from(upper - lower) < u128::from(value - lower) << 16;
        if rises && code < self.highest {
            code += 1;
        }
        code.min(self.highest)
    }

    /// The use that a code stands for, in steps of 2^-32, but no more than 2^23.
    pub fn decode(&self, code: u16) -> u64 {
        self.power(code) / UNITS
    }

    fn power(&self, exponent: u16) -> u64 {
        let (mut power, mut square, mut left) = (ONE, self.base, exponent);
        while left > 0 {
            if left & 1 == 1 {
                power = product(power, square);
            }
            square = product(square, square);
            left >>= 1;
        }
        power
    }
}

/// In steps of 2^-32; what is too large becomes the largest.
fn product(a: u64, b: u64) -> u64 {
    let product = (u128::from(a) * u128::from(b)) >> 32;
    product.min(u64::MAX.into()) as u64
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn code() -> LogCode {
        LogCode::new(Fraction::from_ppm(50_000))
    }

    /// 1.05^14 / 512 and so on, by hand.
    #[test]
    fn a_code_stands_for_a_power() {
        for (number, expected) in [
            (0, 1.0 / 512.0),
            (1, 1.05 / 512.0),
            (14, 1.979_931_6 / 512.0),
            (128, 515.501_91 / 512.0),
            (255, 253_087.83 / 512.0),
        ] {
            let used = code().decode(number) as f64 / ONE as f64;
            assert!((used / expected - 1.0).abs() < 1e-4, "{number}: {used}");
        }
    }

    #[test]
    fn a_byte_is_enough_for_steps_of_5_percent() {
        assert_eq!(code().highest, 255);
        assert_eq!(LogCode::new(Fraction::from_ppm(40_000)).highest, 65_535);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        assert_eq!(code().encode(u64::MAX, &mut rng), 255);
    }

    /// Two units lie between the 14th power, 1.9799, and the 15th, 2.0789: a fifth of them rises.
    #[test]
    fn what_lies_between_two_codes_becomes_one_by_chance() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
        let two = 2 * ONE / UNITS;
        let codes: [u16; 10_000] = core::array::from_fn(|_| code().encode(two, &mut rng));
        assert!(codes.iter().all(|code| [14, 15].contains(code)));
        let risen = codes.iter().filter(|code| **code == 15).count();
        assert!((1_850..2_210).contains(&risen), "{risen}");
        // What is a power stays one, and nothing is less than a unit; a bit more than one rounds up to two.
        assert_eq!(code().encode(0, &mut rng), 0);
        assert_eq!(code().encode(ONE / UNITS, &mut rng), 0);
        assert!([14, 15].contains(&code().encode(ONE / UNITS + 1, &mut rng)));
    }
}
