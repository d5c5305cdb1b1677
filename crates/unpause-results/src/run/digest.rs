//! Digests of files, as manifests have them.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use sha2::{Digest, Sha256};

/// SHA-256, in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    digits(&Sha256::digest(bytes))
}

/// The same of a file, however large.
pub fn sha256_of_file(path: &Path) -> io::Result<String> {
    sha256_of(&mut File::open(path)?)
}

/// The same of the rest of an open file.
pub fn sha256_of(file: &mut File) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut reader = BufReader::new(file);
    loop {
        let part = reader.fill_buf()?;
        if part.is_empty() {
            return Ok(digits(&hash.finalize()));
        }
        hash.update(part);
        let read = part.len();
        reader.consume(read);
    }
}

fn digits(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The end of a sealed JSON object: before its SHA-256, and behind it.
const SEAL: (&[u8], &[u8]) = (b",\n  \"sha256\": \"", b"\"\n}");
const DIGITS: usize = 64;

/// An indented JSON object with a last field `sha256`: that of the whole text with zeros for these digits.
pub fn seal(mut object: Vec<u8>) -> Vec<u8> {
    object.truncate(object.trim_ascii_end().len().saturating_sub(b"\n}".len()));
    object.extend_from_slice(SEAL.0);
    let from = object.len();
    object.extend_from_slice(&[b'0'; DIGITS]);
    object.extend_from_slice(SEAL.1);
    let digest = sha256(&object);
    object[from..from + DIGITS].copy_from_slice(digest.as_bytes());
    object
}

/// Whether a text is another than was sealed. Those of before have no seal.
pub fn is_broken(object: &[u8]) -> bool {
    let Some(told) = object.trim_ascii_end().strip_suffix(SEAL.1) else {
        return false;
    };
    let from = told.len().saturating_sub(DIGITS);
    if !told[..from].ends_with(SEAL.0) {
        return false;
    }
    let mut zeros = object.to_vec();
    zeros[from..from + DIGITS].fill(b'0');
    sha256(&zeros).as_bytes() != &told[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_of_a_sealed_object_is_found_or_hides_the_seal_alone() {
        let value = serde_json::json!({"seeds": [1, 2], "title": "T"});
        let plain = serde_json::to_vec_pretty(&value).unwrap();
        assert!(!is_broken(&plain), "without a seal");
        let sealed = seal(plain.clone());
        assert!(!is_broken(&sealed));
        let parsed: serde_json::Value = serde_json::from_slice(&sealed).unwrap();
        assert_eq!(parsed["seeds"], value["seeds"]);
        assert_eq!(parsed["sha256"].as_str().unwrap().len(), DIGITS);
        let before = plain.len() - b"\n}".len();
        for at in 0..sealed.len() {
            for bit in 0..8 {
                let mut flipped = sealed.clone();
                flipped[at] ^= 1 << bit;
                let in_digits =
                    at >= sealed.len() - SEAL.1.len() - DIGITS && at < sealed.len() - SEAL.1.len();
                if at < before || in_digits {
                    assert!(is_broken(&flipped), "byte {at}, bit {bit}");
                }
            }
        }
    }
}
