//! The whole text of a scenario. One with a `base` states only how it differs from that file.
//!
//! The two are merged into one text, which every reader of the scenario gets. Each piece of it knows which of the files
//! it comes from, so that a message names the right file and line.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_spanned::Spanned;

use crate::text::document::{self, take_string};
use unpause_text::error::{Checked, Error, Problem};
use unpause_text::limits;

use crate::compile::merge::{Piece, base_start, merged};

/// The text of a scenario, merged with that of its base.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub whole: Arc<str>,
    name: String,
    /// Nothing if there is no base.
    parts: Option<Box<Parts>>,
}

/// Where a merged text comes from.
#[derive(Clone, Debug)]
struct Parts {
    own: Arc<str>,
    base_name: String,
    base: Arc<str>,
    pieces: Vec<Piece>,
}

impl Text {
    /// The text of the file `origin`, of which `source` is read already; its base is read here.
    pub fn of(source: &str, origin: &Path) -> Result<Self, Error> {
        let name = origin.display().to_string();
        let own: Arc<str> = source.into();
        let in_own = |problem: Box<Problem>| problem.in_file(&name, &own);
        let alone = |whole: Arc<str>| Self {
            whole,
            name: name.clone(),
            parts: None,
        };
        let mut root = match document::parse(&own) {
            Ok(root) => root,
            // The rest cannot be judged without the base.
            Err(problem) if own.lines().any(is_base) => return Err(in_own(problem)),
            Err(_) => return Ok(alone(own)),
        };
        let base = take_string(&mut root, "base").map_err(in_own)?;
        let Some(base) = base else {
            return match root.get_ref().get_key_value("without") {
                Some((key, _)) => Err(in_own(Box::new(
                    Problem::new("`without` has no effect")
                        .at(key.span(), "this file has no `base`")
                        .help("remove it, or write base = \"FILE\""),
                ))),
                None => Ok(alone(own)),
            };
        };
        let path = beside(origin, &base).map_err(in_own)?;
        let text = read(&path).map_err(|error| match error {
            Error::Io { reason, .. } => in_own(Box::new(
                Problem::new(format!("cannot read the base {}: {reason}", path.display()))
                    .at(base.span(), "this file")
                    .help("it is looked for in the folder of this file; of a text, in the working directory"),
            )),
            other => other,
        })?;
        let text = text.trim_start_matches('\u{feff}');
        let base_name = path.display().to_string();
        let (whole, pieces) = merged(&own, root, (&base_name, text)).map_err(in_own)?;
        Ok(Self {
            whole: whole.into(),
            name: name.clone(),
            parts: Some(Box::new(Parts {
                own,
                base_name,
                base: text.into(),
                pieces,
            })),
        })
    }

    /// A mistake in the whole, at its place in the file that has it.
    pub fn error(&self, mut problem: Problem) -> Error {
        let Some(parts) = self.parts.as_ref().filter(|_| problem.file.is_none()) else {
            return problem.in_file(&self.name, &self.whole);
        };
        let mut labels = std::mem::take(&mut problem.labels).into_iter();
        let first = labels.next();
        let first = first.map(|(span, label)| (parts.place(span), label));
        let in_base = first.as_ref().is_some_and(|((in_base, _), _)| *in_base);
        problem.labels = first
            .into_iter()
            .map(|((_, span), it)| (span, it))
            .collect();
        let mut help: Vec<String> = problem.help.take().into_iter().collect();
        for (span, label) in labels {
            let (other, span) = parts.place(span);
            if other == in_base {
                problem.labels.push((span, label));
                continue;
            }
            let (name, text) = self.file(parts, other);
            help.push(format!("{label}: {name}:{}", line(text, span.start)));
        }
        if in_base {
            help.push(format!(
                "this is the base of {}, which may leave out a key of it: without = [\"KEY\"]",
                self.name
            ));
        }
        if !help.is_empty() {
            problem.help = Some(help.join("; ").replace("?; ", "? "));
        }
        let (name, text) = self.file(parts, in_base);
        problem.in_file(name, text)
    }

    /// `FILE:LINE` of byte `at` of the whole.
    pub fn place(&self, at: usize) -> String {
        let (name, text, at) = match &self.parts {
            None => (&self.name[..], &self.whole, at),
            Some(parts) => {
                let (in_base, span) = parts.place(at..at);
                let (name, text) = self.file(parts, in_base);
                (name, text, span.start)
            }
        };
        format!("{name}:{}", line(text, at))
    }

    fn file<'t>(&'t self, parts: &'t Parts, base: bool) -> (&'t str, &'t Arc<str>) {
        if base {
            (&parts.base_name, &parts.base)
        } else {
            (&self.name, &parts.own)
        }
    }
}

impl Parts {
    /// Where `span` of the merged text is: whether in the base, and there.
    fn place(&self, span: Range<usize>) -> (bool, Range<usize>) {
        let next = self.pieces.partition_point(|piece| piece.at <= span.start);
        let Some(piece) = next.checked_sub(1).and_then(|last| self.pieces.get(last)) else {
            return (false, 0..0);
        };
        let start = (piece.place.start + span.start - piece.at).min(piece.place.end);
        let end = (start + span.len()).min(piece.place.end);
        let base = base_start(&self.own);
        if piece.place.start >= base {
            (true, start - base..end - base)
        } else {
            (false, start..end)
        }
    }
}

fn line(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or(text).matches('\n').count() + 1
}

/// True for the line that names the base.
fn is_base(line: &str) -> bool {
    let rest = line.trim_start().strip_prefix("base");
    rest.is_some_and(|rest| rest.trim_start().starts_with('='))
}

/// The path of a base: a file beside `origin`.
fn beside(origin: &Path, base: &Spanned<String>) -> Checked<PathBuf> {
    let name = base.get_ref();
    if name.is_empty() || name.contains(['/', '\\']) {
        return Problem::new("a base that is not beside this file")
            .at(base.span(), "expected the name of a file in the same folder")
            .help("files that a scenario names are looked for in its folder, so its base is there, too")
            .err();
    }
    if origin.file_name().is_some_and(|own| own == name.as_str()) {
        return Problem::new("a scenario is not its own base")
            .at(base.span(), "this is this file")
            .err();
    }
    Ok(origin.with_file_name(name))
}

/// The text of a file.
pub(super) fn read(path: &Path) -> Result<String, Error> {
    let read = limits::read_at_most(path, limits::SCENARIO_BYTES);
    let bytes = read.map_err(|error| Error::io("read", path, error))?;
    let shown: Arc<str> = String::from_utf8_lossy(&bytes).replace('\0', "␀").into();
    limits::utf8(bytes, 0).map_err(|not| {
        let at = not.at.min(shown.len());
        let problem = Problem::new(format!("found {}", not.found))
            .at(at..at, format!("expected {}", limits::EXPECTED_TEXT))
            .help("save the file in UTF-8");
        problem.in_file(&path.display().to_string(), &shown)
    })
}

#[cfg(test)]
mod tests;
