//! A scenario and its base, merged into one text.

use std::ops::Range;

use crate::text::document::{self, Table, index_of, split_path};
use serde_spanned::Spanned;
use toml::de::{DeArray, DeTable, DeValue};
use unpause_text::error::{Checked, Problem, nearest};

/// Arrays of tables whose entries are merged by their `name`; all others are replaced as a whole.
const NAMED: [&str; 4] = ["scheme", "traffic", "job", "sweep"];

/// The text from byte `at` on: from `place` in the two files, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub at: usize,
    pub place: Range<usize>,
}

/// Where the base begins in the text of both files.
pub(crate) fn base_start(own: &str) -> usize {
    own.len() + 1
}

/// The merged text of `own`, which is the table `changes` but for the key `base`, and of its base.
pub(crate) fn merged(
    own: &str,
    mut changes: Table<'_>,
    base: (&str, &str),
) -> Checked<(String, Vec<Piece>)> {
    let (name, text) = base;
    let in_base = |problem: Problem| Box::new(problem.of_file(name.to_owned(), text.to_owned()));
    let root = document::parse(text).map_err(|problem| in_base(*problem))?;
    if let Some((key, _)) = root.get_ref().get_key_value("base") {
        return Err(in_base(
            Problem::new("a base that has a base")
                .at(key.span(), "expected a whole scenario")
                .help("name this file's base instead, and state all differences from that"),
        ));
    }
    // Parsed again behind the other text, so that the number of a byte says which file it is in.
    let start = base_start(own);
    let both = Both {
        text: &format!("{own}\n{text}"),
        base: start,
    };
    let moved = " ".repeat(start) + text;
    let mut root = document::parse(&moved)?;
    let without = changes.get_mut().remove("without");
    for path in without.map(paths).transpose()?.unwrap_or_default() {
        both.leave_out(root.get_mut(), &path)?;
    }
    let table = both.merge(root.into_inner(), changes.into_inner(), true);
    let mut whole = Whole {
        both,
        text: String::new(),
        pieces: Vec::new(),
    };
    whole.made("# A scenario and its base, merged.\n", 0..0);
    whole.table(&table, &mut Vec::new());
    Ok((whole.text, whole.pieces))
}

/// The paths that `without` lists.
fn paths(value: Spanned<DeValue<'_>>) -> Checked<Vec<Spanned<String>>> {
    const LIST: &str = "expected a list of keys, such as [\"probes\", \"traffic.F1.stop\"]";
    let span = value.span();
    let DeValue::Array(values) = value.into_inner() else {
        return Problem::new("`without` is not a list").at(span, LIST).err();
    };
    let path = |value: Spanned<DeValue<'_>>| match value.get_ref().as_str() {
        Some(path) => Ok(Spanned::new(value.span(), path.to_owned())),
        None => Problem::new("`without` lists something that is not a key")
            .at(value.span(), LIST)
            .err(),
    };
    values.into_iter().map(path).collect()
}

fn name_of<'v>(entry: &'v Spanned<DeValue<'_>>) -> Option<&'v str> {
    let table = entry.get_ref().as_table()?;
    table.get("name")?.get_ref().as_str()
}

/// The scenario's own file, a line break, and its base.
#[derive(Clone, Copy)]
struct Both<'t> {
    text: &'t str,
    /// Where the base begins.
    base: usize,
}

