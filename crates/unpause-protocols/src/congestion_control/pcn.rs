//! The reaction point of PCN.
//!
//! # What it does
//!
//! A decrease sets the rate a little below what the receiver measured; each increase moves it towards
//! line rate by a weight that itself grows from `w_min` to `w_max`.
//!
//! # Source
//!
//! W. Cheng et al., "Re-architecting Congestion Management in Lossless Ethernet", NSDI 2020,
//! Algorithm 1.
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `w_min` | fraction | 1/128 | the paper's Fig. 10 example; its guideline is 0.1 / flows sharing the bottleneck |
//! | `w_max` | fraction | 1/2 | the paper |
//! | `min_rate` | bit/s | 1 Mb/s | ours: the least rate of a CNP in the paper's unit |
//! | `rec_rate_unit` | bit/s | 1 kb/s | the notification point's |
//!
//! The initial rate is line rate, as in the paper.
//!
//! # Departures
//!
//! - A minimum rate, which the paper does not have: RecRate 0 would stop a flow forever.
//! - Rates are whole bit/s and weights multiples of 2^-32, both rounded down, so the rate ends a few
//!   bit/s short of line rate.

use rand_core::Rng;

use super::{Mechanism, Path, Settings};
use crate::notification::Notification;
use crate::units::{Fraction, Rate, Time};

/// Parameters of the reaction point of PCN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Discount on the reported rate in a decrease, and weight of the first increase after it.
    pub w_min: Fraction,
    /// The upper bound of the weight of an increase.
    pub w_max: Fraction,
    /// The rate never falls below this.
    pub min_rate: Rate,
    /// Unit of the reported rate; the notification point's.
    pub rec_rate_unit: Rate,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            w_min: Fraction::of(1, 128),
            w_max: Fraction::of(1, 2),
            min_rate: Rate::from_mbps(1),
            rec_rate_unit: Rate::from_bps(1000),
        }
    }
}

/// State of the reaction point of PCN.
#[derive(Clone, Debug)]
pub struct Pcn {
    params: Params,
    line_rate: u64,
    rate: u64,
    weight: Fraction,
}

impl Pcn {
    /// A flow at line rate.
    pub fn new(params: &Params, path: &Path) -> Self {
        let mut params = *params;
        params.w_min = params.w_min.min(params.w_max);
        params.min_rate = params.min_rate.min(path.line_rate);
        Self {
            line_rate: path.line_rate.as_bps(),
            rate: path.line_rate.as_bps(),
            weight: params.w_min,
            params,
        }
    }

    /// The weight w of the next increase.
    pub fn weight(&self) -> Fraction {
        self.weight
    }

    fn decrease(&mut self, rec_rate: u32) {
        let unit = self.params.rec_rate_unit.as_bps();
        let received = u64::from(rec_rate).saturating_mul(unit);
        let discounted = received - self.params.w_min.of_value(received);
        self.rate = self.rate.min(discounted).max(self.params.min_rate.as_bps());
        self.weight = self.params.w_min;
    }

    fn increase(&mut self) {
        self.rate += self.weight.of_value(self.line_rate - self.rate);
        // w (1 - w) + w_max w, written so that rounding cannot lift it above w_max.
        let w = self.weight.as_q32();
        let growth = self.weight.of_value(self.params.w_max.as_q32() - w);
        self.weight = Fraction::from_q32(w + growth);
    }
}

impl Settings for Params {
    fn least_rate(&self) -> Option<Rate> {
        Some(self.min_rate)
    }
}

impl Mechanism for Pcn {
    #[inline]
    fn rate(&self) -> Rate {
        Rate::from_bps(self.rate)
    }

    #[inline]
    fn hears_acks(&self) -> bool {
        false
    }

    #[inline]
    fn hears_sent(&self) -> bool {
        false
    }

