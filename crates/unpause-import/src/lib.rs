//! Fabrics with names, files of other simulators (CDFs, topologies, flows, programs of ranks, configurations), and the
//! rules that switches' configurations and scenarios share.

pub mod buffers;
pub mod cdf;
pub mod classes;
pub mod fabric;
pub mod hpcc;
pub mod hpcc_config;
pub mod hpcc_ways;
pub mod htsim_topology;
pub mod programs;

use std::path::{Path, PathBuf};

use unpause_text::limits;

/// A file that is not what it should be.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: std::io::Error,
    },
    /// A line has something else than it should.
    #[error("{}:{line}{}: found {found}, expected {expected}", path.display(), of_column(*column))]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, in characters from 1; 0 if it is the whole line.
        column: usize,
        /// The text found.
        found: String,
        /// The text expected.
        expected: String,
    },
    /// A byte of a binary file is not what it should be.
    #[error("{}: byte {at}: found {found}, expected {expected}", path.display())]
    Byte {
        /// The file.
        path: PathBuf,
        /// Bytes before it.
        at: u64,
        /// The text found.
        found: String,
        /// The text expected.
        expected: String,
    },
}

impl FileError {
    /// The same, with what the file was taken for.
    pub fn of_format(self, format: &str) -> Self {
        match self {
            Self::Line {
                path,
                line,
                column,
                found,
                expected,
            } => Self::Line {
                path,
                line,
                column,
                found,
                expected: format!("{expected} (header of {format})"),
            },
            other => other,
        }
    }
}

fn of_column(column: usize) -> String {
    match column {
        0 => String::new(),
        column => format!(":{column}"),
    }
}

/// Place of a mistake: a file, a line of it, and a column, which is 0 for the whole line.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The file.
    pub path: &'a Path,
    /// The line, from 1; 0 for the whole file.
    pub line: usize,
    /// The column, in characters from 1; 0 for the whole line.
    pub column: usize,
}

impl<'a> Place<'a> {
    /// A line of a file.
    pub fn of_line(path: &'a Path, line: usize) -> Self {
        Self {
            path,
            line,
            column: 0,
        }
    }

    /// The error that `found` stands here instead of `expected`.
    pub fn error(self, found: impl Into<String>, expected: impl Into<String>) -> FileError {
        FileError::Line {
            path: self.path.to_owned(),
            line: self.line,
            column: self.column,
            found: limits::shorten_to(limits::MESSAGE / 2, &found.into()),
            expected: expected.into(),
        }
    }

    /// The error that the file cannot be read.
    pub fn io(self, reason: std::io::Error) -> FileError {
        FileError::Io {
            path: self.path.to_owned(),
            reason,
        }
    }
}
