//! The most that a scenario may ask for, each bound with its reason, and texts from files that keep
//! to them.
//!
//! What is refused here would not end in a reasonable time or memory; all of it is refused before
//! the work is done.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Nodes of one kind: enough for any fabric (a fat-tree of k = 128 has 524,288 hosts), and few
/// enough to find a typing mistake.
pub const NODES: u64 = 1 << 20;

/// Links: the largest fat-tree, k = 128, has 1,572,864.
pub const LINKS: u64 = 1 << 21;

/// Bytes of a scenario file: some 100,000 links written out.
pub const SCENARIO_BYTES: u64 = 16 << 20;

/// Bytes of a file of points; a CDF of a million points has fewer.
pub const POINTS_BYTES: u64 = 16 << 20;

/// Bytes of a topology or a flow file of the HPCC simulator: [`LINKS`] links, [`FLOWS`] flows.
pub const HPCC_BYTES: u64 = 1 << 30;

/// Bytes of one of its lines: the ids of [`NODES`] switches have fewer.
pub const LINE_BYTES: u64 = 8 << 20;

/// Runs of a scenario: each has its configuration in memory, tens of kilobytes for a small fabric.
pub const RUNS: usize = 10_000;

/// Bytes that are read in all when the file is read once for each run: a few seconds.
pub const SOURCE_BYTES_OF_RUNS: u64 = 1 << 28;

/// Nodes, links and flows written out of all runs together. Each takes [`PART_BYTES`].
pub const PARTS: u64 = 1 << 24;

/// Memory of a node, a link or a flow in a configuration, about.
pub const PART_BYTES: u64 = 150;

/// Flows of a run, those of random arrivals as expected: the results have 250 bytes for each.
pub const FLOWS: u64 = 1 << 24;

/// Memory of a flow in the results of a run, about.
pub const FLOW_BYTES: u64 = 250;

/// Samples of ports in a run, and of flows: those of flows are all in memory.
pub const SAMPLES: u64 = 1 << 26;

/// Memory of a row of a series, about.
pub const SAMPLE_BYTES: u64 = 300;

/// Entries of `[[override]]`.
pub const OVERRIDES: usize = 1 << 10;

/// Changes of links in a run: each may need routes of its own, which are looked for before the run.
pub const LINK_EVENTS: usize = 1 << 14;

/// Bytes of a file that says what the ranks of a job do.
pub const PROGRAM_BYTES: u64 = 1 << 30;

/// Operations of the ranks of a job that a file says: some 100 bytes each.
pub const OPERATIONS: usize = 1 << 24;

/// Which of these waits for which, of a rank.
pub const EDGES: usize = 1 << 26;

/// Entries of `[[job]]`.
pub const JOBS: usize = 1 << 10;

/// Entries of `[[traffic]]`: as many as fit their number in a flow.
pub const TRAFFIC_ENTRIES: usize = 1 << 16;

/// Load of random traffic: queues of open-loop traffic grow to the end from 1 on, and percentages that are written as
/// numbers are above this.
pub const LOAD: u64 = 4;

/// Steps of a search for the longest of the shortest paths: some seconds. A fat-tree of k = 80, 128,000 hosts, takes
/// 2 × 10⁹.
pub const PATH_STEPS: u64 = 1 << 31;

/// Steps of the search for routes: a minute or two. The largest fat-tree, k = 128, takes 2 × 10¹⁰.
pub const ROUTE_STEPS: u64 = 1 << 35;

/// Steps of the search for buffers that wait for one another in a cycle, at most: some ten seconds. A
/// fat-tree of k = 48, 27,648 hosts, takes 6 × 10⁹.
pub const CYCLE_STEPS: u64 = 1 << 33;

/// Characters of a value that a message quotes.
const QUOTED: usize = 160;

/// Characters of a message, which may quote several.
pub const MESSAGE: usize = 400;

/// Bytes for people: `"2.5 GB"`.
pub fn show_memory(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] = [
        (1_000_000_000_000, "TB"),
        (1_000_000_000, "GB"),
        (1_000_000, "MB"),
        (1_000, "KB"),
    ];
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / *unit as f64),
        None => format!("{bytes} B"),
    }
}

/// A number for people, however large.
pub fn show_count(number: f64) -> String {
    if number < 1e15 {
        format!("{number:.0}")
    } else {
        format!("{number:.1e}")
    }
}

/// `text` as messages quote it: only its ends, if it is long.
pub fn shorten(text: &str) -> String {
    shorten_to(QUOTED, text)
}

/// `text`, or `most` characters of its ends.
pub fn shorten_to(most: usize, text: &str) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let tail = most / 4;
    let head: String = text.chars().take(most - tail).collect();
    let tail: String = text.chars().skip(length - tail).collect();
    format!("{head} … {tail}")
}

/// All of a file, or an error if it has more than `most` bytes. Never reads more.
pub fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        Err(too_large(most))
    } else {
        Ok(bytes)
    }
}

/// The error for a file of more than `most` bytes.
pub fn too_large(most: u64) -> io::Error {
    let message = format!(
        "it has more than {} MiB, the limit for such a file",
        most >> 20
    );
    io::Error::new(io::ErrorKind::FileTooLarge, message)
}

/// Why bytes are no text.
#[derive(Debug, PartialEq)]
pub struct NotText {
    /// Index of the byte at fault.
    pub at: usize,
    /// Its line, from 1.
    pub line: usize,
    /// The text found.
    pub found: String,
}

/// The text expected of a file instead of [`NotText`].
pub const EXPECTED_TEXT: &str = "UTF-8 text";

/// The text that `bytes` are in UTF-8; `at` counts from `offset`.
pub fn utf8(bytes: Vec<u8>, offset: u64) -> Result<String, NotText> {
    let number = |at: usize| offset + at as u64 + 1;
    let not = |bytes: &[u8], at: usize, found: String| {
        let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
        Err(NotText { at, line, found })
    };
    if offset == 0 && (bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff])) {
        return not(&bytes, 0, "UTF-16: byte 1 begins its mark".to_owned());
    }
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return not(&bytes, at, format!("a zero, byte {}", number(at)));
    }
    String::from_utf8(bytes).or_else(|error| {
        let (at, bytes) = (error.utf8_error().valid_up_to(), error.as_bytes());
        not(
            bytes,
            at,
            format!("byte {} is 0x{:02X}", number(at), bytes[at]),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_where_a_text_ends_to_be_one() {
        let found = |bytes: &[u8]| utf8(bytes.to_vec(), 0).unwrap_err();
        assert_eq!(
            (found(b"a\ncaf\xe9\n").at, found(b"a\ncaf\xe9\n").line),
            (5, 2)
        );
        assert_eq!(found(b"caf\xe9\n").found, "byte 4 is 0xE9");
        assert_eq!(
            found(b"\xff\xfea\0").found,
            "UTF-16: byte 1 begins its mark"
        );
        assert_eq!(found(b"a\0b\0").found, "a zero, byte 2");
        assert_eq!(utf8("µ".into(), 0), Ok("µ".to_owned()));
    }

    #[test]
    fn reads_no_more_than_it_may() {
        let error = read_at_most(Path::new("/dev/zero"), 1 << 20).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn shortens_what_is_long() {
        assert_eq!(shorten("short"), "short");
        let long = format!("{}{}", "a".repeat(500), "é".repeat(500));
        let short = shorten(&long);
        assert_eq!(short.chars().count(), QUOTED + 3);
        assert!(short.starts_with("aaa") && short.ends_with("ééé"));
        assert_eq!(show_memory(2_500_000_000), "2.5 GB");
    }
}
