//! PowerTCP: the sender's reaction to the power of the busiest port.
//!
//! # What it does
//!
//! Every switch on the way writes its time, the bytes its port has sent, its queue and its rate into a packet, and the
//! ACK brings that back. From two such records of a port follows its *power*: the *current*, at which its queue grows and
//! it sends, times the *voltage*, the bytes in its queue and in the pipe behind it. So it answers both how long a queue is
//! and how fast it changes. Power 1 is that of a port that sends at its rate and has no queue. The largest power of the
//! path, smoothed over a base RTT, divides the window that was in force a round trip ago; a constant is added, and the
//! result is mixed with the window of now. The rate is the window in a base RTT.
//!
//! # Source
//!
//! V. Addanki, O. Michel, S. Schmid, "PowerTCP: Pushing the Performance Limits of Datacenter Networks", NSDI 2022,
//! Algorithm 1.
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `base_rtt` | time | 13 us | that of the topology: the longest path's |
//! | `gamma` | fraction | 0.9 | PowerTCP paper |
//! | `rate_ai` | bit/s | 150 Mb/s | authors' simulator; the paper's beta is this times `base_rtt` |
//! | `min_rate` | bit/s | 100 Mb/s | authors' simulator, as HPCC's |
//!
//! The initial window is what the link carries in `base_rtt`, and no window is larger.
//!
//! # Departures
//!
//! - The window of a round trip ago is that at the end of the round trip before, as in the authors' code, not one for each
//!   packet.
//! - The authors' simulator reckons with rates instead of windows, takes the current to be the rate of arrivals, and
//!   divides power by a target of 95 %. Here it is as in the paper.
//! - Power is counted in steps of 2^-24. Two records of a port from one nanosecond say nothing of it.

use super::hpcc::MOST_HOPS;
use super::{Ack, Hop, Mechanism, Path, Settings};
use crate::units::{Fraction, Rate, Time};

/// Parameters of PowerTCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// T, a little more than the longest base RTT.
    pub base_rtt: Time,
    /// Weight of the new window against that of now.
    pub gamma: Fraction,
    /// The additive increase of the window, as a rate over a base RTT.
    pub rate_ai: Rate,
    /// The rate never falls below this.
    pub min_rate: Rate,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            base_rtt: Time::from_us(13),
            gamma: Fraction::from_ppm(900_000),
            rate_ai: Rate::from_mbps(150),
            min_rate: Rate::from_mbps(100),
        }
    }
}

/// 1 in steps of a power.
pub(super) const ONE: u64 = 1 << 24;

/// A window that power divides.
#[derive(Clone, Debug)]
pub(super) struct Window {
    line_rate: Rate,
    min_rate: Rate,
    base_rtt: Time,
    gamma: Fraction,
    /// Bytes in steps of 2^-16, like those below.
    step: u64,
    least: u64,
    most: u64,
    now: u64,
    /// A round trip ago.
    old: u64,
    /// Where the round trip ends; 0 before the first ACK.
    until: u64,
    power: u64,
    payload_bytes: u64,
    packet_bytes: u64,
}

impl Window {
    pub fn new(params: &Params, path: &Path) -> Self {
        let base_rtt = params.base_rtt.max(Time::from_ns(1));
        let carried = |rate: Rate| (rate.bytes_in(base_rtt).min(1 << 46) << 16).max(1);
        let most = carried(path.line_rate);
        Self {
            line_rate: path.line_rate,
            min_rate: params.min_rate.min(path.line_rate),
            base_rtt,
            gamma: params.gamma,
            step: carried(params.rate_ai.min(path.line_rate)),
            least: carried(params.min_rate).min(most),
            most,
            now: most,
            old: most,
            until: 0,
            power: ONE,
            payload_bytes: u64::from(path.payload_bytes).max(1),
            packet_bytes: u64::from(path.packet_bytes),
        }
    }

    pub fn base_rtt(&self) -> Time {
        self.base_rtt
    }

    /// Smooths a power over what has passed of a base RTT.
    pub fn smooth(&mut self, power: u64, passed: Time) {
        let whole = u128::from(self.base_rtt.as_ps());
        let passed = u128::from(passed.min(self.base_rtt).as_ps());
        let sum = u128::from(self.power) * (whole - passed) + u128::from(power) * passed;
        self.power = u64::try_from(sum / whole).unwrap_or(u64::MAX);
    }

    /// True once a round trip, when its last packet has been acknowledged; the first ACK only starts one.
    pub fn ends_round(&self, ack: &Ack<'_>) -> bool {
        self.until > 0 && ack.acknowledged > self.until
    }

    /// The window of now will be that of a round trip ago.
    pub fn turn_round(&mut self, ack: &Ack<'_>) {
        self.until = self.until.max(ack.sent).max(1);
        self.old = self.now;
    }

