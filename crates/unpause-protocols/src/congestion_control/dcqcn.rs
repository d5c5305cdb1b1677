//! The reaction point of DCQCN.
//!
//! # What it does
//!
//! A CNP cuts the rate by half of alpha, an estimate of how congested the path is: it grows with each
//! CNP and fades without. The rate climbs back as QCN's does, by a timer and a byte counter: half way to
//! the target for F cycles, then additively, then hyper-actively when both have passed F.
//!
//! # Source
//!
//! Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, reaction point;
//! variants of ns3-rdma as knobs.
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `g` | - | 1/256 | DCQCN paper; NVIDIA's NICs 5/1024 |
//! | `alpha_init` | fraction | 1 | DCQCN paper; ns3-rdma 1/2 |
//! | `alpha_order` | - | `CutFirst` | DCQCN paper; `UpdateFirst` is ns3-rdma's |
//! | `alpha_timer` | time | 55 us | DCQCN paper |
//! | `increase_timer` | time | 55 us | DCQCN paper; ns3-rdma 60 us |
//! | `byte_counter` | bytes or none | 10 MB | DCQCN paper |
//! | `fr_threshold` | cycles | 5 | DCQCN paper: F |
//! | `clamp_target` | - | true | DCQCN paper: every CNP lowers the target |
//! | `rate_ai` | bit/s | 40 Mb/s | DCQCN paper |
//! | `rate_hai` | bit/s | 200 Mb/s | ns3-rdma's sample configuration |
//! | `cnp_on_ack` | - | false | DCQCN paper: CNPs are packets; HPCC's simulator true |
//! | `min_rate` | bit/s | 10 Mb/s | ours: below the fair share of a thousand flows at 40 Gb/s |
//!
//! The initial rate is line rate.
//!
//! # Departures
//!
//! - Between CNPs nobody sees alpha, so its decay is made up for at the next CNP instead of by a timer;
//!   the values are those of the timer.
//! - At line rate the clocks stop, for they would change nothing. Alpha is kept: the limiter is not
//!   dropped.
//! - The half way of an increase is rounded up, so that line rate is reached.

use rand_core::Rng;

use super::mechanism::half_way;
use super::{Ack, Mechanism, Path, Settings};
use crate::names::Names;
use crate::notification::Notification;
use crate::timer::{MOST_PERIODS_LATE, SHORTEST_PERIOD};
use crate::units::{Fraction, Rate, Time};

/// The order of the two steps of a CNP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Names)]
pub enum AlphaOrder {
    /// Cut the rate by the alpha there is, then update alpha.
    #[default]
    CutFirst,
    /// Update alpha, then cut the rate by it.
    UpdateFirst,
}

/// Parameters of the reaction point of DCQCN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// The gain g of alpha.
    pub g: Fraction,
    /// Alpha of a flow that has seen no CNP.
    pub alpha_init: Fraction,
    /// Whether a CNP cuts with the old alpha or the new one.
    pub alpha_order: AlphaOrder,
    /// Alpha decays once in this time without a CNP.
    pub alpha_timer: Time,
    /// Duration of one cycle of the increase timer.
    pub increase_timer: Time,
    /// Bytes of one cycle of the byte counter; `None`: the timer alone counts cycles.
    pub byte_counter: Option<u64>,
    /// Cycles F of fast recovery.
    pub fr_threshold: u32,
    /// Every CNP lowers the target to the rate before the cut (true), or only one that comes after at
    /// least one cycle of increase, as in QCN.
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
            alpha_init: Fraction::ONE,
            alpha_order: AlphaOrder::CutFirst,
            alpha_timer: Time::from_us(55),
            increase_timer: Time::from_us(55),
            byte_counter: Some(10_000_000),
            fr_threshold: 5,
            clamp_target: true,
            rate_ai: Rate::from_mbps(40),
            rate_hai: Rate::from_mbps(200),
            min_rate: Rate::from_mbps(10),
            cnp_on_ack: false,
        }
    }
}

