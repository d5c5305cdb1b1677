//! Keys that sweeps and schemes replace: what cannot differ between the runs of a file, and what would be replaced
//! twice, so that a run would have another value than its row says.

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use crate::sections::sweep::Sweep;
use crate::text::document::{Table, index_of, split_path};
use unpause_text::error::{Checked, Problem};

/// Keys that are the same for all runs of a file.
const OF_THE_FILE: [&str; 4] = ["title", "source", "report", "sweep"];

/// A key that is replaced: its path, with entries of arrays by their index, and as it is written.
struct Replaced<'p> {
    steps: Vec<String>,
    path: &'p str,
    at: std::ops::Range<usize>,
}

impl<'p> Replaced<'p> {
    /// `None` for what is not the path of a key.
    fn of(root: &DeTable<'_>, path: &'p str, at: std::ops::Range<usize>) -> Option<Self> {
        let mut steps = split_path(path)?;
        if let [section, name, ..] = &mut steps[..]
            && let Some(DeValue::Array(entries)) = root.get(section.as_str()).map(Spanned::get_ref)
            && let Some(index) = index_of(entries, name)
        {
            *name = index.to_string();
        }
        Some(Self { steps, path, at })
    }

    /// Refuses it if it is not a key that runs may differ in. `own` is the scheme that sets it.
    fn check(&self, root: &DeTable<'_>, own: Option<&str>) -> Checked<()> {
        let path = self.path;
        let refuse = |why: &str, help: &str| {
            Problem::new(format!("`{path}` cannot be replaced"))
                .at(self.at.clone(), why)
                .help(help)
                .err()
        };
        let steps: Vec<&str> = self.steps.iter().map(String::as_str).collect();
        match steps[..] {
            [first, ..] if OF_THE_FILE.contains(&first) => {
                refuse("it is the same for all runs of a file", "remove it")
            }
            ["scheme"] | ["scheme", _] => refuse(
                "this is a whole scheme",
                "name one of its keys: scheme.NAME.dcqcn.kmin",
            ),
            ["scheme", _, "name" | "set", ..] => refuse(
                "names of schemes, and what they set, cannot differ between runs",
                "name another key, or write one more [[scheme]]",
            ),
            ["scheme", index, ..] => match (own, scheme_at(root, index)) {
                (Some(own), Some(other)) if own != other => {
                    Problem::new(format!("`{path}` has no effect"))
                        .at(
                            self.at.clone(),
                            format!("set in scheme `{own}`, a key of scheme `{other}`"),
                        )
                        .help(format!("remove it, or write it in scheme `{other}`"))
                        .err()
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

/// The name of the scheme with this index.
fn scheme_at<'t>(root: &'t DeTable<'_>, index: &str) -> Option<&'t str> {
    let schemes = root.get("scheme")?.get_ref().as_array()?;
    let scheme = schemes.get(index.parse::<usize>().ok()?)?;
    scheme.get_ref().as_table()?.get("name")?.get_ref().as_str()
}

/// True if setting `path` to `value` writes the key at `steps`.
fn writes(path: &[String], value: &DeValue<'_>, steps: &[String]) -> bool {
    let Some(rest) = steps.strip_prefix(path) else {
        return false;
    };
    let mut found = Some(value);
    for step in rest {
        let table = found.and_then(DeValue::as_table);
        found = table
            .and_then(|table| table.get(step.as_str()))
            .map(Spanned::get_ref);
    }
    found.is_some()
}

/// Refuses what sweeps and schemes may not replace, and what is replaced more than once.
pub(crate) fn check(root: &Table<'_>, sweep: &Sweep) -> Checked<()> {
    let root = root.get_ref();
    let mut swept: Vec<Replaced<'_>> = Vec::new();
    for key in sweep.keys() {
        let Some(new) = Replaced::of(root, key.get_ref(), key.span()) else {
            continue;
        };
        new.check(root, None)?;
        if let Some(before) = swept.iter().find(|it| it.steps == new.steps) {
            return Problem::new(format!("`{}` is swept twice", new.path))
                .at(before.at.clone(), "here")
                .at(new.at, "and here: only this value would act")
                .help("remove one of them: a run has one value of a key")
                .err();
        }
        swept.push(new);
    }
    let schemes = root.get("scheme").and_then(|it| it.get_ref().as_array());
    let tables = schemes.into_iter().flatten();
    for table in tables.filter_map(|it| it.get_ref().as_table()) {
        let name = table.get("name").and_then(|it| it.get_ref().as_str());
        let set = table.get("set").and_then(|it| it.get_ref().as_table());
        for (path, value) in set.into_iter().flatten() {
            let Some(new) = Replaced::of(root, path.get_ref(), path.span()) else {
                continue;
            };
            new.check(root, name)?;
            let again = |it: &&Replaced<'_>| writes(&new.steps, value.get_ref(), &it.steps);
            if let Some(sweep) = swept.iter().find(again) {
                let name = name.unwrap_or_default();
                return Problem::new(format!("`{}` is set and swept", sweep.path))
                    .at(new.at, format!("scheme `{name}` sets it"))
                    .at(sweep.at.clone(), "this replaces it")
                    .help("remove one of them: a run has one value of a key")
                    .err();
            }
        }
    }
    Ok(())
}
