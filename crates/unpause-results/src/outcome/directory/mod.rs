//! The result directory: tables, manifest, scenario; written, and read back.
//!
//! Whatever goes wrong, no directory looks complete that is not: `place.rs` says how.

mod beneath;
#[cfg(feature = "parquet")]
mod cache;
#[cfg(feature = "parquet")]
mod keep;
mod lock;
mod out_folder;
mod place;
mod reader;

use std::collections::BTreeSet;
use std::io::BufReader;
#[cfg(feature = "parquet")]
use std::io::{self, Read, Seek};
use std::path::Path;

use serde::Deserialize;

use self::beneath::Folder;
#[cfg(feature = "parquet")]
pub use self::cache::{Cache, Cached};
#[cfg(feature = "parquet")]
pub use self::keep::Keeper;
pub use self::lock::Lock;
pub use self::out_folder::OutFolder;
pub use self::place::Place;
use self::place::{MANIFEST, is_own, others};
use self::reader::Reader;
use crate::outcome::{Manifest, Outcome};
use crate::run::digest::seal;
#[cfg(feature = "parquet")]
use crate::run::digest::{is_broken, sha256_of};
use crate::tables::files::encode;
#[cfg(feature = "parquet")]
use crate::tables::files::{decode, rows};
#[cfg(feature = "parquet")]
use crate::tables::{FIRST_TABLES, Tables, rules::Runs, series};
#[cfg(feature = "parquet")]
use arrow_array::RecordBatch;
#[cfg(feature = "parquet")]
use arrow_schema::{DataType, FieldRef};
use unpause_text::error::Error;
#[cfg(feature = "parquet")]
use unpause_text::limits::shorten;

/// Names the files of a report, which lie beside the tables.
const REPORT_FILES: &str = "report.json";

/// Tables with a row for each sample or packet.
#[cfg(feature = "parquet")]
const SERIES: [&str; 4] = ["port_series", "flow_series", "packets", "causes"];

/// How to write a result.
#[derive(Default)]
pub struct WriteOptions<'a> {
    /// Also write `fct-<run>.txt` in the format of the HPCC simulator.
    pub fct_hpcc: bool,
    /// Asked between files; true ends the writing, and nothing is left behind.
    pub interrupted: Option<&'a dyn Fn() -> bool>,
}

/// The content of a directory before a result was written.
#[derive(Clone, Debug, Default)]
pub struct Before {
    /// The result that was replaced.
    pub replaced: Option<Manifest>,
    /// Names of what is of no result, and was left as it is.
    pub kept: Vec<String>,
}

impl Outcome {
    /// Writes the result directory. A result that is there is replaced; other files in it stay.
    ///
    /// # Errors
    ///
    /// If it holds something that is no result, another process writes to it, or it cannot be written.
    pub fn write(&self, directory: &Path) -> Result<Before, Error> {
        self.write_with(&Place::take(directory)?, &WriteOptions::default())
    }

    /// Writes the result to a place that was taken before, with options.
    ///
    /// # Errors
    ///
    /// If it cannot be written, or is interrupted; what was there is there.
    pub fn write_with(&self, place: &Place, options: &WriteOptions<'_>) -> Result<Before, Error> {
        let mut staging = place.stage()?;
        let go_on = || match options.interrupted {
            Some(interrupted) if interrupted() => Err(Error::Interrupted),
            _ => Ok(()),
        };
        for (name, table) in self.tables.all() {
            go_on()?;
            #[cfg(feature = "parquet")]
            if name == "port_series" && !self.series().is_empty() {
                let file = format!("{name}.parquet");
                staging.write_large(&file, |path| series::join(path, self.series()))?;
                continue;
            }
            let (file, bytes) = encode(name, table)?;
            staging.write(&file, &bytes)?;
        }
        if options.fct_hpcc {
            let mut names = BTreeSet::new();
            for (run, (label, flows)) in self.flows().iter().enumerate() {
                go_on()?;
                let file = unique(&file_name(label), run, &mut names);
                staging.write(&file, flows.hpcc()?.as_bytes())?;
            }
        }
        for (file, bytes) in self.hpcc_files() {
            go_on()?;
            staging.write(&file, bytes)?;
        }
        staging.write("scenario.toml", self.source().as_bytes())?;
        let manifest = Manifest {
            files: staging.digests().clone(),
            ..self.manifest()
        };
        let text = serde_json::to_vec_pretty(&manifest).expect("a manifest is plain data");
        staging.write(MANIFEST, &seal(text))?;
        go_on()?;
        let replaced = saved_manifest(place.directory());
        let old = files_of(place.directory(), replaced.as_ref());
        let known: Vec<String> = staging.digests().keys().chain(&old).cloned().collect();
        let kept = others(place.directory(), &known);
        staging.commit(&old)?;
        #[cfg(feature = "parquet")]
        Keeper::at(place).clear();
        Ok(Before { replaced, kept })
    }
}

