//! Errors, with their place in the file where there is one.

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};

use super::excerpt::excerpt;
use crate::limits::{MESSAGE, shorten_to};
use crate::quantity::HELP_MARK;

/// Of a directory with more entries not all are compared with a name that is missing.
const MOST_BESIDE: usize = 10_000;

/// An error of reading, running or writing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A mistake in a file, with its place.
    #[error(transparent)]
    Source(Box<SourceError>),
    /// A file that cannot be read or written.
    #[error("cannot {action} {}: {reason}", path.display())]
    Io {
        /// The attempt: "read", "write".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// Why not.
        reason: std::io::Error,
        /// The name beside it that may be meant, if there is no such file.
        help: Option<String>,
    },
    /// A mistake that has no place in a file.
    #[error("{message}")]
    Other {
        /// The mistake.
        message: String,
        /// The remedy.
        help: Option<String>,
    },
    /// A run that needs more memory or disk than there is.
    #[error("{message}")]
    TooLarge {
        /// How much it needs, and how much there is.
        message: String,
        /// What to do.
        help: &'static str,
    },
    /// The run was asked to end.
    #[error("interrupted")]
    Interrupted,
}

/// A mistake in a file.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct SourceError {
    message: String,
    help: Option<String>,
    labels: Vec<LabeledSpan>,
    /// Line and column, from 1, of the first label.
    place: Option<(usize, usize)>,
    source_code: NamedSource<Arc<str>>,
}

impl Error {
    /// A file that could not be dealt with; `action` as in "cannot read".
    pub fn io(action: &'static str, path: &Path, reason: std::io::Error) -> Self {
        let is_missing = reason.kind() == std::io::ErrorKind::NotFound;
        Self::Io {
            action,
            path: path.to_owned(),
            help: is_missing.then(|| beside(path)).flatten(),
            reason,
        }
    }

    /// File, line and column (from 1) of the mistake.
    pub fn location(&self) -> Option<(String, usize, usize)> {
        let Self::Source(error) = self else {
            return None;
        };
        let (line, column) = error.place?;
        Some((error.source_code.name().to_owned(), line, column))
    }

    /// The remedy.
    pub fn help_text(&self) -> Option<&str> {
        match self {
            Self::Source(error) => error.help.as_deref(),
            Self::Io { help, .. } | Self::Other { help, .. } => help.as_deref(),
            Self::TooLarge { help, .. } => Some(help),
            Self::Interrupted => None,
        }
    }

    /// Everything in plain text: `file:line:column: message`, then the labels and the help.
    pub fn explain(&self) -> String {
        let mut text = match self.location() {
            Some((file, line, column)) => format!("{file}:{line}:{column}: {self}"),
            None => self.to_string(),
        };
        if let Some(help) = self.help_text() {
            text += &format!("\nhelp: {help}");
        }
        text
    }
}

/// The name of a file or directory beside a missing one that may be meant.
fn beside(missing: &Path) -> Option<String> {
    let found = missing.file_name()?.to_str()?;
    let parent = missing.parent().filter(|it| !it.as_os_str().is_empty());
    let entries = std::fs::read_dir(parent.unwrap_or(Path::new("."))).ok()?;
    let names = entries
        .flatten()
        .take(MOST_BESIDE)
        .filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort_unstable();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    // All the others would be of no help.
    nearest(found, &names).filter(|help| help.starts_with("did you mean"))
}

impl Diagnostic for Error {
    fn help<'a>(&'a self) -> Option<Box<dyn std::fmt::Display + 'a>> {
        self.help_text().map(|help| Box::new(help) as _)
    }
    fn source_code(&self) -> Option<&dyn SourceCode> {
        match self {
            Self::Source(error) if !error.labels.is_empty() => Some(&error.source_code),
            _ => None,
        }
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        match self {
            Self::Source(error) => Some(Box::new(error.labels.iter().cloned())),
            _ => None,
        }
    }
}

/// A mistake on its way to an [`Error`]: it does not know its file yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The mistake, in one line.
    pub message: String,
    /// Places in the text, with a label each; the first is where the mistake is.
    pub labels: Vec<(Range<usize>, String)>,
    /// The remedy.
    pub help: Option<String>,
    /// Name and text of the file, if it is not the scenario.
    pub file: Option<(String, Arc<str>)>,
    /// If a whole table is missing: the shortest text that could be there.
    pub absent: Option<&'static str>,
}

