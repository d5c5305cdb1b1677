//! Paths of keys and quantities, read as scenario files read them.

use pyo3::prelude::*;
use unpause_scenario::quantity::{parse_duration, parse_rate, parse_ratio, parse_size};

/// The keys of a path such as `traffic.F1.rate_limit`; None if it is not the path of a key.
#[pyfunction]
pub(crate) fn split_path(path: &str) -> Option<Vec<String>> {
    unpause_scenario::split_path(path)
}

/// A quantity as a number of a base unit: the suffix of a column of such numbers, numerator and
/// denominator. None for other texts, plain numbers among them.
#[pyfunction]
pub(crate) fn in_base_unit(text: &str) -> Option<(&'static str, u64, u64)> {
    if let Ok(time) = parse_duration(text) {
        return Some(("_ns", time.as_ps(), 1_000));
    }
    if let Ok(rate) = parse_rate(text) {
        return Some(("_bps", rate.as_bps(), 1));
    }
    if let Ok(bytes) = parse_size(text) {
        return Some(("_bytes", bytes, 1));
    }
    let ratio = parse_ratio(text)
        .ok()
        .filter(|_| text.contains(['/', '%']))?;
    Some(("", ratio.num, ratio.den))
}
