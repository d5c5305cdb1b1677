//! The place of a result: locked while it is written to, and given the new result all at once.
//!
//! While something is written, a directory has a folder [`ROOM`] in it: the lock, the files under
//! construction, and what a run that was stopped has left for the next one. The files are complete and on
//! the disk before any of them is moved to its name; from then on the result is the new one, and a
//! move that is cut short is ended by who comes next ([`settle`]). Nothing else in the directory is touched.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::beneath::{Folder, Kind, strange};
use super::lock::{Lock, ROOM};
use crate::run::digest::sha256;
#[cfg(feature = "parquet")]
use crate::run::digest::sha256_of_file;
use crate::tables::TABLES;
use unpause_text::error::Error;

/// In it: a complete result on its way to its names.
pub(super) const COMMIT: &str = "commit";
/// In that: names of the result before that go.
const REMOVE: &str = "remove.json";
/// In the room: how folders of files under construction begin.
const NEW: &str = "new-";
/// The file that makes a directory a result; the last file to get its name.
pub(super) const MANIFEST: &str = "manifest.json";
/// In the room: finished runs.
pub(super) const RUNS: &str = "runs";
/// Files of a result and of its report beside tables.
const OWN: [&str; 6] = [
    "scenario.toml",
    MANIFEST,
    "report.html",
    "report.json",
    "claims.json",
    "explore.html",
];

/// Folders of a result: of its report, and of files in formats of HPCC's simulator.
const FOLDERS: [&str; 2] = ["figures", "hpcc"];

/// A directory that a result is going to be written to.
#[derive(Debug)]
pub struct Place {
    lock: Lock,
}

impl Place {
    /// Takes a directory for results, which is made if it is not there.
    ///
    /// # Errors
    ///
    /// If it cannot be written, holds something that is no result, or another process has it.
    pub fn take(directory: &Path) -> Result<Self, Error> {
        check_destination(directory)?;
        let lock = Lock::take(directory)?;
        settle(&lock)?;
        let cleared = clear(&lock.folder, &directory.join(ROOM));
        cleared.map_err(|error| Error::io("write", directory, error))?;
        check_destination(directory)?;
        let tables = TABLES.map(|table| format!("{table}.parquet"));
        check_names(&lock, tables.iter().map(String::as_str).chain(OWN))?;
        check_folders(&lock)?;
        Ok(Self { lock })
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.lock.directory
    }

    /// The folder for what a run that is stopped leaves to the next one.
    pub fn room(&self) -> PathBuf {
        self.directory().join(ROOM)
    }

    /// A folder in the room that goes when it is dropped, or with the next who takes the place.
    pub fn scratch(&self) -> Result<TempDir, Error> {
        let room = self.room();
        let made = tempfile::Builder::new().prefix(NEW).tempdir_in(&room);
        made.map_err(|error| Error::io("write", &room, error))
    }

    /// Begins to write a result.
    pub(super) fn stage(&self) -> Result<Staging<'_>, Error> {
        Ok(Staging {
            place: self,
            folder: self.scratch()?,
            digests: BTreeMap::new(),
        })
    }
}

/// Files under construction; gone unless they are committed.
pub(super) struct Staging<'a> {
    place: &'a Place,
    folder: TempDir,
    digests: BTreeMap<String, String>,
}

