//! The place of a result: locked while it is written to, and given the new result all at once.
//!
//! While something is written, a directory has a folder [`ROOM`] in it: the lock, the files under
//! construction, and what a run that was stopped has left for the next one. The files are complete and on
//! the disk before any of them is moved to its name; from then on the result is the new one, and a
//! move that is cut short is ended by who comes next ([`settle`]). Nothing else in the directory is touched.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fs4::fs_std::FileExt;
use tempfile::TempDir;

use crate::digest::sha256;
#[cfg(feature = "parquet")]
use crate::digest::sha256_of_file;
use crate::text::error::Error;

/// The folder of a directory that is written to.
const ROOM: &str = ".unpause";
/// In it: who holds it.
const LOCK: &str = "lock";
/// In it: a complete result on its way to its names.
const COMMIT: &str = "commit";
/// In that: names of the result before that go.
const REMOVE: &str = "remove.json";
/// In the room: how folders of files under construction begin.
const NEW: &str = "new-";
/// What makes a directory a result; the last file to get its name.
pub(super) const MANIFEST: &str = "manifest.json";

/// A directory that only this process writes to, as long as this lives.
#[derive(Debug)]
pub struct Lock {
    directory: PathBuf,
    file: File,
    /// Directories that were not there, from the outermost.
    made: Vec<PathBuf>,
}

impl Lock {
    /// Takes a directory, which is made if it is not there.
    ///
    /// # Errors
    ///
    /// If it cannot be written, or another process has it.
    pub fn take(directory: &Path) -> Result<Self, Error> {
        let made = make(directory).map_err(|error| Error::io("write", directory, error))?;
        match lock(directory) {
            Ok(file) => Ok(Self {
                directory: directory.to_owned(),
                file,
                made,
            }),
            Err(error) => {
                unmake(&made);
                Err(error)
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        release(&self.directory, &self.file);
        unmake(&self.made);
    }
}

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
        settle_held(directory)?;
        clear(&directory.join(ROOM));
        check_destination(directory)?;
        Ok(Self { lock })
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.lock.directory
    }

    /// The folder for what a run that is stopped leaves to the next one.
    pub(crate) fn room(&self) -> PathBuf {
        self.directory().join(ROOM)
    }

    /// A folder in the room that goes when it is dropped, or with the next who takes the place.
    pub(crate) fn scratch(&self) -> Result<TempDir, Error> {
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
        let room = self.place.room();
        let move_in = || {
            sync(self.folder.path())?;
            fs::rename(self.folder.path(), room.join(COMMIT))?;
            sync(&room)
        };
        move_in().map_err(|error| Error::io("write", self.place.directory(), error))?;
        // It has another name now: there is nothing left to clean up.
        let _ = self.folder.keep();
        settle_held(self.place.directory())
    }
}

/// Ends what a process that is gone had begun to move to its names in `directory`.
///
/// # Errors
///
/// If a process is still about it, or files cannot be moved.
pub fn settle(directory: &Path) -> Result<(), Error> {
    if !directory.join(ROOM).join(COMMIT).exists() {
        return Ok(());
    }
    let _lock = Lock::take(directory)?;
    settle_held(directory)
}

/// The same with the lock held. It may be cut short at any point and begun again.
fn settle_held(directory: &Path) -> Result<(), Error> {
    let commit = directory.join(ROOM).join(COMMIT);
    if !commit.exists() {
        return Ok(());
    }
    let fail = |error| Error::io("write", directory, error);
    let old: Vec<String> = fs::read(commit.join(REMOVE))
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default();
    for name in old.iter().filter(|name| is_inside(name)) {
        let path = directory.join(name);
        if path.symlink_metadata().is_ok_and(|about| about.is_file()) {
            fs::remove_file(&path).map_err(fail)?;
        }
        // Folders of the report and of other formats, if nothing else is in them.
        let folders = path.ancestors().skip(1);
        for folder in folders.take_while(|folder| *folder != directory) {
            let _ = fs::remove_dir(folder);
        }
    }
    let names = files_below(&commit).map_err(fail)?;
    let tables = names
        .iter()
        .filter(|name| !name.ends_with(MANIFEST) && !name.ends_with(REMOVE));
    for name in tables.chain(names.iter().filter(|name| name.ends_with(MANIFEST))) {
        let to = directory.join(name);
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).map_err(fail)?;
        }
        fs::rename(commit.join(name), to).map_err(fail)?;
    }
    // A directory cannot be synced everywhere; the files have their names.
    let _ = sync(directory);
    fs::remove_dir_all(&commit).map_err(fail)
}

