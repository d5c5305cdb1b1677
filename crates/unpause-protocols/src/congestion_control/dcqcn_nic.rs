//! The reaction point of DCQCN with a clock for each of its steps, as NICs have it.
//!
//! # What it does
//!
//! A CNP is only noted. From the first one on, alpha is reset at the end of every interval of its own, by
//! whether a CNP came in it; and at the end of every interval of another clock the rate is cut by half of
//! alpha, if a CNP came since the last cut. From a cut on, a timer raises the rate: half way to the target for
//! F times, then once additively, then by the larger step each time.
//!
//! # Source
//!
//! HPCC's simulator (alibaba-edu/High-Precision-Congestion-Control), `CC_MODE` 1, which follows Mellanox's
//! description of the parameters of ConnectX-4.
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `g` | - | 1/256 | DCQCN paper; NVIDIA's NICs 5/1024 |
//! | `alpha_timer` | time | 55 us | DCQCN paper; HPCC's simulator 1 us |
//! | `cut_interval` | time | 4 us | HPCC's simulator |
//! | `increase_timer` | time | 55 us | DCQCN paper; HPCC's simulator 300 us |
//! | `fr_threshold` | times | 5 | DCQCN paper: F; HPCC's simulator 1 |
//! | `clamp_target` | - | true | DCQCN paper; HPCC's simulator false |
//! | `rate_ai` | bit/s | 40 Mb/s | DCQCN paper |
//! | `rate_hai` | bit/s | 200 Mb/s | ns3-rdma's sample configuration |
//! | `min_rate` | bit/s | 10 Mb/s | ours, as in [`super::dcqcn`] |
//! | `cnp_on_ack` | - | false | HPCC's simulator true |
//!
//! The initial rate is line rate, the first alpha 1.
//!
//! # Departures
//!
//! - Between CNPs nobody sees alpha, so its steps are made up for when it is needed, those of a long silence
//!   by a power instead of one by one.
//! - At line rate the timer stops, for it would change nothing.
//! - The half way of an increase is rounded up, so that the target is reached.

use rand_core::Rng;

use super::mechanism::half_way;
use super::{Ack, Mechanism, Path, Settings};
use crate::notification::Notification;
use crate::timer::{MOST_PERIODS_LATE, SHORTEST_PERIOD, next_on_grid};
use crate::units::{Fraction, Rate, Time};

/// Parameters of the reaction point of DCQCN with separate clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// The gain g of alpha.
    pub g: Fraction,
    /// Alpha is reset at this interval.
    pub alpha_timer: Time,
    /// The rate is cut at most once in this interval.
    pub cut_interval: Time,
    /// The rate is raised at this interval after a cut.
    pub increase_timer: Time,
    /// Times F of fast recovery.
    pub fr_threshold: u32,
    /// Every cut lowers the target to the rate before it (true), or only one that comes after an increase.
    pub clamp_target: bool,
    /// Step of additive increase.
    pub rate_ai: Rate,
    /// Step of hyper increase.
    pub rate_hai: Rate,
    /// The rate never falls below this.
    pub min_rate: Rate,
    /// Marks that ACKs tell of are CNPs.
    pub cnp_on_ack: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            g: Fraction::of(1, 256),
            alpha_timer: Time::from_us(55),
            cut_interval: Time::from_us(4),
            increase_timer: Time::from_us(55),
            fr_threshold: 5,
            clamp_target: true,
            rate_ai: Rate::from_mbps(40),
            rate_hai: Rate::from_mbps(200),
            min_rate: Rate::from_mbps(10),
            cnp_on_ack: false,
        }
    }
}

/// State of the reaction point of DCQCN with separate clocks.
#[derive(Clone, Debug)]
pub struct DcqcnNic {
    params: Params,
    line_rate: u64,
    current: u64,
    target: u64,
    /// In steps of 2^-32.
    alpha: u64,
    /// End of the interval of alpha that has not been taken in yet; never before the first CNP.
    alpha_at: Time,
    /// A CNP came in it.
    alpha_seen: bool,
    /// End of the first interval of cuts.
    first_cut: Time,
    /// When to cut; never if no CNP came since the last cut.
    cut_at: Time,
    /// Increases since the last cut.
    stage: u32,
    /// When to increase; never before the first cut, and at line rate.
    increase_at: Time,
}

