//! The parsed TOML document, with the place of every key and value.
//!
//! Some tables have a key that says what the rest of them means (`kind`, `builder`, …). They are
//! taken apart here, before serde sees them, so that every message can name its line.

use std::borrow::Cow;
use std::ops::Range;
use unpause_text::error::{Checked, Problem, from_toml, nearest};

use serde::Deserialize;
use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

/// A table and where it is.
pub(crate) type Table<'i> = Spanned<DeTable<'i>>;

/// The TOML reader's message about `from = H0`.
const UNQUOTED: &str = "string values must be quoted";

/// Parses a whole file.
pub(crate) fn parse(source: &str) -> Checked<Table<'_>> {
    DeTable::parse(source).map_err(|error| {
        let problem = from_toml(&error, &[]);
        if let Some(mixed) = mixed_brackets(source, &error) {
            return mixed;
        }
        let text = error.span().and_then(|span| source.get(span));
        match text.filter(|_| error.message().starts_with(UNQUOTED)) {
            Some(text) => Box::new(
                Problem::new("text must be in quotes")
                    .at(error.span().unwrap_or_default(), "here")
                    .help(format!("write it as \"{text}\"")),
            ),
            None => problem,
        }
    })
}

/// The mistake of `[traffic]` in a file that has `[[traffic]]` as well, where the reader says "duplicate key".
fn mixed_brackets(source: &str, error: &toml::de::Error) -> Option<Box<Problem>> {
    let span = error
        .span()
        .filter(|_| error.message() == "duplicate key")?;
    let key = source.get(span.clone())?;
    let before = source.get(..span.start)?;
    let single = format!("[{key}]");
    let at = if before.ends_with("[[") {
        let mut start = 0;
        before.split_inclusive('\n').find_map(|line| {
            let at = start + line.len() - line.trim_start().len();
            start += line.len();
            line.trim_start().starts_with(&single).then_some(at)
        })?
    } else {
        before
            .lines()
            .any(|line| line.trim_start().starts_with(&format!("[{single}]")))
            .then(|| before.len().checked_sub(1))??
    };
    Some(Box::new(several(key, at..at + single.len())))
}

/// `[key]` where there may be several.
fn several(key: &str, span: Range<usize>) -> Problem {
    Problem::new(format!("there may be several `{key}`"))
        .at(span, "single brackets are for tables that occur once")
        .help(format!("write it as `[[{key}]]`"))
}

/// Reads a table as `T`. `more_keys` are keys that were taken out of it before.
pub(crate) fn read<'i, T: Deserialize<'i>>(table: Table<'i>, more_keys: &[&str]) -> Checked<T> {
    let span = table.span();
    let own: Vec<Range<usize>> = table.get_ref().keys().map(Spanned::span).collect();
    let value = Spanned::new(span, DeValue::Table(table.into_inner()));
    T::deserialize(ValueDeserializer::from(value)).map_err(|error| {
        // A table inside of this one has none of them.
        let is_own = error.span().is_some_and(|span| own.contains(&span));
        from_toml(&error, if is_own { more_keys } else { &[] })
    })
}

/// Takes a key's table out of `table`.
pub(crate) fn take_table<'i>(table: &mut Table<'i>, key: &str) -> Checked<Option<Table<'i>>> {
    match table.get_mut().remove(key) {
        None => Ok(None),
        Some(value) => as_table(value, key).map(Some),
    }
}

/// Takes a key's array of tables (`[[key]]`) out of `table`.
pub(crate) fn take_tables<'i>(table: &mut Table<'i>, key: &str) -> Checked<Vec<Table<'i>>> {
    let Some(value) = table.get_mut().remove(key) else {
        return Ok(Vec::new());
    };
    let span = value.span();
    match value.into_inner() {
        DeValue::Array(array) => array
            .into_iter()
            .map(|value| as_table(value, key))
            .collect(),
        DeValue::Table(_) => several(key, span).err(),
        other => Problem::new(format!("`{key}` is {}", describe(&other)))
            .at(span, format!("expected tables under `[[{key}]]`"))
            .err(),
    }
}

