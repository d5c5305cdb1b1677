//! The retransmission timeout.
//!
//! # What it does
//!
//! Smooths round-trip times and their deviation; the timeout is the smoothed time and four deviations,
//! at least a minimum, doubled each time it runs out until a round-trip time is measured again.
//!
//! # Source
//!
//! RFC 6298 (V. Jacobson, M. Karels, "Congestion Avoidance and Control", 1988); constants of the ECN#
//! authors' ns-3 code (snowzjx/ns3-ecn-sharp).
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `min` | time | 1 ms | the authors' `queue-track`; `large-scale` and `mq` have 5 ms |
//! | `max` | time | 60 s | RFC 6298, ns-3 |
//! | `granularity` | time | 100 us | the authors' code |
//! | `initial_rtt` | time | 80 us | the authors' `large-scale`; `queue-track` and `mq` have 40 us |
//!
//! # Departures
//!
//! Gains are RFC 6298's 1/8 and 1/4, in whole picoseconds.

use crate::units::Time;

/// Parameters of the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// The timeout is never shorter.
    pub min: Time,
    /// The timeout is never longer, however often it has been doubled.
    pub max: Time,
    /// The least that deviations count for.
    pub granularity: Time,
    /// The round-trip time before one has been measured.
    pub initial_rtt: Time,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            min: Time::from_ms(1),
            max: Time::from_ms(60_000),
            granularity: Time::from_us(100),
            initial_rtt: Time::from_us(80),
        }
    }
}

/// So that a timer always lies ahead.
const SHORTEST: Time = Time::from_ns(1);
/// Longer round-trip times count as this: an hour.
const LONGEST_RTT: Time = Time::from_ms(3_600_000);

/// The estimator, and how often it was wrong of late.
#[derive(Clone, Debug)]
pub(super) struct Rto {
    params: Params,
    smoothed: u64,
    deviation: u64,
    measured: bool,
    doublings: u32,
}

impl Rto {
    pub fn new(params: &Params) -> Self {
        let mut params = *params;
        params.min = params.min.max(SHORTEST);
        params.max = params.max.max(params.min);
        Self {
            smoothed: params.initial_rtt.min(LONGEST_RTT).as_ps(),
            deviation: 0,
            measured: false,
            doublings: 0,
            params,
        }
    }

    /// A round-trip time has been measured.
    pub fn on_rtt(&mut self, rtt: Time) {
        let rtt = rtt.min(LONGEST_RTT).as_ps();
        if self.measured {
            let error = self.smoothed.abs_diff(rtt);
            self.smoothed = self.smoothed - self.smoothed / 8 + rtt / 8;
            self.deviation = self.deviation - self.deviation / 4 + error / 4;
        } else {
            self.measured = true;
            self.smoothed = rtt;
            self.deviation = rtt / 2;
        }
        self.doublings = 0;
    }

    /// The timeout has run out.
    pub fn on_timeout(&mut self) {
        self.doublings = self.doublings.saturating_add(1).min(u32::from(u8::MAX));
    }

    /// The timeout as it stands.
    pub fn timeout(&self) -> Time {
        let margin = self.params.granularity.as_ps().max(4 * self.deviation);
        let timeout = self.smoothed.saturating_add(margin);
        let timeout = timeout.max(self.params.min.as_ps());
        let factor = 1_u64.checked_shl(self.doublings).unwrap_or(u64::MAX);
        Time::from_ps(timeout.saturating_mul(factor)).min(self.params.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rto(min_us: u64) -> Rto {
        Rto::new(&Params {
            min: Time::from_us(min_us),
            ..Params::default()
        })
    }

    #[test]
    fn before_a_measurement_the_initial_rtt_and_the_granularity_count() {
        assert_eq!(rto(0).timeout(), Time::from_us(180));
        assert_eq!(rto(1000).timeout(), Time::from_ms(1));
    }

    #[test]
    fn the_first_measurement_counts_for_all_and_later_ones_for_an_eighth() {
        let mut rto = rto(0);
        rto.on_rtt(Time::from_us(800));
        assert_eq!(rto.timeout(), Time::from_us(800 + 4 * 400));
        rto.on_rtt(Time::from_us(1600));
        // 700 + 200 and 300 + 200
        assert_eq!(rto.timeout(), Time::from_us(900 + 4 * 500));
        rto.on_rtt(Time::from_us(100));
        // 787.5 + 12.5 and 375 + 200
        assert_eq!(rto.timeout(), Time::from_us(800 + 4 * 575));
    }

    #[test]
    fn steady_measurements_leave_the_granularity() {
        let mut rto = rto(0);
        for _ in 0..200 {
            rto.on_rtt(Time::from_us(800));
        }
        assert_eq!(rto.timeout(), Time::from_us(900));
    }

    #[test]
    fn timeouts_double_up_to_the_maximum_until_the_next_measurement() {
        let mut rto = rto(5000);
        for doublings in 0..14 {
            let expected = Time::from_ms(5 << doublings).min(Time::from_ms(60_000));
            assert_eq!(rto.timeout(), expected);
            rto.on_timeout();
        }
        for _ in 0..1000 {
            rto.on_timeout();
        }
        assert_eq!(rto.timeout(), Time::from_ms(60_000));
        rto.on_rtt(Time::from_us(100));
        assert_eq!(rto.timeout(), Time::from_ms(5));
    }
}
