//! The reaction point of TIMELY.
//!
//! # What it does
//!
//! Watches the round-trip time: adds a step while it is short or falls, several after a run of falls,
//! and cuts the rate when it rises, in proportion to how fast, or when it is long.
//!
//! # Source
//!
//! - R. Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015,
//!   Algorithm 1: [`Variant::Segment`].
//! - The per-packet-pacing snippet published by its first author, which the PCN paper says it used:
//!   [`Variant::PerPacket`].
//! - Y. Zhu et al., "ECN or Delay: Lessons Learnt from Analysis of DCQCN and TIMELY", CoNEXT 2016:
//!   [`Variant::Patched`].
//!
//! # Parameters
//!
//! | name | unit | per packet | segment | patched | origin |
//! |---|---|---|---|---|---|
//! | `ewma` | fraction | 0.02 | 0.875 | 0.875 | snippet; CoNEXT 2016 |
//! | `t_low` | time | 0 | 50 us | 50 us | snippet; TIMELY paper |
//! | `t_high` | time | 1 ms | 500 us | 500 us | snippet; TIMELY paper |
//! | `min_rtt` | time | 20 us | 20 us | 20 us | CoNEXT 2016; set it to the base RTT |
//! | `delta` | bit/s | 10 Mb/s | 10 Mb/s | 10 Mb/s | TIMELY paper |
//! | `beta` | fraction | 0.8 | 0.8 | 0.008 | TIMELY paper; CoNEXT 2016 |
//! | `hai_after` | falls | 5 | 5 | - | TIMELY paper |
//! | `hai_factor` | - | 5 | 5 | - | TIMELY paper |
//! | `segment_bytes` | bytes | - | 16 000 | 16 000 | TIMELY paper, ns3-rdma |
//! | `min_rate` | bit/s | 1 Mb/s | 1 Mb/s | 1 Mb/s | ours: that of PCN; the paper states none |
//!
//! The initial rate is line rate.
//!
//! # Departures
//!
//! - Integers throughout: the smoothed RTT difference counts 2^-16 ps. A positive one therefore fades to
//!   zero after about a thousand equal RTTs, where a real number would stay positive.
//! - The patched law's extras in eRPC (steps scaled by the time passed, no update at line rate) are left
//!   out.

use super::{Ack, Mechanism, Path};
use crate::units::{Fraction, Rate, Time};

/// Which TIMELY.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variant {
    /// Paced and measured per packet, steps scaled by the time passed.
    #[default]
    PerPacket,
    /// The paper's: bursts of a segment, one measurement each.
    Segment,
    /// Segments, with the law of CoNEXT 2016 between the two thresholds.
    Patched,
}

/// Parameters of TIMELY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Which law.
    pub variant: Variant,
    /// Weight of the newest RTT difference in the average.
    pub ewma: Fraction,
    /// Below this RTT the rate always grows.
    pub t_low: Time,
    /// Above this RTT the rate always falls.
    pub t_high: Time,
    /// What the gradient is normalised by: the RTT of the empty network.
    pub min_rtt: Time,
    /// Additive step.
    pub delta: Rate,
    /// Gain of a decrease.
    pub beta: Fraction,
    /// Falls in a row after which steps are larger.
    pub hai_after: u32,
    /// How many times larger.
    pub hai_factor: u32,
    /// Bytes of a segment; of no effect per packet.
    pub segment_bytes: u32,
    /// The rate never falls below this.
    pub min_rate: Rate,
}

impl Default for Params {
    fn default() -> Self {
        Self::per_packet()
    }
}

