//! Files that a scenario names: CDFs of flow sizes, HPCC topologies, HPCC flows.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_spanned::Spanned;
use unpause_sim::traffic::{Cdf, FlowSettings, Size, Transport};

use super::{FileError, cdf, hpcc};
use crate::text::checks::{both, size_bytes};
use crate::text::error::{Checked, Problem};
use crate::text::quantity;
use crate::topology::Topology;

/// Reads files relative to the scenario's directory.
pub(crate) struct Files {
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
        transport: Transport,
        entry: Range<usize>,
    ) -> Checked<Size> {
        match (size, cdf) {
            (Some(size), Some(cdf)) => both("size", size, "cdf", cdf),
            (Some(size), None) => size_bytes(size, transport).map(Size::Fixed),
            (None, Some(name)) => match cdf::load(name.get_ref(), &self.directory) {
                Ok(cdf) => Ok(Size::Cdf(cdf.into())),
                Err(error) => Err(problem(error, name)),
            },
            (None, None) => Problem::new("how large flows are is not said")
                .at(entry, "in this entry")
                .help("set size = \"64KB\", or cdf = \"websearch\" (`unpause list` shows all)")
                .err(),
        }
    }

    /// The distribution of a time, in ps.
    pub fn times(&self, file: &str, named: &Range<usize>) -> Checked<Cdf> {
        let named = Spanned::new(named.clone(), file.to_owned());
        cdf::load_times(file, &self.directory).map_err(|error| problem(error, &named))
    }

    /// The topology of an HPCC/ns-3 file.
    pub fn topology(&self, file: &Spanned<String>, parallel: u32) -> Checked<Topology> {
        hpcc::read_topology(&self.directory.join(file.get_ref()), parallel)
            .map_err(|error| problem(error, file))
    }

    /// The flows of an HPCC/ns-3 file.
    pub fn flows(
        &self,
        file: &Spanned<String>,
        settings: &FlowSettings,
        topology: &Topology,
    ) -> Checked<hpcc::Flows> {
        hpcc::read_flows(&self.directory.join(file.get_ref()), topology, settings)
            .map_err(|error| problem(error, file))
    }
}

/// A mistake in a file that the scenario names at `named`.
fn problem(error: FileError, named: &Spanned<String>) -> Box<Problem> {
    match error {
        FileError::Io { path, reason } => Box::new(
            Problem::new(format!("cannot read {}: {reason}", path.display()))
                .at(named.span(), "named here")
                .help("relative paths start at the scenario file's directory"),
        ),
        FileError::Line {
            path,
            line,
            found,
            expected,
        } => {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let line_start = text
                .split_inclusive('\n')
                .take(line.saturating_sub(1))
                .map(str::len)
                .sum::<usize>();
            let line_end = text[line_start..]
                .find('\n')
                .map_or(text.len(), |length| line_start + length);
            let problem = Problem::new(format!("found {found}"))
                .at(line_start..line_end, format!("expected {expected}"))
                .of_file(path.display().to_string(), text);
            Box::new(problem)
        }
    }
}
