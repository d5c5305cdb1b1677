//! A run and its results.

use unpause_sim::results::Results;

use crate::run::Run;
use crate::run::job_totals::Alone;

/// A run and what it measured.
pub(crate) struct Measured {
    pub run: Run,
    pub results: Results,
    /// Its jobs alone.
    pub alone: Alone,
}

impl Measured {
    /// A run, what it measured, and its jobs alone.
    pub fn new(run: Run, results: Results, alone: Alone) -> Self {
        Self {
            run,
            results,
            alone,
        }
    }
}