impl Params {
    /// The published snippet for per-packet pacing.
    pub const fn per_packet() -> Self {
        Self {
            variant: Variant::PerPacket,
            ewma: Fraction::from_ppm(20_000),
            t_low: Time::ZERO,
            t_high: Time::from_us(1000),
            ..Self::segment()
        }
    }
    /// The paper's algorithm.
    pub const fn segment() -> Self {
        Self {
            variant: Variant::Segment,
            ewma: Fraction::from_ppm(875_000),
            t_low: Time::from_us(50),
            t_high: Time::from_us(500),
            min_rtt: Time::from_us(20),
            delta: Rate::from_mbps(10),
            beta: Fraction::from_ppm(800_000),
            hai_after: 5,
            hai_factor: 5,
            segment_bytes: 16_000,
            min_rate: Rate::from_mbps(1),
        }
    }
    /// The law of CoNEXT 2016.
    pub const fn patched() -> Self {
        Self {
            variant: Variant::Patched,
            beta: Fraction::from_ppm(8_000),
            ..Self::segment()
        }
    }
}

/// State of TIMELY.
#[derive(Clone, Debug)]
pub struct Timely {
    params: Params,
    line_rate: u64,
    rate: u64,
    /// The RTT before; never before the first.
    previous: Time,
    /// Smoothed difference of successive RTTs, in 2^-16 ps.
    average: i64,
    /// Falls in a row.
    falls: u32,
    last_ack: Time,
}

/// Longer round trips count as this, 70 s, so that averages fit 64 bits.
const LONGEST_RTT: Time = Time::from_ps(1 << 46);

const ONE: i128 = Fraction::ONE.as_q32() as i128;

impl Timely {
    /// A flow at line rate.
    pub fn new(params: &Params, path: &Path) -> Self {
        let mut params = *params;
        params.min_rtt = params.min_rtt.max(Time::from_ps(1));
        params.min_rate = params.min_rate.min(path.line_rate);
        Self {
            params,
            line_rate: path.line_rate.as_bps(),
            rate: path.line_rate.as_bps(),
            previous: Time::NEVER,
            average: 0,
            falls: 0,
            last_ack: Time::ZERO,
        }
    }

    /// Takes in one RTT; answers what part of the steps the time since the last one is worth.
    fn observe(&mut self, now: Time, rtt: Time) -> Fraction {
        let previous = if self.previous.is_never() {
            rtt
        } else {
            self.previous
        };
        let difference = rtt.as_ps() as i64 - previous.as_ps() as i64;
        let ewma = i128::from(self.params.ewma.as_q32());
        let old = i128::from(self.average) * (ONE - ewma);
        let new = (i128::from(difference) << 16) * ewma;
        self.average = ((old + new) >> 32) as i64;
        let falls = match self.params.variant {
            Variant::PerPacket => difference < 0,
            Variant::Segment | Variant::Patched => self.average <= 0,
        };
        self.falls = if falls {
            self.falls.saturating_add(1)
        } else {
            0
        };
        let elapsed = now.saturating_sub(self.last_ack);
        self.previous = rtt;
        self.last_ack = now;
        match self.params.variant {
            Variant::PerPacket => Fraction::of(elapsed.as_ps(), self.params.min_rtt.as_ps()),
            Variant::Segment | Variant::Patched => Fraction::ONE,
        }
    }

    /// Smoothed RTT difference over `min_rtt`, in steps of 2^-32.
    fn gradient(&self) -> i128 {
        (i128::from(self.average) << 16) / i128::from(self.params.min_rtt.as_ps())
    }

    fn raised(&self, steps: u64, scale: Fraction) -> u64 {
        let step = self.params.delta.as_bps().saturating_mul(steps);
        self.rate.saturating_add(scale.of_value(step))
    }

    /// The rate less `cut` (in steps of 2^-32) of it.
    fn lowered(&self, cut: u128) -> u64 {
        let cut = (u128::from(self.rate) * cut.min(ONE as u128)) >> 32;
        self.rate - cut as u64
    }

    /// Above `t_high`: a cut by how far above.
    fn retreat(&self, rtt: Time, scale: Fraction) -> u64 {
        let excess = rtt.saturating_sub(self.params.t_high);
        let excess = Fraction::of(excess.as_ps(), rtt.as_ps());
        let cut = self.params.beta.of_value(excess.as_q32());
        self.lowered(u128::from(scale.of_value(cut)))
    }

