//! The lock of a result directory: one process writes at a time.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fs4::{FileExt, TryLockError};

use super::beneath::Folder;
use unpause_text::error::Error;

/// The folder of a directory that is written to.
pub(super) const ROOM: &str = ".unpause";
/// In it: who holds it.
const LOCK: &str = "lock";

/// A directory that only this process writes to, as long as this lives.
#[derive(Debug)]
pub struct Lock {
    pub(super) directory: PathBuf,
    pub(super) folder: Folder,
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
        // Neither Parquet's readers nor JSON have other paths.
        if directory.to_str().is_none() {
            return Err(Error::Other {
                message: format!("{} is not UTF-8", directory.display()),
                help: Some(
                    "choose a directory whose whole path is UTF-8; nothing was changed".into(),
                ),
            });
        }
        let fail = |error| Error::io("write", directory, error);
        let made = make(directory).map_err(fail)?;
        let taken = Folder::open(directory).map_err(fail).and_then(|folder| {
            let file = lock(directory, &folder)?;
            Ok((folder, file))
        });
        match taken {
            Ok((folder, file)) => Ok(Self {
                directory: directory.to_owned(),
                folder,
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
        release(&self.folder, &self.file);
        unmake(&self.made);
    }
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
fn lock(directory: &Path, folder: &Folder) -> Result<File, Error> {
    let fail = |error| Error::io("write", directory, error);
    loop {
        let room = folder.folder_made(ROOM);
        let mut file = match room.and_then(|room| room.file_made(LOCK)) {
            Ok(file) => file,
            // Its holder has just gone, and the room with it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match folder.kind_of(".").map_err(fail)? {
                    Some(_) if directory.exists() => continue,
                    _ => return Err(fail(error)),
                }
            }
            Err(error) => return Err(fail(error)),
        };
        match FileExt::try_lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(busy(directory, &mut file)),
            Err(TryLockError::Error(error)) => return Err(fail(error)),
        }
        // The lock of a file that its last holder has removed protects nothing.
        if !folder
            .folder(ROOM)
            .is_ok_and(|room| room.holds(LOCK, &file))
        {
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
            release(folder, &file);
            return Err(fail(error));
        }
        return Ok(file);
    }
}

/// Removes the lock while it is held, and the room if there is nothing else in it.
fn release(folder: &Folder, file: &File) {
    if let Ok(room) = folder.folder(ROOM)
        && room.holds(LOCK, file)
    {
        let _ = room.remove_file(LOCK);
    }
    let _ = FileExt::unlock(file);
    let _ = folder.remove_folder(ROOM);
}

/// Who has the lock, and for how long.
fn busy(directory: &Path, lock: &mut File) -> Error {
    let mut text = String::new();
    let _ = lock.take(64).read_to_string(&mut text);
    let mut numbers = text.split_whitespace().map(str::parse::<u64>);
    let process = match (numbers.next(), numbers.next()) {
        (Some(Ok(id)), began) => {
            let began = began.and_then(Result::ok).map(Duration::from_secs);
            let began = began.and_then(|began| UNIX_EPOCH.checked_add(began));
            let since = began.and_then(|began| SystemTime::now().duration_since(began).ok());
            let since = since.map_or(String::new(), |since| {
                format!(", since {} s", since.as_secs())
            });
            format!(" (process {id}{since})")
        }
        _ => String::new(),
    };
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
