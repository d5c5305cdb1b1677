//! Every key has an effect or is refused.
//!
//! A key of the scenario gets another value, or a scenario gets a key of another one; then the reader
//! either refuses it, or what it compiles to differs.

use std::path::Path;

use toml::{Table, Value};
use unpause_scenario::Run;

use crate::case::Case;
use crate::dice::Dice;
use crate::generate::generate;

/// Changes some keys of `case`, which compiles to `runs`, or `all` of them; answers how many.
///
/// # Errors
///
/// The key that changes nothing.
pub fn have_effect(case: &Case, runs: &[Run], directory: &Path, all: bool) -> Result<u64, String> {
    let dice = &mut Dice::new(case.seed ^ 0x6b65_7973);
    let mut changed = 0;
    let before = fingerprint(runs);
    let paths: Vec<Vec<String>> = leaves(&case.document, &[])
        .into_iter()
        .filter(|path| !is_without_effect(case, path))
        .collect();
    for path in dice.some(&paths, if all { paths.len() } else { 3 }) {
        changed += 1;
        let values = other_values(get(&case.document, &path));
        let differs = values.is_empty()
            || values.into_iter().any(|value| {
                let mut other = case.clone();
                *get_mut(&mut other.document, &path) = value;
                changes(&other, &before, directory)
            });
        if !differs {
            return Err(format!("`{}` has no effect", path.join(".")));
        }
    }
    changed += transplant(case, &before, directory, all)?;
    Ok(changed)
}

/// Puts a key or a table of another scenario where this one has none.
fn transplant(case: &Case, before: &str, directory: &Path, all: bool) -> Result<u64, String> {
    let dice = &mut Dice::new(case.seed ^ 0x646f_6e6f_7200);
    let donor = generate(case.seed.wrapping_add(dice.between(1, 1000)));
    let sections = ["host", "tcp", "switch", "pfc", "pias", "probes"];
    let mut found = Vec::new();
    for section in sections {
        let own = case.document.get(section).and_then(Value::as_table);
        let theirs = donor.document.get(section).and_then(Value::as_table);
        for (key, value) in theirs.into_iter().flatten() {
            if own.is_none_or(|own| !own.contains_key(key)) {
                found.push((section, key.clone(), value.clone()));
            }
        }
    }
    let chosen = dice.some(&found, if all { found.len() } else { 2 });
    let changed = chosen.len() as u64;
    for (section, key, value) in chosen {
        let mut other = case.clone();
        other.files.extend(
            donor
                .files
                .clone()
                .into_iter()
                .filter(|(name, _)| !case.files.contains_key(name)),
        );
        let says_default = is_default(section, &key, &value);
        crate::case::table(&mut other.document, section).insert(key.clone(), value.clone());
        if !says_default && !changes(&other, before, directory) {
            return Err(format!(
                "`{section}.{key}` = {value} can be added, and has no effect"
            ));
        }
    }
    Ok(changed)
}

/// True if the reader refuses it, or it compiles to something else.
fn changes(case: &Case, before: &str, directory: &Path) -> bool {
    match case.compile(directory) {
        Ok(scenario) => fingerprint(scenario.runs()) != before,
        Err(_) => true,
    }
}

fn fingerprint(runs: &[Run]) -> String {
    let one = |run: &Run| {
        let names = (&run.names.nodes, &run.names.traffic);
        format!(
            "{:?} {:?} {:?} {names:?}",
            run.scheme, run.values, run.config
        )
    };
    runs.iter().map(one).collect()
}

/// Paths of all values that are neither tables nor arrays of tables.
fn leaves(table: &Table, before: &[String]) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for (key, value) in table {
        let mut path = before.to_vec();
        path.push(key.clone());
        match value {
            Value::Table(inner) => all.extend(leaves(inner, &path)),
            Value::Array(entries) if entries.iter().all(Value::is_table) => {
                for (index, entry) in entries.iter().enumerate() {
                    path.push(index.to_string());
                    if let Value::Table(inner) = entry {
                        all.extend(leaves(inner, &path));
                    }
                    path.pop();
                }
            }
            _ => all.push(path),
        }
    }
    all
}

fn get<'a>(table: &'a Table, path: &[String]) -> &'a Value {
    let (first, rest) = path.split_first().expect("a path has a step");
    rest.iter().fold(&table[first], |value, step| match value {
        Value::Array(entries) => &entries[step.parse::<usize>().expect("an index")],
        other => &other[step.as_str()],
    })
}

