//! Directories that one process writes to at a time.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

use crate::errors;

/// A directory that only this process writes to, until it is released.
#[pyclass(frozen)]
pub(crate) struct Lock {
    inner: Mutex<Option<Held>>,
}

/// Releases what it holds when it is dropped.
enum Held {
    Directory { _lock: unpause_scenario::Lock },
    Result { _place: unpause_scenario::Place },
}

#[pymethods]
impl Lock {
    /// Takes a directory; with `result`, one that has a result or may get one.
    #[new]
    #[pyo3(signature = (directory, *, result=false))]
    fn new(py: Python<'_>, directory: PathBuf, result: bool) -> PyResult<Self> {
        let lock = if result {
            unpause_scenario::Place::take(&directory).map(|place| Held::Result { _place: place })
        } else {
            unpause_scenario::Lock::take(&directory).map(|lock| Held::Directory { _lock: lock })
        };
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
