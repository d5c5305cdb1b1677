//! Time, data rate and fractions as integer newtypes.
//!
//! Time is counted in picoseconds: at 10, 25, 40, 100, 200, 400 and 800 Gb/s one byte lasts a whole
//! number of them. At other rates the time of a frame is rounded up, by less than one. `u64`
//! picoseconds last 213 days.

use core::fmt;
use core::ops::{Add, AddAssign, Mul, Sub};

mod link_speed;

pub use link_speed::LinkSpeed;

/// An instant since the start of a run, or a span, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Time(u64);

impl Time {
    /// The start of a run; a span of no length.
    pub const ZERO: Self = Self(0);
    /// Later than everything that happens: a timer set to it is off.
    pub const NEVER: Self = Self(u64::MAX);

    /// `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }
    /// `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * 1_000)
    }
    /// `us` microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000_000)
    }
    /// `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000_000)
    }
    /// Whole picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Nanoseconds, exact to the picosecond up to 104 days.
    #[expect(
        clippy::float_arithmetic,
        reason = "for people to read; no mechanism uses it"
    )]
    pub const fn as_ns_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }
    /// Seconds.
    #[expect(
        clippy::float_arithmetic,
        reason = "for people to read; no mechanism uses it"
    )]
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }
    /// True for [`Time::NEVER`].
    pub const fn is_never(self) -> bool {
        self.0 == u64::MAX
    }
    /// `self - earlier`, or zero when `earlier` is later.
    pub const fn saturating_sub(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
    /// `self + span`, or [`Time::NEVER`] when it does not fit.
    pub const fn saturating_add(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }
    /// `self + span`, or `None` when it does not fit.
    pub const fn checked_add(self, span: Self) -> Option<Self> {
        match self.0.checked_add(span.0) {
            Some(ps) => Some(Self(ps)),
            None => None,
        }
    }
}

impl Add for Time {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, rhs: Self) {
        self.0 += rhs.0;
    }
}

impl Sub for Time {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self(self.0 - rhs.0)
    }
}

impl Mul<u64> for Time {
    type Output = Self;
    fn mul(self, rhs: u64) -> Self {
        Self(self.0 * rhs)
    }
}

impl fmt::Display for Time {
    /// The largest unit that leaves a number of at least 1: `12.5us`, `3ms`, `800ps`.
    #[expect(
        clippy::float_arithmetic,
        reason = "for people to read; no mechanism uses it"
    )]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ps = self.0;
        if self.is_never() {
            return f.write_str("never");
        }
        let (unit, name) = match ps {
            1_000_000_000_000.. => (1e12, "s"),
            1_000_000_000.. => (1e9, "ms"),
            1_000_000.. => (1e6, "us"),
            1_000.. => (1e3, "ns"),
            _ => (1.0, "ps"),
        };
        write!(f, "{}{name}", ps as f64 / unit)
    }
}

/// A data rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Rate(u64);

/// Picoseconds x bits per second in one byte: 8 x 10^12.
pub(crate) const PS_BITS_PER_BYTE: u64 = 8_000_000_000_000;

impl Rate {
    /// Nothing moves.
    pub const ZERO: Self = Self(0);