impl Both<'_> {
    /// Takes the key, table or entry at `path` out of the base.
    fn leave_out(self, root: &mut DeTable<'_>, path: &Spanned<String>) -> Checked<()> {
        let written = path.get_ref();
        let problem = || Problem::new(format!("the base has no `{written}`"));
        let missing = |step: &str, names: &[&str]| {
            problem()
                .at(path.span(), format!("there is no `{step}`"))
                .help_if(nearest(step, names))
                .err()
        };
        let Some(steps) = split_path(written) else {
            return problem()
                .at(path.span(), "this is not the path of a key")
                .help("write it as `traffic.F1.rate_limit`")
                .err();
        };
        let mut table = root;
        let mut steps = steps.iter().map(String::as_str).peekable();
        while let Some(step) = steps.next() {
            let keys = table.keys().map(|key| key.get_ref().to_string());
            let keys: Vec<String> = keys.collect();
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            let Some(name) = steps.peek().copied() else {
                return match table.remove(step) {
                    Some(_) => Ok(()),
                    None => missing(step, &keys),
                };
            };
            let Some(value) = table.get_mut(step) else {
                return missing(step, &keys);
            };
            self.take_apart(value);
            table = match value.get_mut() {
                DeValue::Table(inner) => inner,
                DeValue::Array(entries) => {
                    steps.next();
                    let is_table = |at: &usize| entries[*at].get_ref().is_table();
                    let Some(at) = index_of(entries, name).filter(is_table) else {
                        let names: Vec<&str> = entries.iter().filter_map(name_of).collect();
                        return missing(name, &names);
                    };
                    if steps.peek().is_none() {
                        let others = std::mem::replace(entries, DeArray::new());
                        let others = others.into_iter().enumerate();
                        *entries = others.filter(|it| it.0 != at).map(|it| it.1).collect();
                        return Ok(());
                    }
                    let entry = entries.get_mut(at).expect("it was found");
                    self.take_apart(entry);
                    match entry.get_mut() {
                        DeValue::Table(inner) => inner,
                        _ => return missing(name, &[]),
                    }
                }
                _ => return missing(name, &[]),
            };
        }
        Ok(())
    }

    /// The table `base` with `changes`. `is_file` for that of the file, whose arrays may have entries with names.
    fn merge<'i>(self, base: DeTable<'i>, mut changes: DeTable<'i>, is_file: bool) -> DeTable<'i> {
        let mut all = DeTable::new();
        for (key, old) in base {
            let Some((new_key, new)) = changes.remove_entry(key.get_ref().as_ref()) else {
                all.insert(key, old);
                continue;
            };
            let is_named = is_file && NAMED.contains(&key.get_ref().as_ref());
            all.insert(new_key, self.merge_value(old, new, is_named));
        }
        all.extend(changes);
        all
    }

    fn merge_value<'i>(
        self,
        old: Spanned<DeValue<'i>>,
        new: Spanned<DeValue<'i>>,
        is_named: bool,
    ) -> Spanned<DeValue<'i>> {
        let span = new.span();
        let all = match (old.into_inner(), new.into_inner()) {
            (DeValue::Table(old), DeValue::Table(new)) => {
                DeValue::Table(self.merge(old, new, false))
            }
            (DeValue::Array(old), DeValue::Array(new)) if is_named => {
                let mut all: Vec<_> = old.into_iter().map(|entry| (entry, false)).collect();
                for entry in new {
                    let name = name_of(&entry).map(str::to_owned);
                    let same = all.iter_mut().find(|(old, changed)| {
                        // A name that comes twice is refused by who reads the whole.
                        !changed && name.is_some() && name_of(old) == name.as_deref()
                    });
                    let Some(same) = same else {
                        all.push((entry, true));
                        continue;
                    };
                    let none = Spanned::new(0..0, DeValue::Boolean(false));
                    let old = std::mem::replace(&mut same.0, none);
                    *same = (self.merge_value(old, entry, false), true);
                }
                DeValue::Array(all.into_iter().map(|(entry, _)| entry).collect())
            }
            (_, new) => return Spanned::new(span, new),
        };
        let mut value = Spanned::new(span, all);
        self.take_apart(&mut value);
        value
    }

    /// Marks a value that is no longer what the file has at its place, so that it is written key by key.
    fn take_apart(self, value: &mut Spanned<DeValue<'_>>) {
        if self.is_inline(value) {
            let start = value.span().start;
            let inner = std::mem::replace(value.get_mut(), DeValue::Boolean(false));
            *value = Spanned::new(start..start, inner);
        }
    }

    /// True for a table or an array in brackets after its key.
    fn is_inline(self, value: &Spanned<DeValue<'_>>) -> bool {
        let text = self.text.get(value.span()).unwrap_or_default();
        text.starts_with('{') || text.starts_with('[') && !self.begins_line(value.span().start)
    }

    /// True for a table, and for an array of tables, that is written with headers.
    fn has_headers(self, value: &Spanned<DeValue<'_>>) -> bool {
        let is_kind = match value.get_ref() {
            DeValue::Table(_) => true,
            DeValue::Array(entries) => entries.iter().all(|entry| entry.get_ref().is_table()),
            _ => false,
        };
        is_kind && !self.is_inline(value)
    }

    /// Where the line of a byte begins.
    fn line_start(self, at: usize) -> usize {
        let file = if at >= self.base { self.base } else { 0 };
        let before = self.text[file..at].rfind('\n');
        before.map_or(file, |end| file + end + 1)
    }

    fn begins_line(self, at: usize) -> bool {
        self.text[self.line_start(at)..at].trim().is_empty()
    }

    /// From the lines of comments above `first` to the comment behind `last`.
    fn with_comments(self, first: &Range<usize>, last: &Range<usize>) -> Range<usize> {
        let mut start = self.line_start(first.start);
        while start > 0 && start != self.base {
            let above = self.line_start(start - 1);
            if !self.text[above..start].trim_start().starts_with('#') {
                break;
            }
            start = above;
        }
        let rest = self.text[last.end..].lines().next().unwrap_or_default();
        if rest.trim_start().starts_with('#') {
            start..last.end + rest.trim_end().len()
        } else {
            start..last.end
        }
    }
}

