//! Python bindings of unpause: the extension module `unpause._native`.

use pyo3::prelude::*;

/// Native part of the package `unpause`.
#[pymodule]
mod _native {}
