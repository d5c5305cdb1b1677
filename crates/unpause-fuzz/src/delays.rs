//! CDFs of delays.

use std::path::Path;

use unpause_scenario::cdf;

/// Reads a file of points.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match cdf::parse_times(text, Path::new("delays.csv")) {
        Ok(cdf) => crate::cdf::is_distribution(&cdf),
        Err(error) => crate::messages::check_file_error(&error, data),
    }
}
