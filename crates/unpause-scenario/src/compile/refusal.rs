//! Refusals of the simulator, in the words and at the position of the scenario file.

use std::ops::Range;

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};
use unpause_sim::config::{Config, SwitchOverride};
use unpause_sim::{Invalid, Subject};

use crate::sections::sections;
use crate::text::document::{self, Table};
use unpause_import::fabric::names::Names;
use unpause_text::error::Problem;

/// Fields of a configuration that stand elsewhere in the file: how they begin, and where they are.
const PLACES: [(&str, &str); 19] = [
    ("events.links", "event"),
    ("events.errors", "event"),
    ("jobs", "job"),
    ("fabric.framing", "host.preamble_and_gap"),
    ("fabric.nvswitches", "topology"),
    ("host.tcp.tags.", "pias."),
    ("host.extra_delays", "host.extra_delay"),
    ("host.tcp.recovery.", "tcp."),
    ("host.tcp.", "tcp."),
    ("switch.overrides", "override"),
    ("switch.retry.buffer", "link.retry_buffer"),
    ("switch.retry.", "link."),
    ("switch.retry", "link.retry"),
    ("events", "event"),
    ("switch.cbfc.", "link."),
    ("switch.cbfc", "link.flow_control"),
    ("switch.pfc.", "pfc."),
    ("fabric.", "topology."),
    ("stop", "duration"),
];

/// The path of a field's key: `switch.buffer` of `switch.buffer_bytes`.
fn key_of(field: &str) -> String {
    let moved = PLACES.iter().find_map(|(begin, place)| {
        let rest = field.strip_prefix(begin)?;
        Some(format!("{place}{rest}"))
    });
    let key = moved.unwrap_or_else(|| field.to_owned());
    key.strip_suffix("_bytes").unwrap_or(&key).to_owned()
}

/// Where the key of a path is written, or the table that it would be in; none if not even that is.
fn place(root: &DeTable<'_>, path: &str) -> (Option<Range<usize>>, bool) {
    let mut found = None;
    let mut table = root;
    let mut steps = path.split('.').peekable();
    while let Some(step) = steps.next() {
        let Some((key, value)) = table.get_key_value(step) else {
            return (found, false);
        };
        match value.get_ref() {
            DeValue::Table(inner) if steps.peek().is_some() => {
                found = Some(key.span());
                table = inner;
            }
            // An array of tables has no place of its own.
            DeValue::Array(entries) => {
                let first = entries.iter().find(|entry| entry.get_ref().is_table());
                let span = first.map_or_else(|| value.span(), Spanned::span);
                return (Some(span), steps.peek().is_none());
            }
            _ => return (Some(value.span()), steps.peek().is_none()),
        }
    }
    (found, false)
}

/// Where the file has the key of a path, whose entries of arrays of tables are found by their names, or by their numbers: in `set` of
/// the scheme, or in its own table, else the nearest table that there is.
pub(crate) fn written_at(source: &str, path: &[String], scheme: &str) -> Option<usize> {
    let root = document::parse(source).ok()?;
    let named = |value: &Spanned<DeValue<'_>>, name: &str| {
        let table = value.get_ref().as_table()?;
        let own = table.get("name")?.get_ref().as_str()?;
        (own == name).then_some(())
    };
    let schemes = root.get_ref().get("scheme")?.get_ref().as_array()?;
    let scheme = schemes.iter().find(|it| named(it, scheme).is_some())?;
    if let Some(set) = scheme.get_ref().as_table()?.get("set") {
        let set = set.get_ref().as_table()?;
        let wanted = path.join(".");
        if let Some((key, _)) = set.iter().find(|(key, _)| *key.get_ref() == wanted) {
            return Some(key.span().start);
        }
    }
    let mut found = None;
    let mut steps = path.iter();
    let mut table = root.get_ref();
    while let Some(step) = steps.next() {
        let Some((key, value)) = table.get_key_value(step.as_str()) else {
            break;
        };
        found = Some(key.span().start);
        table = match value.get_ref() {
            DeValue::Table(inner) => inner,
            DeValue::Array(entries) => {
                let name = steps.next()?;
                let entry = match name.parse::<usize>() {
                    Ok(number) => entries.get(number)?,
                    Err(_) => entries.iter().find(|it| named(it, name).is_some())?,
                };
                found = Some(entry.span().start);
                entry.get_ref().as_table()?
            }
            _ => break,
        };
    }
    found
}

