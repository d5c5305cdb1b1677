//! Python bindings of unpause: the extension module `unpause._native`.
//!
//! The package `unpause` (python/unpause) is the interface; this module is what it stands on:
//! reading and running scenarios, tables by the Arrow PyCapsule interface, mechanisms alone, and the
//! command line.

mod errors;
mod keys;
mod lock;
mod mechanisms;
mod outcome;
mod package;
mod percentiles;
mod progress;
mod session;
mod table;

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;

use outcome::Outcome;

/// Native part of the package `unpause`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{
        Scenario, keys::in_base_unit, keys::split_path, lock::Lock, main, mechanisms::pcn_reaction,
        mechanisms::tofino_division, outcome::Outcome, percentiles::percentiles, session::Session,
        table::Table,
    };
}

/// A scenario, read and checked.
#[pyclass(frozen)]
struct Scenario {
    inner: unpause_scenario::Scenario,
}

#[pymethods]
impl Scenario {
    /// Reads a file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let inner = py.detach(|| unpause_scenario::Scenario::load(&path));
        Ok(Self {
            inner: inner.map_err(|e| errors::to_python(py, &e))?,
        })
    }

    /// Reads a text; `origin` is its name in messages and where relative paths start.
    #[staticmethod]
    fn parse(py: Python<'_>, source: &str, origin: PathBuf) -> PyResult<Self> {
        let inner = py.detach(|| unpause_scenario::Scenario::parse(source, &origin));
        Ok(Self {
            inner: inner.map_err(|e| errors::to_python(py, &e))?,
        })
    }

    /// Digest of everything that its results depend on, this program included; None if unknown.
    #[getter]
    fn digest(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| self.inner.digest())
    }

    /// The text.
    #[getter]
    fn source(&self) -> &str {
        self.inner.source()
    }

    /// Label of each run: scheme and swept values.
    #[getter]
    fn runs(&self) -> Vec<String> {
        let columns = self.inner.sweep_columns();
        self.inner
            .runs()
            .iter()
            .map(|run| run.label(columns))
            .collect()
    }

    /// Runs it. In the directory `keep`, finished runs outlive an interruption. `progress(label, finished, runs, fraction, packet_hops)` is called on this thread.
    #[pyo3(signature = (*, schemes, seed=None, seeds=None, duration=None, threads=None, exact_packets=false, force=false, progress=None, keep=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn run(
        &self,
        py: Python<'_>,
        schemes: Vec<String>,
        seed: Option<u64>,
        seeds: Option<u32>,
        duration: Option<&str>,
        threads: Option<usize>,
        exact_packets: bool,
        force: bool,
        progress: Option<Py<PyAny>>,
        keep: Option<PathBuf>,
    ) -> PyResult<Outcome> {
        let duration = duration
            .map(unpause_scenario::quantity::parse_duration)
            .transpose()
            .map_err(|e| errors::scenario_error(py, &format!("duration: {e}")))?;
        let options = unpause_scenario::Options {
            schemes,
            seed,
            seeds,
            duration,
            threads,
            exact_packets,
            force,
        };
        let place = keep.map(|keep| unpause_scenario::Place::take(&keep));
        let place = place.transpose().map_err(|e| errors::to_python(py, &e))?;
        let mut inner = progress::run(py, &self.inner, &options, place.as_ref(), progress)?;
        if place.is_some() {
            inner.note_digest(py.detach(|| self.inner.digest()));
        }
        Ok(Outcome { inner })
    }
}

/// Runs the command line; answers its exit code. What is Python's of it runs in this process.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| unpause_cli::main_with(arguments, &package::ThisProcess))
}
