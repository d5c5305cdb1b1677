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
    // A run has taken Ctrl-C for itself; now it is Python's again.
    let signal = py.import("signal")?;
    let handler = signal.getattr("default_int_handler")?;
    signal.call_method1("signal", (signal.getattr("SIGINT")?, handler))?;
    py.import(module)?
        .call_method1("main", (arguments.to_vec(),))?
        .extract()
}

/// What the interpreter would do at the end of a program: 2 for a wrong command line.
fn code_of(py: Python<'_>, error: &PyErr) -> u8 {
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        eprintln!("interrupted");
        return 130;
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
