//! Properties that every target requires of a message.

use unpause_import::FileError;

/// Longest message that somebody reads.
pub(crate) const MESSAGE_BYTES: usize = 8_000;

/// A message is short, and says which line of the input it is about.
pub(crate) fn check_file_error(error: &FileError, input: &[u8]) {
    let said = error.to_string();
    assert!(said.len() <= MESSAGE_BYTES, "{} bytes: {said}", said.len());
    match error {
        FileError::Line { line, .. } => {
            // A file that ends too soon is at fault after its last line, an empty one before its first.
            let lines = input.split(|byte| *byte == b'\n').count();
            assert!(*line <= lines, "line {line} of {lines}: {said}");
        }
        FileError::Byte { at, .. } => assert!(*at <= input.len() as u64, "byte {at}: {said}"),
        FileError::Io { reason, .. } => panic!("an input in memory cannot fail: {reason}"),
    }
}
