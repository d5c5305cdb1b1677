//! Finished runs of all scenarios of a user, found by a digest of everything that their results depend on.
//!
//! A run is a folder, as [`Keeper`] writes it. It is made under another name first, so that what has its name is
//! whole, and is checked by its digests when it is read: nothing here has to be written with care for a power cut, and several
//! programs can use one cache. Whoever can write to it can have any result believed, so it must be the user's alone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use super::keep::{ABOUT, Keeper, is_key, remove};
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
    ///
    /// # Errors
    ///
    /// If somebody else may have written to the folder.
    pub fn open(folder: PathBuf, limit: u64, fresh: bool) -> Result<Self, Error> {
        trust(&folder)?;
        Ok(Self {
            keeper: Keeper::loose(folder),
            limit,
            fresh,
            reused: AtomicU32::new(0),
        })
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

    /// Removes all runs; answers the names of what is left in the folder, since the cache has not made it.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read.
    pub fn clear(&self) -> Result<Vec<String>, Error> {
        let folder = self.keeper.folder();
        for entry in self.entries() {
            let _ = remove(&entry.path);
        }
        for unfinished in self.unfinished() {
            remove_unfinished(&unfinished);
        }
        let left = match fs::read_dir(folder) {
            Ok(left) => left,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io("read", folder, error)),
        };
        let mut names: Vec<String> = left
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        if names.is_empty() {
            let _ = fs::remove_dir(folder);
        }
        Ok(names)
    }

    /// The kept tables of `run`, unless everything is to be simulated again.
    pub fn load(&self, key: &str, run: &Run) -> Option<Part> {
        if self.fresh {
            return None;
        }
        let folder = self.keeper.folder().join(key);
        if !is_own(&folder) {
            return None;
        }
        let Some(part) = self.keeper.load(key, run, false) else {
            // Damaged: it makes room for a whole one.
            let _ = remove(&folder);
            return None;
        };
        self.reused.fetch_add(1, Ordering::Relaxed);
        let about = fs::File::options().append(true).open(folder.join(ABOUT));
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
        if make_private(folder).is_err() {
            return;
        }
        // A name of its own: another process, or another thread, may be about to keep the same run.
        let Ok(unfinished) = tempfile::Builder::new().prefix(NEW).tempdir_in(folder) else {
            return;
        };
        let written = Keeper::loose(unfinished.path().to_owned()).save(key, part);
        if written.is_ok() {
            let own = folder.join(key);
            if self.fresh {
                let _ = remove(&own);
            }
            // Another process may have been faster with the same.
            let _ = fs::rename(unfinished.path().join(key), own);
        }
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
            let _ = remove(&entry.path);
        }
        let is_old = |folder: &PathBuf| age(folder).is_some_and(|age| age > UNFINISHED);
        for folder in self.unfinished().filter(is_old) {
            remove_unfinished(&folder);
        }
    }

    fn unfinished(&self) -> impl Iterator<Item = PathBuf> {
        let folders = folders(self.keeper.folder()).into_iter();
        folders.filter(|folder| name_of(folder).starts_with(NEW))
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
        let folders = folders(self.keeper.folder()).into_iter();
        let runs = folders.filter(|folder| is_key(&name_of(folder)));
        runs.filter_map(entry).collect()
    }
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Removes what a process that was stopped has left of a run.
fn remove_unfinished(folder: &Path) {
    for run in folders(folder) {
        if is_key(&name_of(&run)) {
            let _ = remove(&run);
        }
    }
    let _ = fs::remove_dir(folder);
}

/// Refuses a folder to which others may have written, or that is reached by a link.
fn trust(folder: &Path) -> Result<(), Error> {
    let parent = folder.parent().filter(|path| !path.as_os_str().is_empty());
    for path in [Some(folder), parent].into_iter().flatten() {
        if path.is_symlink() {
            let to = path.canonicalize().unwrap_or_default();
            return Err(distrusted(
                format!("{} is a link to {}", path.display(), to.display()),
                "UNPAUSE_CACHE names the directory of the cache, which must not be a link",
            ));
        }
    }
    match folder.symlink_metadata() {
        Ok(about) => trust_owner(folder, &about),
        Err(_) => Ok(()),
    }
}

#[cfg(unix)]
fn trust_owner(folder: &Path, about: &fs::Metadata) -> Result<(), Error> {
    use std::os::unix::fs::MetadataExt;
    const HELP: &str =
        "chmod go-w makes it yours alone, or UNPAUSE_CACHE names a directory of your own";
    if about.uid() != own_user() {
        let message = format!("{} belongs to user {}", folder.display(), about.uid());
        return Err(distrusted(
            message,
            "UNPAUSE_CACHE names a directory of your own",
        ));
    }
    if about.mode() & 0o022 != 0 {
        return Err(distrusted(
            format!("others may write to {}", folder.display()),
            HELP,
        ));
    }
    Ok(())
}

#[cfg(not(unix))]
fn trust_owner(_folder: &Path, _about: &fs::Metadata) -> Result<(), Error> {
    Ok(())
}

fn distrusted(why: String, help: &str) -> Error {
    Error::Other {
        message: format!("the cache is not used: {why}"),
        help: Some(help.into()),
    }
}

/// Whether the folder of a run is this user's, and no link.
fn is_own(folder: &Path) -> bool {
    let about = folder.symlink_metadata();
    about.is_ok_and(|about| about.is_dir() && trust_owner(folder, &about).is_ok())
}

#[cfg(unix)]
fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Makes a folder that only this user can read and write.
fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
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
