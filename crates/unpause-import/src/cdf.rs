//! Flow-size distributions: the built-in ones, and files of them.
//!
//! A file has one point on a line: bytes, then the cumulative probability, from 0 to 1 or in
//! percent from 0 to 100, with a comma or blanks between (blanks as in HPCC's
//! `WebSearch_distribution.txt`). `#` starts a comment; a line of column names may come first.

use std::path::Path;

use unpause_protocols::units::Time;
use unpause_sim::traffic::{Cdf, CdfError};

use super::{FileError, Place};
use unpause_text::count::counted;
use unpause_text::error::nearest;
use unpause_text::limits;
use unpause_text::quantity::parse_duration;

macro_rules! builtin {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../workloads/", $name, ".csv")))),*]
    };
}

/// Distributions that need no file: names, and CSV text that says where they are from.
pub const BUILTIN: [(&str, &str); 8] = builtin![
    "alistorage2019",
    "datamining",
    "fb_hadoop",
    "googlerpc2008",
    "pcn_w1",
    "pcn_w2",
    "solar2022",
    "websearch",
];

/// The built-in distribution of this name.
pub fn builtin(name: &str) -> Option<Cdf> {
    let (name, text) = BUILTIN.iter().find(|(builtin, _)| *builtin == name)?;
    Some(parse(text, Path::new(name)).expect("built-in distributions are tested"))
}

/// A built-in distribution by its name, else the file of that name in directory `base`.
pub fn load(name: &str, base: &Path) -> Result<Cdf, FileError> {
    if let Some(cdf) = builtin(name) {
        return Ok(cdf);
    }
    let path = base.join(name);
    let bytes = limits::read_at_most(&path, limits::POINTS_BYTES).map_err(|reason| {
        let names = BUILTIN.map(|(name, _)| name);
        let reason = match nearest(name, &names) {
            Some(help) if !name.contains(['/', '.']) => std::io::Error::new(
                reason.kind(),
                format!("{reason}, nor a built-in CDF; {help}"),
            ),
            _ => reason,
        };
        FileError::Io {
            path: path.clone(),
            reason,
        }
    })?;
    parse(&as_text(bytes, &path)?, &path)
}

/// The text of a file.
fn as_text(bytes: Vec<u8>, path: &Path) -> Result<String, FileError> {
    limits::utf8(bytes, 0).map_err(|not| {
        let line = not.line;
        Place::of_line(path, line).error(not.found, limits::EXPECTED_TEXT)
    })
}

/// Reads a CDF. `path` is for messages.
pub fn parse(text: &str, path: &Path) -> Result<Cdf, FileError> {
    let columns = "bytes and a cumulative probability, such as `10000,0.15`";
    let bytes = |text: &str| text.parse().ok();
    points(
        text,
        path,
        columns,
        "a whole number of bytes, not negative",
        bytes,
    )
}

/// Reads the CDF of a time from the file of that name in directory `base`, in picoseconds: a time
/// with its unit and a cumulative probability on a line.
pub fn load_times(name: &str, base: &Path) -> Result<Cdf, FileError> {
    let path = base.join(name);
    let bytes = limits::read_at_most(&path, limits::POINTS_BYTES).map_err(|reason| {
        let path = path.clone();
        FileError::Io { path, reason }
    })?;
    parse_times(&as_text(bytes, &path)?, &path)
}

/// Reads the CDF of a time, in picoseconds. `path` is for messages.
pub fn parse_times(text: &str, path: &Path) -> Result<Cdf, FileError> {
    let columns = "a time and a cumulative probability, such as `80us,0.15`";
    let time = |text: &str| parse_duration(text).ok().map(Time::as_ps);
    points(text, path, columns, "a time such as `80us`", time)
}

fn points(
    text: &str,
    path: &Path,
    columns_expected: &str,
    value_expected: &str,
    value: impl Fn(&str) -> Option<u64>,
) -> Result<Cdf, FileError> {
    let mut points = Vec::new();
    let mut lines = Vec::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (index, line) in text.lines().enumerate() {
        let place = Place::of_line(path, index + 1);
        let content = line.split('#').next().unwrap_or("").trim();
        if content.is_empty() {
            continue;
        }
        let columns: Vec<&str> = if content.contains(',') {
            content.split(',').map(str::trim).collect()
        } else {
            content.split_whitespace().collect()
        };
        let header = points.is_empty() && lines.is_empty() && are_names(&columns);
        lines.push(index + 1);
        if header {
            continue;
        }
        let &[bytes, probability] = columns.as_slice() else {
            return Err(place.error(counted(columns.len(), "column"), columns_expected));
        };
        let bytes =
            value(bytes).ok_or_else(|| place.error(format!("`{bytes}`"), value_expected))?;
        let probability: f64 = probability
            .parse()
            .ok()
            .filter(|p: &f64| p.is_finite() && *p >= 0.0)
            .ok_or_else(|| {
                let expected = "a cumulative probability, not negative";
                place.error(format!("`{probability}`"), expected)
            })?;
        points.push((bytes, probability));
    }
    // The line of each point, without that of the header.
    let lines = &lines[lines.len() - points.len()..];
    let place = |index: usize| Place::of_line(path, lines.get(index).copied().unwrap_or(1));
    if points.last().is_some_and(|(_, last)| *last == 100.0) {
        for (_, percent) in &mut points {
            *percent /= 100.0;
        }
    }
    let last = points.len().saturating_sub(1);
    Cdf::new(points).map_err(|error| match error {
        CdfError::Empty => place(0).error("no points", columns_expected),
        CdfError::Decreasing { index } => place(index).error(
            "less than on the line before",
            "bytes and probabilities that do not decrease",
        ),
        CdfError::Probability { .. } | CdfError::Incomplete { .. } => place(last).error(
            "a last probability other than 1",
            "1, or 100 if probabilities are in percent",
        ),
    })
}

