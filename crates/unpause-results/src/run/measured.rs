//! A run and its results.

use unpause_sim::results::Results;

use crate::run::Run;
use crate::run::job_totals::Alone;

/// A run with its results.
pub struct Measured {
    /// The run.
    pub run: Run,
    /// Its results.
    pub results: Results,
    /// Its jobs alone.
    pub alone: Alone,
}

impl Measured {
    /// A run, its results, and its jobs alone.
    pub fn new(run: Run, results: Results, alone: Alone) -> Self {
        Self {
            run,
            results,
            alone,
        }
    }
}
