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
use crate::tables::Tables;
use crate::tables::files::{decode, encode};
use crate::warnings::Warning;
use unpause_text::error::Error;

/// The table that may be too large for memory.
const SERIES: &str = "port_series";
/// In a run's folder; written last.
pub(super) const ABOUT: &str = "run.json";

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
        let about: About = serde_json::from_slice(&read(ABOUT)?).ok()?;
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
        let unfinished = folder.join("run.json.new");
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

/// The file in which a file in a format of HPCC's simulator is kept.
fn of_hpcc(name: &str) -> String {
    format!("hpcc-{name}")
}