impl Outcome {
    /// Files in the formats of HPCC's simulator: in a folder of each run if there are several.
    fn hpcc_files(&self) -> Vec<(String, &[u8])> {
        let runs = self.hpcc();
        let mut names = BTreeSet::new();
        let mut files = Vec::new();
        for (run, (label, written)) in runs.iter().enumerate() {
            let name = distinct(&file_name(label), run, &mut names);
            let folder = match runs.len() {
                1 => "hpcc".to_owned(),
                _ => format!("hpcc/{name}"),
            };
            files.extend(
                written
                    .iter()
                    .map(|(file, bytes)| (format!("{folder}/{file}"), &**bytes)),
            );
        }
        files
    }
}

#[cfg(feature = "parquet")]
impl Place {
    /// Finished runs that the next one finds here.
    pub fn kept_runs(&self) -> usize {
        Keeper::at(self).count()
    }
}

/// The manifest of the result in `directory`, if there is one.
pub fn saved_manifest(directory: &Path) -> Option<Manifest> {
    let text = Reader::open(directory).ok()?.manifest().ok()?;
    serde_json::from_slice(&text).ok()
}

/// The files of the result in `directory`, its report's among them.
fn files_of(directory: &Path, manifest: Option<&Manifest>) -> Vec<String> {
    #[derive(Default, Deserialize)]
    struct Report {
        files: Vec<String>,
    }
    let Some(manifest) = manifest else {
        return Vec::new();
    };
    let report = Folder::open(directory).and_then(|folder| folder.file(REPORT_FILES));
    let report: Report = report
        .ok()
        .and_then(|file| serde_json::from_reader(BufReader::new(file)).ok())
        .unwrap_or_default();
    let own = manifest.files.keys().cloned();
    own.chain(report.files)
        .filter(|name| is_own(name))
        .collect()
}

/// A label, such as the name of a scheme, as a part of a file's name; of a long one its beginning.
pub fn file_name(label: &str) -> String {
    // File systems have room for 255 bytes, of which what stands around this takes some.
    const MOST: usize = 200;
    let fits = |c: char| c.is_alphanumeric() || "+-.=_".contains(c);
    let mut name = String::new();
    for c in label.chars().map(|c| if fits(c) { c } else { '-' }) {
        if name.len() + c.len_utf8() > MOST {
            break;
        }
        name.push(c);
    }
    name
}

/// The name of a run's file. Labels that look alike as names are told apart by the run.
fn unique(label: &str, run: usize, names: &mut BTreeSet<String>) -> String {
    format!("fct-{}.txt", distinct(label, run, names))
}

