//! Workloads of SimAI: what is accepted can be run.

use std::path::Path;

use unpause_import::programs::{self, SimAi};

/// Reads a workload for a few ranks.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    for (ranks, channels) in [(4, 1), (6, 2)] {
        let of = SimAi { ranks, channels };
        match programs::parse_simai(text, Path::new("layers.txt"), of) {
            Ok(read) => crate::goal::is_sound(&read),
            Err(error) => crate::messages::check_file_error(&error, data),
        }
    }
}
