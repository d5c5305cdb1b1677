//! CUBIC.
//!
//! # What it does
//!
//! A window that grows with the time since the last loss, not with the round trips: fast at first, flat
//! around where the loss was, fast again beyond it. Where Reno would have a larger window, it has Reno's.
//! A loss leaves seven tenths of the window.
//!
//! # Source
//!
//! RFC 9438 (S. Ha et al., "CUBIC: A New TCP-Friendly High-Speed TCP Variant", 2008).
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `c` | packets/s³ | 0.4 | RFC 9438, 5 |
//! | `beta` | fraction | 0.7 | RFC 9438, 4.6 |
//! | `fast_convergence` | - | true | RFC 9438, 4.7: should be |
//! | `ecn` | - | false | RFC 9438, 4.6: a mark is answered like a loss, if ECN is in use |
//!
//! The initial window is the transport's.
//!
//! # Departures
//!
//! - Integers throughout: K in whole microseconds, time in nanoseconds up to 2^40 (18 minutes), Reno's
//!   window in 2^-16 bytes. Marginal growth is counted by bytes acknowledged, so that delayed ACKs change
//!   nothing.
//! - What is in flight by limited transmit does not count in a cut.
//! - Reno's window never lowers the present one.
//! - No HyStart++, and nothing is taken back after a spurious loss.

use super::{Ack, Loss, Mechanism, Path};
use crate::units::{Fraction, Rate, Time};

/// Parameters of CUBIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// C: how fast the window grows, in packets/s³.
    pub c: Fraction,
    /// What a loss leaves of the window.
    pub beta: Fraction,
    /// A flow whose window shrinks from loss to loss leaves some of it to others.
    pub fast_convergence: bool,
    /// Data is sent ECN-capable, and a mark answered like a loss.
    pub ecn: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            c: Fraction::from_ppm(400_000),
            beta: Fraction::from_ppm(700_000),
            fast_convergence: true,
            ecn: false,
        }
    }
}

/// State of CUBIC.
#[derive(Clone, Debug)]
pub struct Cubic {
    params: Params,
    line_rate: Rate,
    packet_bytes: u64,
    cwnd: u64,
    ssthresh: u64,
    /// What growth owes, in `cwnd`-ths of a byte.
    remainder: u64,
    /// W_max in bytes; 0 if no loss but by timeout is known.
    w_max: u64,
    /// The window before the last cut.
    cwnd_prior: u64,
    /// Start of the present stage of congestion avoidance; never, before its first ACK.
    epoch: Time,
    /// K in nanoseconds.
    k: u64,
    /// W_est, Reno's window, in 2^-16 bytes.
    w_est: u64,
    smoothed_rtt: Time,
    last_ack: Time,
}

/// Times to K and from it count as this at most, in ns.
const LONGEST: u64 = 1 << 40;

const ONE: u64 = Fraction::ONE.as_q32();

impl Cubic {
    /// A flow that starts.
    pub fn new(params: &Params, path: &Path) -> Self {
        let mut params = *params;
        params.c = params.c.max(Fraction::from_q32(1));
        let packet_bytes = u64::from(path.packet_bytes.max(1));
        Self {
            params,
            line_rate: path.line_rate,
            packet_bytes,
            cwnd: path.initial_window.max(packet_bytes),
            ssthresh: u64::MAX,
            remainder: 0,
            w_max: 0,
            cwnd_prior: 0,
            epoch: Time::NEVER,
            k: 0,
            w_est: 0,
            smoothed_rtt: Time::ZERO,
            last_ack: Time::ZERO,
        }
    }

    /// A stage of congestion avoidance begins.
    fn start_epoch(&mut self, now: Time) {
        self.epoch = now;
        self.w_max = self.w_max.max(self.cwnd);
        // K³ = (W_max - cwnd) / (C packets), in µs³; a window of 16 GB lacks no more.
        let lacking = u128::from((self.w_max - self.cwnd).min(1 << 34));
        let per_packet = u128::from(self.params.c.as_q32()) * u128::from(self.packet_bytes);
        let cube = ((lacking * 1_000_000_000_000_000_000) << 32) / per_packet;
        self.k = cube_root(cube).saturating_mul(1000);
        self.w_est = self.cwnd.saturating_mul(1 << 16);
    }

