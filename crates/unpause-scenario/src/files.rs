//! Files that a scenario names: CDFs of flow sizes, HPCC topologies, HPCC flows, programs of jobs.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_spanned::Spanned;
use unpause_sim::traffic::{Cdf, FlowSettings, Size, Transport};

use unpause_sim::jobs::Program;

use crate::text::checks::{both, size_bytes};
use crate::text::keys::Written;
use unpause_import::fabric::topology::Topology;
use unpause_import::programs::{Imported, Used};
use unpause_import::{FileError, cdf, hpcc, htsim_topology};
use unpause_text::error::{Checked, Problem};
use unpause_text::limits;
use unpause_text::quantity;

/// Reads files relative to the scenario's directory.
pub(crate) struct Files {
    directory: PathBuf,
    /// Those read before: every run of a scenario asks for the same.
    programs: RefCell<HashMap<ProgramKey, Arc<ReadProgram>>>,
}

/// A file, and how it is read.
type ProgramKey = (PathBuf, ReadAs);

/// As what a file of a job is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ReadAs {
    pub format: &'static str,
    pub ranks: u32,
    pub channels: u32,
    /// Of its collective operations; nothing: those that are usual.
    pub algorithm: &'static str,
}

/// A job as a file states it.
pub(crate) struct ReadProgram {
    pub program: Arc<Program>,
    pub labels: Vec<String>,
    pub notes: Vec<String>,
    pub used: Used,
}

impl Files {
    pub fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            programs: RefCell::default(),
        }
    }

    /// The program of a job's ranks, from a file that `read` reads.
    pub fn program(
        &self,
        file: &Spanned<String>,
        read_as: ReadAs,
        read: &dyn Fn(&Path) -> Result<Imported, FileError>,
    ) -> Checked<Arc<ReadProgram>> {
        let path = self.directory.join(file.get_ref());
        let key = (path.clone(), read_as);
        if let Some(known) = self.programs.borrow().get(&key) {
            return Ok(known.clone());
        }
        let imported = read(&path).map_err(|error| problem(error, file))?;
        let read = Arc::new(ReadProgram {
            program: Arc::new(imported.program),
            labels: imported.labels,
            notes: imported.notes,
            used: imported.used,
        });
        self.programs.borrow_mut().insert(key, read.clone());
        Ok(read)
    }

    /// The value of `size` or `cdf`; one of the two must be there.
    pub fn size(
        &self,
        size: &Written<quantity::Size>,
        cdf: &Written<String>,
        transport: Transport,
        entry: Range<usize>,
    ) -> Checked<Size> {
        match (size.get(), cdf.get()) {
            (Some(size), Some(cdf)) => both("size", size, "cdf", cdf),
            (Some(size), None) => size_bytes(size, transport).map(Size::Fixed),
            (None, Some(name)) => match cdf::load(name.get_ref(), &self.directory) {
                Ok(cdf) => Ok(Size::Cdf(cdf.into())),
                Err(error) => Err(problem(error, name)),
            },
            (None, None) => Problem::new("the size of the flows is missing")
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

    /// The topology of an HPCC/ns-3 file, with at most `parallel` links between two nodes, of which the last counts if none is
    /// given; or that of a file of htsim, which says itself how many there are.
    pub fn topology(
        &self,
        file: &Spanned<String>,
        parallel: Option<&Spanned<u32>>,
    ) -> Checked<Topology> {
        let path = self.directory.join(file.get_ref());
        match htsim_topology::read(&path) {
            Ok(Some(topology)) => match parallel {
                None => Ok(topology),
                Some(key) => Problem::new("`parallel` has no effect")
                    .at(key.span(), "the file says how many links there are: Bundle")
                    .at(file.span(), "a topology of htsim")
                    .help("remove it")
                    .err(),
            },
            Ok(None) => hpcc::read_topology(&path, parallel.map(|it| *it.get_ref()))
                .map_err(|error| problem(error, file)),
            Err(error) => Err(problem(error, file)),
        }
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
        FileError::Byte { .. } => {
            Box::new(Problem::new(error.to_string()).at(named.span(), "named here"))
        }
        FileError::Line {
            path,
            line,
            column,
            found,
            expected,
        } => {
            let (text, place) = around(&path, line, column);
            let problem = Problem::new(format!("found {found}"))
                .at(place, format!("expected {expected}"))
                .of_file(path.display().to_string(), text);
            Box::new(problem)
        }
    }
}

/// Bytes of a line that are kept to be shown.
const SHOWN: usize = 1000;

/// A file's text up to the line after `line`, and where that line is, or the word of it at `column`.
/// Lines further up are left empty: they are not shown.
fn around(path: &Path, line: usize, column: usize) -> (String, Range<usize>) {
    let mut text = String::new();
    let mut place = 0..0;
    let Ok(file) = std::fs::File::open(path) else {
        return (text, place);
    };
    let mut reader = BufReader::new(file.take(limits::HPCC_BYTES));
    for number in 1..=line + 1 {
        let mut bytes = Vec::new();
        let mut one = reader.by_ref().take(limits::LINE_BYTES);
        if !matches!(one.read_until(b'\n', &mut bytes), Ok(length) if length > 0) {
            break;
        }
        let start = text.len();
        let ends = bytes.ends_with(b"\n");
        if bytes.len() > SHOWN {
            bytes.truncate(SHOWN);
            bytes.push(b'\n');
        }
        if number + 1 < line {
            text.push('\n')
        } else {
            text += &String::from_utf8_lossy(&bytes).replace('\0', "␀")
        }
        if number == line {
            place = word(&text, start, column);
        }
        if !ends {
            break;
        }
    }
    (text, place)
}

/// Where the line of `text` from `start` is, or its word at `column`, a character from 1.
fn word(text: &str, start: usize, column: usize) -> Range<usize> {
    let line = text[start..].trim_end_matches(['\r', '\n']);
    let mark = if line.starts_with('\u{feff}') { 1 } else { 0 };
    let at = column
        .checked_sub(1)
        .and_then(|column| line.char_indices().nth(column + mark));
    match at {
        None => start..start + line.len(),
        Some((at, _)) => {
            let length = line[at..].find(char::is_whitespace);
            let end = length.map_or(line.len(), |length| at + length);
            start + at..start + end
        }
    }
}
