//! Reading a result while another process may replace it: either the old one or the new one, unchanged.
//!
//! While files of a new result are moved to their names, each of them is either there or still in the room: a file
//! is the one whose digest the manifest has.

use std::io::{self, Read, Seek};
use std::path::Path;

use super::beneath::Folder;
use super::lock::ROOM;
use super::place::{COMMIT, MANIFEST};

/// A result directory, open.
pub(super) struct Reader {
    directory: Folder,
    /// A complete result on its way to its names.
    commit: Option<Folder>,
}

impl Reader {
    /// Opens a directory.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let directory = Folder::open(directory)?;
        let commit = directory.folder(ROOM).and_then(|room| room.folder(COMMIT));
        Ok(Self {
            commit: commit.ok(),
            directory,
        })
    }

    /// The manifest, of the new result if there are two.
    pub fn manifest(&self) -> io::Result<Vec<u8>> {
        let read = |folder: &Folder| {
            let mut bytes = Vec::new();
            folder.file(MANIFEST)?.read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        match self.commit.as_ref().map(read) {
            Some(Ok(bytes)) => Ok(bytes),
            // It has just got its name, or is none.
            _ => read(&self.directory),
        }
    }

    /// The file of a name with that digest, at its start; any file of that name if no digest is known. None if
    /// those that are there have others.
    pub fn file(
        &self,
        name: &str,
        digest: Option<&str>,
        digest_of: impl Fn(&mut std::fs::File) -> io::Result<String>,
    ) -> io::Result<Option<std::fs::File>> {
        let mut last = Err(io::ErrorKind::NotFound.into());
        // It may move from the second to the first in between.
        let places = [
            Some(&self.directory),
            self.commit.as_ref(),
            Some(&self.directory),
        ];
        for folder in places.into_iter().flatten() {
            match folder.file(name) {
                Ok(mut file) => {
                    if digest.is_none_or(|digest| {
                        digest_of(&mut file).is_ok_and(|found| found == digest)
                    }) {
                        file.rewind()?;
                        return Ok(Some(file));
                    }
                    last = Ok(None);
                }
                Err(error) if last.is_err() => last = Err(error),
                Err(_) => {}
            }
        }
        last
    }
}