/// True if they are names of columns. A point with a mistake in it has a number in one column at least.
fn are_names(columns: &[&str]) -> bool {
    let is_name = |column: &&str| column.starts_with(|c: char| c.is_alphabetic() || c == '_');
    columns.iter().all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn error(text: &str) -> String {
        parse(text, Path::new("sizes.csv")).unwrap_err().to_string()
    }

    #[test]
    fn reads_csv_and_text_in_probability_and_percent() {
        let expected = Cdf::new(vec![(0, 0.0), (10_000, 0.15), (30_000, 1.0)]).unwrap();
        for text in [
            "# where from\nbytes,cumulative_probability\n0,0\n10000, 0.15\n30000,1\n",
            "0 0\n10000 15\n30000 100\n",
            "0\t0\r\n\r\n10000\t0.15 # comment\r\n30000\t1.0",
            "\u{feff}0,0\n10000,0.15\n30000,1\n",
            "flow size (bytes), share\n0,0\n10000,0.15\n30000,1\n",
        ] {
            assert_eq!(parse(text, Path::new("")).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn says_file_line_found_and_expected() {
        let columns = "expected bytes and a cumulative probability, such as `10000,0.15`";
        assert_eq!(
            error("# nothing\n"),
            format!("sizes.csv:1: found no points, {columns}")
        );
        for (first, found) in [("l00,0", "l00"), ("O 0", "O"), ("# a\nx,0", "x")] {
            let line = first.lines().count();
            assert_eq!(
                error(&format!("{first}\n500,0.5\n1000,1\n")),
                format!(
                    "sizes.csv:{line}: found `{found}`, expected a whole number of bytes, not negative"
                )
            );
        }
        assert_eq!(
            error("0,0\n5,1,7\n"),
            format!("sizes.csv:2: found 3 columns, {columns}")
        );
        assert_eq!(
            error("0\n"),
            format!("sizes.csv:1: found 1 column, {columns}")
        );
        assert_eq!(
            error("a,b\n-5,0\n1,1"),
            "sizes.csv:2: found `-5`, expected a whole number of bytes, not negative"
        );
        assert_eq!(
            error("a,b\nc,d\n"),
            "sizes.csv:2: found `c`, expected a whole number of bytes, not negative"
        );
        assert_eq!(
            error("0,x\n"),
            "sizes.csv:1: found `x`, expected a cumulative probability, not negative"
        );
        assert_eq!(
            error("0,-0.1\n"),
            "sizes.csv:1: found `-0.1`, expected a cumulative probability, not negative"
        );
        assert_eq!(
            error("0,0\n5,0.5\n\n4,1\n"),
            "sizes.csv:4: found less than on the line before, expected bytes and probabilities that do not decrease"
        );
        let last =
            "a last probability other than 1, expected 1, or 100 if probabilities are in percent";
        assert_eq!(error("0,0\n5,0.99\n"), format!("sizes.csv:2: found {last}"));
        assert_eq!(
            error("0,0\n5,50\n7,99\n"),
            format!("sizes.csv:3: found {last}")
        );
    }

    #[test]
    fn names_the_nearest_built_in() {
        let error = load("fb_hadop", Path::new("/nowhere"))
            .unwrap_err()
            .to_string();
        assert!(
            error.ends_with("nor a built-in CDF; did you mean `fb_hadoop`?"),
            "{error}"
        );
    }

    /// The comment of each built-in file states its mean.
    #[test]
    fn built_in_distributions_have_the_mean_they_state() {
        for (name, text) in BUILTIN {
            let stated = text
                .lines()
                .find_map(|line| line.strip_prefix("# Mean flow size with linear interpolation: "))
                .and_then(|line| line.strip_suffix(" bytes."))
                .and_then(|mean| mean.parse::<f64>().ok())
                .unwrap_or_else(|| panic!("{name} states no mean"));
            let mean = builtin(name).unwrap().mean();
            assert!((mean - stated).abs() < 0.1, "{name}: {mean} {stated}");
        }
    }

    /// Shares of flows and of bytes, %, of sizes above `low` and up to `high`.
    fn shares(cdf: &Cdf, low: f64, high: f64) -> [f64; 2] {
        let (mut flows, mut bytes) = (0.0, 0.0);
        for pair in cdf.points().windows(2) {
            let [(a, p), (b, q)] = [pair[0], pair[1]];
            let (a, b) = (a as f64, b as f64);
            let (from, to) = (a.clamp(low, high), b.clamp(low, high));
            let density = (q - p) / (b - a);
            flows += density * (to - from);
            bytes += density * (to * to - from * from) / 2.0;
        }
        [flows * 100.0, bytes / cdf.mean() * 100.0]
    }

    #[test]
    fn pcn_workloads_meet_table_1() {
        let bins = [(0.0, 1e4), (1e4, 1e5), (1e5, 1e6), (1e6, f64::MAX)];
        let table = [
            (
                "pcn_w1",
                [[80.14, 3.08], [10.32, 5.89], [9.12, 83.8], [0.41, 7.04]],
            ),
            (
                "pcn_w2",
                [[70.79, 0.22], [16.59, 1.56], [3.52, 1.53], [9.1, 96.7]],
            ),
        ];
        for (name, rows) in table {
            let cdf = builtin(name).unwrap();
            for ((low, high), row) in bins.into_iter().zip(rows) {
                let found = shares(&cdf, low, high);
                for (found, stated) in found.into_iter().zip(row) {
                    assert!((found - stated).abs() <= 0.2, "{name}: {found:.3} {stated}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "[0-9a-z,.# \n-]{0,60}") {
            let _ = parse(&text, Path::new("sizes.csv"));
        }
    }
}
