//! The Python package, called in the process that it runs in.

use std::ffi::OsString;

use pyo3::exceptions::{PyKeyboardInterrupt, PySystemExit};
use pyo3::prelude::*;
use unpause_cli::{Missing, Package};

/// The package that this extension module belongs to.
pub(crate) struct ThisProcess;

impl Package for ThisProcess {
    fn main(&self, module: &str, arguments: &[OsString]) -> Result<u8, Missing> {
        Ok(Python::attach(|py| {
            call(py, module, arguments).unwrap_or_else(|error| code_of(py, &error))
        }))
    }
}

fn call(py: Python<'_>, module: &str, arguments: &[OsString]) -> PyResult<u8> {
    // A run has taken signals for itself; now they are Python's again.
    let signals = py.import("unpause.signals")?;
    signals.call_method0("listen")?;
    let main = py.import(module)?.getattr("main")?;
    signals
        .call_method1("run", (main, arguments.to_vec()))?
        .extract()
}

/// The exit code that the interpreter would return: 2 for a wrong command line.
fn code_of(py: Python<'_>, error: &PyErr) -> u8 {
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        eprintln!("interrupted");
        return interrupted(py).unwrap_or(130);
    }
    if error.is_instance_of::<PySystemExit>(py) {
        let code = error.value(py).getattr("code");
        return match code {
            Ok(code) if code.is_none() => 0,
            Ok(code) => code.extract().unwrap_or(1),
            Err(_) => 1,
        };
    }
    error.print(py);
    1
}

/// The exit code that goes with the signal that was caught.
fn interrupted(py: Python<'_>) -> PyResult<u8> {
    let caught: u8 = py.import("unpause.signals")?.getattr("caught")?.extract()?;
    Ok(128 + caught)
}