/// The result of a check, before the file is known.
pub type Checked<T> = Result<T, Box<Problem>>;

impl Problem {
    /// A mistake without a place.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            labels: Vec::new(),
            help: None,
            file: None,
            absent: None,
        }
    }
    /// Adds a place in the text, with a label.
    pub fn at(mut self, span: Range<usize>, label: impl Into<String>) -> Self {
        self.labels.push((span, label.into()));
        self
    }
    /// Adds advice.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
    /// The mistake is in this file, not in the scenario.
    pub fn of_file(mut self, name: String, text: String) -> Self {
        self.file = Some((name, text.into()));
        self
    }
    /// A table is not there, for which this is enough.
    pub fn absent(mut self, least: &'static str) -> Self {
        self.absent = Some(least);
        self
    }
    /// Adds advice, if there is any.
    pub fn help_if(mut self, help: Option<String>) -> Self {
        self.help = help;
        self
    }
    /// The mistake as the error of a check.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn err<T>(self) -> Checked<T> {
        Err(Box::new(self))
    }

    /// Names the scenario file. `name` is what the user called it.
    pub fn in_file(mut self, name: &str, source: &Arc<str>) -> Error {
        let (name, source) = self
            .file
            .take()
            .unwrap_or_else(|| (name.to_owned(), source.clone()));
        let span = |range: Range<usize>| {
            // A span over a whole table would drown its message: keep to its first line.
            let text = source.get(range.clone()).unwrap_or("");
            let first_line = text.lines().next().map_or(0, str::len);
            range.start.min(source.len())..range.start.min(source.len()) + first_line
        };
        let (marks, texts): (Vec<_>, Vec<_>) = self.labels.into_iter().unzip();
        let marks: Vec<_> = marks.into_iter().map(span).collect();
        let place = marks
            .first()
            .map(|mark| line_and_column(&source, mark.start));
        let excerpt = excerpt(&source, marks);
        let labels = excerpt.marks.into_iter().zip(texts);
        let labels = labels
            .map(|(mark, text)| LabeledSpan::new_with_span(Some(shorten_to(MESSAGE, &text)), mark))
            .collect();
        Error::Source(Box::new(SourceError {
            message: shorten_to(MESSAGE, &self.message),
            help: self.help.map(|help| shorten_to(2 * MESSAGE, &help)),
            labels,
            place,
            source_code: NamedSource::new(name, excerpt.text).with_language("toml"),
        }))
    }
}

/// Line and column, from 1, of the byte `at`.
fn line_and_column(source: &str, at: usize) -> (usize, usize) {
    let before = source.get(..at).unwrap_or(source);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = 1 + before.matches('\n').count();
    (line, 1 + before[line_start..].chars().count())
}

/// The message of the TOML reader about a number, a list or a table among names.
const NO_NAME: &str = "wanted string or table";

/// Turns an error of the TOML reader into ours. `more_keys` are valid where it happened, beyond
/// those that serde knows of.
pub fn from_toml(error: &toml::de::Error, more_keys: &[&str]) -> Box<Problem> {
    let span = error.span().unwrap_or(0..0);
    let message = error.message();
    if let Some((message, help)) = message.split_once(HELP_MARK) {
        return Box::new(Problem::new(message).at(span, "here").help(help));
    }
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if message.starts_with("unknown field") {
        let valid: Vec<&str> = quoted[1..].iter().chain(more_keys).copied().collect();
        return Box::new(
            Problem::new(format!("unknown key `{}`", quoted[0]))
                .at(span, "not a key of this table")
                .help_if(nearest(quoted[0], &valid)),
        );
    }
    if message.starts_with("unknown variant") {
        return Box::new(
            Problem::new(format!("unknown value \"{}\"", quoted[0]))
                .at(span, "not a value of this key")
                .help_if(nearest(quoted[0], &quoted[1..])),
        );
    }
    if let Some((found, expected)) = message
        .strip_prefix("invalid ")
        .and_then(|rest| rest.split_once(": ")?.1.split_once(", expected "))
    {
        let text = found.strip_prefix("string ");
        let found = match found {
            "sequence" => "a list",
            "map" => "a table",
            other => other,
        };
        let (expected, help) = match expected {
            "u8" | "u16" | "u32" | "u64" => (whole(found, expected), number_in(text)),
            "f32" | "f64" => ("a number".into(), number_in(text)),
            "a sequence" => ("a list".into(), text.map(in_list)),
            other => (other.into(), None),
        };
        return Box::new(
            Problem::new(format!("found {found}"))
                .at(span, format!("expected {expected}"))
                .help_if(help),
        );
    }
    if message == NO_NAME {
        return Box::new(
            Problem::new("found something else than a name")
                .at(span, "expected one of the names of this key, in quotes")
                .help("write it as `key = \"NAME\"`; `unpause list` shows the names"),
        );
    }
    if message.starts_with("missing field") {
        return Box::new(
            Problem::new(format!("key `{}` is missing", quoted[0]))
                .at(span, format!("this table needs `{}`", quoted[0])),
        );
    }
    Box::new(Problem::new(message.to_owned()).at(span, "here"))
}

