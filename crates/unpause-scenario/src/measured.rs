//! A run and its results.

use unpause_sim::results::Results;

use crate::run::Run;

/// A run and what it measured.
pub(crate) struct Measured {
    pub run: Run,
    pub results: Results,
}
