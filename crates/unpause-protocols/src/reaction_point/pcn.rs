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
//! | `min_rate` | bit/s | 1 Mb/s | ours: the least rate a CNP can name |
//! | `rec_rate_unit` | bit/s | 1 Mb/s | the paper's RecRate field |
//!
//! The initial rate is line rate, as in the paper.
//!
//! # Departures
//!
//! - A minimum rate, which the paper does not have: RecRate 0 would stop a flow for ever.
//! - Rates are whole bit/s and weights multiples of 2^-32, both rounded down, so the rate ends a few
//!   bit/s short of line rate.

use rand_core::Rng;

use super::Mechanism;
use crate::notification::Notification;
use crate::units::{Fraction, Rate, Time};

/// Parameters of the reaction point of PCN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Discount on the reported rate in a decrease, and weight of the first increase after it.
    pub w_min: Fraction,
    /// What the weight of an increase grows to.
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
            rec_rate_unit: Rate::from_mbps(1),
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
    pub fn new(params: &Params, line_rate: Rate, _now: Time) -> Self {
        let mut params = *params;
        params.w_min = params.w_min.min(params.w_max);
        params.min_rate = params.min_rate.min(line_rate);
        Self {
            line_rate: line_rate.as_bps(),
            rate: line_rate.as_bps(),
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

impl Mechanism for Pcn {
    #[inline]
    fn rate(&self) -> Rate {
        Rate::from_bps(self.rate)
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