fn get_mut<'a>(table: &'a mut Table, path: &[String]) -> &'a mut Value {
    let (first, rest) = path.split_first().expect("a path has a step");
    rest.iter()
        .fold(&mut table[first], |value, step| match value {
            Value::Array(entries) => &mut entries[step.parse::<usize>().expect("an index")],
            other => &mut other[step.as_str()],
        })
}

/// Other values of the same kind; none for texts that are no quantities.
fn other_values(value: &Value) -> Vec<Value> {
    match value {
        Value::Boolean(value) => vec![(!value).into()],
        Value::Integer(value) => vec![(value + 1).into(), (value / 2).into(), (value * 7).into()],
        Value::String(text) => {
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
            let (number, unit) = text.split_at(end);
            match number.parse::<u64>() {
                Ok(number) if !unit.starts_with("..") => [number * 2 + 1, number / 2, number * 50]
                    .map(|other| format!("{other}{unit}").into())
                    .into(),
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

/// Keys that are documented to have none, and those that a scheme or a sweep replaces.
fn is_without_effect(case: &Case, path: &[String]) -> bool {
    let written = path.join(".");
    let replaced = |key: &str| {
        let key = match key.strip_prefix("traffic.T") {
            Some(rest) => format!("traffic.{rest}"),
            None => key.to_owned(),
        };
        key == written
    };
    let entries = |key: &str| case.document.get(key).and_then(Value::as_array);
    let swept = entries("sweep").into_iter().flatten();
    let mut swept = swept.filter_map(|sweep| sweep["key"].as_str());
    let schemes = entries("scheme").into_iter().flatten();
    let mut set = schemes.filter_map(|scheme| scheme.get("set")?.as_table());
    if swept.any(replaced) || set.any(|set| set.keys().any(|key| replaced(key))) {
        return true;
    }
    // The steps of a sweep need not reach its end.
    if path[0] == "sweep" || path[0] == "title" || path[0] == "source" {
        return true;
    }
    let last = path.last().map_or("", String::as_str);
    let switch = case.document.get("switch");
    let pipeline = switch.and_then(|switch| switch.get("pipeline"));
    let control = pipeline.and_then(|p| p.get("flow_control")?.as_str());
    match last {
        // Of CaPFC, so that schemes can share the table.
        "egress_xon" | "egress_xoff" | "egress_warn" | "cut" => {
            let capfc = control.is_some_and(|name| name.starts_with("capfc"));
            !capfc || (last == "cut" && control != Some("capfc-calibrate"))
        }
        // An entry that no scheme takes part in; scaled to what is there.
        "load_scale" => true,
        _ => path[0] == "tcp",
    }
}

/// What is written is the default, and so changes nothing.
fn is_default(section: &str, key: &str, value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    match (section, key) {
        ("host", "framing") => text == "0B",
        ("host", "payload") => text == "1KB",
        ("host", "ack_every") => value.as_integer() == Some(1),
        ("switch", "model") => text == "shared-buffer",
        ("switch", "queueing") => text == "fifo",
        ("switch", "scheduler") => value["kind"].as_str() == Some("strict"),
        ("switch", "pipeline") => false,
        ("pfc", "mode") => text == "standard",
        ("pfc", "reaction" | "xon_gap") | ("probes", "start") => true,
        ("tcp", _) => true,
        ("probes", "pauses") => value.as_bool() == Some(true),
        ("switch", "lossless") => value.as_array().is_some_and(|p| p.len() == 1),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_a_path() {
        let document: Table = "a = 1\n[b]\nc = 'x'\n[[d]]\ne = [1, 2]".parse().unwrap();
        let paths = leaves(&document, &[]);
        assert_eq!(paths, [vec!["a"], vec!["b", "c"], vec!["d", "0", "e"]]);
        assert_eq!(get(&document, &paths[1]).as_str(), Some("x"));
    }

    #[test]
    fn quantities_get_other_numbers_with_the_same_unit() {
        let values = other_values(&Value::from("10us"));
        assert_eq!(values, ["21us", "5us", "500us"].map(Value::from));
        assert!(other_values(&Value::from("L0..L3")).is_empty());
    }
}
