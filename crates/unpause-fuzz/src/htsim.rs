//! Connection matrices of htsim: what is accepted can be run.

use std::path::Path;

use unpause_import::programs;

/// Reads a matrix.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match programs::parse_htsim(text, Path::new("flows.cm")) {
        Ok(read) => crate::goal::is_sound(&read),
        Err(error) => crate::messages::check_file_error(&error, data),
    }
}
