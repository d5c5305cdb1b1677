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

use super::{Ack, Loss, Mechanism, Path, Settings};
use crate::units::{Fraction, Rate, Time};

/// Parameters of CUBIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// C: how fast the window grows, in packets/s³.
    pub c: Fraction,
    /// The factor by which a loss reduces the window.
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
    /// The part of the growth that is less than a byte, in `cwnd`-ths of a byte.
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

    /// Grows the estimate of Reno's window, by α = 3 (1 - β) / (1 + β) until it is back at where the
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

    /// The window after a cut, from the bytes in flight.
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

impl Settings for Params {}

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
            Loss::Packet | Loss::Trim { .. } => self.on_congestion(in_flight, 2),
            Loss::Timeout { again, .. } => self.on_timeout(again, in_flight),
        }
    }

    fn on_recovered(&mut self, at_most: u64) {
        self.cwnd = self.cwnd.min(at_most).max(self.packet_bytes);
    }
}

#[cfg(test)]
mod tests;
