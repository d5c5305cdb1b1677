//! HPCC with PINT: the law of HPCC on one number, the use of the busiest port.
//!
//! # What it does
//!
//! Ports smooth their use themselves ([`crate::congestion_point::pint`]), and an ACK brings back the code of the
//! largest on the way. The rate is divided by that over the target, or raised by a step while it is below. Once a round trip
//! that becomes the reference from which the rates until the next one are reckoned, as with
//! [HPCC](super::hpcc).
//!
//! # Source
//!
//! R. Ben Basat et al., "PINT: Probabilistic In-band Network Telemetry", SIGCOMM 2020, 4.3 and appendix on HPCC, as
//! the simulator of HPCC has it (alibaba-edu/High-Precision-Congestion-Control, `CC_MODE` 10).
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `log_step` | fraction | 5 % | simulator: `PINT_LOG_BASE` 1.05 |
//! | `share` | fraction | 1 | simulator: `PINT_PROB` 1.0 |
//! | `u_target` | fraction | 95 % | HPCC paper: eta |
//! | `mi_thresh` | round trips | 5 | HPCC paper: maxStage; its simulator's sample has 0 |
//! | `rate_ai` | bit/s | 50 Mb/s | HPCC paper: W_AI of 80 B at 13 us |
//! | `min_rate` | bit/s | 100 Mb/s | simulator |
//!
//! The initial rate is line rate. The law sets no window: its owner may.
//!
//! # Departures
//!
//! Which packets carry a code is drawn when they are sent; the simulator draws which ACKs are read, which comes to the
//! same but for packets that are lost.

use super::{Ack, Mechanism, Path, Settings};
use crate::pint::LogCode;
use crate::units::{Fraction, Rate};

/// Parameters of HPCC with PINT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// How much more a code stands for than the one below it.
    pub log_step: Fraction,
    /// Packets that carry a code.
    pub share: Fraction,
    /// Use of the busiest hop that is aimed at.
    pub u_target: Fraction,
    /// Round trips of additive increase before a multiplicative one.
    pub mi_thresh: u32,
    /// Step of additive increase.
    pub rate_ai: Rate,
    /// The rate never falls below this.
    pub min_rate: Rate,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            log_step: Fraction::from_ppm(50_000),
            share: Fraction::ONE,
            u_target: Fraction::from_ppm(950_000),
            mi_thresh: 5,
            rate_ai: Rate::from_mbps(50),
            min_rate: Rate::from_mbps(100),
        }
    }
}

/// State of HPCC with PINT.
#[derive(Clone, Debug)]
pub struct Pint {
    params: Params,
    code: LogCode,
    line_rate: u64,
    rate: u64,
    /// The rate from which others are reckoned, and how often in a row it has been raised.
    reference: u64,
    stage: u32,
    /// Where the round trip ends whose update has been made; 0 before the first.
    updated: u64,
}

impl Pint {
    /// A flow at line rate.
    pub fn new(params: &Params, path: &Path) -> Self {
        let line_rate = path.line_rate.as_bps();
        Self {
            code: LogCode::new(params.log_step),
            params: Params {
                min_rate: params.min_rate.min(path.line_rate),
                ..*params
            },
            line_rate,
            rate: line_rate,
            reference: line_rate,
            stage: 0,
            updated: 0,
        }
    }

    /// The next rate and stage at a use in steps of 2^-32.
    fn next(&self, used: u64) -> (u64, u32) {
        let target = self.params.u_target.as_q32();
        let (rate, stage) = if used >= target || self.stage >= self.params.mi_thresh {
            let scaled = u128::from(self.reference) * u128::from(target) / u128::from(used.max(1));
            (scaled.min(u64::MAX.into()) as u64, 0)
        } else {
            (self.reference, self.stage + 1)
        };
        let rate = rate.saturating_add(self.params.rate_ai.as_bps());
        let rate = rate.max(self.params.min_rate.as_bps());
        (rate.min(self.line_rate), stage)
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

impl Mechanism for Pint {
    #[inline]
    fn rate(&self) -> Rate {
        Rate::from_bps(self.rate)
    }

    fn digests(&self) -> Option<Fraction> {
        Some(self.params.share)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        let Some(digest) = ack.digest else {
            return;
        };
        if self.updated == 0 {
            self.updated = ack.sent;
            return;
        }
        let (rate, stage) = self.next(self.code.decode(digest));
        self.rate = rate;
        if ack.acknowledged > self.updated {
            (self.reference, self.stage) = (rate, stage);
            self.updated = self.updated.max(ack.sent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Time;

    const LINE: u64 = 10_000_000_000;

    fn sender(mi_thresh: u32) -> Pint {
        let params = Params {
            mi_thresh,
            ..Params::default()
        };
        Pint::new(&params, &Path::new(Rate::from_bps(LINE), 1000))
    }

    fn ack(sender: &mut Pint, acknowledged: u64, sent: u64, digest: u16) -> u64 {
        sender.on_ack(&Ack {
            bytes: 1000,
            acknowledged,
            sent,
            digest: Some(digest),
            ..Ack::at(Time::ZERO)
        });
        sender.rate
    }

    fn assert_near(rate: u64, expected: u64) {
        assert!(
            rate.abs_diff(expected) < expected / 10_000,
            "{rate} for {expected}"
        );
    }

    /// Code 142 is 1.05^142 / 512 = 1.99347: 10 Gb/s x 0.95 / 1.99347 + 50 Mb/s. Until the round trip is over, each
    /// ACK is reckoned from line rate; then from that.
    #[test]
    fn use_above_the_target_divides_the_reference_once_a_round_trip() {
        let mut sender = sender(0);
        assert_eq!(ack(&mut sender, 1_000, 50_000, 142), LINE);
        assert_near(ack(&mut sender, 2_000, 51_000, 142), 4_815_551_000);
        assert_near(ack(&mut sender, 3_000, 52_000, 142), 4_815_551_000);
        assert_near(ack(&mut sender, 50_000, 90_000, 142), 4_815_551_000);
        assert_near(ack(&mut sender, 51_000, 91_000, 142), 4_815_551_000);
        // The new reference: 4.81555 x 0.95 / 1.99347 + 0.05.
        assert_near(ack(&mut sender, 52_000, 92_000, 142), 2_344_875_000);
        // About half of the target, 1.05^113 / 512 = 0.484307: back up, from the same reference.
        assert_near(ack(&mut sender, 53_000, 92_000, 113), 9_496_017_000);
    }

    /// Below the target a step of 50 Mb/s a round trip, five times, then a leap.
    #[test]
    fn use_below_the_target_adds_and_then_multiplies() {
        let mut sender = sender(5);
        ack(&mut sender, 1_000, 1_000, 0);
        assert_near(ack(&mut sender, 2_000, 2_000, 200), 331_277_000);
        let mut rate = sender.rate;
        for round in 3..8 {
            let next = ack(&mut sender, 1_000 * round, 1_000 * round, 113);
            assert_eq!(next, rate + 50_000_000);
            rate = next;
        }
        assert_near(
            ack(&mut sender, 8_000, 8_000, 113),
            rate * 95_000 / 48_431 + 50_000_000,
        );
    }

    #[test]
    fn rates_keep_to_their_limits() {
        let mut sender = sender(0);
        ack(&mut sender, 1_000, 1_000, 0);
        for round in 2..20 {
            ack(&mut sender, 1_000 * round, 1_000 * round, 255);
        }
        assert_eq!(sender.rate, 100_000_000);
        for round in 20..40 {
            ack(&mut sender, 1_000 * round, 1_000 * round, 0);
        }
        assert_eq!(sender.rate, LINE);
    }
}