const ONE: u64 = Fraction::ONE.as_q32();

/// How long after alpha the rate is cut, when both are due: HPCC's simulator adds a nanosecond.
const AFTER_ALPHA: Time = Time::from_ns(1);

impl DcqcnNic {
    /// A flow at line rate.
    pub fn new(params: &Params, path: &Path) -> Self {
        let mut params = *params;
        params.min_rate = params.min_rate.min(path.line_rate);
        params.alpha_timer = params.alpha_timer.max(SHORTEST_PERIOD);
        params.cut_interval = params.cut_interval.max(SHORTEST_PERIOD);
        params.increase_timer = params.increase_timer.max(SHORTEST_PERIOD);
        Self {
            line_rate: path.line_rate.as_bps(),
            current: path.line_rate.as_bps(),
            target: path.line_rate.as_bps(),
            alpha: ONE,
            alpha_at: Time::NEVER,
            alpha_seen: false,
            first_cut: Time::NEVER,
            cut_at: Time::NEVER,
            stage: 0,
            increase_at: Time::NEVER,
            params,
        }
    }

    fn on_cnp(&mut self, now: Time) {
        if self.alpha_at.is_never() {
            self.alpha_at = now.saturating_add(self.params.alpha_timer);
            let end = now.saturating_add(self.params.cut_interval);
            self.first_cut = end.saturating_add(AFTER_ALPHA);
            self.cut_at = self.first_cut;
            self.target = self.current;
            return;
        }
        self.advance_alpha(now);
        self.alpha_seen = true;
        if self.cut_at.is_never() {
            self.cut_at = next_on_grid(self.first_cut, self.params.cut_interval, now);
        }
    }

    /// Takes in the intervals of alpha that have ended.
    fn advance_alpha(&mut self, now: Time) {
        if now < self.alpha_at {
            return;
        }
        let period = self.params.alpha_timer.as_ps();
        let later = (now - self.alpha_at).as_ps() / period;
        self.alpha -= self.params.g.of_value(self.alpha);
        if self.alpha_seen {
            self.alpha += self.params.g.as_q32();
        }
        self.alpha_seen = false;
        self.alpha = faded(self.alpha, self.params.g, later);
        let passed = Time::from_ps(period.saturating_mul(later + 1));
        self.alpha_at = self.alpha_at.saturating_add(passed);
    }

    fn cut(&mut self, now: Time) {
        self.cut_at = Time::NEVER;
        self.advance_alpha(now);
        if self.params.clamp_target || self.stage != 0 {
            self.target = self.current;
        }
        let cut = (u128::from(self.current) * u128::from(self.alpha)) >> 33;
        self.current = (self.current - cut as u64).max(self.params.min_rate.as_bps());
        self.stage = 0;
        self.increase_at = now.saturating_add(self.params.increase_timer);
    }

    fn increase(&mut self) {
        let step = match self.stage.cmp(&self.params.fr_threshold) {
            core::cmp::Ordering::Less => 0,
            core::cmp::Ordering::Equal => self.params.rate_ai.as_bps(),
            core::cmp::Ordering::Greater => self.params.rate_hai.as_bps(),
        };
        self.stage = self.stage.saturating_add(1);
        self.target = self.target.saturating_add(step).min(self.line_rate);
        self.current = half_way(self.target, self.current).min(self.line_rate);
    }

    /// Raises the rate as often as it is due; answers when it is due again.
    fn increases(&mut self, now: Time) -> Time {
        for _ in 0..MOST_PERIODS_LATE {
            if now < self.increase_at {
                return self.increase_at;
            }
            self.increase();
            if self.current == self.line_rate {
                return Time::NEVER;
            }
            self.increase_at = self.increase_at.saturating_add(self.params.increase_timer);
        }
        now.saturating_add(self.params.increase_timer)
    }
}