/// Files in a folder and in folders in it, by their paths from there.
fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(folder.join(&below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            match entry.file_type()?.is_dir() {
                true => folders.push(path),
                false => files.push(path),
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
    let is_free = directory.join(MANIFEST).is_file()
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

/// What of a directory is neither of the result, of which `known` are the files, nor the room.
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

/// Makes a directory, and answers those that were not there.
fn make(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let missing = directory
        .ancestors()
        .take_while(|path| !path.as_os_str().is_empty() && path.symlink_metadata().is_err());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    missing.reverse();
    let mut made = Vec::new();
    for path in missing {
        match fs::create_dir(&path) {
            Ok(()) => made.push(path),
            // Another process was quicker.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                unmake(&made);
                return Err(error);
            }
        }
    }
    Ok(made)
}

/// Removes directories if they are empty.
fn unmake(made: &[PathBuf]) {
    for path in made.iter().rev() {
        let _ = fs::remove_dir(path);
    }
}

/// Takes the lock of a directory.
fn lock(directory: &Path) -> Result<File, Error> {
    let room = directory.join(ROOM);
    let fail = |error| Error::io("write", directory, error);
    loop {
        match fs::create_dir(&room) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(fail(error)),
            _ => {}
        }
        let path = room.join(LOCK);
        let opened = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path);
        let mut file = match opened {
            Ok(file) => file,
            // Its holder has just gone, and the room with it.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !room.exists() => continue,
            Err(error) => return Err(fail(error)),
        };
        if !FileExt::try_lock_exclusive(&file).map_err(fail)? {
            return Err(busy(directory, &mut file));
        }
        // The lock of a file that its last holder has removed is nobody's.
        if !is_at(&file, &path) {
            continue;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let text = format!(
            "{} {}\n",
            std::process::id(),
            now.unwrap_or_default().as_secs()
        );
        let tell = |file: &mut File| {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(text.as_bytes())
        };
        if let Err(error) = tell(&mut file) {
            release(directory, &file);
            return Err(fail(error));
        }
        return Ok(file);
    }
}

/// Removes the lock while it is held, and the room if there is nothing else in it.
fn release(directory: &Path, file: &File) {
    let room = directory.join(ROOM);
    let path = room.join(LOCK);
    if is_at(file, &path) {
        let _ = fs::remove_file(path);
    }
    let _ = FileExt::unlock(file);
    let _ = fs::remove_dir(room);
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(file), Ok(path)) = (file.metadata(), path.metadata()) else {
        return false;
    };
    (file.dev(), file.ino()) == (path.dev(), path.ino())
}

#[cfg(not(unix))]
fn is_at(_file: &File, path: &Path) -> bool {
    path.exists()
}

/// Who has the lock, and for how long.
fn busy(directory: &Path, lock: &mut File) -> Error {
    let mut text = String::new();
    let _ = lock.read_to_string(&mut text);
    let mut numbers = text.split_whitespace();
    let process = numbers.next().map_or(String::new(), |id| {
        let began = numbers.next().and_then(|seconds| seconds.parse().ok());
        let began = began.map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds));
        let since = began.and_then(|began| SystemTime::now().duration_since(began).ok());
        let since = since.map_or(String::new(), |since| {
            format!(", since {} s", since.as_secs())
        });
        format!(" (process {id}{since})")
    });
    Error::Other {
        message: format!(
            "another unpause{process} is writing to {}",
            directory.display()
        ),
        help: Some(
            "wait for it, or choose another directory with --out; nothing was changed".into(),
        ),
    }
}

/// Removes files that a process that was killed had under construction.
fn clear(room: &Path) {
    for entry in fs::read_dir(room).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(NEW) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// True for the name of a file in the directory or in a folder of it.
fn is_inside(name: &str) -> bool {
    !name.is_empty()
        && Path::new(name)
            .components()
            .all(|part| matches!(part, Component::Normal(part) if part != ROOM))
}

fn sync(directory: &Path) -> io::Result<()> {
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        // Not every file system can.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        done => done,
    }
}