/// Takes a string out of `table`.
pub(crate) fn take_string(table: &mut Table<'_>, key: &str) -> Checked<Option<Spanned<String>>> {
    let Some(value) = table.get_mut().remove(key) else {
        return Ok(None);
    };
    let span = value.span();
    match value.into_inner() {
        DeValue::String(text) => Ok(Some(Spanned::new(span, text.into_owned()))),
        other => Problem::new(format!("`{key}` is {}", describe(&other)))
            .at(span, "expected a string")
            .err(),
    }
}

/// Splits off the entries of `table` whose keys are in `keys`.
pub(crate) fn split_off<'i>(table: &mut Table<'i>, keys: &[&str]) -> Table<'i> {
    let span = table.span();
    let mut taken = DeTable::new();
    for key in keys {
        if let Some((key, value)) = table.get_mut().remove_entry(*key) {
            taken.insert(key, value);
        }
    }
    Spanned::new(span, taken)
}

fn as_table<'i>(value: Spanned<DeValue<'i>>, key: &str) -> Checked<Table<'i>> {
    let span = value.span();
    match value.into_inner() {
        DeValue::Table(table) => Ok(Spanned::new(span, table)),
        DeValue::Array(_) => Problem::new(format!("there is one `{key}` only"))
            .at(span, "double brackets are for tables that may be repeated")
            .help(format!("write it as `[{key}]`"))
            .err(),
        other => Problem::new(format!("`{key}` is {}", describe(&other)))
            .at(span, "expected a table")
            .err(),
    }
}

fn describe(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

/// Sets `path` (such as `traffic.F1.rate_limit`) to `value`, replacing what is there.
///
/// Entries of an array of tables are addressed by their `name`, or by their index from 0. `at` is
/// where the path is written.
pub(crate) fn set<'i>(
    root: &mut Table<'i>,
    path: &str,
    at: Range<usize>,
    value: Spanned<DeValue<'i>>,
) -> Checked<()> {
    let Some(steps) = split_path(path) else {
        return Problem::new(format!("`{path}` is not the path of a key"))
            .at(at, "here")
            .help("write it as `traffic.F1.rate_limit`")
            .err();
    };
    let (last, steps) = steps.split_last().expect("a path has at least one step");
    let mut table = root.get_mut();
    let mut steps = steps.iter();
    while let Some(step) = steps.next() {
        let entry = table
            .entry(Spanned::new(at.clone(), Cow::Owned(step.clone())))
            .or_insert_with(|| Spanned::new(at.clone(), DeValue::Table(DeTable::new())));
        table = match entry.get_mut() {
            DeValue::Table(table) => table,
            DeValue::Array(array) => {
                let Some(name) = steps.next() else {
                    return Problem::new(format!("`{path}` does not say which `{step}`"))
                        .at(at, "a name is missing")
                        .help(format!("write `{step}.NAME.{last}`"))
                        .err();
                };
                let Some(index) = index_of(array, name) else {
                    let names: Vec<String> = array.iter().map(name_of).collect();
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    return Problem::new(format!("there is no `{step}` with the name `{name}`"))
                        .at(at, "in this path")
                        .help_if(in_quotes(path, step, &names).or_else(|| nearest(name, &names)))
                        .err();
                };
                match array.get_mut(index).map(Spanned::get_mut) {
                    Some(DeValue::Table(table)) => table,
                    _ => return not_a_table(path, name, at),
                }
            }
            _ => return not_a_table(path, step, at),
        };
    }
    // A fresh key, so that a message about it points at the path, not at what it replaces.
    table.remove(last.as_str());
    table.insert(Spanned::new(at, Cow::Owned(last.clone())), value);
    Ok(())
}

/// How a path is written that leads into one of `names` with a dot in it.
fn in_quotes(path: &str, step: &str, names: &[&str]) -> Option<String> {
    let rest = path.strip_prefix(step)?.strip_prefix('.')?;
    let mut dotted = names.iter().filter(|name| name.contains('.'));
    let name = dotted.find(|name| rest.starts_with(**name))?;
    let rest = &rest[name.len()..];
    Some(format!(
        "a name with dots needs quotes: '{step}.\"{name}\"{rest}'"
    ))
}

