//! Chakra execution traces: a file for each rank, with a graph of nodes.
//!
//! # Sources
//!
//! S. Sridharan et al.: "Chakra: Advancing Performance Benchmarking and Co-design using Standardized Execution Traces",
//! arXiv:2305.14516, 2023; the schema of MLCommons' Chakra, version 0.0.4; what astra-sim takes nodes to mean.

mod build;
mod call;
mod groups;
mod labels;
mod trace;
mod wire;

use std::path::{Path, PathBuf};

use unpause_sim::jobs::program::Task;

pub use self::build::Collectives;
use self::build::program;
use self::labels::Labels;
use self::trace::{Counts, Trace};
use super::imported::Imported;
use crate::FileError;
use unpause_text::limits;

/// The placeholder for the rank in the name of a trace.
const RANK: &str = "{rank}";

/// Reads traces, in the order of ranks.
///
/// # Errors
///
/// The first mistake, with its file, byte and node.
pub fn parse_chakra(
    files: &[(PathBuf, Vec<u8>)],
    collectives: Collectives,
) -> Result<Imported, FileError> {
    let mut labels = Labels::new();
    let mut traces = Vec::with_capacity(files.len());
    for (rank, (path, bytes)) in files.iter().enumerate() {
        traces.push(Trace::read(bytes, path, Some(rank as u32), &mut labels)?);
    }
    imported(&traces, labels, collectives)
}

/// Reads the traces of all ranks: `{rank}` in `path` is each of them, or `path` is what is before `.{rank}.et`. There have
/// to be those of `ranks`; where there are more, they are read, too.
pub fn read_chakra(
    path: &Path,
    ranks: u32,
    collectives: Collectives,
) -> Result<Imported, FileError> {
    let mut labels = Labels::new();
    let mut traces = Vec::new();
    for rank in 0..limits::NODES as u32 {
        let path = of_rank(path, rank);
        if rank >= ranks && !path.is_file() {
            break;
        }
        let bytes = read(&path)?;
        traces.push(Trace::read(&bytes, &path, Some(rank), &mut labels)?);
    }
    imported(&traces, labels, collectives)
}

fn of_rank(path: &Path, rank: u32) -> PathBuf {
    let text = path.to_string_lossy();
    if text.contains(RANK) {
        text.replace(RANK, &rank.to_string()).into()
    } else {
        format!("{text}.{rank}.et").into()
    }
}

fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    limits::read_at_most(path, limits::PROGRAM_BYTES).map_err(|reason| {
        let path = path.to_owned();
        FileError::Io { path, reason }
    })
}

/// The trace of one rank.
#[derive(Debug)]
pub struct OneTrace {
    /// The rank, if the name of the file ends in `.R.et`.
    pub rank: Option<u32>,
    /// Nodes of all kinds.
    pub nodes: usize,
    /// Nodes that compute.
    pub compute: usize,
    /// Nodes that send.
    pub sends: usize,
    /// Nodes that receive.
    pub receives: usize,
    /// Nodes of collective operations.
    pub collectives: usize,
    /// Bytes that nodes send; what collective operations send is said by the traces of all ranks.
    pub sent_bytes: u64,
    /// Parts of the file that have no effect, a sentence each.
    pub notes: Vec<String>,
}

/// Reads the trace of one rank by itself.
///
/// # Errors
///
/// The first mistake, but for those that only other ranks' traces show.
pub fn one_trace(path: &Path) -> Result<OneTrace, FileError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut parts = name.rsplit('.').skip(1);
    let rank = parts.next().and_then(|it| it.parse().ok());
    let mut trace = Trace::read(&read(path)?, path, rank, &mut Labels::new())?;
    let counts = trace.counts;
    // Whether they wait for one another does not depend on others.
    for node in &mut trace.nodes {
        node.task = match node.task {
            Task::Send { .. } | Task::Receive { .. } => Task::Nothing,
            own => own,
        };
        node.call = None;
    }
    let notes = counts.notes();
    let nodes = trace.nodes.len();
    program(&[trace], Collectives::default())?;
    Ok(OneTrace {
        rank,
        nodes,
        compute: counts.compute,
        sends: counts.sends,
        receives: counts.receives,
        collectives: counts.collectives,
        sent_bytes: counts.sent_bytes,
        notes,
    })
}

fn imported(
    traces: &[Trace],
    labels: Labels,
    collectives: Collectives,
) -> Result<Imported, FileError> {
    let mut counts = Counts::default();
    traces.iter().for_each(|it| counts.add(&it.counts));
    Ok(Imported {
        program: program(traces, collectives)?,
        labels: labels.names(),
        notes: counts.notes(),
        used: counts.used,
    })
}
