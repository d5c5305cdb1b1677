//! By `openat` and its kin.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::{Kind, strange};

/// An open folder.
#[derive(Debug)]
pub struct Folder {
    handle: OwnedFd,
}

/// No pipe without a writer is waited for.
const SAFE: OFlags = OFlags::NOFOLLOW
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK);
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

impl Folder {
    /// Opens a folder that the user has named: links on the way to it are theirs.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = match path.as_os_str().is_empty() {
            true => Path::new("."),
            false => path,
        };
        let handle = fs::openat(CWD, path, FOLDER, Mode::empty())?;
        Ok(Self { handle })
    }

    /// Another handle of it.
    pub fn again(&self) -> io::Result<Self> {
        let handle = self.handle.try_clone()?;
        Ok(Self { handle })
    }

    /// Opens a folder in it.
    pub fn folder(&self, name: &str) -> io::Result<Self> {
        match fs::openat(&self.handle, name, FOLDER | SAFE, Mode::empty()) {
            Ok(handle) => Ok(Self { handle }),
            Err(Errno::LOOP | Errno::NOTDIR) => Err(strange(name, "a folder")),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a folder in it, which is made if it is not there.
    pub fn folder_made(&self, name: &str) -> io::Result<Self> {
        match fs::mkdirat(&self.handle, name, Mode::from_bits_truncate(0o777)) {
            Ok(()) | Err(Errno::EXIST) => self.folder(name),
            Err(error) => Err(error.into()),
        }
    }

    /// The kind of an entry.
    pub fn kind(&self, name: &str) -> io::Result<Kind> {
        let about = fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(match FileType::from_raw_mode(about.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            _ => Kind::Other,
        })
    }

    /// Opens a plain file in it, to be read.
    pub fn file(&self, name: &str) -> io::Result<File> {
        self.plain(name, OFlags::RDONLY)
    }

    /// Opens a plain file in it, which is made if it is not there, to be read and written. One with another name
    /// elsewhere is refused.
    pub fn file_made(&self, name: &str) -> io::Result<File> {
        let file = self.plain(name, OFlags::RDWR | OFlags::CREATE)?;
        match fs::fstat(&file)?.st_nlink {
            0 | 1 => Ok(file),
            _ => Err(strange(name, "a file of one name")),
        }
    }

    /// Makes a plain file in it, to be written. Nothing may have its name, not even a link.
    pub fn file_new(&self, name: &str) -> io::Result<File> {
        self.plain(name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)
    }

    fn plain(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let mode = Mode::from_bits_truncate(0o666);
        match fs::openat(&self.handle, name, flags | SAFE, mode) {
            Ok(handle) => {
                let file = File::from(handle);
                match file.metadata()?.is_file() {
                    true => Ok(file),
                    false => Err(strange(name, "a plain file")),
                }
            }
            // The errors of a socket, and of a pipe without a reader.
            Err(Errno::LOOP | Errno::NXIO | Errno::ISDIR) => Err(strange(name, "a plain file")),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a name in it that is no folder.
    pub fn remove_file(&self, name: &str) -> io::Result<()> {
        Ok(fs::unlinkat(&self.handle, name, AtFlags::empty())?)
    }

    /// Removes a folder in it, if it is empty.
    pub fn remove_folder(&self, name: &str) -> io::Result<()> {
        Ok(fs::unlinkat(&self.handle, name, AtFlags::REMOVEDIR)?)
    }

    /// Gives what has a name in it another name, in `to`.
    pub fn rename(&self, name: &str, to: &Self, new: &str) -> io::Result<()> {
        Ok(fs::renameat(&self.handle, name, &to.handle, new)?)
    }

    /// Names in it, in order.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in fs::Dir::read_from(self.handle.as_fd())? {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name));
            }
        }
        names.sort();
        Ok(names)
    }

    /// Whether the name in it stands for that open file.
    pub fn holds(&self, name: &str, file: &File) -> bool {
        let here = fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW);
        let (Ok(here), Ok(file)) = (here, fs::fstat(file)) else {
            return false;
        };
        (here.st_dev, here.st_ino) == (file.st_dev, file.st_ino)
    }

    /// Waits until its names are on the disk.
    pub fn sync(&self) -> io::Result<()> {
        match fs::fsync(&self.handle) {
            // Not every file system can.
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
