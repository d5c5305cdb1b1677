//! Without MPI, no other process helps.

use std::path::Path;

use unpause_scenario::Run;
use unpause_sim::results::Results;
use unpause_sim::{Samples, Watch};

/// There is none.
pub enum Team {}

impl Team {
    pub fn all_threads(&self) -> usize {
        match *self {}
    }

    pub fn speed(&self, _run: &Run) -> String {
        match *self {}
    }

    pub fn simulate(
        &self,
        _file: &Path,
        _run: &Run,
        _watch: &mut Watch<'_>,
        _samples: Option<&Samples<'_>>,
    ) -> Result<Results, unpause_sim::Error> {
        match *self {}
    }
}