    /// Divides by the power.
    pub fn update(&mut self) {
        let divided = (u128::from(self.old) << 24) / u128::from(self.power.max(1));
        let target = u64::try_from(divided).unwrap_or(u64::MAX);
        let target = target.saturating_add(self.step).min(u64::MAX / 2);
        let kept = self.now - self.gamma.of_value(self.now);
        let next = self.gamma.of_value(target).saturating_add(kept);
        self.now = next.clamp(self.least, self.most);
    }

    pub fn rate(&self) -> Rate {
        let line_rate = u128::from(self.line_rate.as_bps());
        let share = line_rate * u128::from(self.now) / u128::from(self.most);
        Rate::from_bps(share as u64).max(self.min_rate)
    }

    /// The window in whole packets: another one goes while less payload than the window is in flight.
    pub fn bytes(&self) -> u64 {
        (self.now >> 16).max(1).div_ceil(self.payload_bytes) * self.packet_bytes
    }
}

/// A port's record as it is kept.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    /// Modulo 2^32, as the bytes sent.
    time_ns: u32,
    tx_bytes: u32,
    queue_bytes: u32,
}

impl Record {
    fn of(hop: &Hop) -> Self {
        Self {
            time_ns: (hop.time.as_ps() / 1000) as u32,
            tx_bytes: hop.tx_bytes as u32,
            queue_bytes: hop.queue_bytes.min(u32::MAX.into()) as u32,
        }
    }
}

/// State of PowerTCP.
#[derive(Clone, Debug)]
pub struct PowerTcp {
    window: Window,
    last: [Record; MOST_HOPS],
}

impl PowerTcp {
    /// A flow at line rate.
    pub fn new(params: &Params, path: &Path) -> Self {
        Self {
            window: Window::new(params, path),
            last: [Record::default(); MOST_HOPS],
        }
    }

    /// The power of a port between two records, and the time between them.
    fn power(&self, hop: &Hop, before: Record) -> Option<(u64, Time)> {
        let now = Record::of(hop);
        let passed_ns = now.time_ns.wrapping_sub(before.time_ns);
        if passed_ns == 0 {
            return None;
        }
        let (ps, per) = hop.rate.ps_of_byte();
        let (ps, per) = (u128::from(ps), u128::from(per).max(1));
        let grown = i128::from(now.queue_bytes) - i128::from(before.queue_bytes);
        let sent = i128::from(now.tx_bytes.wrapping_sub(before.tx_bytes));
        let bytes = u128::try_from(grown + sent).unwrap_or(0);
        let current = ((bytes * ps) << 24) / (u128::from(passed_ns) * 1000 * per);
        let pipe = u128::from(self.window.base_rtt().as_ps()) * per;
        let voltage = u128::from(ONE) + ((u128::from(now.queue_bytes) * ps) << 24) / pipe;
        let power = (current.min(1 << 60) * voltage.min(1 << 60)) >> 24;
        let power = u64::try_from(power).unwrap_or(u64::MAX);
        Some((power, Time::from_ns(passed_ns.into())))
    }

    /// The power of the busiest port.
    fn busiest(&mut self, hops: &[Hop]) -> Option<(u64, Time)> {
        let mut found: Option<(u64, Time)> = None;
        for (index, hop) in hops.iter().enumerate().take(MOST_HOPS) {
            if let Some(of_port) = self.power(hop, self.last[index]) {
                self.last[index] = Record::of(hop);
                if found.is_none_or(|(power, _)| of_port.0 > power) {
                    found = Some(of_port);
                }
            }
        }
        found
    }
}

impl Settings for Params {
    fn reads_telemetry(&self) -> bool {
        true
    }
    fn least_rate(&self) -> Option<Rate> {
        Some(self.min_rate)
    }
}

impl Mechanism for PowerTcp {
    #[inline]
    fn rate(&self) -> Rate {
        self.window.rate()
    }

    fn window(&self) -> Option<u64> {
        Some(self.window.bytes())
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        if ack.telemetry.is_empty() {
            return;
        }
        if self.window.until == 0 {
            for (last, hop) in self.last.iter_mut().zip(ack.telemetry) {
                *last = Record::of(hop);
            }
            return self.window.turn_round(ack);
        }
        if let Some((power, passed)) = self.busiest(ack.telemetry) {
            self.window.smooth(power, passed);
            self.window.update();
        }
        if self.window.ends_round(ack) {
            self.window.turn_round(ack);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: u64 = 100_000_000_000;

    fn params() -> Params {
        Params {
            base_rtt: Time::from_us(10),
            rate_ai: Rate::from_mbps(800),
            ..Params::default()
        }
    }

    fn flow() -> PowerTcp {
        PowerTcp::new(&params(), &Path::new(Rate::from_bps(LINE), 1000))
    }

    fn hop(ns: u64, tx_bytes: u64, queue_bytes: u64) -> Hop {
        Hop {
            time: Time::from_ns(ns),
            tx_bytes,
            queue_bytes,
            rate: Rate::from_bps(LINE),
        }
    }

    fn ack(flow: &mut PowerTcp, acknowledged: u64, sent: u64, hops: &[Hop]) {
        flow.on_ack(&Ack {
            bytes: 1000,
            acknowledged,
            sent,
            telemetry: hops,
            ..Ack::at(Time::ZERO)
        });
    }

    #[expect(
        clippy::float_arithmetic,
        reason = "what is expected, not what is done"
    )]
    fn assert_window(flow: &PowerTcp, expected: f64) {
        let bytes = flow.window.now as f64 / 65_536.0;
        assert!(
            (bytes / expected - 1.0).abs() < 1e-4,
            "{bytes} for {expected}"
        );
        let rate = flow.rate().as_bps() as f64;
        assert!((rate / (expected * 8.0 / 10e-6) - 1.0).abs() < 1e-4);
    }

