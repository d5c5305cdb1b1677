//! DCTCP by rate, as hardware might have it.
//!
//! # What it does
//!
//! An estimate of the share of marked packets, renewed once a round trip, as DCTCP's. The first mark of a
//! round trip cuts the rate by half of it; a round trip without a cut adds a step.
//!
//! # Source
//!
//! HPCC's simulator (alibaba-edu/High-Precision-Congestion-Control), `CC_MODE` 8, after M. Alizadeh et al.,
//! "Data Center TCP (DCTCP)", SIGCOMM 2010: it starts at line rate, and ACKs are not delayed.
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `g_log2` | - | 4 | DCTCP paper: g = 1/16 |
//! | `rate_ai` | bit/s | 1 Gb/s | HPCC's simulator |
//! | `min_rate` | bit/s | 100 Mb/s | HPCC's simulator |
//!
//! # Departures
//!
//! None known.

use super::{Ack, Mechanism, Path, Settings};
use crate::units::{Fraction, Rate};

/// Parameters of DCTCP by rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// The gain g of alpha is 2 to the minus this.
    pub g_log2: u8,
    /// Step of additive increase, once a round trip.
    pub rate_ai: Rate,
    /// The rate never falls below this.
    pub min_rate: Rate,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            g_log2: 4,
            rate_ai: Rate::from_gbps(1),
            min_rate: Rate::from_mbps(100),
        }
    }
}

/// State of DCTCP by rate.
#[derive(Clone, Debug)]
pub struct DctcpRate {
    params: Params,
    line_rate: u64,
    packet_bytes: u64,
    rate: u64,
    /// In steps of 2^-32.
    alpha: u64,
    marks: u64,
    /// Packets that the estimate is a share of.
    packets: u64,
    /// Where the round trip ends whose estimate has been made; 0 before the first.
    updated: u64,
    /// Where the round trip of the last cut ends, while it lasts.
    cut: Option<u64>,
}

const ONE: u64 = Fraction::ONE.as_q32();

impl DctcpRate {
    /// A flow at line rate.
    pub fn new(params: &Params, path: &Path) -> Self {
        let mut params = *params;
        params.g_log2 = params.g_log2.min(32);
        params.min_rate = params.min_rate.min(path.line_rate);
        Self {
            line_rate: path.line_rate.as_bps(),
            packet_bytes: u64::from(path.packet_bytes).max(1),
            rate: path.line_rate.as_bps(),
            alpha: ONE,
            marks: 0,
            packets: 0,
            updated: 0,
            cut: None,
            params,
        }
    }

    fn estimate(&mut self) {
        let share = Fraction::of(self.marks, self.packets.max(1)).as_q32();
        self.alpha -= self.alpha >> self.params.g_log2;
        self.alpha += share >> self.params.g_log2;
        self.marks = 0;
    }
}

impl Settings for Params {
    fn least_rate(&self) -> Option<Rate> {
        Some(self.min_rate)
    }
}

impl Mechanism for DctcpRate {
    #[inline]
    fn rate(&self) -> Rate {
        Rate::from_bps(self.rate)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.marks += u64::from(ack.ce);
        let ends = ack.acknowledged > self.updated;
        if ends {
            let mut under_way = ack.sent;
            if self.updated > 0 {
                self.estimate();
                under_way = ack.sent.saturating_sub(ack.acknowledged);
            }
            self.updated = ack.sent;
            self.packets = under_way / self.packet_bytes + 1;
        }
        if self.cut.is_some_and(|end| ack.acknowledged > end) {
            self.cut = None;
        }
        if ack.ce && self.cut.is_none() {
            let cut = (u128::from(self.rate) * u128::from(self.alpha)) >> 33;
            self.rate = (self.rate - cut as u64).max(self.params.min_rate.as_bps());
            self.cut = Some(ack.sent);
        }
        if ends && self.cut.is_none() {
            let raised = self.rate.saturating_add(self.params.rate_ai.as_bps());
            self.rate = raised.min(self.line_rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Time;

    const LINE: u64 = 10_000_000_000;

    fn ack(law: &mut DctcpRate, acknowledged: u64, sent: u64, ce: bool) {
        law.on_ack(&Ack {
            bytes: 1000,
            ce,
            acknowledged: 1000 * acknowledged,
            sent: 1000 * sent,
            ..Ack::at(Time::ZERO)
        });
    }

    fn law() -> DctcpRate {
        DctcpRate::new(&Params::default(), &Path::new(Rate::from_bps(LINE), 1000))
    }

    #[test]
    fn the_first_mark_halves_and_the_rest_of_the_round_trip_does_not_count() {
        let mut law = law();
        ack(&mut law, 1, 10, true);
        assert_eq!(law.rate, LINE / 2);
        ack(&mut law, 2, 12, true);
        ack(&mut law, 10, 20, true);
        assert_eq!((law.rate, law.marks), (LINE / 2, 3));
        // The next round trip: three marks of eleven packets, and a step.
        ack(&mut law, 11, 21, false);
        assert_eq!(
            law.alpha,
            ONE - ONE / 16 + (Fraction::of(3, 11).as_q32() >> 4)
        );
        assert_eq!((law.rate, law.packets), (LINE / 2 + 1_000_000_000, 11));
    }

    #[test]
    fn without_marks_a_round_trip_adds_a_step_up_to_line_rate() {
        let mut law = law();
        law.rate = LINE - 1_500_000_000;
        for round in 1..4 {
            ack(&mut law, 10 * round + 1, 10 * round + 10, false);
            ack(&mut law, 10 * round + 2, 10 * round + 11, false);
        }
        assert_eq!(law.rate, LINE);
        assert!(law.alpha < ONE);
    }

    #[test]
    fn no_cut_goes_below_the_minimum() {
        let mut law = law();
        for round in 1..200 {
            ack(&mut law, 10 * round, 10 * round + 9, true);
        }
        assert_eq!(law.rate, 100_000_000);
    }
}
