//! The result directory: tables, manifest, scenario; written, and read back.
//!
//! Everything is written to `<directory>.incomplete`, synced, and renamed. Whatever goes wrong, no
//! directory looks complete that is not.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::import::hpcc;
use crate::outcome::Outcome;
use crate::table_files::encode;
use crate::text::error::Error;
#[cfg(feature = "parquet")]
use crate::{limits::shorten, outcome::Manifest, table_files::decode, tables::Tables};
#[cfg(feature = "parquet")]
use arrow_array::RecordBatch;
#[cfg(feature = "parquet")]
use arrow_schema::{DataType, FieldRef};

/// How to write a result.
#[derive(Default)]
pub struct WriteOptions<'a> {
    /// Also write `fct-<run>.txt` in the format of the HPCC simulator.
    pub fct_hpcc: bool,
    /// Asked between files; true ends the writing, and nothing is left behind.
    pub interrupted: Option<&'a dyn Fn() -> bool>,
}

impl Outcome {
    /// Writes the result directory. One that is there is replaced if it is a result; an error
    /// otherwise.
    pub fn write(&self, directory: &Path) -> Result<(), Error> {
        self.write_with(directory, &WriteOptions::default())
    }

    /// Writes the result directory, with options.
    pub fn write_with(&self, directory: &Path, options: &WriteOptions<'_>) -> Result<(), Error> {
        check_destination(directory)?;
        let incomplete = Incomplete::create(directory)?;
        let go_on = || match options.interrupted {
            Some(interrupted) if interrupted() => Err(Error::Interrupted),
            _ => Ok(()),
        };
        for (name, table) in self.tables.all() {
            go_on()?;
            let (file, bytes) = encode(name, table)?;
            incomplete.write(&file, &bytes)?;
        }
        if options.fct_hpcc {
            for (label, flows) in self.flows() {
                go_on()?;
                let mut text = Vec::new();
                let file = format!("fct-{}.txt", file_name(label));
                hpcc::write_fct(&mut text, flows)
                    .map_err(|error| Error::io("write", &incomplete.path.join(&file), error))?;
                incomplete.write(&file, &text)?;
            }
        }
        incomplete.write("scenario.toml", self.source().as_bytes())?;
        let manifest =
            serde_json::to_vec_pretty(&self.manifest()).expect("a manifest is plain data");
        incomplete.write("manifest.json", &manifest)?;
        go_on()?;
        incomplete.rename(directory)
    }
}

/// A label as a file's name.
fn file_name(label: &str) -> String {
    let fits = |c: char| c.is_alphanumeric() || "+-.=_".contains(c);
    label
        .chars()
        .map(|c| if fits(c) { c } else { '-' })
        .collect()
}