impl Staging<'_> {
    /// Writes a file.
    pub fn write(&mut self, file: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.folder.path().join(file);
        let write = || {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            let mut file = File::create(&path)?;
            file.write_all(bytes)?;
            file.sync_all()
        };
        write().map_err(|error| Error::io("write", &path, error))?;
        self.digests.insert(file.to_owned(), sha256(bytes));
        Ok(())
    }

    /// Writes a file that is too large for memory: `write` is told where.
    #[cfg(feature = "parquet")]
    pub fn write_large(
        &mut self,
        file: &str,
        write: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let path = self.folder.path().join(file);
        write(&path)?;
        let digest = sha256_of_file(&path).map_err(|error| Error::io("read", &path, error))?;
        self.digests.insert(file.to_owned(), digest);
        Ok(())
    }

    /// SHA-256 of every file so far.
    pub fn digests(&self) -> &BTreeMap<String, String> {
        &self.digests
    }

    /// Gives the files their names in the place of those of the result before, whose names are `old`.
    pub fn commit(mut self, old: &[String]) -> Result<(), Error> {
        let old: Vec<&String> = old
            .iter()
            .filter(|name| !self.digests.contains_key(*name))
            .collect();
        let remove = serde_json::to_vec(&old).expect("names are plain data");
        self.write(REMOVE, &remove)?;
        check_names(&self.place.lock, self.digests.keys().map(String::as_str))?;
        let give = || {
            Folder::open(self.folder.path())?.sync()?;
            let room = self.place.lock.folder.folder(ROOM)?;
            let name = self.folder.path().file_name().unwrap_or_default();
            room.rename(&name.to_string_lossy(), &room, COMMIT)?;
            room.sync()
        };
        give().map_err(|error| Error::io("write", self.place.directory(), error))?;
        // It has another name now: there is nothing left to clean up.
        let _ = self.folder.keep();
        settle(&self.place.lock)
    }
}

/// Ends what a process that is gone had begun to move to its names. It may be cut short at any point and begun again.
/// Only for who is going to write there: readers do without.
fn settle(lock: &Lock) -> Result<(), Error> {
    move_in(&lock.folder).map_err(|error| Error::io("write", &lock.directory, error))
}

fn move_in(folder: &Folder) -> io::Result<()> {
    let room = folder.folder(ROOM)?;
    if room.kind_of(COMMIT)?.is_none() {
        return Ok(());
    }
    let commit = room.folder(COMMIT)?;
    let names = files_below(&commit)?;
    if let Some(name) = names.iter().find(|name| *name != REMOVE && !is_own(name)) {
        return Err(strange(&format!("{ROOM}/{COMMIT}/{name}"), "of a result"));
    }
    let old: Vec<String> = match commit.kind_of(REMOVE)? {
        None => Vec::new(),
        Some(_) => {
            let file = BufReader::new(commit.file(REMOVE)?);
            serde_json::from_reader(file).unwrap_or_default()
        }
    };
    for name in old.iter().filter(|name| is_own(name)) {
        remove(folder, name)?;
    }
    let is_last = |name: &&String| *name == MANIFEST;
    let files = names.iter().filter(|name| *name != REMOVE);
    let (last, first): (Vec<&String>, Vec<&String>) = files.partition(is_last);
    for name in first.into_iter().chain(last) {
        let (from, file) = commit.holder(name)?;
        let (to, _) = folder.holder_made(name)?;
        let named = from.rename(file, &to, file);
        named.map_err(|error| io::Error::new(error.kind(), format!("`{name}` in it: {error}")))?;
    }
    // A directory cannot be synced everywhere; the files have their names.
    let _ = folder.sync();
    remove_all(&room, COMMIT)
}

/// Removes a plain file of the result before, and the folder that it was in, if nothing else is in it.
fn remove(folder: &Folder, name: &str) -> io::Result<()> {
    let (holder, file) = match folder.holder(name) {
        Ok(found) => found,
        // Gone, or behind a link: that is not the result's.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::Other) => {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    if holder.kind_of(file)? == Some(Kind::File) {
        holder.remove_file(file)?;
    }
    let mut path = name;
    while let Some((above, _)) = path.rsplit_once('/') {
        let (holder, last) = folder.holder(above)?;
        if holder.remove_folder(last).is_err() {
            break;
        }
        path = above;
    }
    Ok(())
}

/// Removes a folder and what is in it.
fn remove_all(holder: &Folder, name: &str) -> io::Result<()> {
    let folder = holder.folder(name)?;
    for inner in folder.names()? {
        let inner = inner.to_string_lossy();
        match folder.kind(&inner)? {
            Kind::Folder => remove_all(&folder, &inner)?,
            _ => folder.remove_file(&inner)?,
        }
    }
    holder.remove_folder(name)
}

