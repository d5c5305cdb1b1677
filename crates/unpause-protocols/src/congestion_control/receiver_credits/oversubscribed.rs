//! How much of its link's rate a host grants where the network carries less than its hosts.
//!
//! Every 1.5 base RTTs, drawn a quarter shorter or longer so that hosts do not act together, the share that the pacer
//! grants falls by the share of packets that were trimmed before the last hop, and by how far the average share of marked
//! ones is above 0.3; or else it rises by 0.01, twice as much each time in a row without a mark. It does not fall below 0.9 of
//! what the fabric carries of all that hosts can send.

use rand_core::Rng;

use crate::units::{Fraction, Time};

/// 1 as a fraction.
const ONE: u64 = 1 << 32;
/// 0.01, what is added.
const STEP: u64 = ONE / 100;
/// 0.3, the share of marks above which it decreases.
const TARGET: u64 = ONE / 10 * 3;

/// The least share of a host, where the links of switches toward hosts have this many times the rate of those further into
/// the fabric: 0.9 over that, and 0.01 at least; where that is 1 or less, 0.01.
pub fn least_share((toward_hosts, inward): (u128, u128)) -> Fraction {
    let of = |q32: u64| Fraction::from_q32(q32.max(STEP));
    if toward_hosts <= inward {
        return of(0);
    }
    let share = u128::from(ONE / 10 * 9) * inward / toward_hosts;
    of(u64::try_from(share).unwrap_or(ONE))
}

/// Bytes and marks that a host has received since the last decision.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    packets: u64,
    marked: u64,
    trimmed: u64,
    trimmed_before: u64,
}

/// The share of a host.
#[derive(Clone, Debug)]
pub struct Share {
    base_rtt: Time,
    least: u64,
    share: u64,
    /// Average share of marked packets.
    marked: u64,
    rises: u32,
    seen: Seen,
    due: Time,
}

impl Share {
    /// All of the link's rate, at a host that starts at `now`. The share does not fall below `least` ([`least_share`]).
    pub fn new<R: Rng>(base_rtt: Time, least: Fraction, now: Time, rng: &mut R) -> Self {
        let mut share = Self {
            base_rtt,
            least: least.as_q32().clamp(1, ONE),
            share: ONE,
            marked: 0,
            rises: 0,
            seen: Seen::default(),
            due: now,
        };
        share.wait(now, rng);
        share
    }

    /// Of the pacer's rate.
    pub fn share(&self) -> Fraction {
        Fraction::from_q32(self.share)
    }

    /// A whole data packet has come.
    pub fn on_data(&mut self, marked: bool) {
        self.seen.packets += 1;
        self.seen.marked += u64::from(marked);
    }

    /// A trimmed one has come, cut at the switch before this host or earlier.
    pub fn on_trim(&mut self, last_hop: bool) {
        self.seen.packets += 1;
        self.seen.trimmed += 1;
        self.seen.trimmed_before += u64::from(!last_hop);
    }

    /// When to call [`Self::on_timer`].
    pub fn next_timer(&self) -> Time {
        self.due
    }

    /// Decides, if that is due at or before `now`.
    pub fn on_timer<R: Rng>(&mut self, now: Time, rng: &mut R) {
        if now >= self.due {
            self.decide();
            self.wait(now, rng);
        }
    }

    fn wait<R: Rng>(&mut self, now: Time, rng: &mut R) {
        let whole = u128::from(self.base_rtt.as_ps()) * 3 / 2;
        let drawn = (whole / 2 * u128::from(rng.next_u32())) >> 32;
        let span = u64::try_from(whole * 3 / 4 + drawn).unwrap_or(u64::MAX);
        self.due = now.saturating_add(Time::from_ps(span.max(1)));
    }

    fn decide(&mut self) {
        let seen = core::mem::take(&mut self.seen);
        let part = |count: u64, of: u64| {
            let part = (u128::from(count) << 32) / u128::from(of.max(1));
            u64::try_from(part).unwrap_or(ONE).min(ONE)
        };
        self.share -= part(seen.trimmed_before, seen.packets).min(self.share);
        let marked = part(seen.marked, seen.packets - seen.trimmed);
        self.marked = u64::midpoint(self.marked, marked);
        let above = self.marked.saturating_sub(TARGET);
        self.share -= ((u128::from(self.share) * u128::from(above)) >> 33) as u64;
        if above > 0 || seen.trimmed_before > 0 {
            self.rises = 0;
        } else {
            let doubled = if seen.marked == 0 {
                self.rises.min(7)
            } else {
                0
            };
            self.share += STEP << doubled;
            self.rises = self.rises.saturating_add(1);
        }
        self.share = self.share.clamp(self.least, ONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    const RTT: Time = Time::from_us(12);

    struct Host {
        share: Share,
        rng: Xoshiro256PlusPlus,
    }

    impl Host {
        fn new(share: u64) -> Self {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
            let mut host = Share::new(RTT, least_share((1, 1)), Time::ZERO, &mut rng);
            host.share = share;
            Self { share: host, rng }
        }
        /// In thousandths, after whole packets, marked ones of them, and packets trimmed at the last hop and before.
        fn decides(&mut self, packets: u32, marked: u32, last: u32, before: u32) -> u64 {
            (0..packets).for_each(|index| self.share.on_data(index < marked));
            (0..last).for_each(|_| self.share.on_trim(true));
            (0..before).for_each(|_| self.share.on_trim(false));
            let now = self.share.next_timer();
            self.share.on_timer(now, &mut self.rng);
            let since = self.share.next_timer().saturating_sub(now);
            assert!(Time::from_ns(13_499) <= since && since <= Time::from_ns(22_500));
            (self.share.share * 1000 + ONE / 2) >> 32
        }
    }

    #[test]
    fn it_rises_faster_and_faster_and_slowly_with_marks() {
        let mut host = Host::new(ONE / 2);
        assert_eq!(host.decides(100, 0, 0, 0), 510);
        assert_eq!(
            host.decides(100, 0, 5, 0),
            530,
            "the last hop is the pacer's"
        );
        assert_eq!(host.decides(100, 1, 0, 0), 540);
        assert_eq!(host.decides(0, 0, 0, 0), 620);
        for _ in 0..3 {
            host.decides(0, 0, 0, 0);
        }
        assert_eq!(host.share.share(), Fraction::ONE);
    }

    /// An average of 0.4: 1 - 0.5 · 0.1 is left. Half of it later, 0.2 is below the target.
    #[test]
    fn marks_cut_by_what_is_above_the_target() {
        let mut host = Host::new(ONE);
        assert_eq!(host.decides(100, 80, 20, 0), 950);
        assert_eq!(host.decides(100, 0, 0, 0), 960);
    }

    #[test]
    fn trims_before_the_last_hop_cut_by_their_share() {
        let mut host = Host::new(ONE);
        assert_eq!(host.decides(70, 0, 10, 20), 800);
        assert_eq!(host.decides(0, 0, 0, 10), 10, "the least");
        assert_eq!(host.decides(0, 0, 0, 0), 20);
    }

    #[test]
    fn the_least_share_follows_from_the_fabric() {
        let per_mille = |it: Fraction| (it.as_q32() * 1000 + ONE / 2) >> 32;
        let least = |ratio| per_mille(least_share((ratio, 1)));
        assert_eq!([1, 4, 5, 1000].map(least), [10, 225, 180, 10]);
        assert_eq!(per_mille(least_share((1, 4))), 10, "undersubscribed");
    }
}