/// An error if results cannot go to `directory`: it holds something else.
pub fn check_destination(directory: &Path) -> Result<(), Error> {
    let is_free = match fs::read_dir(directory) {
        Ok(mut entries) => entries.next().is_none() || directory.join("manifest.json").is_file(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(Error::io("write", directory, error)),
    };
    if is_free {
        return Ok(());
    }
    Err(Error::Other {
        message: format!(
            "{} exists and is not a result directory",
            directory.display()
        ),
        help: Some("choose another with --out; nothing was changed".into()),
    })
}

/// A directory under construction; removed unless it is renamed.
struct Incomplete {
    path: PathBuf,
    done: bool,
}

impl Incomplete {
    fn create(directory: &Path) -> Result<Self, Error> {
        let path = beside(directory, ".incomplete");
        let fail = |error| Error::io("write", &path, error);
        if path.exists() {
            // Left by a run that was killed.
            fs::remove_dir_all(&path).map_err(fail)?;
        }
        fs::create_dir_all(&path).map_err(fail)?;
        Ok(Self { path, done: false })
    }

    fn write(&self, file: &str, bytes: &[u8]) -> Result<(), Error> {
        let path = self.path.join(file);
        let write = || {
            let mut file = fs::File::create(&path)?;
            file.write_all(bytes)?;
            file.sync_all()
        };
        write().map_err(|error| Error::io("write", &path, error))
    }

    fn rename(mut self, directory: &Path) -> Result<(), Error> {
        let fail = |error| Error::io("write", directory, error);
        let old = beside(directory, ".old");
        if directory.exists() {
            if old.exists() {
                fs::remove_dir_all(&old).map_err(fail)?;
            }
            fs::rename(directory, &old).map_err(fail)?;
        }
        if let Err(error) = fs::rename(&self.path, directory) {
            let _ = fs::rename(&old, directory);
            return Err(fail(error));
        }
        self.done = true;
        if let Some(parent) = directory
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
        {
            // A directory cannot be synced everywhere; the rename itself is done.
            let _ = fs::File::open(parent).and_then(|parent| parent.sync_all());
        }
        let _ = fs::remove_dir_all(&old);
        Ok(())
    }
}

impl Drop for Incomplete {
    fn drop(&mut self) {
        if !self.done {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

fn beside(directory: &Path, suffix: &str) -> PathBuf {
    let mut name = directory.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// A result directory, read.
#[cfg(feature = "parquet")]
#[derive(Clone, Debug)]
pub struct Saved {
    /// Its tables.
    pub tables: Tables,
    /// Its manifest.
    pub manifest: Manifest,
}

#[cfg(feature = "parquet")]
impl Saved {
    /// Reads a result directory.
    pub fn load(directory: &Path) -> Result<Self, Error> {
        let path = directory.join("manifest.json");
        let text = fs::read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::Other {
                message: format!("{} is not a complete result directory", directory.display()),
                help: Some("it has no manifest.json; `unpause run` writes one at the end".into()),
            },
            _ => Error::io("read", &path, error),
        })?;
        let manifest = serde_json::from_slice(&text).map_err(|error| Error::Other {
            message: format!("{}: {}", path.display(), shorten(&error.to_string())),
            help: Some("run the scenario again: this manifest is of another version".into()),
        })?;
        // What tables of no run look like is what all of them look like.
        let sound = Tables::new(&[], &[]);
        let mut tables = Vec::new();
        for (name, sound) in sound.all() {
            let path = directory.join(format!("{name}.parquet"));
            let bytes = fs::read(&path).map_err(|error| Error::io("read", &path, error))?;
            let damaged = |why: String| Error::Other {
                message: format!("{} is damaged: {}", path.display(), shorten(&why)),
                help: Some("run the scenario again".into()),
            };
            let table = decode(bytes).map_err(damaged)?;
            check_columns(&table, sound).map_err(damaged)?;
            tables.push(table);
        }
        let [
            runs,
            flows,
            ports,
            pauses,
            port_series,
            flow_series,
            packets,
        ] = tables.try_into().expect("one for each name");
        let tables = Tables {
            runs,
            flows,
            ports,
            pauses,
            port_series,
            flow_series,
            packets,
        };
        Ok(Self { tables, manifest })
    }
}

/// `Err` if `table` lacks a column of `sound`, or has others than the float64 ones of a sweep.
#[cfg(feature = "parquet")]
fn check_columns(table: &RecordBatch, sound: &RecordBatch) -> Result<(), String> {
    let (found, expected) = (table.schema(), sound.schema());
    for field in expected.fields() {
        let (name, expected) = (field.name(), field.data_type());
        match found.field_with_name(name).map(|field| field.data_type()) {
            Ok(found) if found == expected => {}
            Ok(found) => return Err(format!("column `{name}` is {found}, expected {expected}")),
            Err(_) => return Err(format!("column `{name}` is missing")),
        }
    }
    let known = |name: &str| expected.field_with_name(name).is_ok();
    let strange =
        |field: &&FieldRef| !known(field.name()) && *field.data_type() != DataType::Float64;
    match found.fields().iter().find(strange) {
        Some(field) => Err(format!("there is no column `{}` of tables", field.name())),
        None => Ok(()),
    }
}