    fn on_notification<R: Rng>(&mut self, _now: Time, notification: &Notification, _rng: &mut R) {
        match *notification {
            Notification::Pcn {
                congested: true,
                rec_rate,
            } => self.decrease(rec_rate),
            Notification::Pcn {
                congested: false, ..
            } => self.increase(),
            Notification::Cnp | Notification::Qcn(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: u64 = 40_000_000_000;

    fn rp(params: Params, line_rate: u64) -> Pcn {
        Pcn::new(&params, &Path::new(Rate::from_bps(line_rate), 1000))
    }

    #[test]
    fn algorithm_1_has_its_golden_values() {
        let mut rp = rp(
            Params {
                rec_rate_unit: Rate::from_mbps(1),
                ..Params::default()
            },
            LINE,
        );
        assert_eq!((rp.rate, rp.weight.as_q32()), (LINE, 33_554_432));
        // (RecRate of a decrease or none for an increase, rate, weight)
        let golden = [
            (Some(2499), 2_479_476_563, 33_554_432),
            (Some(2600), 2_479_476_563, 33_554_432),
            (None, 2_772_605_652, 50_069_504),
            (None, 3_206_591_999, 74_520_560),
            (None, 3_844_982_277, 110_487_858),
            (None, 4_775_068_628, 162_889_491),
            (None, 6_110_997_576, 238_156_544),
            (None, 7_990_147_553, 344_029_001),
            (Some(5000), 4_960_937_500, 33_554_432),
            (Some(0), 1_000_000, 33_554_432),
        ];
        for (rec_rate, rate, weight) in golden {
            match rec_rate {
                Some(rec_rate) => rp.decrease(rec_rate),
                None => rp.increase(),
            }
            assert_eq!((rp.rate, rp.weight.as_q32()), (rate, weight));
        }
    }

    #[test]
    fn the_curve_of_figure_10_has_its_golden_values() {
        let mut rp = rp(Params::default(), 10_000_000_000);
        rp.rate = 0;
        let golden = [
            (1, 78_125_000),
            (2, 193_791_389),
            (3, 363_935_678),
            (4, 611_823_038),
            (5, 967_875_892),
            (6, 1_468_708_451),
            (8, 3_044_650_798),
            (10, 5_381_221_467),
            (12, 7_764_856_266),
            (15, 9_583_957_746),
            (20, 9_985_911_547),
        ];
        let mut increases = 0;
        for (upto, rate) in golden {
            while increases < upto {
                rp.increase();
                increases += 1;
            }
            assert_eq!(rp.rate, rate, "after {upto} increases");
        }
    }

    #[test]
    fn increases_needed_from_zero_follow_the_table() {
        let table = [
            (Fraction::of(1, 128), [6, 10, 14, 15, 18]),
            (Fraction::of(1, 40), [3, 7, 11, 12, 15]),
            (Fraction::of(1, 160), [6, 11, 15, 16, 18]),
            (Fraction::of(1, 640), [9, 14, 18, 19, 22]),
        ];
        for (w_min, needed) in table {
            for (percent, needed) in [10, 50, 90, 95, 99].into_iter().zip(needed) {
                let params = Params {
                    w_min,
                    ..Params::default()
                };
                let mut rp = rp(params, LINE);
                rp.rate = 0;
                let mut increases = 0;
                while rp.rate < LINE / 100 * percent {
                    rp.increase();
                    increases += 1;
                }
                assert_eq!(increases, needed, "{percent} % with {w_min:?}");
            }
        }
    }

    #[test]
    fn increases_stop_short_of_line_rate_by_less_than_a_kilobit() {
        let mut rp = rp(Params::default(), LINE);
        rp.decrease(1);
        for _ in 0..100 {
            rp.increase();
        }
        assert!(rp.rate <= LINE && LINE - rp.rate < 1000);
        assert!(rp.weight <= Params::default().w_max);
    }

    #[test]
    fn packets_are_paced_one_by_one_and_no_window_holds_them() {
        let rp = rp(Params::default(), LINE);
        assert_eq!((rp.burst_bytes(), rp.window()), (None, None));
    }

    #[test]
    fn parameters_out_of_range_are_tamed() {
        let mut rp = rp(
            Params {
                w_min: Fraction::ONE,
                w_max: Fraction::of(1, 2),
                min_rate: Rate::from_gbps(100),
                rec_rate_unit: Rate::from_bps(u64::MAX),
            },
            LINE,
        );
        rp.decrease(u32::MAX);
        rp.increase();
        rp.decrease(0);
        assert_eq!(rp.rate, LINE);
    }
}
