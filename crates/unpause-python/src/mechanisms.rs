//! Mechanisms by themselves, without a simulation: those of `unpause-protocols`, not copies.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rand_xoshiro::Xoshiro128PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use unpause_protocols::congestion_control::pcn::{Params, Pcn};
use unpause_protocols::congestion_control::{Mechanism, Path};
use unpause_protocols::congestion_point::tofino::Divider;
use unpause_protocols::notification::Notification;
use unpause_protocols::units::{Fraction, Rate, Time};

/// Feeds CNPs to PCN's reaction point; `None` is an increase, a number the RecRate of a decrease.
///
/// Answers its rate (bit/s) and weight (multiples of 2^-32) after each. Weights are (numerator,
/// denominator).
#[pyfunction]
#[pyo3(signature = (cnps, *, line_rate_bps, w_min, w_max, min_rate_bps, rec_rate_unit_bps))]
pub(crate) fn pcn_reaction(
    cnps: Vec<Option<u32>>,
    line_rate_bps: u64,
    w_min: (u64, u64),
    w_max: (u64, u64),
    min_rate_bps: u64,
    rec_rate_unit_bps: u64,
) -> PyResult<(Vec<u64>, Vec<u64>)> {
    let params = Params {
        w_min: weight("w_min", w_min)?,
        w_max: weight("w_max", w_max)?,
        min_rate: Rate::from_bps(min_rate_bps),
        rec_rate_unit: Rate::from_bps(rec_rate_unit_bps),
    };
    // It has no use for the size of a packet.
    let path = Path::new(Rate::from_bps(line_rate_bps), 1);
    let mut rp = Pcn::new(&params, &path);
    // PCN draws nothing from it.
    let mut rng = Xoshiro128PlusPlus::seed_from_u64(0);
    let after = cnps.into_iter().map(|rec_rate| {
        let notification = Notification::Pcn {
            congested: rec_rate.is_some(),
            rec_rate: rec_rate.unwrap_or(0),
        };
        rp.on_notification(Time::ZERO, &notification, &mut rng);
        (rp.rate().as_bps(), rp.weight().as_q32())
    });
    Ok(after.unzip())
}

/// Quotients of `dividend` by each of `divisors` as ECN# on a Tofino approximates them.
#[pyfunction]
pub(crate) fn tofino_division(dividend: u32, divisors: Vec<u32>) -> Vec<f64> {
    let divider = Divider::new(dividend);
    let quotient = |divisor| {
        let (mantissa, exponent) = divider.approximate(divisor);
        f64::from(mantissa) * f64::from(exponent).exp2()
    };
    divisors.into_iter().map(quotient).collect()
}

fn weight(name: &str, (numerator, denominator): (u64, u64)) -> PyResult<Fraction> {
    if denominator == 0 || numerator > denominator {
        let message = format!("{name} is {numerator}/{denominator}; it must be from 0 to 1");
        return Err(PyValueError::new_err(message));
    }
    Ok(Fraction::of(numerator, denominator))
}
