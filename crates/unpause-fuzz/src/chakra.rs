//! Chakra traces: what is accepted can be run.

use std::path::PathBuf;

use unpause_import::FileError;
use unpause_import::programs::{self, Collectives};

/// Reads the traces of two ranks: two bytes say how many are of the first, little endian.
pub fn check(data: &[u8]) {
    let Some((length, both)) = data.split_first_chunk() else {
        return;
    };
    let first = usize::from(u16::from_le_bytes(*length)).min(both.len());
    let (first, second) = both.split_at(first);
    let name = |rank: u32| PathBuf::from(format!("trace.{rank}.et"));
    let files = [(name(0), first.to_vec()), (name(1), second.to_vec())];
    match programs::parse_chakra(&files, Collectives::default()) {
        Ok(read) => crate::goal::is_sound(&read),
        Err(error) => {
            let of = match &error {
                FileError::Byte { path, .. } if *path == name(0) => first,
                _ => second,
            };
            // Bytes of what is compressed count when it is unpacked.
            if of.starts_with(&[0x1f, 0x8b]) {
                assert!(error.to_string().len() <= crate::messages::MESSAGE_BYTES)
            } else {
                crate::messages::check_file_error(&error, of)
            }
        }
    }
}

/// Each trace with the next.
pub(crate) fn seeds(traces: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let pair = |it: &[Vec<u8>]| {
        let length = (it[0].len() as u16).to_le_bytes();
        [&length[..], &it[0], &it[1]].concat()
    };
    traces.windows(2).map(pair).collect()
}
