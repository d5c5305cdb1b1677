//! What a scenario measured, and where it came from.

use std::collections::BTreeMap;
use std::fs;

use serde::{Deserialize, Serialize};
use unpause_sim::results::FlowRecord;

use crate::digest::sha256;
use crate::scenario::Scenario;
use crate::summary;
use crate::tables::Tables;
use crate::warnings::Warning;

/// What an execution of a scenario measured.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The tables.
    pub tables: Tables,
    /// What the reader should know.
    pub warnings: Vec<Warning>,
    /// How long each run took.
    pub timings: Vec<Timing>,
    /// Flows of each run, with the run's label.
    flows: Vec<(String, Vec<FlowRecord>)>,
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
    /// Seed of each run, all the same unless swept.
    pub seeds: Vec<u64>,
    /// The machine.
    pub host: HostNote,
    /// Speed of each run.
    pub runs: Vec<Timing>,
    /// What the reader should know.
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

impl Outcome {
    pub(crate) fn new(
        scenario: &Scenario,
        tables: Tables,
        warnings: Vec<Warning>,
        timings: Vec<Timing>,
        flows: Vec<(String, Vec<FlowRecord>)>,
    ) -> Self {
        let heading = ScenarioNote {
            title: scenario.title().map(str::to_owned),
            file: scenario.origin().display().to_string(),
            sha256: sha256(scenario.source().as_bytes()),
        };
        Self {
            tables,
            warnings,
            timings,
            flows,
            source: scenario.source().to_owned(),
            heading,
        }
    }

    /// What `manifest.json` says.
    pub fn manifest(&self) -> Manifest {
        let mut seeds: Vec<u64> =
            summary::u64s(&self.tables.runs, "seed").map_or(Vec::new(), <[u64]>::to_vec);
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
    pub(crate) fn flows(&self) -> &[(String, Vec<FlowRecord>)] {
        &self.flows
    }

    /// The text of the scenario.
    pub(crate) fn source(&self) -> &str {
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