    /// W_cubic: the window at `t` of this stage, in bytes.
    fn w_cubic(&self, t: Time) -> u64 {
        let t = t.as_ps() / 1000;
        let distance = u128::from(t.abs_diff(self.k).min(LONGEST));
        // In 10^-12 s³.
        let cube = distance * distance / 1_000_000_000 * distance / 1_000_000;
        let per_packet = u128::from(self.params.c.as_q32()) * u128::from(self.packet_bytes);
        let change = ((cube * per_packet) >> 32) / 1_000_000_000_000;
        let change = u64::try_from(change).unwrap_or(u64::MAX);
        if t < self.k {
            self.w_max.saturating_sub(change)
        } else {
            self.w_max.saturating_add(change)
        }
    }

    /// What Reno's window would have gained, by α = 3 (1 - β) / (1 + β) until it is back at where the
    /// loss was, then by 1.
    fn grow_reno(&mut self, acked: u64) {
        let beta = self.params.beta.as_q32();
        let alpha = if self.w_est >> 16 >= self.cwnd_prior {
            ONE
        } else {
            ((3 * (ONE - beta)) << 28) / ((ONE + beta) >> 4)
        };
        let gained = u128::from(acked) * u128::from(self.packet_bytes) * u128::from(alpha);
        let gained = (gained >> 16) / u128::from(self.cwnd);
        let gained = u64::try_from(gained).unwrap_or(u64::MAX);
        self.w_est = self.w_est.saturating_add(gained);
    }

    fn avoid_congestion(&mut self, now: Time, acked: u64) {
        if self.epoch.is_never() {
            self.start_epoch(now);
        }
        let t = now.saturating_sub(self.epoch);
        self.grow_reno(acked);
        let reno = self.w_est >> 16;
        if self.w_cubic(t) < reno {
            self.cwnd = self.cwnd.max(reno);
            return;
        }
        let most = self.cwnd.saturating_add(self.cwnd / 2);
        let target = self.w_cubic(t.saturating_add(self.smoothed_rtt));
        let lacking = target.clamp(self.cwnd, most) - self.cwnd;
        let product = lacking.saturating_mul(acked);
        let product = product.saturating_add(self.remainder);
        self.remainder = product % self.cwnd;
        self.cwnd = self.cwnd.saturating_add(product / self.cwnd);
    }

    /// What a cut leaves of what is in flight.
    fn cut(&self, in_flight: u64) -> u64 {
        self.params.beta.of_value(in_flight.min(self.cwnd))
    }

    fn on_congestion(&mut self, in_flight: u64, least_packets: u64) {
        let left = self.cut(in_flight);
        let shrinks = self.cwnd < self.w_max && self.params.fast_convergence;
        self.w_max = if shrinks {
            // (1 + β) / 2 of it.
            self.cwnd - self.params.beta.complement().of_value(self.cwnd) / 2
        } else {
            self.cwnd
        };
        self.cwnd_prior = self.cwnd;
        self.ssthresh = left.max(2 * self.packet_bytes);
        self.cwnd = left.max(least_packets * self.packet_bytes);
        self.epoch = Time::NEVER;
    }

    fn on_timeout(&mut self, again: bool, in_flight: u64) {
        if !again {
            self.ssthresh = self.cut(in_flight).max(2 * self.packet_bytes);
            self.cwnd_prior = self.cwnd;
        }
        self.cwnd = self.packet_bytes;
        self.w_max = 0;
        self.epoch = Time::NEVER;
    }

    fn observe(&mut self, ack: &Ack<'_>) {
        if let Some(rtt) = ack.rtt {
            let old = self.smoothed_rtt.as_ps();
            self.smoothed_rtt = match old {
                0 => rtt,
                _ => Time::from_ps(old - old / 8 + rtt.as_ps() / 8),
            };
        }
        // Time in which the window did not hold the flow back counts for nothing.
        if !ack.may_grow && !self.epoch.is_never() {
            let idle = ack.now.saturating_sub(self.last_ack);
            self.epoch = self.epoch.saturating_add(idle);
        }
        self.last_ack = ack.now;
    }
}

/// The whole part of the cube root of a number below 2^126.
fn cube_root(of: u128) -> u64 {
    let mut root = 0;
    for bit in (0..42).rev() {
        let more = root | 1 << bit;
        if more * more * more <= of {
            root = more;
        }
    }
    root as u64
}

impl Mechanism for Cubic {
    #[inline]
    fn rate(&self) -> Rate {
        self.line_rate
    }

    #[inline]
    fn window(&self) -> Option<u64> {
        Some(self.cwnd)
    }

    #[inline]
    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    #[inline]
    fn is_ecn_capable(&self) -> bool {
        self.params.ecn
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.observe(ack);
        if !ack.may_grow {
            return;
        }
        if self.cwnd < self.ssthresh {
            let step = ack.bytes.min(self.packet_bytes);
            self.cwnd = self.cwnd.saturating_add(step);
        } else {
            self.avoid_congestion(ack.now, ack.bytes);
        }
    }

