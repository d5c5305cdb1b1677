//! Finished runs that outlive the process: what a run that is stopped leaves to the next one.
//!
//! A finished run is a folder of its own, named by a digest of everything that its results depend on, this
//! program included. It goes when the result is complete.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::beneath::Folder;
use super::place::{Place, RUNS};
use crate::outcome::hpcc_files::HpccFiles;
use crate::outcome::{FlowTimes, Part, Timing};
use crate::run::Run;
use crate::run::digest::{sha256, sha256_of, sha256_of_file};
use crate::tables::files::{decode, encode};
use crate::tables::{TABLES, Tables};
use crate::warnings::Warning;
use unpause_text::error::Error;

/// The table that may be too large for memory.
const SERIES: &str = "port_series";
/// In a run's folder; written last.
pub(super) const ABOUT: &str = "run.json";
/// Beside it: the digest of the run's name and of its bytes.
const SEAL: &str = "run.json.sha256";
/// What it is called until it is whole.
const UNFINISHED: &str = "run.json.new";

/// Begins the names of files in formats of HPCC's simulator.
const HPCC: &str = "hpcc-";

/// Where finished runs are kept.
#[derive(Clone, Debug)]
pub struct Keeper {
    folder: PathBuf,
    /// Whether what it has written outlives a power cut.
    durable: bool,
}

/// The metadata kept beside the tables.
#[derive(Serialize, Deserialize)]
struct About {
    timing: Timing,
    warnings: Vec<Warning>,
    fct_hpcc: String,
    /// Names and digests of files in formats of HPCC's simulator.
    hpcc: Vec<(String, String)>,
    /// Digests of the tables' files, in their order.
    digests: Vec<String>,
    /// The samples of ports stay in their file.
    streamed: bool,
}

impl Keeper {
    /// In the room of `place`.
    pub fn at(place: &Place) -> Self {
        Self {
            folder: place.room().join(RUNS),
            durable: true,
        }
    }

    /// In a folder where nothing is missed that a power cut takes.
    pub fn loose(folder: PathBuf) -> Self {
        Self {
            folder,
            durable: false,
        }
    }

    /// Where they are kept.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How many runs are kept.
    pub fn count(&self) -> usize {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries
            .filter(|entry| entry.path().join(ABOUT).exists())
            .count()
    }

    /// Forgets all.
    pub fn clear(&self) {
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// The run, if it is kept whole.
    pub fn load(&self, key: &str, run: &Run, streamed: bool) -> Option<Part> {
        let folder = self.folder.join(key);
        // Nothing is read by a link.
        let inside = Folder::open(&self.folder).ok()?.folder(key).ok()?;
        let read = |name: &str| {
            let mut bytes = Vec::new();
            inside.file(name).ok()?.read_to_end(&mut bytes).ok()?;
            Some(bytes)
        };
        let about = read(ABOUT)?;
        if read(SEAL)? != seal(key, &about).into_bytes() {
            return None;
        }
        let about: About = serde_json::from_slice(&about).ok()?;
        if about.streamed != streamed {
            return None;
        }
        let sound = Tables::default();
        let mut tables = Vec::new();
        let mut series = None;
        for ((name, empty), digest) in sound.all().zip(&about.digests) {
            if name == SERIES && about.streamed {
                let file = format!("{name}.parquet");
                let path = folder.join(&file);
                if sha256_of(&mut inside.file(&file).ok()?).ok()? != *digest {
                    return None;
                }
                series = Some(path);
                tables.push(empty.clone());
                continue;
            }
            let bytes = read(&format!("{name}.parquet"))?;
            if sha256(&bytes) != *digest {
                return None;
            }
            tables.push(decode(bytes).ok()?);
        }
        let mut hpcc = HpccFiles::new();
        for (name, digest) in about.hpcc {
            let bytes = read(&of_hpcc(&name))?;
            if sha256(&bytes) != digest {
                return None;
            }
            hpcc.push((name, bytes));
        }
        Some(Part {
            run: run.clone(),
            tables: Tables::from_list(tables)?,
            warnings: about.warnings,
            timing: about.timing,
            flows: FlowTimes::Written(about.fct_hpcc),
            hpcc,
            series,
        })
    }

    /// Keeps a finished run.
    pub fn save(&self, key: &str, part: &Part) -> Result<(), Error> {
        let folder = self.folder.join(key);
        let fail = |error| Error::io("write", &folder, error);
        // A folder of its own: what had its name may be a link, or have links in it.
        if folder.symlink_metadata().is_ok() {
            fs::remove_dir_all(&folder).map_err(fail)?;
        }
        fs::create_dir_all(&self.folder).map_err(fail)?;
        fs::create_dir(&folder).map_err(fail)?;
        let mut about = About {
            timing: part.timing,
            warnings: part.warnings.clone(),
            fct_hpcc: part.flows.hpcc()?,
            hpcc: Vec::new(),
            digests: Vec::new(),
            streamed: part.series.is_some(),
        };
        for (name, table) in part.tables.all() {
            if let Some(series) = part.series.as_ref().filter(|_| name == SERIES) {
                let to = folder.join(format!("{name}.parquet"));
                // A second name, where the file system has such; the same bytes in any case.
                let linked = fs::hard_link(series, &to);
                linked
                    .or_else(|_| fs::copy(series, &to).map(drop))
                    .map_err(fail)?;
                about.digests.push(sha256_of_file(&to).map_err(fail)?);
                continue;
            }
            let (file, bytes) = encode(name, table)?;
            about.digests.push(sha256(&bytes));
            self.write(&folder.join(file), &bytes).map_err(fail)?;
        }
        for (name, bytes) in &part.hpcc {
            about.hpcc.push((name.clone(), sha256(bytes)));
            self.write(&folder.join(of_hpcc(name)), bytes)
                .map_err(fail)?;
        }
        let about = serde_json::to_vec(&about).expect("it is plain data");
        // Under another name first: the file is there whole or not at all.
        let unfinished = folder.join(UNFINISHED);
        let sealed = seal(key, &about);
        self.write(&folder.join(SEAL), sealed.as_bytes())
            .map_err(fail)?;
        self.write(&unfinished, &about).map_err(fail)?;
        fs::rename(&unfinished, folder.join(ABOUT)).map_err(fail)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = File::create(path)?;
        file.write_all(bytes)?;
        if self.durable {
            file.sync_all()
        } else {
            Ok(())
        }
    }
}

/// The digest of a run's name and of what [`ABOUT`] says: neither is believed without the other.
fn seal(key: &str, about: &[u8]) -> String {
    sha256(&[key.as_bytes(), b"\n", about].concat())
}

/// Whether the name of a folder is that of a run.
pub(super) fn is_key(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Removes the files of a run, and its folder if nothing else is in it. [`ABOUT`] goes last: without it, the rest is no run.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    let mut about = None;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == ABOUT {
            about = Some(entry.path());
        } else if is_file_of_run(&name) && !entry.file_type()?.is_dir() {
            fs::remove_file(entry.path())?;
        }
    }
    about.map_or(Ok(()), fs::remove_file)?;
    fs::remove_dir(folder)
}

fn is_file_of_run(name: &str) -> bool {
    let table = name.strip_suffix(".parquet");
    matches!(name, SEAL | UNFINISHED)
        || name.starts_with(HPCC)
        || table.is_some_and(|table| TABLES.contains(&table))
}

/// The file in which a file in a format of HPCC's simulator is kept.
fn of_hpcc(name: &str) -> String {
    format!("{HPCC}{name}")
}