/// State of the reaction point of DCQCN.
#[derive(Clone, Debug)]
pub struct Dcqcn {
    params: Params,
    line_rate: u64,
    current: u64,
    target: u64,
    /// In steps of 2^-32.
    alpha: u64,
    /// From when on alpha has not been decayed; never before the first CNP.
    alpha_since: Time,
    time_stage: u32,
    byte_stage: u32,
    bytes_left: u64,
    /// End of the timer's cycle; never at line rate.
    timer: Time,
}

impl Dcqcn {
    /// A flow at line rate.
    pub fn new(params: &Params, path: &Path) -> Self {
        let mut params = *params;
        params.min_rate = params.min_rate.min(path.line_rate);
        params.alpha_timer = params.alpha_timer.max(SHORTEST_PERIOD);
        params.increase_timer = params.increase_timer.max(SHORTEST_PERIOD);
        Self {
            line_rate: path.line_rate.as_bps(),
            current: path.line_rate.as_bps(),
            target: path.line_rate.as_bps(),
            alpha: params.alpha_init.as_q32(),
            alpha_since: Time::NEVER,
            time_stage: 0,
            byte_stage: 0,
            bytes_left: params.byte_counter.unwrap_or(u64::MAX),
            timer: Time::NEVER,
            params,
        }
    }

    /// Alpha as the last CNP left it.
    pub fn alpha(&self) -> Fraction {
        Fraction::from_q32(self.alpha)
    }

    fn on_cnp(&mut self, now: Time) {
        self.decay_alpha(now);
        if self.params.alpha_order == AlphaOrder::UpdateFirst {
            self.raise_alpha();
        }
        if self.params.clamp_target || self.time_stage != 0 || self.byte_stage != 0 {
            self.target = self.current;
        }
        let cut = (u128::from(self.current) * u128::from(self.alpha)) >> 33;
        self.current = (self.current - cut as u64).max(self.params.min_rate.as_bps());
        if self.params.alpha_order == AlphaOrder::CutFirst {
            self.raise_alpha();
        }
        self.time_stage = 0;
        self.byte_stage = 0;
        self.bytes_left = self.params.byte_counter.unwrap_or(u64::MAX);
        self.timer = now.saturating_add(self.params.increase_timer);
        self.alpha_since = now;
    }

    /// alpha (1 - g) for every whole `alpha_timer` since the last CNP.
    fn decay_alpha(&mut self, now: Time) {
        if self.alpha_since.is_never() {
            return;
        }
        let elapsed = now.saturating_sub(self.alpha_since).as_ps();
        let periods = elapsed / self.params.alpha_timer.as_ps();
        for _ in 0..periods.min(u64::from(MOST_PERIODS_LATE)) {
            let decay = self.params.g.of_value(self.alpha);
            if decay == 0 {
                break;
            }
            self.alpha -= decay;
        }
    }

    /// alpha (1 - g) + g.
    fn raise_alpha(&mut self) {
        self.alpha -= self.params.g.of_value(self.alpha);
        self.alpha += self.params.g.as_q32();
    }

    fn increase(&mut self) {
        let threshold = self.params.fr_threshold;
        let byte_stage = match self.params.byte_counter {
            Some(_) => self.byte_stage,
            None => self.time_stage,
        };
        let least = self.time_stage.min(byte_stage);
        let most = self.time_stage.max(byte_stage);
        let step = if most < threshold {
            0
        } else if least > threshold {
            let hai = self.params.rate_hai.as_bps();
            hai.saturating_mul(u64::from(least - threshold))
        } else {
            self.params.rate_ai.as_bps()
        };
        self.target = self.target.saturating_add(step).min(self.line_rate);
        self.current = half_way(self.target, self.current).min(self.line_rate);
        if self.current == self.line_rate {
            self.timer = Time::NEVER;
        }
    }

