//! Makes a scenario that breaks something small: what can go, goes, as long as the same check fails.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use toml::{Table, Value};

use crate::broken::Broken;
use crate::case::Case;
use crate::judge::{Scope, Verdict, judge};

/// Scenarios tried at most.
const MOST_TRIES: usize = 3_000;

/// A smaller scenario that still fails the check that `broken` names, and what that says of it: the
/// smallest found until `stop`.
pub fn shrink(case: &Case, broken: &Broken, directory: &Path, stop: &AtomicBool) -> (Case, Broken) {
    let check = broken.check.clone();
    smallest(case, broken, |case| {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        let judge = |case: &Case, directory: &Path| judge(case, directory, Scope::Only(&check));
        match alone(case, directory, judge) {
            Verdict::Broken(again) if again.check == check => Some(again),
            _ => None,
        }
    })
}

/// Judges a case where no file of another one is.
fn alone(case: &Case, directory: &Path, judge: impl Fn(&Case, &Path) -> Verdict) -> Verdict {
    match tempfile::tempdir_in(directory) {
        Ok(own) => judge(case, own.path()),
        Err(why) => Verdict::Refused(why.to_string()),
    }
}

/// Tries every smaller scenario of the best one so far, until none of them fails any more.
fn smallest(
    case: &Case,
    broken: &Broken,
    mut fails: impl FnMut(&Case) -> Option<Broken>,
) -> (Case, Broken) {
    let mut best = (case.clone(), broken.clone());
    let mut tries = 0;
    let mut progress = true;
    while progress {
        progress = false;
        let mut at = 0;
        // After a step was taken, the next ones are tried in the smaller scenario.
        while let Some(smaller) = steps(&best.0).into_iter().nth(at) {
            tries += 1;
            if tries > MOST_TRIES {
                return best;
            }
            match fails(&smaller) {
                Some(broken) => {
                    best = (smaller, broken);
                    progress = true;
                }
                None => at += 1,
            }
        }
    }
    best
}

/// Everything that is one step smaller: large steps first.
fn steps(case: &Case) -> Vec<Case> {
    let with = |document: Table| Case {
        document,
        ..case.clone()
    };
    let mut all: Vec<Case> = smaller_tables(&case.document)
        .into_iter()
        .map(with)
        .collect();
    for (name, text) in &case.files {
        let mut without = case.clone();
        without.files.remove(name);
        all.push(without);
        for text in fewer_lines(text) {
            let mut other = case.clone();
            other.files.insert(name.clone(), text);
            all.push(other);
        }
    }
    all
}

/// A file of flows, whose first line counts the others, with one line less.
fn fewer_lines(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let Some(count) = lines.first().and_then(|line| line.parse::<usize>().ok()) else {
        return Vec::new();
    };
    (1..lines.len())
        .map(|gone| {
            let rest = lines
                .iter()
                .enumerate()
                .skip(1)
                .filter(|(at, _)| *at != gone);
            let rest: Vec<&str> = rest.map(|(_, line)| *line).collect();
            format!("{}\n{}\n", count.saturating_sub(1), rest.join("\n"))
        })
        .collect()
}

fn smaller_tables(table: &Table) -> Vec<Table> {
    let mut all = Vec::new();
    for key in table.keys() {
        let mut without = table.clone();
        without.remove(key);
        all.push(without);
    }
    for (key, value) in table {
        // A run in which something happens every picosecond has no end.
        if ["timeout", "rto", "interval"]
            .iter()
            .any(|clock| key.ends_with(clock))
        {
            continue;
        }
        for smaller in smaller_values(value) {
            let mut other = table.clone();
            other.insert(key.clone(), smaller);
            all.push(other);
        }
    }
    all
}

fn smaller_values(value: &Value) -> Vec<Value> {
    match value {
        Value::Table(inner) => smaller_tables(inner)
            .into_iter()
            .map(Value::Table)
            .collect(),
        Value::Array(entries) => {
            let mut all = Vec::new();
            for at in 0..entries.len() {
                let mut fewer = entries.clone();
                fewer.remove(at);
                all.push(Value::Array(fewer));
            }
            for (at, entry) in entries.iter().enumerate() {
                for smaller in smaller_values(entry) {
                    let mut other = entries.clone();
                    other[at] = smaller;
                    all.push(Value::Array(other));
                }
            }
            all
        }
        Value::Integer(number) if *number > 1 => vec![Value::Integer(number / 2)],
        Value::String(text) => half(text).map(Value::String).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Half of a quantity, in the same unit.
fn half(text: &str) -> Option<String> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(end);
    let number: u64 = number.parse().ok()?;
    let is_unit = unit.chars().all(char::is_alphabetic);
    (number > 1 && is_unit).then(|| format!("{}{unit}", number / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_goes() {
        let text = "duration = '800us'\n[pfc]\nxoff = '9KB'\n[[traffic]]\nname = 'a'\n\
                    [[traffic]]\nname = 'b'\nsize = '64KB'\n[switch]\nlossless = [1, 2]";
        let case = Case {
            seed: 1,
            document: text.parse().unwrap(),
            files: [("flows.txt".to_owned(), "2\na\nb\n".to_owned())].into(),
        };
        // It breaks as long as there is an entry `b` of 2 KB or more, and line b of the file.
        let fails = |case: &Case| {
            let entries = case.document.get("traffic")?.as_array()?;
            let b = entries
                .iter()
                .find(|e| e.get("name").and_then(Value::as_str) == Some("b"))?;
            let size = b
                .get("size")?
                .as_str()?
                .strip_suffix("KB")?
                .parse::<u64>()
                .ok()?;
            (size >= 2 && case.files.get("flows.txt")?.contains('b')).then(|| Broken {
                check: "test".into(),
                what: format!("{size}"),
            })
        };
        let broken = fails(&case).unwrap();
        let (small, broken) = smallest(&case, &broken, fails);
        let expected: Table = "[[traffic]]\nname = 'b'\nsize = '2KB'".parse().unwrap();
        assert_eq!(small.document, expected);
        assert_eq!(small.files["flows.txt"], "1\nb\n");
        assert_eq!(broken.what, "2");
    }

    /// A file that a smaller scenario no longer has is not there, although the larger one had it.
    #[test]
    fn files_of_other_cases_are_not_there() {
        let directory = tempfile::tempdir().unwrap();
        let text = "[topology]\nfile = 'topology.txt'";
        let case = Case {
            seed: 1,
            document: text.parse().unwrap(),
            files: [("topology.txt".to_owned(), "2 1 1\n".to_owned())].into(),
        };
        let reads = |case: &Case, directory: &Path| {
            let _ = case.compile(directory);
            let is_there = directory.join("topology.txt").is_file();
            Verdict::Refused(is_there.to_string())
        };
        let without = Case {
            files: Default::default(),
            ..case.clone()
        };
        for (case, expected) in [(case, "true"), (without, "false")] {
            let Verdict::Refused(found) = alone(&case, directory.path(), reads) else {
                unreachable!("it says nothing else")
            };
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn only_quantities_are_halved() {
        assert_eq!(half("9KB").as_deref(), Some("4KB"));
        assert_eq!(half("1us"), None);
        assert_eq!(half("1/128"), None);
        assert_eq!(half("H3"), None);
    }
}
