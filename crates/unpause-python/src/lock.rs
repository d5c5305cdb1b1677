//! Directories that one process writes to at a time.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

use crate::errors;

/// A directory that only this process writes to, until it is released.
#[pyclass(frozen)]
pub(crate) struct Lock {
    inner: Mutex<Option<unpause_scenario::Lock>>,
}

#[pymethods]
impl Lock {
    #[new]
    fn new(py: Python<'_>, directory: PathBuf) -> PyResult<Self> {
        let lock = unpause_scenario::Lock::take(&directory);
        let lock = lock.map_err(|error| errors::to_python(py, &error))?;
        Ok(Self {
            inner: Mutex::new(Some(lock)),
        })
    }

    fn release(&self) {
        let mut lock = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        lock.take();
    }
}

/// Ends what a process that is gone had begun to move to its names in a result directory.
#[pyfunction]
pub(crate) fn settle(py: Python<'_>, directory: PathBuf) -> PyResult<()> {
    unpause_scenario::settle(&directory).map_err(|error| errors::to_python(py, &error))
}
