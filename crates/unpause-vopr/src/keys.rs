//! Every key has an effect or is refused.
//!
//! A key of the scenario gets another value, or a scenario gets a key of another one; then the reader
//! either refuses it, with its place, or what it compiles to differs.

use std::path::Path;

use toml::{Table, Value};
use unpause_scenario::Scenario;

use crate::broken::{Broken, refused};
use crate::case::Case;
use crate::dice::Dice;
use crate::generate::generate;

/// Changes some keys of `case`, which compiles to `scenario`, or `all` of them; answers how many.
///
/// # Errors
///
/// The key that changes nothing, or what is refused without a place.
pub fn have_effect(
    case: &Case,
    scenario: &Scenario,
    directory: &Path,
    all: bool,
) -> Result<u64, Broken> {
    let dice = &mut Dice::new(case.seed ^ 0x6b65_7973);
    let donor = generate(case.seed.wrapping_add(dice.between(1, 1000)));
    let before = &fingerprint(scenario);
    let mut changed = 0;
    let paths: Vec<Vec<String>> = leaves(&case.document, &[])
        .into_iter()
        .filter(|path| !is_without_effect(case, path))
        .collect();
    for path in dice.some(&paths, if all { paths.len() } else { 3 }) {
        changed += 1;
        let mut differs = false;
        for value in other_values(case, &donor, &path) {
            let mut other = with_files_of(case, &donor);
            *get_mut(&mut other.document, &path) = value;
            differs = differs || changes(&other, before, directory)?;
        }
        if !differs && !others_differ(case, &path, before, directory)? {
            let key = path.join(".");
            return Err(Broken::new("keys", format!("`{key}` has no effect")));
        }
    }
    changed += transplant(case, &donor, before, directory, all)?;
    Ok(changed)
}

/// Scenarios that are asked for their value of a key of which no other value has had an effect.
const DONORS: u64 = 400;