    fn on_loss(&mut self, _now: Time, loss: Loss, in_flight: u64) {
        match loss {
            Loss::Mark => self.on_congestion(in_flight, 1),
            Loss::Packet => self.on_congestion(in_flight, 2),
            Loss::Timeout { again, .. } => self.on_timeout(again, in_flight),
        }
    }

    fn on_recovered(&mut self, at_most: u64) {
        self.cwnd = self.cwnd.min(at_most).max(self.packet_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1500;

    fn cubic(params: Params) -> Cubic {
        let path = Path::new(Rate::from_gbps(10), MSS as u32);
        Cubic::new(
            &params,
            &Path {
                initial_window: 10 * MSS,
                ..path
            },
        )
    }

    fn ack(now: Time, rtt: Time) -> Ack<'static> {
        Ack {
            now,
            rtt: Some(rtt),
            bytes: MSS,
            ce: false,
            acknowledged: 0,
            sent: 0,
            may_grow: true,
            telemetry: &[],
        }
    }

    fn timeout(again: bool) -> Loss {
        Loss::Timeout { again, window: 0 }
    }

    /// With 100 packets in flight, of which one is lost.
    fn after_a_loss(params: Params) -> Cubic {
        let mut law = cubic(params);
        law.cwnd = 100 * MSS;
        law.on_loss(Time::ZERO, Loss::Packet, 100 * MSS);
        law
    }

    #[test]
    fn cube_roots_are_whole_and_exact() {
        for root in [0, 1, 2, 3, 10, 1000, 4_217_163, (1 << 42) - 2] {
            let cube = u128::from(root) * u128::from(root) * u128::from(root);
            assert_eq!(cube_root(cube), root);
            let next = u128::from(root + 1);
            assert_eq!(cube_root(next * next * next - 1), root);
        }
    }

    #[test]
    fn a_loss_leaves_seven_tenths_and_sets_k() {
        let mut law = after_a_loss(Params::default());
        assert!(law.cwnd.abs_diff(70 * MSS) <= 1);
        assert_eq!((law.ssthresh, law.w_max), (law.cwnd, 100 * MSS));
        law.start_epoch(Time::ZERO);
        // (30 / 0.4)^(1/3) = 4.217163 s; the window lacks a byte more than 30 packets.
        assert!(law.k.abs_diff(4_217_163_326) < 40_000, "{}", law.k);
    }

    #[test]
    fn the_window_is_the_cubic_around_k() {
        let mut law = after_a_loss(Params::default());
        law.start_epoch(Time::ZERO);
        // (ms since the loss, packets in thousandths): 0.4 (t - K)³ + 100.
        let golden = [
            (0, 70_000),
            (1_000, 86_680),
            (2_000, 95_640),
            (4_000, 99_996),
            (4_217, 100_000),
            (6_000, 102_267),
            (8_434, 129_998),
            (10_000, 177_356),
        ];
        for (ms, expected) in golden {
            let milli = law.w_cubic(Time::from_ms(ms)) * 1000 / MSS;
            assert!(milli.abs_diff(expected) <= 6, "{ms} ms: {milli}");
        }
    }

    #[test]
    fn reno_grows_by_nine_seventeenths_until_it_is_back() {
        let mut law = after_a_loss(Params::default());
        law.start_epoch(Time::ZERO);
        let before = law.w_est;
        // One window of ACKs.
        for _ in 0..70 {
            law.grow_reno(MSS);
        }
        let gained = (law.w_est - before) >> 16;
        assert!(gained.abs_diff(MSS * 9 / 17) <= 1, "{gained}");
        law.w_est = (100 * MSS) << 16;
        let before = law.w_est;
        for _ in 0..70 {
            law.grow_reno(MSS);
        }
        assert!((law.w_est - before).abs_diff(MSS << 16) <= 70 << 16);
    }

    #[test]
    fn a_window_that_shrinks_leaves_more() {
        let mut law = after_a_loss(Params::default());
        law.on_loss(Time::ZERO, Loss::Packet, law.cwnd);
        // 0.85 of 70.
        assert!(law.w_max.abs_diff(MSS * 595 / 10) <= 2, "{}", law.w_max);
        let mut greedy = after_a_loss(Params {
            fast_convergence: false,
            ..Params::default()
        });
        let cwnd = greedy.cwnd;
        greedy.on_loss(Time::ZERO, Loss::Packet, cwnd);
        assert_eq!(greedy.w_max, cwnd);
    }

    #[test]
    fn a_timeout_starts_over_and_forgets_where_the_loss_was() {
        let mut law = after_a_loss(Params::default());
        law.on_loss(Time::ZERO, timeout(false), 60 * MSS);
        assert_eq!(law.cwnd, MSS);
        assert!(law.ssthresh.abs_diff(42 * MSS) <= 1);
        law.on_loss(Time::ZERO, timeout(true), MSS);
        assert!(law.ssthresh.abs_diff(42 * MSS) <= 1);
        let rtt = Time::from_ms(10);
        for segment in 0..41 {
            assert_eq!(law.cwnd, (1 + segment) * MSS);
            law.on_ack(&ack(rtt, rtt));
        }
        law.on_ack(&ack(rtt, rtt));
        assert_eq!((law.k, law.w_max / MSS), (0, 42));
    }

    #[test]
    fn a_repair_ends_with_no_more_than_it_is_told_and_a_packet_at_least() {
        let mut law = after_a_loss(Params::default());
        let before = law.cwnd;
        law.on_recovered(before + MSS);
        assert_eq!(law.cwnd, before);
        law.on_recovered(20 * MSS);
        assert_eq!(law.cwnd, 20 * MSS);
        law.on_recovered(0);
        assert_eq!(law.cwnd, MSS);
    }

    #[test]
    fn growth_is_at_most_half_a_window_for_each_round_trip() {
        let mut law = after_a_loss(Params::default());
        let before = law.cwnd;
        law.on_ack(&ack(Time::ZERO, Time::from_ms(1)));
        for _ in 1..70 {
            law.on_ack(&ack(Time::from_ms(60_000), Time::from_ms(1)));
        }
        assert!(law.cwnd <= before + before / 2 + MSS, "{}", law.cwnd);
        assert!(law.cwnd >= before + before * 2 / 5, "{}", law.cwnd);
    }

    #[test]
    fn time_without_need_of_the_window_does_not_count() {
        let mut law = after_a_loss(Params::default());
        let rtt = Time::from_ms(100);
        law.on_ack(&ack(rtt, rtt));
        let idle = Ack {
            may_grow: false,
            ..ack(Time::from_ms(5_100), rtt)
        };
        law.on_ack(&idle);
        assert_eq!(law.epoch, Time::from_ms(5_100));
    }

    #[test]
    fn marks_are_answered_if_it_says_so() {
        let params = Params {
            ecn: true,
            ..Params::default()
        };
        assert!(cubic(params).is_ecn_capable() && !cubic(Params::default()).is_ecn_capable());
        let mut law = cubic(params);
        law.cwnd = MSS;
        law.on_loss(Time::ZERO, Loss::Mark, MSS);
        assert_eq!((law.cwnd, law.ssthresh), (MSS, 2 * MSS));
    }

    /// Packets in flight on average when one in `one_in` is lost, in a deterministic pattern.
    fn average_window(rtt: Time, one_in: u64) -> u64 {
        let mut law = cubic(Params::default());
        law.ssthresh = 10 * MSS;
        let (mut now, mut acked, mut start, mut losses) = (0_u64, 0_u64, 0, 0);
        let skipped = 20;
        while losses < skipped + 20 {
            now += (u128::from(rtt.as_ps()) * u128::from(MSS) / u128::from(law.cwnd)) as u64;
            law.on_ack(&ack(Time::from_ps(now), rtt));
            acked += 1;
            if acked.is_multiple_of(one_in) {
                law.on_loss(Time::from_ps(now), Loss::Packet, law.cwnd);
                losses += 1;
                if losses == skipped {
                    (start, acked) = (now, 0);
                }
            }
        }
        (u128::from(acked) * u128::from(rtt.as_ps()) / u128::from(now - start)) as u64
    }

    /// RFC 9438, tables 1 and 2, the column of C = 0.4: average windows.
    #[test]
    fn average_windows_are_those_of_the_tables_of_the_rfc() {
        let tables = [
            (100, 100, 12),
            (100, 1_000, 38),
            (100, 10_000, 187),
            (100, 100_000, 1_054),
            (10, 1_000, 38),
            (10, 10_000, 120),
            (10, 100_000, 379),
        ];
        for (rtt, one_in, expected) in tables {
            let average = average_window(Time::from_ms(rtt), one_in);
            let error = average.abs_diff(expected) * 100;
            assert!(
                error <= 10 * expected + 50,
                "{rtt} ms, 1 in {one_in}: {average} of {expected}"
            );
        }
    }
}
