//! The outcome of a scenario, for Python.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::errors;
use crate::table::Table;

/// The outcome of a scenario.
#[pyclass(frozen)]
pub(crate) struct Outcome {
    pub(crate) inner: unpause_scenario::Outcome,
}

#[pymethods]
impl Outcome {
    /// A table by name.
    fn table(&self, name: &str) -> PyResult<Table> {
        let batch = self.inner.tables.get(name);
        let batch = batch.ok_or_else(|| pyo3::exceptions::PyKeyError::new_err(name.to_owned()))?;
        Ok(Table::new(batch.clone()))
    }

    /// The content of `manifest.json`.
    #[getter]
    fn manifest(&self) -> PyResult<String> {
        let manifest = serde_json::to_string(&self.inner.manifest());
        manifest.map_err(|e| pyo3::exceptions::PyValueError::new_err(e.to_string()))
    }

    /// Writes tables, manifest and scenario into `directory`.
    fn write(&self, py: Python<'_>, directory: PathBuf) -> PyResult<()> {
        let written = py.detach(|| self.inner.write(&directory));
        written.map(drop).map_err(|e| errors::to_python(py, &e))
    }
}