    /// `bps` bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }
    /// `mbps` times 10^6 bits per second.
    pub const fn from_mbps(mbps: u64) -> Self {
        Self(mbps * 1_000_000)
    }
    /// `gbps` times 10^9 bits per second.
    pub const fn from_gbps(gbps: u64) -> Self {
        Self(gbps * 1_000_000_000)
    }
    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Gigabits per second.
    #[expect(
        clippy::float_arithmetic,
        reason = "for people to read; no mechanism uses it"
    )]
    pub const fn as_gbps_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Time that one byte lasts, when it is a whole number of picoseconds.
    pub const fn ps_per_byte(self) -> Option<u64> {
        if self.0 != 0 && PS_BITS_PER_BYTE.is_multiple_of(self.0) {
            Some(PS_BITS_PER_BYTE / self.0)
        } else {
            None
        }
    }
    /// Time that one byte lasts, as a fraction of picoseconds; of the smallest rate, when it is 0.
    pub(crate) const fn ps_of_byte(self) -> (u64, u64) {
        match self.ps_per_byte() {
            Some(ps) => (ps, 1),
            None if self.0 == 0 => (PS_BITS_PER_BYTE, 1),
            None => (PS_BITS_PER_BYTE, self.0),
        }
    }
    /// How long `bytes` last at this rate, rounded up to a picosecond; [`Time::NEVER`] at rate 0.
    pub const fn time_for(self, bytes: u64) -> Time {
        if self.0 == 0 {
            return Time::NEVER;
        }
        match bytes.checked_mul(PS_BITS_PER_BYTE) {
            Some(product) => Time(product.div_ceil(self.0)),
            None => {
                let ps = (bytes as u128 * PS_BITS_PER_BYTE as u128).div_ceil(self.0 as u128);
                Time(if ps > u64::MAX as u128 {
                    u64::MAX
                } else {
                    ps as u64
                })
            }
        }
    }
    /// How long `bytes` last at this rate in whole nanoseconds, rounded down, as HPCC's simulator counts; 0 at
    /// rate 0.
    pub const fn whole_ns_for(self, bytes: u64) -> u64 {
        if self.0 == 0 {
            return 0;
        }
        (bytes as u128 * (PS_BITS_PER_BYTE as u128 / 1000) / self.0 as u128) as u64
    }
    /// Whole bytes that this rate carries in `span`.
    pub const fn bytes_in(self, span: Time) -> u64 {
        let bytes = self.0 as u128 * span.0 as u128 / PS_BITS_PER_BYTE as u128;
        if bytes > u64::MAX as u128 {
            u64::MAX
        } else {
            bytes as u64
        }
    }
    /// Bytes that pass at this rate in `span`, a part of one counted as whole.
    pub const fn bytes_begun_in(self, span: Time) -> u64 {
        let bytes = (self.0 as u128 * span.0 as u128).div_ceil(PS_BITS_PER_BYTE as u128);
        if bytes > u64::MAX as u128 {
            u64::MAX
        } else {
            bytes as u64
        }
    }
    /// The rate of `bytes` in `span`, rounded down; rate 0 when `span` is zero.
    pub const fn of(bytes: u64, span: Time) -> Self {
        if span.0 == 0 {
            return Self(0);
        }
        let bps = bytes as u128 * PS_BITS_PER_BYTE as u128 / span.0 as u128;
        Self(if bps > u64::MAX as u128 {
            u64::MAX
        } else {
            bps as u64
        })
    }
}

impl fmt::Display for Rate {
    /// The largest unit that leaves a number of at least 1: `40Gbps`, `2.5Mbps`.
    #[expect(
        clippy::float_arithmetic,
        reason = "for people to read; no mechanism uses it"
    )]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = match self.0 {
            1_000_000_000.. => (1e9, "Gbps"),
            1_000_000.. => (1e6, "Mbps"),
            1_000.. => (1e3, "kbps"),
            _ => (1.0, "bps"),
        };
        write!(f, "{}{name}", self.0 as f64 / unit)
    }
}

/// A fraction from 0 to 1 in steps of 2^-32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fraction(u64);

impl Fraction {
    /// Nothing of it.
    pub const ZERO: Self = Self(0);
    /// All of it.
    pub const ONE: Self = Self(1 << 32);

