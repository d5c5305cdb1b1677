//! Samples of ports on their way to the disk: some thousands are in memory at a time.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use unpause_sim::results::{PortSample, Results};

use crate::run::Run;
use crate::run::measured::Measured;
use crate::tables::files::{Batches, Writer};
use crate::tables::{Tables, port_series};
use unpause_text::error::Error;

/// Rows that are written at a time. It is fixed, so that a file depends on its rows alone.
pub const CHUNK: usize = 1 << 16;

/// The series of a run under way, in a file.
pub struct SeriesFile {
    path: PathBuf,
    state: Mutex<State>,
}

struct State {
    /// The run, and the samples that are not written yet.
    pending: Measured,
    writer: Writer,
    failed: Option<Error>,
}

impl SeriesFile {
    /// A file for the series of `run`.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn create(path: PathBuf, run: &Run) -> Result<Self, Error> {
        let writer = Writer::create(&path, Tables::default().port_series.schema())?;
        let pending = Measured {
            run: run.clone(),
            results: Results::default(),
            alone: Default::default(),
        };
        let state = State {
            pending,
            writer,
            failed: None,
        };
        Ok(Self {
            path,
            state: Mutex::new(state),
        })
    }

    /// Takes samples, in order. Errors are reported at the end.
    pub fn push(&self, samples: Vec<PortSample>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.push(samples);
    }

    /// Writes what is left; answers the file.
    pub fn finish(self, rest: Vec<PortSample>) -> Result<PathBuf, Error> {
        let mut state = self
            .state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        state.push(rest);
        let left = std::mem::take(&mut state.pending.results.port_series);
        state.write(left);
        match state.failed {
            Some(error) => Err(error),
            None => state.writer.close().map(|()| self.path),
        }
    }
}

impl State {
    fn push(&mut self, samples: Vec<PortSample>) {
        let pending = &mut self.pending.results.port_series;
        pending.extend(samples);
        while self.pending.results.port_series.len() >= CHUNK {
            let rest = self.pending.results.port_series.split_off(CHUNK);
            let chunk = std::mem::replace(&mut self.pending.results.port_series, rest);
            self.write(chunk);
        }
    }

    fn write(&mut self, chunk: Vec<PortSample>) {
        if chunk.is_empty() || self.failed.is_some() {
            return;
        }
        let rest = std::mem::replace(&mut self.pending.results.port_series, chunk);
        let batch = port_series(std::slice::from_ref(&self.pending));
        self.pending.results.port_series = rest;
        self.failed = self.writer.write(&batch).err();
    }
}

/// Writes the series of all runs, one after the other, into one file.
pub fn join(path: &Path, files: &[PathBuf]) -> Result<(), Error> {
    let mut writer = Writer::create(path, Tables::default().port_series.schema())?;
    for file in files {
        let opened = File::open(file).map_err(|error| Error::io("read", file, error))?;
        for batch in Batches::of(file, opened, CHUNK)? {
            writer.write(&batch?)?;
        }
    }
    writer.close()
}