/// alpha (1 - g) to the power of `times`.
fn faded(alpha: u64, g: Fraction, times: u64) -> u64 {
    const MOST_ONE_BY_ONE: u64 = 16;
    if times <= MOST_ONE_BY_ONE {
        return (0..times).fold(alpha, |alpha, _| alpha - g.of_value(alpha));
    }
    // In steps of 2^-62.
    let product = |a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 62) as u64;
    let mut factor = (1 << 62) - (g.as_q32() << 30);
    let mut power = 1 << 62;
    let mut times = times;
    while times > 0 && power > 0 {
        if times & 1 == 1 {
            power = product(power, factor);
        }
        factor = product(factor, factor);
        times >>= 1;
    }
    product(alpha, power)
}

impl Settings for Params {
    fn least_rate(&self) -> Option<Rate> {
        Some(self.min_rate)
    }
}

impl Mechanism for DcqcnNic {
    #[inline]
    fn rate(&self) -> Rate {
        Rate::from_bps(self.current)
    }

    #[inline]
    fn hears_acks(&self) -> bool {
        self.params.cnp_on_ack
    }

    #[inline]
    fn hears_sent(&self) -> bool {
        false
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack<'_>) {
        if ack.ce && self.params.cnp_on_ack {
            self.on_cnp(ack.now);
        }
    }

    fn on_notification<R: Rng>(&mut self, now: Time, notification: &Notification, _rng: &mut R) {
        if *notification == Notification::Cnp {
            self.on_cnp(now);
        }
    }

    fn on_timer<R: Rng>(&mut self, now: Time, _rng: &mut R) {
        if self.increase_at <= now {
            self.increase_at = self.increases(now);
        }
        if self.cut_at <= now {
            self.cut(now);
        }
    }

    #[inline]
    fn next_timer(&self) -> Time {
        self.cut_at.min(self.increase_at)
    }
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    const LINE: u64 = 10_000_000_000;

    /// Parameters of HPCC's `run.py` at 10 Gb/s.
    fn hpcc() -> Params {
        Params {
            alpha_timer: Time::from_us(1),
            increase_timer: Time::from_us(300),
            fr_threshold: 1,
            clamp_target: false,
            rate_ai: Rate::from_mbps(2),
            rate_hai: Rate::from_mbps(20),
            min_rate: Rate::from_mbps(100),
            ..Params::default()
        }
    }

    fn rp(params: Params) -> DcqcnNic {
        DcqcnNic::new(&params, &Path::new(Rate::from_bps(LINE), 1000))
    }