    #[test]
    fn it_starts_with_what_the_link_carries_in_a_base_rtt() {
        assert_eq!(flow().window(), Some(125_000));
        assert_eq!(flow().rate(), Rate::from_bps(LINE));
    }

    /// Algorithm 1 by hand, T = 10 us, a BDP of 125 000 B: in 1 us a port sends 12 500 B, and its queue grows from nothing
    /// to 6 250 B. Current 1.5, voltage 1.05, power 1.575; a tenth of it is taken in.
    #[test]
    fn a_queue_that_grows_cuts_before_it_is_long() {
        let mut flow = flow();
        ack(&mut flow, 1000, 125_000, &[hop(1_000, 0, 0)]);
        assert_window(&flow, 125_000.0);
        ack(&mut flow, 2000, 125_000, &[hop(2_000, 12_500, 6_250)]);
        let power = 0.9 + 0.1 * 1.575;
        let window = 0.9 * (125_000.0 / power + 1_000.0) + 0.1 * 125_000.0;
        assert_window(&flow, window);
        // The queue stands: only its length counts, and the window is still divided from that of a round trip ago.
        ack(&mut flow, 3000, 125_000, &[hop(3_000, 25_000, 6_250)]);
        let power = 0.9 * power + 0.1 * 1.05;
        let window = 0.9 * (125_000.0 / power + 1_000.0) + 0.1 * window;
        assert_window(&flow, window);
        // It shrinks as fast as it grew: current 0.5.
        ack(&mut flow, 4000, 125_000, &[hop(4_000, 37_500, 0)]);
        let power = 0.9 * power + 0.1 * 0.5;
        let window = 0.9 * (125_000.0 / power + 1_000.0) + 0.1 * window;
        assert_window(&flow, window.min(125_000.0));
    }

    #[test]
    fn a_round_trip_later_it_divides_the_new_window() {
        let mut flow = flow();
        ack(&mut flow, 1000, 10_000, &[hop(1_000, 0, 125_000)]);
        ack(&mut flow, 11_000, 60_000, &[hop(11_000, 125_000, 125_000)]);
        // Current 1, voltage 2, and a whole base RTT has passed.
        let first = 0.9 * (125_000.0 / 2.0 + 1_000.0) + 0.1 * 125_000.0;
        assert_window(&flow, first);
        ack(&mut flow, 12_000, 60_000, &[hop(21_000, 250_000, 125_000)]);
        assert_window(&flow, 0.9 * (first / 2.0 + 1_000.0) + 0.1 * first);
    }

    #[test]
    fn the_busiest_port_counts() {
        let ports = |ns, bytes| {
            [
                hop(ns, bytes / 4, 0),
                hop(ns, bytes, 125_000),
                hop(ns, 0, 0),
            ]
        };
        let mut flow = flow();
        ack(&mut flow, 1000, 10_000, &ports(1_000, 0));
        ack(&mut flow, 2_000, 10_000, &ports(11_000, 125_000));
        assert_window(&flow, 0.9 * (125_000.0 / 2.0 + 1_000.0) + 0.1 * 125_000.0);
    }

    #[test]
    fn an_idle_path_opens_the_window_and_a_crowded_one_leaves_the_least() {
        let mut flow = flow();
        ack(&mut flow, 1000, 2_000, &[hop(1_000, 0, 10_000_000)]);
        for round in 2..40 {
            let now = hop(round * 10_000, round * 125_000, 10_000_000);
            ack(&mut flow, round * 3_000, round * 3_000 + 1, &[now]);
        }
        assert!(flow.rate() < Rate::from_gbps(2), "{:?}", flow.rate());
        for round in 40..80 {
            let now = hop(round * 10_000, 40 * 125_000, 0);
            ack(&mut flow, round * 3_000, round * 3_000 + 1, &[now]);
        }
        assert_eq!(flow.rate(), Rate::from_bps(LINE));
        // Nothing new of a port says nothing.
        ack(&mut flow, 300_000, 300_001, &[hop(79 * 10_000, 0, 0)]);
        assert_eq!(flow.rate(), Rate::from_bps(LINE));
    }
}