fn not_a_table(path: &str, step: &str, at: Range<usize>) -> Checked<()> {
    Problem::new(format!("`{path}` leads nowhere: `{step}` is not a table"))
        .at(at, "here")
        .err()
}

/// The entry of an array of tables with this name, or with this index from 0.
pub(crate) fn index_of(array: &[Spanned<DeValue<'_>>], name: &str) -> Option<usize> {
    let by_name = array.iter().position(|entry| name_of(entry) == name);
    by_name.or_else(|| name.parse().ok().filter(|index| *index < array.len()))
}

fn name_of(entry: &Spanned<DeValue<'_>>) -> String {
    let name = entry
        .get_ref()
        .as_table()
        .and_then(|table| table.get("name"));
    name.and_then(|name| name.get_ref().as_str())
        .unwrap_or_default()
        .to_owned()
}

/// The keys of a path such as `traffic.F1.rate_limit`, split at dots outside of double quotes; nothing if
/// it is not the path of a key.
pub fn split_path(path: &str) -> Option<Vec<String>> {
    let mut steps = vec![String::new()];
    let mut quoted = false;
    for c in path.chars() {
        match c {
            '"' => quoted = !quoted,
            '.' if !quoted => steps.push(String::new()),
            c => steps.last_mut()?.push(c),
        }
    }
    (!quoted && steps.iter().all(|step| !step.is_empty())).then_some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Spanned<DeValue<'_>> {
        Spanned::new(0..0, DeValue::String(text.into()))
    }

    #[test]
    fn sets_keys_by_name_by_index_and_in_new_tables() {
        let mut root =
            parse("[[traffic]]\nname = 'F0'\n[[traffic]]\nname = 'F.1'\nrate = 1").unwrap();
        set(&mut root, "traffic.F0.rate", 0..0, value("a")).unwrap();
        set(&mut root, "traffic.\"F.1\".rate", 0..0, value("b")).unwrap();
        set(&mut root, "traffic.1.size", 0..0, value("c")).unwrap();
        set(&mut root, "pfc.xoff", 0..0, value("d")).unwrap();
        let traffic = root.get_ref()["traffic"].get_ref().as_array().unwrap();
        let get = |index: usize, key: &str| traffic[index].get_ref()[key].get_ref().as_str();
        assert_eq!(get(0, "rate"), Some("a"));
        assert_eq!(get(1, "rate"), Some("b"));
        assert_eq!(get(1, "size"), Some("c"));
        assert_eq!(
            root.get_ref()["pfc"].get_ref()["xoff"].get_ref().as_str(),
            Some("d")
        );
    }

    #[test]
    fn single_and_double_brackets_of_a_key_are_told_apart() {
        for (source, at) in [
            ("title = 'x'\n [traffic]\nx = 1\n[[traffic]]\nx = 2\n", 13),
            ("[[traffic]]\nx = 1\n[traffic]\nx = 2\n", 18),
        ] {
            let problem = parse(source).unwrap_err();
            assert_eq!(
                problem.message, "there may be several `traffic`",
                "{source}"
            );
            assert_eq!(problem.labels[0].0, at..at + 9, "{source}");
        }
        let problem = parse("seed = 1\nseed = 2\n").unwrap_err();
        assert_eq!(problem.message, "duplicate key");
    }

    #[test]
    fn refuses_paths_that_lead_nowhere() {
        let mut root = parse("title = 'x'\n[[traffic]]\nname = 'F0'").unwrap();
        for (path, message) in [
            (
                "traffic.F1.rate",
                "there is no `traffic` with the name `F1`",
            ),
            ("traffic", ""),
            ("title.x", "`title.x` leads nowhere: `title` is not a table"),
            ("traffic..x", "`traffic..x` is not the path of a key"),
            ("traffic.\"x", "`traffic.\"x` is not the path of a key"),
        ] {
            match set(&mut root, path, 0..1, value("v")) {
                Err(problem) => assert_eq!(problem.message, message),
                Ok(()) => assert_eq!(message, "", "{path}"),
            }
        }
    }
}