/// True if a value that some other scenario has for this key has an effect: two names may come to the same in
/// one scenario, such as a load of all senders and of all receivers.
fn others_differ(
    case: &Case,
    path: &[String],
    before: &str,
    directory: &Path,
) -> Result<bool, Broken> {
    let mut tried = vec![get(&case.document, path).clone()];
    for number in 1..=DONORS {
        let donor = generate(case.seed.wrapping_add(1000 + number));
        // Entries are as good as one another.
        for entry in 0..4 {
            let place = path.iter().map(|step| match step.parse::<usize>() {
                Ok(_) => entry.to_string(),
                Err(_) => step.clone(),
            });
            let place: Vec<String> = place.collect();
            let Some(value) = find(&donor.document, &place) else {
                continue;
            };
            if tried.contains(value) {
                continue;
            }
            tried.push(value.clone());
            let mut other = with_files_of(case, &donor);
            *get_mut(&mut other.document, path) = value.clone();
            if changes(&other, before, directory)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The case with files of another one beside its own.
fn with_files_of(case: &Case, donor: &Case) -> Case {
    let mut other = case.clone();
    for (name, text) in &donor.files {
        let file = other.files.entry(name.clone());
        file.or_insert_with(|| text.clone());
    }
    other
}

/// Puts a key or a table of another scenario where this one has none.
fn transplant(
    case: &Case,
    donor: &Case,
    before: &str,
    directory: &Path,
    all: bool,
) -> Result<u64, Broken> {
    let dice = &mut Dice::new(case.seed ^ 0x646f_6e6f_7200);
    let sections = [
        "host",
        "tcp",
        "switch",
        "link",
        "pfc",
        "pias",
        "probes",
        "slow_receiver",
    ];
    let mut found = Vec::new();
    for section in sections {
        let own = case.document.get(section).and_then(Value::as_table);
        let theirs = donor.document.get(section).and_then(Value::as_table);
        for (key, value) in theirs.into_iter().flatten() {
            let is_new = own.is_none_or(|own| !own.contains_key(key));
            let path = [section.to_owned(), key.clone()];
            let has_effect = !is_without_effect(case, &path) && !is_default(section, key, value);
            if is_new && has_effect {
                found.push((section, key.clone(), value.clone()));
            }
        }
    }
    let chosen = dice.some(&found, if all { found.len() } else { 2 });
    let changed = chosen.len() as u64;
    for (section, key, value) in chosen {
        let mut other = with_files_of(case, donor);
        let mut differs = false;
        // The present value may be the default; another one is not.
        for value in std::iter::once(value.clone()).chain(alike(&value)) {
            crate::case::table(&mut other.document, section).insert(key.clone(), value);
            differs = differs || changes(&other, before, directory)?;
        }
        if !differs {
            let what = format!("`{section}.{key}` = {value} can be added, and has no effect");
            return Err(Broken::new("keys", what));
        }
    }
    Ok(changed)
}

/// True if the reader refuses it, or it compiles to something else.
fn changes(case: &Case, before: &str, directory: &Path) -> Result<bool, Broken> {
    match case.compile(directory) {
        Ok(scenario) => Ok(fingerprint(&scenario) != before),
        Err(error) => refused(error.to_string(), error.location().is_some()).map(|_| true),
    }
}

/// Everything that a scenario compiles to.
fn fingerprint(scenario: &Scenario) -> String {
    let heading = (
        scenario.title(),
        scenario.reference(),
        scenario.sweep_columns(),
    );
    let mut all = format!("{heading:?}");
    for run in scenario.runs() {
        let names = (&run.names.nodes, &run.names.traffic, &run.names.jobs);
        let files: Vec<&str> = run.hpcc_files().collect();
        all += &format!(
            "{:?} {:?} {files:?} {:?} {names:?}",
            run.scheme, run.values, run.config
        );
    }
    all
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

/// Other values for a key: of the same kind; for a name what the donor has there, else one that nothing
/// has.
fn other_values(case: &Case, donor: &Case, path: &[String]) -> Vec<Value> {
    let value = get(&case.document, path);
    let of_same_kind = alike(value);
    if !of_same_kind.is_empty() {
        return of_same_kind;
    }
    match find(&donor.document, path) {
        Some(other) if other != value && other.type_str() == value.type_str() => {
            vec![other.clone()]
        }
        _ => vec!["nobody-has-this-name".into()],
    }
}

/// Other values of the same kind, of a table with one key changed; none for texts that are no quantities.
fn alike(value: &Value) -> Vec<Value> {
    match value {
        Value::Boolean(value) => vec![(!value).into()],
        Value::Integer(value) => vec![(value + 1).into(), (value / 2).into(), (value * 7).into()],
        Value::Float(value) => vec![(value * 2.0 + 1.0).into(), (value / 2.0).into()],
        // The last one for patterns that say all that the others say.
        Value::Array(values) if !values.is_empty() => {
            let shorter = [values[1..].to_vec(), values[..1].to_vec(), Vec::new()];
            shorter.map(Value::from).into()
        }
        Value::String(text) => {
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
            let (number, unit) = text.split_at(end);
            match number.parse::<u32>().map(u64::from) {
                // From nothing to more than any size there is.
                Ok(n) if !unit.starts_with("..") => [n * 2 + 1, n / 2, n * 50, 0, n * 1_000_000]
                    .map(|other| format!("{other}{unit}").into())
                    .into(),
                _ => Vec::new(),
            }
        }
        Value::Table(table) => {
            let with = |(key, value): (&String, Value)| {
                let mut other = table.clone();
                other.insert(key.clone(), value);
                other.into()
            };
            let others = |(key, value)| alike(value).into_iter().map(move |other| (key, other));
            table.iter().flat_map(others).map(with).collect()
        }
        _ => Vec::new(),
    }
}

/// The value of a document at a path.
fn find<'a>(table: &'a Table, path: &[String]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter()
        .try_fold(table.get(first)?, |value, step| match value {
            Value::Array(entries) => entries.get(step.parse::<usize>().ok()?),
            other => other.get(step.as_str()),
        })
}

/// Keys that are documented to have none, and those that a scheme or a sweep replaces.
fn is_without_effect(case: &Case, path: &[String]) -> bool {
    // A sweep also replaces keys that a scheme sets.
    let written = match path {
        [scheme, _, set, key] if scheme == "scheme" && set == "set" => key.clone(),
        _ => path.join("."),
    };
    let is_set = written != path.join(".");
    // Entries are named by name or by number.
    let numbered = |key: &str| key.replacen("traffic.T", "traffic.", 1);
    let replaced = |key: &str| numbered(key) == numbered(&written);
    let entries = |key: &str| case.document.get(key).and_then(Value::as_array);
    let swept = entries("sweep").into_iter().flatten();
    let mut swept = swept.filter_map(|sweep| sweep["key"].as_str());
    let schemes = entries("scheme").into_iter().flatten();
    let mut set = schemes.filter_map(|scheme| scheme.get("set")?.as_table());
    let by_scheme = set.any(|set| set.keys().any(|key| replaced(key)));
    if swept.any(replaced) || (!is_set && by_scheme) {
        return true;
    }
    let last = path.last().map_or("", String::as_str);
    let all_traffic = |has: &dyn Fn(&Table) -> bool| {
        let mut entries = entries("traffic").into_iter().flatten();
        entries.all(|entry| entry.as_table().is_some_and(has))
    };
    let switch = case.document.get("switch");
    let pipeline = switch.and_then(|switch| switch.get("pipeline"));
    let control = pipeline.and_then(|p| p.get("flow_control")?.as_str());
    match last {
        // Of CaPFC, so that schemes can share the table.
        "egress_xon" | "egress_xoff" | "egress_warn" | "cut" => {
            let capfc = control.is_some_and(|name| name.starts_with("capfc"));
            !capfc || (last == "cut" && control != Some("capfc-calibrate"))
        }
        "upto" => same_priority_twice(case, path) || is_of_one_class(case, path),
        "priority" if path[0] == "traffic" => is_of_one_class(case, path),
        // Every entry says its own.
        "extra_delay" if path[0] == "host" => all_traffic(&|it| it.contains_key("extra_delay")),
        // With a marking of the scheme's own, and no flow that is controlled.
        "congestion_control" => {
            all_traffic(&|it| it.get("controlled").and_then(Value::as_bool) == Some(false))
        }
        // The steps of a sweep need not reach its end.
        "to" => path[0] == "sweep",
        _ => false,
    }
}

/// Flows of one size are of one class of `priority_by_size`, and have no use for the others.
fn is_of_one_class(case: &Case, path: &[String]) -> bool {
    let entry = find(&case.document, &path[..path.len().min(2)]).and_then(Value::as_table);
    entry.is_some_and(|entry| entry.contains_key("size") && entry.contains_key("priority_by_size"))
}

/// Two classes of `priority_by_size`, or one and what is larger than all, have one priority.
fn same_priority_twice(case: &Case, path: &[String]) -> bool {
    let entry = find(&case.document, &path[..path.len().min(2)]);
    let entry = entry.and_then(Value::as_table);
    let classes = entry.and_then(|entry| entry.get("priority_by_size")?.as_array());
    let of = |table: &Table| table.get("priority").and_then(Value::as_integer);
    let own = entry.and_then(of).unwrap_or(3);
    let mut all = vec![own];
    let classes = classes.into_iter().flatten().filter_map(Value::as_table);
    all.extend(classes.filter_map(of));
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    all.len() < count
}

/// A name that is the default, and so changes nothing.
fn is_default(section: &str, key: &str, value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    match (section, key) {
        ("switch", "model") => text == "shared-buffer",
        ("switch", "queueing") => text == "fifo",
        ("switch", "balancing") => text == "ecmp",
        ("switch", "scheduler") => value["kind"].as_str() == Some("strict"),
        ("switch", "lossless") => value.as_array().is_some_and(|p| p == &[Value::from(3)]),
        ("pfc", "mode") => text == "standard",
        ("tcp", "ack_priority") => text == "flow",
        ("tcp", "qdisc") => text == "fq",
        ("host", "ack_priority") => text == "control",
        ("host", "rate_change") => text == "at-once",
        ("host", "nic") => text == "own",
        ("topology", "ecmp") => text == "own",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_defaults_has_other_values() {
        let table: Table = "cell = '256B'".parse().unwrap();
        let other = |value: &Value| value["cell"].as_str() == Some("513B");
        assert!(alike(&table.into()).iter().any(other));
    }

    #[test]
    fn every_value_has_a_path() {
        let document: Table = "a = 1\n[b]\nc = 'x'\n[[d]]\ne = [1, 2]".parse().unwrap();
        let paths = leaves(&document, &[]);
        assert_eq!(paths, [vec!["a"], vec!["b", "c"], vec!["d", "0", "e"]]);
        assert_eq!(get(&document, &paths[1]).as_str(), Some("x"));
    }

    #[test]
    fn quantities_get_other_numbers_with_the_same_unit() {
        let values = alike(&Value::from("10us"));
        assert_eq!(values[..3], ["21us", "5us", "500us"].map(Value::from));
        assert!(alike(&Value::from("L0..L3")).is_empty());
    }

    #[test]
    fn a_name_becomes_that_of_another_scenario() {
        let case = |text: &str| Case {
            seed: 1,
            document: text.parse().unwrap(),
            files: Default::default(),
        };
        let path = ["switch", "model"].map(str::to_owned);
        let own = case("switch.model = 'cioq'");
        let names = |donor| other_values(&own, &case(donor), &path);
        assert_eq!(names("switch.model = 'x'"), [Value::from("x")]);
        let nobody = [Value::from("nobody-has-this-name")];
        assert_eq!(names("switch.model = 'cioq'"), nobody);
        assert_eq!(names("duration = '1us'"), nobody);
    }
}
