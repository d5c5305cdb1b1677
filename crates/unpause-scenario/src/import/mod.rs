//! Files of other simulators.

pub mod cdf;
pub(crate) mod files;
pub mod hpcc;
pub mod hpcc_config;
pub(crate) mod hpcc_ways;

use std::path::{Path, PathBuf};

use crate::limits;

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
    #[error("{}:{line}: found {found}, expected {expected}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is there.
        found: String,
        /// What should be.
        expected: String,
    },
}

/// Place of a mistake: a file and a line of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub path: &'a Path,
    pub line: usize,
}

impl Place<'_> {
    pub(crate) fn error(self, found: impl Into<String>, expected: impl Into<String>) -> FileError {
        FileError::Line {
            path: self.path.to_owned(),
            line: self.line,
            found: limits::shorten_to(limits::MESSAGE / 2, &found.into()),
            expected: expected.into(),
        }
    }

    pub(crate) fn io(self, reason: std::io::Error) -> FileError {
        FileError::Io {
            path: self.path.to_owned(),
            reason,
        }
    }
}
