//! The result directory: tables, manifest, scenario.
//!
//! Everything is written to `<directory>.incomplete`, synced, and renamed. Whatever goes wrong, no
//! directory looks complete that is not.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use unpause_sim::results::FlowRecord;

use crate::import::hpcc;
use crate::scenario::Scenario;
use crate::tables::Tables;
use crate::text::error::Error;
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
    /// Always true: the directory gets its name when everything in it is written.
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

/// How to write a result.
#[derive(Default)]
pub struct WriteOptions<'a> {
    /// Also write `fct-<run>.txt` in the format of the HPCC simulator.
    pub fct_hpcc: bool,
    /// Asked between files; true ends the writing, and nothing is left behind.
    pub interrupted: Option<&'a dyn Fn() -> bool>,
}

impl Outcome {
    pub(crate) fn new(
        scenario: &Scenario,
        tables: Tables,
        warnings: Vec<Warning>,
        timings: Vec<Timing>,
        flows: Vec<(String, Vec<FlowRecord>)>,
    ) -> Self {
        let digest = Sha256::digest(scenario.source().as_bytes());
        let heading = ScenarioNote {
            title: scenario.title().map(str::to_owned),
            file: scenario.origin().display().to_string(),
            sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
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
            crate::summary::u64s(&self.tables.runs, "seed").map_or(Vec::new(), <[u64]>::to_vec);
        seeds.dedup();
        Manifest {
            unpause: env!("CARGO_PKG_VERSION").to_owned(),
            scenario: self.heading.clone(),
            seeds,
            host: host(),
            runs: self.timings.clone(),
            warnings: self.warnings.clone(),
            complete: true,
        }
    }

    /// Writes the result directory. One that is there is replaced if it is a result; an error
    /// otherwise.
    pub fn write(&self, directory: &Path) -> Result<(), Error> {
        self.write_with(directory, &WriteOptions::default())
    }

    /// Writes the result directory, with options.
    pub fn write_with(&self, directory: &Path, options: &WriteOptions<'_>) -> Result<(), Error> {
        check_destination(directory)?;
        let incomplete = Incomplete::create(directory)?;
        let go_on = || match options.interrupted {
            Some(interrupted) if interrupted() => Err(Error::Interrupted),
            _ => Ok(()),
        };
        for (name, table) in self.tables.all() {
            go_on()?;
            let (file, bytes) = crate::table_files::encode(name, table)?;
            incomplete.write(&file, &bytes)?;
        }
        if options.fct_hpcc {
            for (label, flows) in &self.flows {
                go_on()?;
                let mut text = Vec::new();
                let file = format!("fct-{}.txt", file_name(label));
                hpcc::write_fct(&mut text, flows)
                    .map_err(|error| Error::io("write", &incomplete.path.join(&file), error))?;
                incomplete.write(&file, &text)?;
            }
        }
        incomplete.write("scenario.toml", self.source.as_bytes())?;
        let manifest =
            serde_json::to_vec_pretty(&self.manifest()).expect("a manifest is plain data");
        incomplete.write("manifest.json", &manifest)?;
        go_on()?;
        incomplete.rename(directory)
    }
}

/// A label as a file's name.
fn file_name(label: &str) -> String {
    let fits = |c: char| c.is_alphanumeric() || "+-.=_".contains(c);
    label
        .chars()
        .map(|c| if fits(c) { c } else { '-' })
        .collect()
}

/// An error if results cannot go to `directory`: it holds something else.
pub fn check_destination(directory: &Path) -> Result<(), Error> {
    let is_free = match fs::read_dir(directory) {
        Ok(mut entries) => entries.next().is_none() || directory.join("manifest.json").is_file(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(Error::io("write", directory, error)),
    };
    if is_free {
        return Ok(());
    }
    Err(Error::Other {
        message: format!(
            "{} exists and is not a result directory",
            directory.display()
        ),
        help: Some("choose another with --out; nothing was changed".into()),
    })
}

/// A directory under construction; removed unless it is renamed.
struct Incomplete {
    path: PathBuf,
    done: bool,
}

impl Incomplete {
    fn create(directory: &Path) -> Result<Self, Error> {
        let path = beside(directory, ".incomplete");
        let fail = |error| Error::io("write", &path, error);
        if path.exists() {
            // Left by a run that was killed.
            fs::remove_dir_all(&path).map_err(fail)?;
        }
        fs::create_dir_all(&path).map_err(fail)?;
        Ok(Self { path, done: false })
    }

    fn write(&self, file: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.path.join(file);
        let write = || {
            let mut file = fs::File::create(&path)?;
            file.write_all(bytes)?;
            file.sync_all()
        };
        write().map_err(|error| Error::io("write", &path, error))
    }

    fn rename(mut self, directory: &Path) -> Result<(), Error> {
        let fail = |error| Error::io("write", directory, error);
        let old = beside(directory, ".old");
        if directory.exists() {
            if old.exists() {
                fs::remove_dir_all(&old).map_err(fail)?;
            }
            fs::rename(directory, &old).map_err(fail)?;
        }
        if let Err(error) = fs::rename(&self.path, directory) {
            let _ = fs::rename(&old, directory);
            return Err(fail(error));
        }
        self.done = true;
        if let Some(parent) = directory
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
        {
            // A directory cannot be synced everywhere; the rename itself is done.
            let _ = fs::File::open(parent).and_then(|parent| parent.sync_all());
        }
        let _ = fs::remove_dir_all(&old);
        Ok(())
    }
}

impl Drop for Incomplete {
    fn drop(&mut self) {
        if !self.done {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

fn beside(directory: &Path, suffix: &str) -> PathBuf {
    let mut name = directory.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
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
