//! Finished runs of all scenarios of a user, found by a digest of everything that their results depend on.
//!
//! A run is a folder, as [`Keeper`] writes it. It is made under another name first, so that what has its name is
//! whole, and is checked by its digests when it is read: nothing here has to be written with care for a power cut.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use super::keep::{ABOUT, Keeper};
use crate::outcome::Part;
use crate::run::Run;
use unpause_text::error::Error;

/// Files of a process that was killed are removed when they are older than this.
const UNFINISHED: Duration = Duration::from_secs(24 * 3600);
/// Begins the names of folders that are not finished.
const NEW: &str = "new-";

/// Finished runs, of which the latest used are kept.
#[derive(Debug)]
pub struct Cache {
    keeper: Keeper,
    limit: u64,
    fresh: bool,
    reused: AtomicU32,
}

/// The content of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cached {
    /// Finished runs.
    pub runs: usize,
    /// Bytes of their files.
    pub bytes: u64,
}

/// A run that is kept.
struct Entry {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

impl Cache {
    /// In `folder`, which need not be there, up to `limit` bytes. If it is `fresh`, nothing is taken from it.
    pub fn new(folder: PathBuf, limit: u64, fresh: bool) -> Self {
        Self {
            keeper: Keeper::loose(folder),
            limit,
            fresh,
            reused: AtomicU32::new(0),
        }
    }

    /// How many runs were taken from it.
    pub fn reused(&self) -> u32 {
        self.reused.load(Ordering::Relaxed)
    }

    /// The content.
    pub fn holds(&self) -> Cached {
        let mut held = Cached::default();
        for entry in self.entries() {
            held.runs += 1;
            held.bytes += entry.bytes;
        }
        held
    }

    /// Forgets all.
    ///
    /// # Errors
    ///
    /// If a file cannot be removed.
    pub fn clear(&self) -> Result<(), Error> {
        let folder = self.keeper.folder();
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io("remove", folder, error))
            }
            _ => Ok(()),
        }
    }

    /// The kept tables of `run`, unless everything is to be simulated again.
    pub fn load(&self, key: &str, run: &Run) -> Option<Part> {
        if self.fresh {
            return None;
        }
        let part = self.keeper.load(key, run, false)?;
        self.reused.fetch_add(1, Ordering::Relaxed);
        let about = fs::File::options()
            .append(true)
            .open(self.keeper.folder().join(key).join(ABOUT));
        // Its last use; if that cannot be noted, it is removed sooner.
        let _ = about.and_then(|file| file.set_modified(SystemTime::now()));
        Some(part)
    }

    /// Keeps a finished run. That it cannot be kept is no mistake: it is run again.
    pub fn save(&self, key: &str, part: &Part) {
        if part.series.is_some() {
            return;
        }
        let folder = self.keeper.folder();
        let unfinished = folder.join(format!("{NEW}{}-{key}", std::process::id()));
        let written = Keeper::loose(unfinished.clone()).save(key, part);
        if written.is_ok() {
            let own = folder.join(key);
            if self.fresh {
                let _ = fs::remove_dir_all(&own);
            }
            // Another process may have been faster with the same.
            let _ = fs::rename(unfinished.join(key), own);
        }
        let _ = fs::remove_dir_all(unfinished);
    }

    /// Removes what has not been used for the longest time, until the rest is within the limit.
    pub fn trim(&self) {
        let mut entries = self.entries();
        entries.sort_by_key(|entry| entry.used);
        let mut bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
        for entry in entries {
            if bytes <= self.limit {
                break;
            }
            bytes -= entry.bytes;
            let _ = fs::remove_dir_all(entry.path);
        }
        for folder in folders(self.keeper.folder()) {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(NEW) && age(&folder).is_some_and(|age| age > UNFINISHED) {
                let _ = fs::remove_dir_all(&folder);
            }
        }
    }

    fn entries(&self) -> Vec<Entry> {
        let entry = |path: PathBuf| {
            let used = path.join(ABOUT).metadata().ok()?.modified().ok()?;
            let files = fs::read_dir(&path).ok()?.flatten();
            let bytes = files.filter_map(|file| Some(file.metadata().ok()?.len()));
            Some(Entry {
                bytes: bytes.sum(),
                used,
                path,
            })
        };
        folders(self.keeper.folder())
            .into_iter()
            .filter_map(entry)
            .collect()
    }
}

/// Folders in a folder; links are none.
fn folders(within: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(within).into_iter().flatten().flatten();
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries
        .filter(is_folder)
        .map(|entry| entry.path())
        .collect()
}

fn age(path: &Path) -> Option<Duration> {
    let written = path.symlink_metadata().ok()?.modified().ok()?;
    SystemTime::now().duration_since(written).ok()
}