    /// Between the thresholds, by the gradient.
    fn follow_gradient(&self, scale: Fraction) -> u64 {
        if self.average <= 0 {
            let hyper = self.falls >= self.params.hai_after;
            let steps = if hyper { self.params.hai_factor } else { 1 };
            return self.raised(u64::from(steps), scale);
        }
        let beta = i128::from(self.params.beta.as_q32());
        self.lowered(((self.gradient() * beta) >> 32) as u128)
    }

    /// Between the thresholds, by gradient and distance from `t_low` together.
    fn follow_patched(&self, rtt: Time) -> u64 {
        let weight = (2 * self.gradient() + ONE / 2).clamp(0, ONE);
        let weight = Fraction::from_q32(weight as u64);
        let reference = self.params.t_low.max(Time::from_ps(1));
        let error = u128::from(rtt.saturating_sub(reference).as_ps());
        let gain = u128::from(self.params.beta.of_value(weight.as_q32()));
        let cut = gain * error / u128::from(reference.as_ps());
        let step = self.params.delta.as_bps();
        let step = weight.complement().of_value(step);
        self.lowered(cut).saturating_add(step)
    }

    /// A round-trip time has been measured.
    fn on_rtt(&mut self, now: Time, rtt: Time) {
        let rtt = rtt.min(LONGEST_RTT);
        let scale = self.observe(now, rtt);
        let mut next = if rtt < self.params.t_low {
            self.raised(1, scale)
        } else if rtt > self.params.t_high {
            self.retreat(rtt, scale)
        } else if self.params.variant == Variant::Patched {
            self.follow_patched(rtt)
        } else {
            self.follow_gradient(scale)
        };
        if self.params.variant == Variant::PerPacket {
            next = next.max(self.rate / 2);
        }
        self.rate = next.max(self.params.min_rate.as_bps()).min(self.line_rate);
    }
}

impl Mechanism for Timely {
    #[inline]
    fn rate(&self) -> Rate {
        Rate::from_bps(self.rate)
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack<'_>) {
        if let Some(rtt) = ack.rtt {
            self.on_rtt(ack.now, rtt);
        }
    }

