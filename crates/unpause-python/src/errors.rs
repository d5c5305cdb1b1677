//! Errors as Python exceptions.

use std::io::ErrorKind;

use pyo3::exceptions::{PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyPermissionError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use unpause_scenario::Error;

/// The exception for `error`: `unpause.ScenarioError`, one of its subclasses, `OSError`, or `KeyboardInterrupt`.
pub(crate) fn to_python(py: Python<'_>, error: &Error) -> PyErr {
    match error {
        Error::Io { reason, .. } => match reason.kind() {
            ErrorKind::NotFound => PyFileNotFoundError::new_err(error.to_string()),
            ErrorKind::PermissionDenied => PyPermissionError::new_err(error.to_string()),
            _ => PyOSError::new_err(error.to_string()),
        },
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        _ => raise(py, error).unwrap_or_else(|failure| failure),
    }
}

/// A `ScenarioError` without a place.
pub(crate) fn scenario_error(py: Python<'_>, message: &str) -> PyErr {
    let made = || {
        Ok(PyErr::from_value(
            class(py, "ScenarioError")?.call1((message,))?,
        ))
    };
    made().unwrap_or_else(|failure: PyErr| failure)
}

fn raise(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let details = PyDict::new(py);
    if let Some((file, line, column)) = error.location() {
        details.set_item("file", file)?;
        details.set_item("line", line)?;
        details.set_item("column", column)?;
    }
    details.set_item("help", error.help_text())?;
    let name = match error {
        Error::TooLarge { .. } => "TooLargeError",
        _ => "ScenarioError",
    };
    let exception = class(py, name)?.call((error.to_string(),), Some(&details))?;
    Ok(PyErr::from_value(exception))
}

fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("unpause.errors")?.getattr(name)
}