/// The merged text as it is written.
struct Whole<'t> {
    both: Both<'t>,
    text: String,
    pieces: Vec<Piece>,
}

impl Whole<'_> {
    /// Writes `text`, which stands for `place`.
    fn made(&mut self, text: &str, place: Range<usize>) {
        let at = self.text.len();
        self.pieces.push(Piece { at, place });
        self.text += text;
    }

    fn copy(&mut self, place: Range<usize>) {
        let text = &self.both.text[place.clone()];
        self.made(text, place);
    }

    /// Writes the table at `path`: its values, then the tables in it.
    fn table(&mut self, table: &DeTable<'_>, path: &mut Vec<String>) {
        let both = self.both;
        let has_headers = |it: &(_, &Spanned<DeValue<'_>>)| both.has_headers(it.1);
        let (tables, values): (Vec<_>, Vec<_>) = table.iter().partition(has_headers);
        for (key, value) in values {
            self.statement(key.span(), value.span());
        }
        for (key, value) in tables {
            path.push(quoted(key.get_ref()));
            let joined = path.join(".");
            match value.get_ref() {
                DeValue::Table(inner) => {
                    if inner.is_empty() || !inner.values().all(|it| both.has_headers(it)) {
                        self.header(&format!("[{joined}]"), key.span(), value.span());
                    }
                    self.table(inner, path);
                }
                DeValue::Array(entries) => {
                    for entry in entries {
                        self.header(&format!("[[{joined}]]"), key.span(), entry.span());
                        if let DeValue::Table(inner) = entry.get_ref() {
                            self.table(inner, path);
                        }
                    }
                }
                _ => {}
            }
            path.pop();
        }
    }

    /// Writes a header: that of the file, if it has one.
    fn header(&mut self, header: &str, key: Range<usize>, table: Range<usize>) {
        self.text += "\n";
        if self.both.text[table.clone()].starts_with('[') {
            self.copy(self.both.with_comments(&table, &table))
        } else {
            self.made(header, key)
        }
        self.text += "\n";
    }

    /// Writes a key and its value, with the comments at them.
    fn statement(&mut self, key: Range<usize>, value: Range<usize>) {
        if self.both.begins_line(key.start) {
            self.copy(self.both.with_comments(&key, &value));
        } else {
            self.copy(key);
            self.text += " = ";
            self.copy(value);
        }
        self.text += "\n";
    }
}

/// A key as it is written in a header.
fn quoted(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if !key.is_empty() && key.chars().all(is_bare) {
        return key.to_owned();
    }
    let escaped = key.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}