fn distinct(label: &str, run: usize, names: &mut BTreeSet<String>) -> String {
    // Some file systems do not know capitals.
    let name = match names.insert(label.to_lowercase()) {
        true => label.to_owned(),
        false => format!("{label}-run{run}"),
    };
    names.insert(name.to_lowercase());
    name
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
        Self::read(directory, &[])
    }

    /// Reads a result directory without its series, which can be long: their tables are empty.
    pub fn load_totals(directory: &Path) -> Result<Self, Error> {
        Self::read(directory, &SERIES)
    }

    /// Waits for a process that replaces the result, so that one complete result is read.
    fn read(directory: &Path, without: &[&str]) -> Result<Self, Error> {
        loop {
            let reader =
                Reader::open(directory).map_err(|error| Error::io("read", directory, error))?;
            let text = manifest_of(directory, &reader)?;
            let read = Self::read_once(directory, &reader, &text, without);
            let now = || Reader::open(directory)?.manifest();
            // Unless another result has come, what was found is so.
            if read.is_ok() || now().is_ok_and(|now| now == text) {
                return read;
            }
        }
    }

    fn read_once(
        directory: &Path,
        reader: &Reader,
        text: &[u8],
        without: &[&str],
    ) -> Result<Self, Error> {
        if is_broken(text) {
            return Err(damaged(
                directory,
                MANIFEST,
                "its text does not match its field sha256",
            ));
        }
        let path = directory.join(MANIFEST);
        let manifest: Manifest = serde_json::from_slice(text).map_err(|error| Error::Other {
            message: format!("{}: {}", path.display(), shorten(&error.to_string())),
            help: Some("run the scenario again: this manifest is from another version".into()),
        })?;
        let scenario = "scenario.toml";
        if let Some(digest) = manifest.files.get(scenario) {
            find(directory, reader, scenario, Some(digest))?;
        }
        // Tables without runs have the same columns as all others.
        let sound = Tables::new(&[], &[]);
        let mut tables = Vec::new();
        let mut runs: Option<Runs> = None;
        for (name, sound) in sound.all() {
            let file = format!("{name}.parquet");
            let digest = manifest.files.get(&file).map(String::as_str);
            let is_later = !FIRST_TABLES.contains(&name);
            if is_later && digest.is_none() && !directory.join(&file).exists() {
                tables.push(sound.clone());
                continue;
            }
            let mut opened = find(directory, reader, &file, digest)?;
            if without.contains(&name) {
                tables.push(sound.clone());
                continue;
            }
            let mut bytes = Vec::new();
            let claimed = rows(&opened).and_then(|rows| match &runs {
                Some(runs) => runs.check_rows(name, rows),
                None => check_runs(rows, manifest.runs.len()),
            });
            claimed.map_err(|why| damaged(directory, &file, &why))?;
            opened
                .rewind()
                .and_then(|()| opened.read_to_end(&mut bytes))
                .map_err(|error| Error::io("read", &directory.join(&file), error))?;
            let table = decode(bytes).and_then(|table| {
                check_columns(&table, sound)?;
                match &mut runs {
                    Some(runs) => runs.check(name, &table, sound)?,
                    None => runs = Some(Runs::of(&table, sound)?),
                }
                Ok(table)
            });
            tables.push(table.map_err(|why| damaged(directory, &file, &why))?);
        }
        let tables = Tables::from_list(tables).expect("one for each name");
        Ok(Self { tables, manifest })
    }
}

#[cfg(feature = "parquet")]
fn manifest_of(directory: &Path, reader: &Reader) -> Result<Vec<u8>, Error> {
    reader.manifest().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::Other {
            message: format!("{} is not a complete result directory", directory.display()),
            help: Some("it has no manifest.json; `unpause run` writes one at the end".into()),
        },
        _ => Error::io("read", &directory.join(MANIFEST), error),
    })
}

/// The file of a result, which is what was written if its digest is known. Results of before have no digests.
#[cfg(feature = "parquet")]
fn find(
    directory: &Path,
    reader: &Reader,
    file: &str,
    digest: Option<&str>,
) -> Result<std::fs::File, Error> {
    let found = reader.file(file, digest, sha256_of);
    let found = found.map_err(|error| Error::io("read", &directory.join(file), error))?;
    let why = "it is not what this run wrote (its SHA-256 differs from the manifest's)";
    found.ok_or_else(|| damaged(directory, file, why))
}

#[cfg(feature = "parquet")]
fn damaged(directory: &Path, file: &str, why: &str) -> Error {
    let path = directory.join(file);
    Error::Other {
        message: format!("{} is damaged: {}", path.display(), shorten(why)),
        help: Some("run the scenario again".into()),
    }
}

/// `Err` if a manifest announces more or fewer runs than table `runs` has.
#[cfg(feature = "parquet")]
fn check_runs(rows: u64, announced: usize) -> Result<(), String> {
    if rows == announced as u64 {
        return Ok(());
    }
    Err(format!(
        "it has {rows} rows for the {announced} runs of {MANIFEST}"
    ))
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
