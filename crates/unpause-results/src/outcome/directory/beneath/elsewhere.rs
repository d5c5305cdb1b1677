//! By paths, where the standard library has no more: links are looked for before each step.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::{Kind, strange};

/// A folder.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Opens a folder that the user has named: links on the way to it are theirs.
    pub fn open(path: &Path) -> io::Result<Self> {
        fs::read_dir(path)?;
        let path = path.canonicalize()?;
        Ok(Self { path })
    }

    /// Another handle of it.
    pub fn again(&self) -> io::Result<Self> {
        let path = self.path.clone();
        Ok(Self { path })
    }

    /// Opens a folder in it.
    pub fn folder(&self, name: &str) -> io::Result<Self> {
        match self.kind(name)? {
            Kind::Folder => Ok(Self {
                path: self.path.join(name),
            }),
            _ => Err(strange(name, "a folder")),
        }
    }

    /// Opens a folder in it, which is made if it is not there.
    pub fn folder_made(&self, name: &str) -> io::Result<Self> {
        match fs::create_dir(self.path.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => self.folder(name),
        }
    }

    /// The kind of an entry.
    pub fn kind(&self, name: &str) -> io::Result<Kind> {
        let about = self.path.join(name).symlink_metadata()?;
        Ok(match (about.is_file(), about.is_dir()) {
            (true, _) => Kind::File,
            (_, true) => Kind::Folder,
            _ => Kind::Other,
        })
    }

    /// Opens a plain file in it, to be read.
    pub fn file(&self, name: &str) -> io::Result<File> {
        match self.kind(name)? {
            Kind::File => File::open(self.path.join(name)),
            _ => Err(strange(name, "a plain file")),
        }
    }

    /// Opens a plain file in it, which is made if it is not there, to be read and written.
    pub fn file_made(&self, name: &str) -> io::Result<File> {
        match self.kind_of(name)? {
            None | Some(Kind::File) => OpenOptions::new()
                .create(true)
                .truncate(false)
                .read(true)
                .write(true)
                .open(self.path.join(name)),
            _ => Err(strange(name, "a plain file")),
        }
    }

    /// Makes a plain file in it, to be written. Nothing may have its name, not even a link.
    pub fn file_new(&self, name: &str) -> io::Result<File> {
        let path = self.path.join(name);
        OpenOptions::new().write(true).create_new(true).open(path)
    }

    /// Removes a name in it that is no folder.
    pub fn remove_file(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    /// Removes a folder in it, if it is empty.
    pub fn remove_folder(&self, name: &str) -> io::Result<()> {
        fs::remove_dir(self.path.join(name))
    }

    /// Gives what has a name in it another name, in `to`.
    pub fn rename(&self, name: &str, to: &Self, new: &str) -> io::Result<()> {
        fs::rename(self.path.join(name), to.path.join(new))
    }

    /// Names in it, in order.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let entries = fs::read_dir(&self.path)?;
        let mut names = entries
            .map(|entry| Ok(entry?.file_name()))
            .collect::<io::Result<Vec<_>>>()?;
        names.sort();
        Ok(names)
    }

    /// Whether the name in it stands for that open file.
    pub fn holds(&self, name: &str, _file: &File) -> bool {
        self.path.join(name).exists()
    }

    /// Waits until its names are on the disk.
    pub fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
