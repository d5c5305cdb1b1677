//! Files that a scenario names: CDFs of flow sizes, HPCC topologies, HPCC flows.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_spanned::Spanned;
use unpause_sim::traffic::{FlowSettings, FlowSpec, Size};

use super::names::Names;
use super::settings::both;
use super::traffic::size_bytes;
use crate::error::{Checked, Problem};
use crate::quantity;
use crate::topology::Topology;

/// Reads files relative to the scenario's directory.
pub(super) struct Files {
    directory: PathBuf,
}

impl Files {
    pub fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
        }
    }

    /// What `size` or `cdf` says; one of the two must be there.
    pub fn size(
        &self,
        size: &Option<Spanned<quantity::Size>>,
        cdf: &Option<Spanned<String>>,
        entry: Range<usize>,
    ) -> Checked<Size> {
        match (size, cdf) {
            (Some(size), Some(cdf)) => both("size", size, "cdf", cdf),
            (Some(size), None) => size_bytes(size).map(Size::Fixed),
            (None, Some(_cdf)) => todo!(),
            (None, None) => Problem::new("how large flows are is not said")
                .at(entry, "in this entry")
                .help("set size = \"64KB\", or cdf = \"websearch\" (`unpause list` shows all)")
                .err(),
        }
    }

    pub fn topology(&self, _file: &Spanned<String>) -> Checked<Topology> {
        todo!("{:?}", self.directory)
    }

    pub fn flows(
        &self,
        _file: &Spanned<String>,
        _settings: &FlowSettings,
        _names: &Names,
    ) -> Checked<Vec<FlowSpec>> {
        todo!()
    }
}
