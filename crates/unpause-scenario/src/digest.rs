//! Digests of files, as manifests have them.

use std::fs::File;
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

/// SHA-256, in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    digits(&Sha256::digest(bytes))
}

/// The same of a file, however large.
pub(crate) fn sha256_of_file(path: &Path) -> io::Result<String> {
    sha256_of(&mut File::open(path)?)
}

/// The same of the rest of an open file.
pub(crate) fn sha256_of(file: &mut File) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(file, &mut hash)?;
    Ok(digits(&hash.finalize()))
}

fn digits(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