    #[inline]
    fn burst_bytes(&self) -> Option<u32> {
        match self.params.variant {
            Variant::PerPacket => None,
            Variant::Segment | Variant::Patched => Some(self.params.segment_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: u64 = 40_000_000_000;
    const DELTA: u64 = 10_000_000;

    fn at_us(us: u64) -> Time {
        Time::from_us(us)
    }

    fn rp(params: Params, rate: u64) -> Timely {
        let mut rp = Timely::new(&params, &Path::new(Rate::from_bps(LINE), 1000));
        rp.rate = rate;
        rp
    }

    #[test]
    fn recovery_of_17_5_gigabits_takes_52_milliseconds_at_30_microseconds() {
        let mut rp = rp(Params::per_packet(), 20_000_000_000);
        let mut now = Time::ZERO;
        while rp.rate < 37_500_000_000 {
            now += at_us(30);
            rp.on_rtt(now, at_us(30));
        }
        assert_eq!(now, at_us(1750 * 30));
    }

    #[test]
    fn per_packet_steps_are_scaled_by_the_time_passed() {
        let mut rp = rp(Params::per_packet(), LINE / 2);
        rp.on_rtt(at_us(100), at_us(30));
        assert_eq!(rp.rate, LINE / 2 + DELTA);
        // A quarter of min_rtt later.
        rp.on_rtt(at_us(105), at_us(30));
        assert_eq!(rp.rate, LINE / 2 + DELTA + DELTA / 4);
    }

    #[test]
    fn a_rising_rtt_cuts_by_beta_times_the_gradient() {
        let mut rp = rp(Params::per_packet(), LINE / 2);
        rp.on_rtt(at_us(100), at_us(30));
        let before = rp.rate;
        rp.on_rtt(at_us(200), at_us(40));
        // 0.8 x 0.02 x 10 us / 20 us = 0.8 %
        assert!((before - rp.rate).abs_diff(before / 1000 * 8) < 1000);
    }

    #[test]
    fn a_long_rtt_cuts_by_its_excess() {
        let mut rp = rp(Params::segment(), LINE / 2);
        rp.on_rtt(at_us(1000), at_us(1000));
        // 0.8 x (1 - 500 / 1000)
        assert!(rp.rate.abs_diff(LINE / 2 / 10 * 6) < 100);
    }

    #[test]
    fn per_packet_never_more_than_halves() {
        let mut rp = rp(Params::per_packet(), LINE / 2);
        rp.on_rtt(at_us(100), at_us(30));
        rp.params.ewma = Fraction::ONE;
        let before = rp.rate;
        rp.on_rtt(at_us(200), at_us(900));
        assert_eq!(rp.rate, before / 2);
    }

    #[test]
    fn falling_five_times_in_a_row_multiplies_the_step() {
        let mut rp = rp(Params::per_packet(), LINE / 2);
        rp.on_rtt(at_us(100), at_us(100));
        for fall in 1..=6 {
            let before = rp.rate;
            rp.on_rtt(at_us(100 + 100 * fall), at_us(100 - fall));
            let steps = if fall < 5 { 1 } else { 5 };
            assert_eq!(rp.rate - before, steps * DELTA);
        }
        // An unchanged RTT is no fall.
        let before = rp.rate;
        rp.on_rtt(at_us(800), at_us(94));
        assert_eq!(rp.rate - before, DELTA);
    }

    #[test]
    fn a_segment_counts_an_unchanged_rtt_as_a_fall() {
        let mut rp = rp(Params::segment(), LINE / 2);
        for completion in 1..=6 {
            let before = rp.rate;
            rp.on_rtt(at_us(100 * completion), at_us(60));
            let steps = if completion < 5 { 1 } else { 5 };
            assert_eq!(rp.rate - before, steps * DELTA);
        }
    }

    #[test]
    fn below_t_low_the_rate_grows_whatever_the_gradient() {
        let mut rp = rp(Params::segment(), LINE / 2);
        rp.on_rtt(at_us(100), at_us(20));
        rp.on_rtt(at_us(200), at_us(49));
        assert_eq!(rp.rate, LINE / 2 + 2 * DELTA);
    }

    #[test]
    fn patched_weighs_step_and_cut_by_the_gradient() {
        // No gradient: weight 1/2, error (100 - 50) / 50 = 1.
        let mut flat = rp(Params::patched(), LINE / 2);
        flat.on_rtt(at_us(100), at_us(100));
        let expected = LINE / 2 - LINE / 2 / 1000 * 4 + DELTA / 2;
        assert!(flat.rate.abs_diff(expected) < 100);
        // Steep rise: weight 1, error 3.
        let mut rising = rp(Params::patched(), LINE / 2);
        rising.on_rtt(at_us(100), at_us(50));
        rising.rate = LINE / 2;
        rising.on_rtt(at_us(200), at_us(200));
        assert!(rising.rate.abs_diff(LINE / 2 - LINE / 2 / 1000 * 24) < 100);
        // Steep fall: weight 0.
        rising.rate = LINE / 2;
        rising.on_rtt(at_us(300), at_us(100));
        assert_eq!(rising.rate, LINE / 2 + DELTA);
    }

    #[test]
    fn only_the_segment_variants_send_bursts() {
        assert_eq!(rp(Params::default(), LINE).burst_bytes(), None);
        assert_eq!(rp(Params::segment(), LINE).burst_bytes(), Some(16_000));
        assert_eq!(rp(Params::patched(), LINE).burst_bytes(), Some(16_000));
    }

    #[test]
    fn a_positive_average_fades_to_zero() {
        let mut rp = rp(Params::per_packet(), LINE / 2);
        rp.on_rtt(at_us(100), at_us(30));
        rp.on_rtt(at_us(200), at_us(31));
        assert!(rp.average > 0);
        for ack in 0..1500 {
            rp.on_rtt(at_us(300 + ack), at_us(31));
        }
        assert_eq!(rp.average, 0);
    }
}