    /// `numerator / denominator`, rounded to the nearest step; 1 when it is more than 1.
    pub const fn of(numerator: u64, denominator: u64) -> Self {
        if numerator >= denominator {
            return Self::ONE;
        }
        let scaled = ((numerator as u128) << 32) + denominator as u128 / 2;
        Self((scaled / denominator as u128) as u64)
    }
    /// `ppm` millionths; 1 when they are more than 1.
    pub const fn from_ppm(ppm: u32) -> Self {
        Self::of(ppm as u64, 1_000_000)
    }
    /// `q32` steps of 2^-32; 1 when they are more than 1.
    pub const fn from_q32(q32: u64) -> Self {
        if q32 > Self::ONE.0 {
            return Self::ONE;
        }
        Self(q32)
    }
    /// How many steps of 2^-32.
    pub const fn as_q32(self) -> u64 {
        self.0
    }
    /// This fraction of `value`, rounded down.
    pub const fn of_value(self, value: u64) -> u64 {
        ((value as u128 * self.0 as u128) >> 32) as u64
    }
    /// 1 less this fraction.
    pub const fn complement(self) -> Self {
        Self(Self::ONE.0 - self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ethernet_speed_has_whole_picoseconds_per_byte() {
        let expected = [
            (1, 8000),
            (10, 800),
            (25, 320),
            (40, 200),
            (50, 160),
            (100, 80),
            (200, 40),
            (400, 20),
            (800, 10),
        ];
        for (gbps, ps) in expected {
            assert_eq!(Rate::from_gbps(gbps).ps_per_byte(), Some(ps));
        }
        assert_eq!(Rate::from_gbps(3).ps_per_byte(), None);
        assert_eq!(Rate::ZERO.ps_per_byte(), None);
    }

    #[test]
    fn people_read_ns_and_gbps() {
        assert_eq!(Time::from_ps(2_500).as_ns_f64(), 2.5);
        assert_eq!(Rate::from_mbps(2_500).as_gbps_f64(), 2.5);
    }

    #[test]
    fn time_for_rounds_up_and_survives_large_sizes() {
        assert_eq!(Rate::from_gbps(40).time_for(1048), Time::from_ps(209_600));
        assert_eq!(Rate::from_gbps(3).time_for(1), Time::from_ps(2667));
        assert_eq!(Rate::ZERO.time_for(1), Time::NEVER);
        assert_eq!(
            Rate::from_gbps(400).time_for(u64::MAX / 32).as_ps(),
            (u64::MAX / 32) * 20
        );
    }

    #[test]
    fn rate_of_inverts_time_for() {
        let rate = Rate::from_gbps(40);
        assert_eq!(Rate::of(1_000_000, rate.time_for(1_000_000)), rate);
        assert_eq!(Rate::of(1, Time::ZERO), Rate::ZERO);
        // More than can be said.
        assert_eq!(Rate::of(u64::MAX, Time::from_ps(1)).as_bps(), u64::MAX);
    }

    #[test]
    fn fractions_are_nearest_steps_and_never_exceed_one() {
        assert_eq!(Fraction::of(1, 128).as_q32(), 33_554_432);
        // 3/5 of 2^32 is 2,576,980,377.6.
        assert_eq!(Fraction::of(3, 5).as_q32(), 2_576_980_378);
        assert_eq!(Fraction::from_ppm(500_000), Fraction::of(1, 2));
        assert_eq!(Fraction::of(3, 2), Fraction::ONE);
        assert_eq!(Fraction::of(0, 0), Fraction::ONE);
        assert_eq!(Fraction::from_q32(u64::MAX), Fraction::ONE);
        assert_eq!(Fraction::ONE.of_value(u64::MAX), u64::MAX);
        assert_eq!(Fraction::of(1, 4).complement(), Fraction::of(3, 4));
    }

    #[test]
    fn display_uses_the_largest_unit() {
        extern crate alloc;
        use alloc::string::ToString;
        assert_eq!(Time::from_ns(12_500).to_string(), "12.5us");
        assert_eq!(Time::from_ps(800).to_string(), "800ps");
        assert_eq!(Rate::from_mbps(2_500).to_string(), "2.5Gbps");
    }
}