/// False if a path leads to no key, but only to a table and to what the table says as a whole.
fn is_key(path: &str) -> bool {
    let Some((table, key)) = path.rsplit_once('.') else {
        return true;
    };
    let found = sections().into_iter().find(|(it, _)| *it == table);
    found.is_none_or(|(_, keys)| keys.iter().any(|it| it.name == key))
}

/// The problem with a field that is written at another place than its name says: in an override, or in a table by
/// link rate. The message if it is another one, where, and what holds there.
fn elsewhere(
    invalid: &Invalid,
    config: &Config,
    root: &Table<'_>,
) -> Option<(Option<String>, Range<usize>, String)> {
    let root = root.get_ref();
    match (invalid.field, invalid.subject) {
        ("switch.buffer_bytes", Some(Subject::Switch(node))) => {
            let overrides = &config.switch.overrides;
            let sets =
                |it: &SwitchOverride| it.switches.contains(&node) && it.buffer_bytes.is_some();
            let index = overrides.iter().rposition(sets)?;
            let tables = root.get("override")?.get_ref().as_array()?;
            let table = tables.get(index)?.get_ref().as_table()?;
            let span = table.get("buffer")?.span();
            Some((None, span, invalid.label.to_string()))
        }
        ("scheme", None) => {
            let scheme = root.get("scheme")?.get_ref().as_table()?;
            let laws = scheme.values().filter_map(|it| it.get_ref().as_table());
            let mut keys = laws.flatten();
            let by_rate = |key: &str| ["kmin", "kmax", "pmax"].contains(&key);
            let (key, value) =
                keys.find(|(key, value)| by_rate(key.get_ref()) && value.get_ref().is_table())?;
            let message = format!("`{}` has {}", key.get_ref(), invalid.message);
            Some((Some(message), value.span(), invalid.label.to_string()))
        }
        _ => None,
    }
}

/// The problem with `config`, whose file is `root`.
pub(crate) fn problem(
    invalid: &Invalid,
    config: &Config,
    root: &Table<'_>,
    names: &Names,
) -> Box<Problem> {
    let message = match invalid.subject {
        None => invalid.message.clone(),
        Some(Subject::Host(node) | Subject::Switch(node)) => {
            format!("`{}` {}", names.name(node), invalid.message)
        }
        Some(Subject::Link(link)) => {
            let link = &config.fabric.links[link];
            let (a, b) = (names.name(link.a), names.name(link.b));
            format!("the link from `{a}` to `{b}` {}", invalid.message)
        }
    };
    let mut problem = Problem::new(message);
    if let Some((message, span, label)) = elsewhere(invalid, config, root) {
        problem = Problem::new(message.unwrap_or(problem.message)).at(span, label);
        return Box::new(problem.help_if(invalid.help.as_deref().map(str::to_owned)));
    }
    let mut unwritten = None;
    let fields = std::iter::once((invalid.field, &*invalid.label));
    let others = invalid
        .others
        .iter()
        .map(|(field, label)| (*field, label.as_str()));
    for (field, label) in fields.chain(others) {
        let path = key_of(field);
        match place(root.get_ref(), &path) {
            (Some(span), true) if label.is_empty() => problem = problem.at(span, "here"),
            (Some(span), true) => problem = problem.at(span, label),
            (span, _) => {
                unwritten.get_or_insert((span, path, label));
            }
        }
    }
    let has_place = !problem.labels.is_empty();
    if let Some((span, path, label)) = unwritten {
        let span = span.unwrap_or_else(|| Spanned::span(root));
        let default = match (is_key(&path), label.is_empty()) {
            (true, true) => format!("`{path}` has its default"),
            (true, false) => format!("`{path}` has its default: {label}"),
            (false, true) => "here".to_owned(),
            (false, false) => label.to_owned(),
        };
        problem = if has_place {
            problem.help(default)
        } else {
            problem.at(span, default)
        };
    }
    if let Some(help) = &invalid.help {
        let before = problem.help.take().map(|it| it + "; ");
        problem = problem.help(before.unwrap_or_default() + help);
    }
    Box::new(problem)
}