/// The whole numbers that a kind has; up to which one, if a larger one was found.
fn whole(found: &str, kind: &str) -> Cow<'static, str> {
    let largest = match kind {
        "u8" => u64::from(u8::MAX),
        "u16" => u64::from(u16::MAX),
        "u32" => u64::from(u32::MAX),
        _ => i64::MAX as u64,
    };
    if found.starts_with("integer `") && !found.contains('-') {
        format!("a whole number from 0 to {largest}").into()
    } else {
        "a whole number, not negative".into()
    }
}

/// A text, or a number in quotes, as a list of one.
fn in_list(text: &str) -> String {
    let number = text.trim_matches('"');
    match number.parse::<i64>() {
        Ok(_) => format!("write it as [{number}]"),
        Err(_) => format!("write it as [{text}]"),
    }
}

/// The remedy for a number in quotes.
fn number_in(text: Option<&str>) -> Option<String> {
    let number = text?.trim_matches('"');
    let is_number = number.parse::<f64>().is_ok_and(f64::is_finite);
    is_number.then(|| format!("write {number} without quotes"))
}

/// Keys by the names that they had.
const RENAMED: [(&str, &str); 1] = [("framing", "preamble_and_gap")];

/// Keys by what they are called elsewhere.
const ALSO_CALLED: [(&str, &str); 9] = [
    ("cc", "congestion_control"),
    ("bandwidth", "rate"),
    ("latency", "delay"),
    ("mtu", "payload"),
    ("src", "from"),
    ("dst", "to"),
    ("switch_override", "override"),
    ("port_override", "override"),
    ("link_override", "override"),
];

/// "did you mean …?" if one of `valid` is near, else the list of them.
pub fn nearest(found: &str, valid: &[&str]) -> Option<String> {
    let renamed = RENAMED.iter().find(|(old, _)| *old == found);
    if let Some((_, new)) = renamed.filter(|(_, new)| valid.contains(new)) {
        return Some(format!("it is called `{new}` now"));
    }
    let lower = found.to_lowercase();
    let alias = ALSO_CALLED.iter().find(|(other, _)| *other == lower);
    if let Some((_, name)) = alias.filter(|(_, name)| valid.contains(name)) {
        return Some(format!("did you mean `{name}`?"));
    }
    let best = valid
        .iter()
        // A name much longer than all that is valid is near to none.
        .filter(|name| lower.len() <= 2 * name.len() + 8)
        .map(|name| {
            let valid = name.to_lowercase();
            let distance = strsim::damerau_levenshtein(&lower, &valid);
            (distance, lower.chars().next() != valid.chars().next(), name)
        })
        // Among names that are equally near, one that begins in the same way.
        .min_by_key(|(distance, begins_otherwise, _)| (*distance, *begins_otherwise));
    // With two of three letters changed, it is another word.
    let most = if lower.len() <= 3 {
        1
    } else {
        2.max(found.len() / 3)
    };
    match best {
        Some((distance, _, name)) if distance <= most && distance < name.len() => {
            Some(format!("did you mean `{name}`?"))
        }
        _ if valid.is_empty() => None,
        _ => {
            let mut names: Vec<_> = valid
                .iter()
                .take(20)
                .map(|name| format!("`{name}`"))
                .collect();
            if valid.len() > names.len() {
                names.push(format!("… ({} in total)", valid.len()));
            }
            Some(format!("valid here: {}", names.join(", ")))
        }
    }
}
