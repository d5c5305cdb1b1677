//! A folder by its handle: what is in it is reached without following a link.
//!
//! A result directory may come from anybody. Whatever it holds, nothing outside of it is read, written or removed.

#[cfg(not(unix))]
mod elsewhere;
#[cfg(unix)]
mod unix;

use std::io;

#[cfg(not(unix))]
pub use self::elsewhere::Folder;
#[cfg(unix)]
pub use self::unix::Folder;

/// The kind of an entry of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Folder,
    /// A link, a pipe, a device.
    Other,
}

impl Folder {
    /// The folder of a name such as `figures/queue.svg`, and the name in it.
    pub fn holder<'a>(&self, name: &'a str) -> io::Result<(Self, &'a str)> {
        self.reach(name, Self::folder)
    }

    /// The same; folders that are not there are made.
    pub fn holder_made<'a>(&self, name: &'a str) -> io::Result<(Self, &'a str)> {
        self.reach(name, Self::folder_made)
    }

    fn reach<'a>(
        &self,
        name: &'a str,
        next: impl Fn(&Self, &str) -> io::Result<Self>,
    ) -> io::Result<(Self, &'a str)> {
        let mut holder = self.again()?;
        let mut rest = name;
        while let Some((first, more)) = rest.split_once('/') {
            holder = next(&holder, first)?;
            rest = more;
        }
        Ok((holder, rest))
    }

    /// The kind of an entry; none if there is nothing.
    pub fn kind_of(&self, name: &str) -> io::Result<Option<Kind>> {
        match self.kind(name) {
            Ok(kind) => Ok(Some(kind)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The error of something that is not what it should be.
pub fn strange(name: &str, expected: &str) -> io::Error {
    io::Error::other(format!(
        "`{name}` in it is not {expected}: links and other special files are not followed"
    ))
}
