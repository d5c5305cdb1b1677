//! The reaction point of QCN.
//!
//! # What it does
//!
//! Cuts the rate in proportion to the feedback, then climbs back by two clocks, one of bytes sent and
//! one of time: first half way towards the rate before the cut in each of five cycles (fast recovery),
//! then beyond it in small steps (active increase) and in growing ones once both clocks have passed
//! their five cycles (hyper-active increase).
//!
//! # Source
//!
//! IEEE 802.1Qau (now 802.1Q clauses 30 to 33), reaction point; the task group's serial pseudo-code
//! with hyper-active increase; defaults of IEEE8021-CN-MIB.
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `gd_log2` | - | 7 | IEEE8021-CN-MIB: Gd = 1/128 |
//! | `min_decrease_factor` | fraction | 1/2 | IEEE8021-CN-MIB |
//! | `fr_threshold` | cycles | 5 | IEEE8021-CN-MIB |
//! | `fr_strict` | - | true | pseudo-code: beyond the threshold; false is ns3-rdma's "at" |
//! | `byte_reset` | bytes | 150 000 | IEEE8021-CN-MIB |
//! | `time_reset` | time | 15 ms | IEEE8021-CN-MIB |
//! | `rate_ai` | bit/s | 5 Mb/s | IEEE8021-CN-MIB |
//! | `rate_hai` | bit/s | 50 Mb/s | IEEE8021-CN-MIB |
//! | `min_rate` | bit/s | 5 Mb/s | IEEE8021-CN-MIB |
//!
//! The maximum and initial rate are line rate.
//!
//! # Departures
//!
//! - ns3-rdma neither jitters its clocks nor shortens them before the hyper phase; this follows the
//!   pseudo-code, which does both.
//! - The half way of an increase is rounded up, so that line rate is reached.

use rand_core::Rng;

use super::mechanism::half_way;
use super::{Mechanism, Path, Settings};
use crate::jitter::jittered;
use crate::notification::{Notification, QcnFeedback};
use crate::timer::{MOST_PERIODS_LATE, SHORTEST_PERIOD};
use crate::units::{Fraction, Rate, Time};

/// Parameters of the reaction point of QCN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// The gain Gd is 2 to the minus this.
    pub gd_log2: u8,
    /// One cut leaves at least this much of the rate.
    pub min_decrease_factor: Fraction,
    /// Cycles of fast recovery.
    pub fr_threshold: u32,
    /// Fast recovery ends beyond `fr_threshold` (true) or at it.
    pub fr_strict: bool,
    /// Bytes of one cycle of the byte clock.
    pub byte_reset: u64,
    /// Duration of one cycle of the timer.
    pub time_reset: Time,
    /// Step of active increase.
    pub rate_ai: Rate,
    /// Step of hyper-active increase.
    pub rate_hai: Rate,
    /// The rate never falls below this.
    pub min_rate: Rate,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            gd_log2: 7,
            min_decrease_factor: Fraction::of(1, 2),
            fr_threshold: 5,
            fr_strict: true,
            byte_reset: 150_000,
            time_reset: Time::from_ms(15),
            rate_ai: Rate::from_mbps(5),
            rate_hai: Rate::from_mbps(50),
            min_rate: Rate::from_mbps(5),
        }
    }
}

/// State of the reaction point of QCN.
#[derive(Clone, Debug)]
pub struct Qcn {
    params: Params,
    line_rate: u64,
    /// The limiter exists: the flow was congested and has not yet recovered.
    active: bool,
    current: u64,
    target: u64,
    bytes_left: i64,
    byte_stage: u32,
    time_stage: u32,
    timer: Time,
}

impl Qcn {
    /// A flow at line rate, without a limiter.
    pub fn new(params: &Params, path: &Path) -> Self {
        let mut params = *params;
        params.min_rate = params.min_rate.min(path.line_rate);
        params.time_reset = params.time_reset.max(SHORTEST_PERIOD);
        params.gd_log2 = params.gd_log2.min(63);
        Self {
            params,
            line_rate: path.line_rate.as_bps(),
            active: false,
            current: path.line_rate.as_bps(),
            target: path.line_rate.as_bps(),
            bytes_left: 0,
            byte_stage: 0,
            time_stage: 0,
            timer: Time::NEVER,
        }
    }