/// Plain files in a folder and in folders in it, by their names from there.
fn files_below(folder: &Folder) -> io::Result<Vec<String>> {
    /// Of files in the formats of HPCC's simulator.
    const DEEPEST: usize = 2;
    let mut files = Vec::new();
    let mut folders = vec![(folder.again()?, String::new(), 0)];
    while let Some((folder, below, depth)) = folders.pop() {
        for name in folder.names()? {
            let name = name
                .into_string()
                .map_err(|name| strange(&name.to_string_lossy(), "of a result"))?;
            let path = format!("{below}{name}");
            match folder.kind(&name)? {
                Kind::Folder if depth < DEEPEST => {
                    folders.push((folder.folder(&name)?, format!("{path}/"), depth + 1));
                }
                Kind::File => files.push(path),
                _ => return Err(strange(&path, "a plain file")),
            }
        }
    }
    Ok(files)
}

/// An error if results cannot go to `directory`: it holds something else.
fn check_destination(directory: &Path) -> Result<(), Error> {
    let fail = |error| Error::io("write", directory, error);
    let mut entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(fail(error)),
    };
    let is_free = directory
        .join(MANIFEST)
        .symlink_metadata()
        .is_ok_and(|about| about.is_file())
        || entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == ROOM));
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

/// An error if a name of the result, or of a file on its way there, cannot be given.
fn check_names<'a>(lock: &Lock, names: impl IntoIterator<Item = &'a str>) -> Result<(), Error> {
    for name in names {
        let kind = match lock.folder.holder(name) {
            Ok((holder, file)) => holder.kind_of(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        };
        let path = lock.directory.join(name);
        if kind.map_err(|error| Error::io("write", &path, error))? == Some(Kind::Folder) {
            return Err(Error::Other {
                message: format!(
                    "{} is a folder, but a result has a file there",
                    path.display()
                ),
                help: Some("move it away; nothing was changed".into()),
            });
        }
    }
    Ok(())
}

/// An error if a folder of the result is something else, such as a link to one.
fn check_folders(lock: &Lock) -> Result<(), Error> {
    for name in FOLDERS {
        let path = lock.directory.join(name);
        let kind = lock.folder.kind_of(name);
        let kind = kind.map_err(|error| Error::io("write", &path, error))?;
        if !matches!(kind, None | Some(Kind::Folder)) {
            return Err(Error::Other {
                message: format!(
                    "{} is a link or a file, but a result has a folder there",
                    path.display()
                ),
                help: Some(
                    "move it away, or choose another directory with --out; nothing was changed"
                        .into(),
                ),
            });
        }
    }
    Ok(())
}

/// Entries of a directory that belong neither to the result, of which `known` are the files, nor to the lock's folder.
pub(super) fn others(directory: &Path, known: &[String]) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_known = |name: &String| {
        let inside = format!("{name}/");
        let of_folder = |file: &&String| file.starts_with(&inside);
        match known.iter().filter(of_folder).count() {
            0 => known.contains(name),
            count => count >= fs::read_dir(directory.join(name)).map_or(0, Iterator::count),
        }
    };
    let mut names: Vec<String> = names
        .filter(|name| name != ROOM && name != MANIFEST && !is_known(name))
        .collect();
    names.sort();
    names
}

/// Removes files that a process that was killed had under construction.
fn clear(folder: &Folder, path: &Path) -> io::Result<()> {
    let room = folder.folder(ROOM)?;
    if !matches!(room.kind_of(RUNS)?, None | Some(Kind::Folder)) {
        return Err(strange(RUNS, "a folder"));
    }
    for name in room.names()? {
        if name.to_string_lossy().starts_with(NEW) {
            // It follows no link.
            let _ = fs::remove_dir_all(path.join(name));
        }
    }
    Ok(())
}

/// True for the name of a file that a result can have: of a table, the scenario, a report, or in another format.
pub(super) fn is_own(name: &str) -> bool {
    let plain =
        |part: &&str| !["", ".", "..", ROOM].contains(part) && !part.contains(['\\', ':', '\0']);
    let parts: Vec<&str> = name.split('/').collect();
    parts.iter().all(plain)
        && match parts[..] {
            [file] => {
                file.ends_with(".parquet")
                    || (file.starts_with("fct-") && file.ends_with(".txt"))
                    || OWN.contains(&file)
            }
            [folder, _] => FOLDERS.contains(&folder),
            [folder, _, _] => folder == "hpcc",
            _ => false,
        }
}
