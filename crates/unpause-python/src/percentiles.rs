//! Percentiles, as the command line shows them.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use unpause_scenario::percentile;

/// Percentiles of `values`, each of `percents` from 0 to 100.
#[pyfunction]
pub fn percentiles(
    py: Python<'_>,
    values: PyBuffer<f64>,
    percents: Vec<f64>,
) -> PyResult<Vec<f64>> {
    let mut sorted = values.to_vec(py)?;
    sorted.sort_by(f64::total_cmp);
    let of = |percent: f64| {
        if (0.0..=100.0).contains(&percent) {
            percentile(&sorted, percent / 100.0)
        } else {
            None
        }
    };
    let found: Option<Vec<f64>> = percents.into_iter().map(of).collect();
    found.ok_or_else(|| PyValueError::new_err("no values, or a percentile beyond 0 to 100"))
}