    /// True while the flow has a limiter.
    pub fn is_active(&self) -> bool {
        self.active
    }

    fn on_feedback(&mut self, now: Time, feedback: QcnFeedback) {
        if feedback.qfb == 0 || (!self.active && feedback.q_offset >= 0) {
            return;
        }
        if !self.active {
            self.activate();
        }
        // A second cut within the first byte cycle keeps the target of the first.
        if self.byte_stage != 0 {
            self.target = self.current;
            self.bytes_left = signed(self.params.byte_reset);
        }
        self.byte_stage = 0;
        self.time_stage = 0;
        self.cut(feedback.qfb);
        self.timer = now.saturating_add(self.params.time_reset);
    }

    fn activate(&mut self) {
        self.active = true;
        self.current = self.line_rate;
        self.target = self.line_rate;
        self.byte_stage = 0;
        self.bytes_left = signed(self.params.byte_reset);
    }

    fn deactivate(&mut self) {
        self.active = false;
        self.timer = Time::NEVER;
    }

    fn cut(&mut self, qfb: u8) {
        let by_feedback = (u128::from(self.current) * u128::from(qfb)) >> self.params.gd_log2;
        let by_feedback = u64::try_from(by_feedback).unwrap_or(u64::MAX);
        let floor = self.params.min_decrease_factor.of_value(self.current);
        self.current = self
            .current
            .saturating_sub(by_feedback)
            .max(floor)
            .max(self.params.min_rate.as_bps());
    }

    /// How many cycles past fast recovery a clock is.
    fn beyond_recovery(&self, stage: u32) -> u32 {
        let last = if self.params.fr_strict {
            self.params.fr_threshold
        } else {
            self.params.fr_threshold.saturating_sub(1)
        };
        stage.saturating_sub(last)
    }

    fn self_increase(&mut self) {
        let bytes = self.beyond_recovery(self.byte_stage);
        let time = self.beyond_recovery(self.time_stage);
        let step = if bytes > 0 && time > 0 {
            let hai = self.params.rate_hai.as_bps();
            hai.saturating_mul(u64::from(bytes.min(time)))
        } else if bytes > 0 || time > 0 {
            self.params.rate_ai.as_bps()
        } else {
            0
        };
        let first_cycle = self.byte_stage == 1 || self.time_stage == 1;
        if first_cycle && self.target > self.current.saturating_mul(10) {
            // Avoids a huge first jump.
            self.target /= 8;
        } else {
            self.target = self.target.saturating_add(step);
        }
        self.target = self.target.min(self.line_rate);
        self.current = half_way(self.target, self.current).min(self.line_rate);
    }

    fn end_byte_cycle<R: Rng>(&mut self, rng: &mut R) {
        self.byte_stage = self.byte_stage.saturating_add(1);
        let halved = self.byte_stage >= self.params.fr_threshold;
        let cycle = self.params.byte_reset >> u32::from(halved);
        self.bytes_left = signed(jittered(cycle, rng));
        self.self_increase();
    }

