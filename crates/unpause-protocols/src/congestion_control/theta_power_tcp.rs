//! θ-PowerTCP: PowerTCP by round-trip times alone.
//!
//! # What it does
//!
//! As [`super::power_tcp`], but no switch writes anything: the power is the round-trip time, in base RTTs, times one more
//! than its gradient. The window changes once a round trip.
//!
//! # Source
//!
//! V. Addanki, O. Michel, S. Schmid, "PowerTCP: Pushing the Performance Limits of Datacenter Networks", NSDI 2022,
//! Algorithm 2.
//!
//! # Parameters
//!
//! Those of [`super::power_tcp`], but for `base_rtt`: unless it is set, it is that of the flow's own path, with the time
//! that packets take at every hop.
//!
//! # Departures
//!
//! - The round-trip time is without the time that sending the packet took, as all laws here have it.
//! - The paper has one T for all flows, that of the longest path; the authors' simulator takes the least that the flow has
//!   measured.
//! - A gradient below -1 counts as -1. The authors' simulator has -1/2 there, 1.05 base RTTs, and a `gamma` of 0.7.

use super::power_tcp::{ONE, Window};
use super::{Ack, Mechanism, Path, Settings, power_tcp};
use crate::units::{Fraction, Rate, Time};

/// Parameters of θ-PowerTCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// T, a little more than the longest base RTT; `None`: that of the flow's path.
    pub base_rtt: Option<Time>,
    /// Weight of the new window against that of now.
    pub gamma: Fraction,
    /// The additive increase of the window, as a rate over a base RTT.
    pub rate_ai: Rate,
    /// The rate never falls below this.
    pub min_rate: Rate,
}

impl Default for Params {
    fn default() -> Self {
        let power_tcp::Params {
            base_rtt: _,
            gamma,
            rate_ai,
            min_rate,
        } = power_tcp::Params::default();
        Self {
            base_rtt: None,
            gamma,
            rate_ai,
            min_rate,
        }
    }
}

/// State of θ-PowerTCP.
#[derive(Clone, Debug)]
pub struct ThetaPowerTcp {
    window: Window,
    /// The last round trip, and when it was measured.
    last: Option<(Time, Time)>,
}

impl ThetaPowerTcp {
    /// A flow at line rate.
    pub fn new(params: &Params, path: &Path) -> Self {
        let Params {
            base_rtt,
            gamma,
            rate_ai,
            min_rate,
        } = *params;
        let of_path = match path.base_rtt {
            Time::ZERO => power_tcp::Params::default().base_rtt,
            known => known,
        };
        let params = power_tcp::Params {
            base_rtt: base_rtt.unwrap_or(of_path),
            gamma,
            rate_ai,
            min_rate,
        };
        Self {
            window: Window::new(&params, path),
            last: None,
        }
    }

    /// The power, and the time since the last round trip was measured.
    fn power(&self, now: Time, rtt: Time) -> Option<(u64, Time)> {
        let (before, at) = self.last?;
        let passed = now.saturating_sub(at);
        if passed == Time::ZERO {
            return None;
        }
        let span = i128::from(passed.as_ps());
        let longer = i128::from(rtt.as_ps()) - i128::from(before.as_ps());
        let current = u128::try_from(span + longer).unwrap_or(0);
        let current = (current << 24) / u128::from(passed.as_ps());
        let base = u128::from(self.window.base_rtt().as_ps());
        let voltage = u128::from(rtt.as_ps()) * u128::from(ONE) / base;
        let power = (current.min(1 << 60) * voltage.min(1 << 60)) >> 24;
        Some((u64::try_from(power).unwrap_or(u64::MAX), passed))
    }
}

impl Settings for Params {
    fn reads_path(&self) -> bool {
        self.base_rtt.is_none()
    }
    fn least_rate(&self) -> Option<Rate> {
        Some(self.min_rate)
    }
}

impl Mechanism for ThetaPowerTcp {
    #[inline]
    fn rate(&self) -> Rate {
        self.window.rate()
    }

    fn window(&self) -> Option<u64> {
        Some(self.window.bytes())
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let Some(rtt) = ack.rtt else {
            return;
        };
        match (self.last, self.power(ack.now, rtt)) {
            (None, _) => self.window.turn_round(ack),
            (Some(_), None) => return,
            (Some(_), Some((power, passed))) => self.window.smooth(power, passed),
        }
        self.last = Some((rtt, ack.now));
        if self.window.ends_round(ack) {
            self.window.update();
            self.window.turn_round(ack);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow() -> ThetaPowerTcp {
        let params = Params {
            base_rtt: Some(Time::from_us(10)),
            rate_ai: Rate::from_mbps(800),
            ..Params::default()
        };
        ThetaPowerTcp::new(&params, &Path::new(Rate::from_gbps(100), 1000))
    }

    fn ack(flow: &mut ThetaPowerTcp, now_us: u64, rtt_us: u64, acknowledged: u64, sent: u64) {
        flow.on_ack(&Ack {
            rtt: Some(Time::from_us(rtt_us)),
            bytes: 1000,
            acknowledged,
            sent,
            ..Ack::at(Time::from_us(now_us))
        });
    }

    #[expect(
        clippy::float_arithmetic,
        reason = "what is expected, not what is done"
    )]
    fn assert_rate(flow: &ThetaPowerTcp, window: f64) {
        let (rate, expected) = (flow.rate().as_bps() as f64, window * 8.0 / 10e-6);
        assert!(
            (rate / expected - 1.0).abs() < 1e-4,
            "{rate} for {expected}"
        );
    }

    /// Algorithm 2 by hand: T = 10 us, a BDP of 125 000 B.
    #[test]
    fn the_window_changes_once_a_round_trip() {
        let mut flow = flow();
        ack(&mut flow, 10, 10, 1_000, 5_000);
        // In 10 us the round trip grows by 5 us: current 1.5, voltage 1.5.
        ack(&mut flow, 20, 15, 2_000, 6_000);
        assert_rate(&flow, 125_000.0);
        // In 5 us it does not change: power 1.5, half taken in.
        ack(&mut flow, 25, 15, 6_000, 10_000);
        let power = 0.5 * 2.25 + 0.5 * 1.5;
        let first = 0.9 * (125_000.0 / power + 1_000.0) + 0.1 * 125_000.0;
        assert_rate(&flow, first);
        ack(&mut flow, 35, 20, 10_000, 12_000);
        assert_rate(&flow, first);
        ack(&mut flow, 45, 20, 11_000, 12_000);
        // Current 1, voltage 2.
        assert_rate(&flow, 0.9 * (first / 2.0 + 1_000.0) + 0.1 * first);
    }

    #[test]
    fn a_round_trip_that_falls_faster_than_time_passes_is_no_power() {
        let mut flow = flow();
        ack(&mut flow, 10, 40, 1_000, 5_000);
        ack(&mut flow, 20, 10, 6_000, 9_000);
        assert_rate(&flow, 125_000.0);
        // ACKs that come together say nothing new.
        ack(&mut flow, 20, 90, 9_500, 9_900);
        assert_rate(&flow, 125_000.0);
    }
}
