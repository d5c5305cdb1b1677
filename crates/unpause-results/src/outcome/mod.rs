//! The outcome of a scenario, and its origin.

pub mod directory;
pub mod hpcc_files;
mod hpcc_trace;
pub mod summary;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use unpause_sim::results::FlowRecord;

use crate::run::Run;
use crate::tables::Tables;
use crate::warnings::{self, Warning};
use hpcc_files::HpccFiles;
use unpause_import::hpcc;
use unpause_text::error::Error;

/// The outcome of an execution of a scenario.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The tables.
    pub tables: Tables,
    /// Warnings for the reader.
    pub warnings: Vec<Warning>,
    /// How long each run took.
    pub timings: Vec<Timing>,
    /// Flows of each run, with the run's label.
    flows: Vec<(String, FlowTimes)>,
    /// Files in the formats of HPCC's simulator of each run that asks for some, with the run's label.
    hpcc: Vec<(String, HpccFiles)>,
    /// The samples of ports of each run, if they are on the disk.
    series: Vec<PathBuf>,
    /// Where they are, until this goes.
    scratch: Option<Arc<TempDir>>,
    source: String,
    heading: ScenarioNote,
}

/// Speed of a run. Not in the tables, which are the same wherever they are computed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// The run.
    pub run: u32,
    /// Seconds from its start to its end.
    pub wall_s: f64,
    /// Threads that it ran on.
    pub threads: usize,
    /// Seconds of CPU time; unknown for more than one thread.
    pub cpu_s: Option<f64>,
    /// Packets that went over one link.
    pub packet_hops: u64,
}

/// `manifest.json`
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of unpause.
    pub unpause: String,
    /// The scenario.
    pub scenario: ScenarioNote,
    /// Seeds of the runs, each once.
    pub seeds: Vec<u64>,
    /// The machine.
    pub host: HostNote,
    /// Speed of each run.
    pub runs: Vec<Timing>,
    /// Warnings for the reader.
    pub warnings: Vec<Warning>,
    /// SHA-256 of each file of the result, by name; none before it is written.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Always true: this file gets its name when everything else has.
    pub complete: bool,
}

/// Where a result came from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ScenarioNote {
    /// Title in the file.
    pub title: Option<String>,
    /// Name of the file.
    pub file: String,
    /// SHA-256 of its text.
    pub sha256: String,
    /// Digest of everything that the results depend on, if someone wanted to find them again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// The machine that ran it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostNote {
    /// Operating system.
    pub os: String,
    /// Instruction set.
    pub arch: String,
    /// Name of the CPU, where the system tells.
    pub cpu: Option<String>,
    /// Logical cores.
    pub cores: usize,
    /// True if unpause was compiled with optimisation.
    pub optimised: bool,
}

/// The tables of one run.
#[derive(Clone, Debug)]
pub struct Part {
    /// The run.
    pub run: Run,
    /// Its tables.
    pub tables: Tables,
    /// Its warnings.
    pub warnings: Vec<Warning>,
    /// Its speed.
    pub timing: Timing,
    /// Completion times of its flows.
    pub flows: FlowTimes,
    /// Files in the formats of HPCC's simulator, if it asks for some.
    pub hpcc: HpccFiles,
    /// The samples of ports, if there are too many for memory; the table has none then.
    pub series: Option<PathBuf>,
}

/// Flow completion times for the HPCC simulator's format.
#[derive(Clone, Debug)]
pub enum FlowTimes {
    /// To be written.
    Measured(Vec<FlowRecord>),
    /// Written by a run that was stopped later.
    Written(String),
}

impl FlowTimes {
    /// In that format.
    pub fn hpcc(&self) -> Result<String, Error> {
        let records = match self {
            Self::Measured(records) => records,
            Self::Written(text) => return Ok(text.clone()),
        };
        let mut text = Vec::new();
        hpcc::write_fct(&mut text, records)
            .map_err(|error| Error::io("write", Path::new("the FCT file"), error))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

impl Outcome {
    /// The outcome of a scenario, whose text is `source`, with these swept `columns`.
    ///
    /// # Errors
    ///
    /// If the tables of the parts cannot be joined.
    pub fn new(
        scenario: ScenarioNote,
        source: String,
        columns: &[String],
        parts: Vec<Part>,
    ) -> Result<Self, Error> {
        let own = parts.iter().map(|part| (&part.run, &*part.warnings));
        let mut warnings = warnings::of_parts(own);
        let results: Vec<_> = parts.iter().map(|it| (&it.run, &it.tables)).collect();
        warnings.extend(warnings::of_seeds(&results));
        let timings = parts.iter().map(|part| part.timing).collect();
        let series = parts
            .iter()
            .filter_map(|part| part.series.clone())
            .collect();
        let (mut tables, mut flows, mut hpcc) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            let label = part.run.label(columns);
            tables.push(part.tables);
            if part.run.hpcc.any() {
                hpcc.push((label.clone(), part.hpcc));
            }
            flows.push((label, part.flows));
        }
        let tables = Tables::joined(tables)?;
        Ok(Self {
            tables,
            warnings,
            timings,
            flows,
            hpcc,
            series,
            scratch: None,
            source,
            heading: scenario,
        })
    }

    /// Notes in the manifest what the results depend on (a digest of all runs).
    pub fn note_digest(&mut self, digest: Option<String>) {
        self.heading.digest = digest;
    }

    /// The content of `manifest.json`.
    pub fn manifest(&self) -> Manifest {
        let mut seeds: Vec<u64> =
            summary::u64s(&self.tables.runs, "seed").map_or(Vec::new(), <[u64]>::to_vec);
        seeds.sort_unstable();
        seeds.dedup();
        Manifest {
            unpause: env!("CARGO_PKG_VERSION").to_owned(),
            scenario: self.heading.clone(),
            seeds,
            host: host(),
            runs: self.timings.clone(),
            warnings: self.warnings.clone(),
            files: BTreeMap::new(),
            complete: true,
        }
    }

    /// Flows of each run, with the run's label.
    pub fn flows(&self) -> &[(String, FlowTimes)] {
        &self.flows
    }

    /// Files in the formats of HPCC's simulator of each run that asks for them, with the run's label.
    pub fn hpcc(&self) -> &[(String, HpccFiles)] {
        &self.hpcc
    }

    /// Files with the samples of ports, a run each, if they are not in the table.
    pub fn series(&self) -> &[PathBuf] {
        &self.series
    }

    /// Keeps the folder of the series for as long as this lives.
    pub fn hold(&mut self, scratch: TempDir) {
        self.scratch = Some(Arc::new(scratch));
    }

    /// The text of the scenario.
    pub fn source(&self) -> &str {
        &self.source
    }
}

fn host() -> HostNote {
    let cpu = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    HostNote {
        os: std::env::consts::OS.to_owned(),
        arch: std::env::consts::ARCH.to_owned(),
        cpu,
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        optimised: !cfg!(debug_assertions),
    }
}
