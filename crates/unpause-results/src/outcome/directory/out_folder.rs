//! A folder for files that a command makes of a result, such as `csv/` in it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::beneath::{Folder, Kind, strange};

/// A folder that files are written into. No link in it is followed, nor written through.
#[derive(Debug)]
pub struct OutFolder {
    path: PathBuf,
    folder: Folder,
}

impl OutFolder {
    /// A folder that the user has named, which is made if it is not there. It may be a link.
    ///
    /// # Errors
    ///
    /// If it cannot be made or opened.
    pub fn named(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        Ok(Self {
            path: path.to_owned(),
            folder: Folder::open(path)?,
        })
    }

    /// A folder in `directory`, which is made if it is not there.
    ///
    /// # Errors
    ///
    /// If it cannot be made or opened, or is a link or a file.
    pub fn inside(directory: &Path, name: &str) -> io::Result<Self> {
        Ok(Self {
            path: directory.join(name),
            folder: Folder::open(directory)?.folder_made(name)?,
        })
    }

    /// Where a file in it is.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Whether something has a name in it, if only a link to nothing.
    ///
    /// # Errors
    ///
    /// If that cannot be found out.
    pub fn has(&self, name: &str) -> io::Result<bool> {
        Ok(self.folder.kind_of(name)?.is_some())
    }

    /// Writes a file that is there whole or not at all. A file or a link of its name is replaced only by `replace`.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`] if it is not to be replaced; if it is a folder or a special file, or cannot
    /// be written.
    pub fn write(
        &self,
        name: &str,
        replace: bool,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let (unfinished, mut file) = self.unfinished()?;
        let written = write(&mut file)
            .and_then(|()| file.sync_all())
            .and_then(|()| self.name(&unfinished, name, replace));
        if written.is_err() {
            let _ = self.folder.remove_file(&unfinished);
        }
        written
    }

    /// A new file, of a name that nothing has.
    fn unfinished(&self) -> io::Result<(String, File)> {
        for number in 0.. {
            let name = format!(".unpause-{}-{number}.tmp", std::process::id());
            match self.folder.file_new(&name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|file| (name, file)),
            }
        }
        unreachable!("there are fewer names than numbers")
    }

    fn name(&self, unfinished: &str, name: &str, replace: bool) -> io::Result<()> {
        match self.folder.kind_of(name)? {
            Some(_) if !replace => return Err(io::ErrorKind::AlreadyExists.into()),
            Some(Kind::Folder) => return Err(strange(name, "a file")),
            _ => {}
        }
        self.folder.rename(unfinished, &self.folder, name)
    }
}
