//! A scenario that a seed has made: its text, and the files that it names.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use toml::{Table, Value};
use unpause_scenario::{Error, Scenario};

/// A scenario file and the files that it names.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The seed that generated it.
    pub seed: u64,
    /// The scenario file.
    pub document: Table,
    /// Topologies, flows and distributions, by name.
    pub files: BTreeMap<String, String>,
}

impl Case {
    /// The scenario file.
    pub fn text(&self) -> String {
        self.document.to_string()
    }

    /// Reads and checks it. Files that it names are looked for in `directory`, where they are written
    /// first.
    ///
    /// # Errors
    ///
    /// Compiles the scenario file.
    pub fn compile(&self, directory: &Path) -> Result<Scenario, Error> {
        self.write_files(directory)
            .map_err(|error| Error::io("write", directory, error))?;
        Scenario::parse(&self.text(), &self.path(directory))
    }

    /// Where its scenario file lies in `directory`.
    pub fn path(&self, directory: &Path) -> PathBuf {
        directory.join(format!("vopr-{:016x}.toml", self.seed))
    }

    fn write_files(&self, directory: &Path) -> io::Result<()> {
        for (name, text) in &self.files {
            std::fs::write(directory.join(name), text)?;
        }
        Ok(())
    }

    /// Writes it with all of its files; answers where the scenario file is. `comment` becomes its
    /// first line.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    pub fn save(&self, directory: &Path, comment: &str) -> io::Result<PathBuf> {
        std::fs::create_dir_all(directory)?;
        self.write_files(directory)?;
        let path = self.path(directory);
        let comment = comment.replace('\n', " ");
        std::fs::write(&path, format!("# {comment}\n{}", self.text()))?;
        Ok(path)
    }
}

/// The table at `path`, steps with dots between them; made if it is not there.
///
/// # Panics
///
/// If something else than a table is there.
pub fn table<'a>(root: &'a mut Table, path: &str) -> &'a mut Table {
    path.split('.').fold(root, |table, step| {
        let entry = table.entry(step);
        let entry = entry.or_insert_with(|| Value::Table(Table::new()));
        entry.as_table_mut().expect("a table")
    })
}

/// Adds an entry to the array of tables `key`.
///
/// # Panics
///
/// If something else than an array is there.
pub fn push(root: &mut Table, key: &str, entry: Table) {
    let array = root.entry(key).or_insert_with(|| Value::Array(Vec::new()));
    array
        .as_array_mut()
        .expect("an array of tables")
        .push(Value::Table(entry));
}

/// Puts `value` under `key`.
pub fn put(table: &mut Table, key: &str, value: impl Into<Value>) {
    table.insert(key.to_owned(), value.into());
}

/// A number of base units in the largest unit that leaves a whole number.
fn quantity(value: u64, units: &[(u64, &str)]) -> String {
    let fits = |(size, _): &&(u64, &str)| value.is_multiple_of(*size) && value >= *size;
    let (size, unit) = units.iter().find(fits).unwrap_or(&units[units.len() - 1]);
    format!("{}{unit}", value / size)
}

/// `"5us"`
pub fn time(ps: u64) -> String {
    let units = [
        (1_000_000_000, "ms"),
        (1_000_000, "us"),
        (1_000, "ns"),
        (1, "ps"),
    ];
    quantity(ps, &units)
}

/// `"25Gbps"`
pub fn rate(bps: u64) -> String {
    let units = [
        (1_000_000_000, "Gbps"),
        (1_000_000, "Mbps"),
        (1_000, "kbps"),
        (1, "bps"),
    ];
    quantity(bps, &units)
}

/// `"64KB"`
pub fn size(bytes: u64) -> String {
    quantity(bytes, &[(1_000_000, "MB"), (1_000, "KB"), (1, "B")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_exact() {
        assert_eq!(time(1_500), "1500ps");
        assert_eq!(time(5_000_000), "5us");
        assert_eq!(rate(2_500_000_000), "2500Mbps");
        assert_eq!(size(0), "0B");
    }

    #[test]
    fn a_document_is_printed_so_that_it_reads_the_same() {
        let mut document = Table::new();
        put(table(&mut document, "switch.scheduler.weights"), "0", 2);
        put(&mut document, "duration", "1us");
        let mut entry = Table::new();
        put(&mut entry, "name", "T0");
        put(table(&mut entry, "set"), "pfc.xoff", "1KB");
        push(&mut document, "scheme", entry);
        let again: Table = document.to_string().parse().unwrap();
        assert_eq!(again, document);
    }
}
