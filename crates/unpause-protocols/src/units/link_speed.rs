//! The speed of a link, made for the one thing that links do all the time: to say how long a frame lasts.

use core::cmp::Ordering;
use core::fmt;

use super::{PS_BITS_PER_BYTE, Rate, Time};

/// The speed of a link: any whole number of bits per second.
///
/// It is kept as the picoseconds of a byte where that is a whole number, as for 10, 25, 40, 100, 200, 400 and
/// 800 Gb/s, so that the time of a frame is one multiplication. At other rates a byte lasts a fraction, 10/3 ps at
/// 2,400 Gb/s, and the time of a frame is rounded up to a picosecond, frame by frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinkSpeed(u64);

/// Set where the other bits are bits per second, not set where they are picoseconds.
const FRACTION: u64 = 1 << 63;

impl LinkSpeed {
    /// The fastest that there is: a byte lasts a picosecond, the resolution of time.
    pub const MAX: Rate = Rate(PS_BITS_PER_BYTE);

    /// The speed of a link of this rate; `None` at rate 0 and above [`Self::MAX`].
    pub const fn of(rate: Rate) -> Option<Self> {
        if rate.0 == 0 || rate.0 > Self::MAX.0 {
            return None;
        }
        match rate.ps_per_byte() {
            Some(ps) => Some(Self(ps)),
            None => Some(Self(rate.0 | FRACTION)),
        }
    }

    /// True if a byte lasts a whole number of picoseconds.
    pub const fn is_whole(self) -> bool {
        self.0 & FRACTION == 0
    }

    /// How long `bytes` last where [`Self::is_whole`] is true: without a branch, for the way of every packet.
    #[inline(always)]
    pub const fn whole_time_for(self, bytes: u64) -> Time {
        debug_assert!(self.is_whole(), "a byte lasts whole picoseconds");
        Time(bytes * self.0)
    }

    /// How long `bytes` last, rounded up to a picosecond. They are one frame, or go without a gap as if they were.
    #[inline(always)]
    pub const fn time_for(self, bytes: u64) -> Time {
        if self.is_whole() {
            return Time(bytes * self.0);
        }
        self.rounded_up(bytes)
    }

    #[cold]
    #[inline(never)]
    const fn rounded_up(self, bytes: u64) -> Time {
        Rate(self.0 & !FRACTION).time_for(bytes)
    }

    /// Whole bytes that it carries in `span`.
    pub const fn bytes_in(self, span: Time) -> u64 {
        if self.is_whole() {
            return span.0 / self.0;
        }
        self.rate().bytes_in(span)
    }

    /// Bits per second.
    pub const fn rate(self) -> Rate {
        if self.is_whole() {
            return Rate(PS_BITS_PER_BYTE / self.0);
        }
        Rate(self.0 & !FRACTION)
    }
}

impl PartialOrd for LinkSpeed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for LinkSpeed {
    /// The slower link comes first.
    fn cmp(&self, other: &Self) -> Ordering {
        self.rate().cmp(&other.rate())
    }
}

impl fmt::Debug for LinkSpeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.rate())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_picoseconds_are_multiplied_and_others_rounded_up() {
        for (gbps, bytes, ps) in [
            (400, 1048, 20_960),
            (2_400, 3, 10),
            (2_400, 4, 14),
            (3_200, 2, 5),
            (3_200, 1, 3),
            (2_880, 9, 25),
            (2_880, 1, 3),
            (1_481, 1481, 8_000),
        ] {
            let link = LinkSpeed::of(Rate::from_gbps(gbps)).expect("a rate of a link");
            assert_eq!(
                link.time_for(bytes),
                Time::from_ps(ps),
                "{bytes} B at {link:?}"
            );
            assert_eq!(link.rate(), Rate::from_gbps(gbps));
        }
    }

    #[test]
    fn a_link_moves_and_a_byte_lasts_a_picosecond() {
        let most = LinkSpeed::MAX.as_bps();
        for (bps, is_one) in [(0, false), (1, true), (most, true), (most + 1, false)] {
            assert_eq!(
                LinkSpeed::of(Rate::from_bps(bps)).is_some(),
                is_one,
                "{bps}"
            );
        }
    }

    #[test]
    fn bytes_of_a_span_are_whole() {
        let link = |gbps| LinkSpeed::of(Rate::from_gbps(gbps)).expect("a rate of a link");
        assert_eq!(link(400).bytes_in(Time::from_ps(39)), 1);
        assert_eq!(link(2_400).bytes_in(Time::from_ps(9)), 2);
        assert_eq!(link(2_400).bytes_in(Time::from_ps(10)), 3);
    }

    #[test]
    fn the_slower_comes_first() {
        let mut links = [2_400, 100, 3_200, 400]
            .map(|gbps| LinkSpeed::of(Rate::from_gbps(gbps)).expect("a rate of a link"));
        links.sort();
        let sorted = links.map(|link| link.rate().as_bps() / 1_000_000_000);
        assert_eq!(sorted, [100, 400, 2_400, 3_200]);
    }
}