    fn run_until(rp: &mut DcqcnNic, end: Time) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        while rp.next_timer() <= end {
            let due = rp.next_timer();
            rp.on_timer(due, &mut rng);
        }
    }

    #[test]
    fn the_first_cnp_cuts_at_the_end_of_an_interval_by_what_is_left_of_alpha() {
        let mut rp = rp(hpcc());
        assert_eq!(rp.next_timer(), Time::NEVER);
        rp.on_cnp(Time::from_us(10));
        assert_eq!(rp.rate(), Rate::from_bps(LINE));
        let cut = Time::from_us(14) + Time::from_ns(1);
        assert_eq!(rp.next_timer(), cut);
        run_until(&mut rp, cut);
        // Four intervals without another CNP: alpha = (255/256)^4.
        let alpha = (255.0_f64 / 256.0).powi(4);
        let expected = LINE as f64 * (1.0 - alpha / 2.0);
        assert!((rp.current as f64 - expected).abs() < 10.0);
        assert_eq!(
            (rp.target, rp.next_timer()),
            (LINE, cut + Time::from_us(300))
        );
    }

    #[test]
    fn cuts_stay_on_the_grid_of_the_first() {
        let mut rp = rp(hpcc());
        rp.on_cnp(Time::ZERO);
        run_until(&mut rp, Time::from_us(5));
        for (cnp, cut) in [(9, 12), (12, 16), (17, 20)] {
            rp.on_cnp(Time::from_us(cnp) + Time::from_ns(2));
            assert_eq!(rp.cut_at, Time::from_us(cut) + Time::from_ns(1));
            let cut_at = rp.cut_at;
            run_until(&mut rp, cut_at);
        }
    }

    #[test]
    fn a_cnp_counts_in_its_interval_of_alpha_only() {
        let mut rp = rp(Params {
            alpha_timer: Time::from_us(50),
            ..hpcc()
        });
        rp.on_cnp(Time::ZERO);
        rp.on_cnp(Time::from_us(60));
        rp.on_cnp(Time::from_us(70));
        rp.advance_alpha(Time::from_us(150));
        let decay = |alpha: u64| alpha - (alpha >> 8);
        // The first interval had only the CNP that began it, the second one two, the third none.
        assert_eq!(rp.alpha, decay(decay(decay(ONE)) + (ONE >> 8)));
    }

    #[test]
    fn recovery_is_fast_once_then_additive_once_then_hyper() {
        let mut rp = rp(Params {
            clamp_target: true,
            ..hpcc()
        });
        rp.on_cnp(Time::ZERO);
        run_until(&mut rp, Time::from_us(5));
        rp.on_cnp(Time::from_us(6));
        run_until(&mut rp, Time::from_us(9));
        let target = rp.target;
        let steps: [u64; 4] = core::array::from_fn(|number| {
            let before = rp.target;
            run_until(&mut rp, Time::from_us(9 + 300 * (number as u64 + 1)));
            rp.target - before
        });
        assert_eq!(steps, [0, 2_000_000, 20_000_000, 20_000_000]);
        assert!(target < LINE);
    }

    #[test]
    fn without_clamping_a_cut_before_any_increase_keeps_the_target() {
        let mut rp = rp(hpcc());
        rp.on_cnp(Time::ZERO);
        run_until(&mut rp, Time::from_us(5));
        rp.on_cnp(Time::from_us(6));
        run_until(&mut rp, Time::from_us(9));
        assert_eq!(rp.target, LINE);
        run_until(&mut rp, Time::from_us(400));
        let before = rp.current;
        rp.on_cnp(Time::from_us(401));
        run_until(&mut rp, Time::from_us(405));
        assert_eq!(rp.target, before);
    }

    #[test]
    fn at_line_rate_the_timer_stops_and_no_cut_goes_below_the_minimum() {
        let mut rp = rp(hpcc());
        rp.on_cnp(Time::ZERO);
        run_until(&mut rp, Time::from_ms(100));
        assert_eq!((rp.current, rp.next_timer()), (LINE, Time::NEVER));
        for us in 0..20_000 {
            rp.on_cnp(Time::from_ms(100) + Time::from_us(us));
            run_until(&mut rp, Time::from_ms(100) + Time::from_us(us));
        }
        assert_eq!(rp.current, 100_000_000);
    }

    #[test]
    fn a_power_fades_as_steps_do() {
        for times in [17, 100, 1000, 100_000] {
            let steps = (0..times).fold(ONE, |alpha, _| alpha - (alpha >> 8));
            let exact = ONE as f64 * (255.0_f64 / 256.0).powf(times as f64);
            let power = faded(ONE, Fraction::of(1, 256), times);
            assert!((power as f64 - exact).abs() <= 1.0 + exact * 1e-9);
            assert!(steps.abs_diff(power) < 300);
        }
        assert_eq!(faded(ONE, Fraction::ONE, 1 << 40), 0);
    }

    #[test]
    fn marks_on_acks_are_cnps_only_if_told_so() {
        let ack = Ack {
            bytes: 1000,
            ce: true,
            acknowledged: 1000,
            sent: 2000,
            ..Ack::at(Time::from_us(1))
        };
        for cnp_on_ack in [false, true] {
            let mut rp = rp(Params {
                cnp_on_ack,
                ..hpcc()
            });
            rp.on_ack(&ack);
            assert_eq!(!rp.next_timer().is_never(), cnp_on_ack);
        }
    }
}
