//! Files that say what the ranks of a job do.
//!
//! Each reader makes a [`Draft`](unpause_sim::jobs::program::Draft) of what a file says, and knows where in the file each operation stands. What cannot be run
//! is told there.

mod chakra;
mod collectives;
mod goal;
mod goal_binary;
mod htsim;
mod imported;
mod simai;
mod simai_header;
mod simai_rows;
mod words;

use std::path::Path;

pub use chakra::{Collectives, OneTrace, one_trace, parse_chakra, read_chakra};
pub use htsim::parse_htsim;
pub use imported::{Imported, Used};
pub use simai::{SimAi, parse_simai};

use super::{FileError, Place};
use unpause_text::limits;

/// Reads a schedule of GOAL, text or binary.
///
/// # Errors
///
/// The first mistake, with its line, or its byte.
pub fn parse_goal(bytes: Vec<u8>, path: &Path) -> Result<Imported, FileError> {
    if goal_binary::is_binary(&bytes) {
        return goal_binary::parse(&bytes, path);
    }
    goal::parse(&as_text(bytes, path)?, path)
}

fn as_text(bytes: Vec<u8>, path: &Path) -> Result<String, FileError> {
    limits::utf8(bytes, 0)
        .map_err(|not| Place::of_line(path, not.line).error(not.found, limits::EXPECTED_TEXT))
}

/// Reads the file of a schedule of GOAL.
pub fn read_goal(path: &Path) -> Result<Imported, FileError> {
    let bytes = limits::read_at_most(path, limits::PROGRAM_BYTES).map_err(|reason| {
        let path = path.to_owned();
        FileError::Io { path, reason }
    })?;
    parse_goal(bytes, path)
}

/// Reads the file of a workload of SimAI.
pub fn read_simai(path: &Path, of: SimAi) -> Result<Imported, FileError> {
    let bytes = limits::read_at_most(path, limits::PROGRAM_BYTES).map_err(|reason| {
        let path = path.to_owned();
        FileError::Io { path, reason }
    })?;
    parse_simai(&as_text(bytes, path)?, path, of)
}

/// Reads the file of a connection matrix of htsim.
pub fn read_htsim(path: &Path) -> Result<Imported, FileError> {
    let bytes = limits::read_at_most(path, limits::PROGRAM_BYTES).map_err(|reason| {
        let path = path.to_owned();
        FileError::Io { path, reason }
    })?;
    parse_htsim(&as_text(bytes, path)?, path)
}