    fn end_byte_cycle(&mut self) {
        self.byte_stage = self.byte_stage.saturating_add(1);
        self.bytes_left = self.params.byte_counter.unwrap_or(u64::MAX);
        self.increase();
    }
}

impl Settings for Params {
    fn least_rate(&self) -> Option<Rate> {
        Some(self.min_rate)
    }
}

impl Mechanism for Dcqcn {
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
        !self.timer.is_never()
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

    #[inline]
    fn on_sent<R: Rng>(&mut self, _now: Time, bytes: u32, _backlogged: bool, _rng: &mut R) {
        if self.timer.is_never() {
            return;
        }
        self.bytes_left = self.bytes_left.saturating_sub(u64::from(bytes));
        if self.bytes_left == 0 {
            self.end_byte_cycle();
        }
    }

    fn on_timer<R: Rng>(&mut self, now: Time, _rng: &mut R) {
        for _ in 0..MOST_PERIODS_LATE {
            if now < self.timer || self.timer.is_never() {
                return;
            }
            self.timer = self.timer.saturating_add(self.params.increase_timer);
            self.time_stage = self.time_stage.saturating_add(1);
            self.increase();
        }
        self.timer = now.saturating_add(self.params.increase_timer);
    }

    #[inline]
    fn next_timer(&self) -> Time {
        self.timer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    const LINE: u64 = 40_000_000_000;
    const ONE: u64 = 1 << 32;

    fn rp(params: Params) -> Dcqcn {
        Dcqcn::new(&params, &Path::new(Rate::from_bps(LINE), 1000))
    }

    fn run_timers(rp: &mut Dcqcn, until: Time) {
        rp.on_timer(until, &mut Xoshiro256PlusPlus::seed_from_u64(1));
    }

    #[test]
    fn the_first_cnp_halves_the_rate_and_leaves_alpha_at_one() {
        let mut rp = rp(Params::default());
        rp.on_cnp(Time::ZERO);
        assert_eq!((rp.current, rp.target, rp.alpha), (LINE / 2, LINE, ONE));
        assert_eq!(rp.alpha(), Fraction::ONE);
        assert_eq!(rp.next_timer(), Time::from_us(55));
    }

    #[test]
    fn ns3_rdma_raises_a_smaller_alpha_before_the_cut() {
        let mut rp = rp(Params {
            alpha_init: Fraction::of(1, 2),
            alpha_order: AlphaOrder::UpdateFirst,
            ..Params::default()
        });
        rp.on_cnp(Time::ZERO);
        let alpha = ONE / 2 - (ONE >> 9) + (ONE >> 8);
        assert_eq!(rp.alpha, alpha);
        let cut = (u128::from(LINE) * u128::from(alpha)) >> 33;
        assert_eq!(rp.current, LINE - cut as u64);
    }

    #[test]
    fn alpha_decays_by_a_256th_per_quiet_period() {
        let mut rp = rp(Params::default());
        rp.on_cnp(Time::ZERO);
        rp.on_cnp(Time::from_us(54));
        assert_eq!(rp.alpha, ONE);
        rp.on_cnp(Time::from_us(54 + 55));
        let decayed = ONE - (ONE >> 8);
        assert_eq!(rp.alpha, decayed - (decayed >> 8) + (ONE >> 8));
        let mut expected = rp.alpha;
        for _ in 0..100 {
            expected -= expected >> 8;
        }
        rp.decay_alpha(Time::from_us(109 + 55 * 101 - 1));
        assert_eq!(rp.alpha, expected);
    }

    #[test]
    fn fast_recovery_lasts_until_the_fifth_cycle() {
        let mut rp = rp(Params::default());
        rp.on_cnp(Time::ZERO);
        rp.on_cnp(Time::from_us(1));
        let (target, gap) = (rp.target, rp.target - rp.current);
        assert_eq!(target, LINE / 2);
        for cycle in 1..5 {
            run_timers(&mut rp, Time::from_us(1 + 55 * cycle));
            assert_eq!((rp.target, target - rp.current), (target, gap >> cycle));
        }
        run_timers(&mut rp, Time::from_us(1 + 55 * 5));
        assert_eq!(rp.target, target + 40_000_000);
    }

    #[test]
    fn additive_recovery_of_17_5_gigabits_takes_24_milliseconds() {
        let mut rp = rp(Params::default());
        for _ in 0..5 {
            rp.on_cnp(Time::ZERO);
        }
        let mut crossed = [Time::NEVER; 2];
        while crossed[1].is_never() {
            let now = rp.next_timer();
            run_timers(&mut rp, now);
            for (at, gbps) in crossed.iter_mut().zip([5_000, 22_500]) {
                if at.is_never() && rp.rate() >= Rate::from_mbps(gbps) {
                    *at = now;
                }
            }
        }
        let took = crossed[1] - crossed[0];
        // 437.5 steps of 55 us.
        assert!(took >= Time::from_us(55 * 437) && took <= Time::from_us(55 * 438));
    }

    #[test]
    fn hyper_increase_needs_both_clocks_past_the_threshold() {
        let mut rp = rp(Params::default());
        rp.on_cnp(Time::ZERO);
        rp.on_cnp(Time::ZERO);
        for _ in 0..6 {
            rp.end_byte_cycle();
        }
        run_timers(&mut rp, Time::from_us(55 * 4));
        let before = rp.target;
        // At the threshold, not past it: additive.
        run_timers(&mut rp, Time::from_us(55 * 5));
        assert_eq!(rp.target - before, 40_000_000);
        for steps in 1..4 {
            let before = rp.target;
            run_timers(&mut rp, Time::from_us(55 * (5 + steps)));
            assert_eq!(rp.target - before, 200_000_000 * steps);
            rp.end_byte_cycle();
        }
    }

    #[test]
    fn without_a_byte_counter_the_timer_alone_leads_to_hyper_increase() {
        let mut rp = rp(Params {
            byte_counter: None,
            ..Params::default()
        });
        rp.on_cnp(Time::ZERO);
        rp.on_cnp(Time::ZERO);
        run_timers(&mut rp, Time::from_us(55 * 5));
        let before = rp.target;
        run_timers(&mut rp, Time::from_us(55 * 6));
        assert_eq!(rp.target - before, 200_000_000);
    }

    #[test]
    fn the_byte_counter_ends_a_cycle_every_ten_megabytes() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut rp = rp(Params::default());
        rp.on_cnp(Time::ZERO);
        for _ in 0..9_999 {
            rp.on_sent(Time::ZERO, 1000, true, &mut rng);
        }
        assert_eq!(rp.byte_stage, 0);
        rp.on_sent(Time::ZERO, 1000, true, &mut rng);
        assert_eq!((rp.byte_stage, rp.bytes_left), (1, 10_000_000));
    }

    #[test]
    fn without_clamping_a_cnp_before_any_recovery_keeps_the_target() {
        let mut rp = rp(Params {
            clamp_target: false,
            ..Params::default()
        });
        rp.on_cnp(Time::ZERO);
        rp.on_cnp(Time::ZERO);
        assert_eq!(rp.target, LINE);
        run_timers(&mut rp, Time::from_us(55));
        let before = rp.current;
        rp.on_cnp(Time::from_us(60));
        assert_eq!(rp.target, before);
    }

    #[test]
    fn at_line_rate_no_timer_runs() {
        let mut rp = rp(Params::default());
        assert_eq!(rp.next_timer(), Time::NEVER);
        rp.on_cnp(Time::ZERO);
        run_timers(&mut rp, Time::from_ms(100));
        assert_eq!((rp.current, rp.next_timer()), (LINE, Time::NEVER));
    }

    #[test]
    fn no_cut_goes_below_the_minimum_rate() {
        let mut rp = rp(Params::default());
        for _ in 0..100 {
            rp.on_cnp(Time::ZERO);
        }
        assert_eq!(rp.current, 10_000_000);
    }
}