    fn end_time_cycle<R: Rng>(&mut self, rng: &mut R) {
        self.time_stage = self.time_stage.saturating_add(1);
        self.self_increase();
        let halved = self.time_stage >= self.params.fr_threshold;
        let cycle = jittered(self.params.time_reset.as_ps() >> u32::from(halved), rng);
        self.timer = self.timer.saturating_add(Time::from_ps(cycle.max(1)));
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

impl Settings for Params {
    fn least_rate(&self) -> Option<Rate> {
        Some(self.min_rate)
    }
}

impl Mechanism for Qcn {
    #[inline]
    fn rate(&self) -> Rate {
        Rate::from_bps(self.current)
    }

    #[inline]
    fn hears_acks(&self) -> bool {
        false
    }

    #[inline]
    fn hears_sent(&self) -> bool {
        self.active
    }

    fn on_notification<R: Rng>(&mut self, now: Time, notification: &Notification, _rng: &mut R) {
        if let Notification::Qcn(feedback) = *notification {
            self.on_feedback(now, feedback);
        }
    }

    #[inline]
    fn on_sent<R: Rng>(&mut self, _now: Time, bytes: u32, backlogged: bool, rng: &mut R) {
        if !self.active {
            return;
        }
        if self.current >= self.line_rate && !backlogged {
            self.deactivate();
            return;
        }
        self.bytes_left -= i64::from(bytes);
        if self.bytes_left < 0 {
            self.end_byte_cycle(rng);
        }
    }

    fn on_timer<R: Rng>(&mut self, now: Time, rng: &mut R) {
        for _ in 0..MOST_PERIODS_LATE {
            if now < self.timer || self.timer.is_never() {
                return;
            }
            self.end_time_cycle(rng);
        }
        self.timer = now.saturating_add(self.params.time_reset);
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

    const LINE: u64 = 10_000_000_000;

    struct Flow {
        rp: Qcn,
        rng: Xoshiro256PlusPlus,
    }

    impl Flow {
        fn new(params: Params) -> Self {
            Self {
                rp: Qcn::new(&params, &Path::new(Rate::from_bps(LINE), 1000)),
                rng: Xoshiro256PlusPlus::seed_from_u64(1),
            }
        }
        fn feedback(&mut self, qfb: u8) {
            let feedback = QcnFeedback {
                qfb,
                q_offset: -1,
                q_delta: 0,
            };
            self.rp.on_feedback(Time::ZERO, feedback);
        }
        /// Enough bytes to end any cycle.
        fn byte_cycle(&mut self) {
            self.rp.on_sent(Time::ZERO, 200_000, true, &mut self.rng);
        }
        fn time_cycle(&mut self) {
            let due = self.rp.next_timer();
            self.rp.on_timer(due, &mut self.rng);
        }
    }

    #[test]
    fn a_limiter_starts_only_above_equilibrium() {
        let mut flow = Flow::new(Params::default());
        let above = QcnFeedback {
            qfb: 6,
            q_offset: 6_000,
            q_delta: 10_000,
        };
        flow.rp.on_feedback(Time::ZERO, above);
        assert!(!flow.rp.is_active());
        flow.feedback(0);
        assert!(!flow.rp.is_active());
        flow.feedback(6);
        assert!(flow.rp.is_active());
        // Once there is a limiter, any feedback cuts.
        let rate = flow.rp.current;
        flow.rp.on_feedback(Time::ZERO, above);
        assert_eq!(flow.rp.current, rate - rate * 6 / 128);
    }

    #[test]
    fn cuts_are_feedback_over_128() {
        for qfb in [1, 16, 49, 63] {
            let mut flow = Flow::new(Params::default());
            flow.feedback(qfb);
            assert_eq!(flow.rp.current, LINE - ((LINE * u64::from(qfb)) >> 7));
        }
        let mut steep = Flow::new(Params {
            gd_log2: 5,
            ..Params::default()
        });
        steep.feedback(63);
        assert_eq!(steep.rp.current, LINE / 2);
    }

    #[test]
    fn a_byte_cycle_ends_beyond_its_bytes_not_with_them() {
        let mut flow = Flow::new(Params::default());
        flow.feedback(16);
        let cut = flow.rp.current;
        flow.rp.on_sent(Time::ZERO, 150_000, true, &mut flow.rng);
        assert_eq!(flow.rp.current, cut);
        flow.rp.on_sent(Time::ZERO, 1, true, &mut flow.rng);
        assert!(flow.rp.current > cut);
    }

    #[test]
    fn no_cut_goes_below_the_minimum_rate() {
        let mut flow = Flow::new(Params::default());
        for _ in 0..50 {
            flow.feedback(63);
        }
        assert_eq!(flow.rp.current, 5_000_000);
    }

    #[test]
    fn cuts_within_the_first_byte_cycle_keep_the_target() {
        let mut flow = Flow::new(Params::default());
        flow.feedback(32);
        flow.feedback(32);
        assert_eq!(flow.rp.target, LINE);
        flow.byte_cycle();
        let before = flow.rp.current;
        flow.feedback(32);
        assert_eq!(flow.rp.target, before);
    }

    /// A flow whose target lies well below line rate.
    fn cut_twice(params: Params) -> (Flow, u64) {
        let mut flow = Flow::new(params);
        flow.feedback(63);
        flow.byte_cycle();
        flow.feedback(63);
        let target = flow.rp.target;
        (flow, target)
    }

    #[test]
    fn fast_recovery_halves_the_gap_in_five_cycles() {
        let (mut flow, target) = cut_twice(Params::default());
        let gap = target - flow.rp.current;
        for cycle in 1..=5 {
            flow.byte_cycle();
            assert_eq!(flow.rp.target, target);
            assert_eq!(target - flow.rp.current, gap >> cycle);
        }
        flow.byte_cycle();
        assert_eq!(flow.rp.target, target + 5_000_000);
    }

    #[test]
    fn fr_strict_decides_whether_the_fifth_cycle_is_active() {
        let (mut flow, target) = cut_twice(Params {
            fr_strict: false,
            ..Params::default()
        });
        for _ in 0..4 {
            flow.byte_cycle();
        }
        assert_eq!(flow.rp.target, target);
        flow.byte_cycle();
        assert_eq!(flow.rp.target, target + 5_000_000);
    }

    #[test]
    fn hyper_active_steps_grow_once_both_clocks_are_past_recovery() {
        for fr_strict in [true, false] {
            let (mut flow, _) = cut_twice(Params {
                fr_strict,
                ..Params::default()
            });
            let last = if fr_strict { 5 } else { 4 };
            for _ in 0..last + 1 {
                flow.byte_cycle();
            }
            for _ in 0..last {
                flow.time_cycle();
            }
            for steps in 1..4 {
                let before = flow.rp.target;
                flow.time_cycle();
                assert_eq!(flow.rp.target - before, 50_000_000 * steps);
                let before = flow.rp.target;
                flow.byte_cycle();
                assert_eq!(flow.rp.target - before, 50_000_000 * steps);
            }
        }
    }

    #[test]
    fn a_target_ten_times_the_rate_is_lowered_first() {
        let mut flow = Flow::new(Params::default());
        for _ in 0..6 {
            flow.feedback(63);
        }
        assert!(flow.rp.target > 10 * flow.rp.current);
        flow.byte_cycle();
        assert_eq!(flow.rp.target, LINE / 8);
    }

    #[test]
    fn clocks_are_jittered_and_halved_after_recovery() {
        let mut flow = Flow::new(Params::default());
        flow.feedback(63);
        assert_eq!(flow.rp.next_timer(), Time::from_ms(15));
        for cycle in 1..10 {
            let due = flow.rp.next_timer();
            flow.time_cycle();
            let length = flow.rp.next_timer() - due;
            let nominal = Time::from_us(if cycle < 5 { 15_000 } else { 7_500 });
            assert!(length.as_ps() * 100 >= nominal.as_ps() * 84);
            assert!(length.as_ps() * 100 <= nominal.as_ps() * 116);
        }
        for stage in 1..10 {
            flow.byte_cycle();
            let nominal = if stage < 5 { 150_000 } else { 75_000 };
            assert!(flow.rp.bytes_left * 100 >= nominal * 84);
            assert!(flow.rp.bytes_left * 100 <= nominal * 116);
        }
    }

    #[test]
    fn the_limiter_goes_when_the_rate_is_back_and_nothing_waits() {
        let mut flow = Flow::new(Params::default());
        flow.feedback(1);
        for _ in 0..60 {
            flow.byte_cycle();
        }
        assert_eq!(flow.rp.current, LINE);
        assert!(flow.rp.is_active());
        flow.rp.on_sent(Time::ZERO, 1000, false, &mut flow.rng);
        assert!(!flow.rp.is_active());
        assert_eq!(flow.rp.next_timer(), Time::NEVER);
    }
}
