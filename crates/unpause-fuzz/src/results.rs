//! Result directories with one file damaged: they are refused, or can be summed up and exported.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use unpause_scenario::{NoProgress, Options, Saved, Scenario, Summary, TABLES, execute, write_csv};

/// Gives every table some rows.
const SCENARIO: &str = include_str!("../../../tests/all-tables.toml");

/// A result and its files, in the order of [`files`].
static RESULT: LazyLock<(PathBuf, Vec<Vec<u8>>)> = LazyLock::new(|| {
    let directory = std::env::temp_dir().join(format!("unpause-fuzz-{}", std::process::id()));
    write(&directory);
    let read = |file| fs::read(directory.join(file)).expect("a file just written can be read");
    let contents = files().iter().map(read).collect();
    (directory, contents)
});

fn write(directory: &Path) {
    // With a warm-up, tables say what is counted.
    let text = SCENARIO.replace("\nseed = 1\n", "\nseed = 1\nwarmup = \"200us\"\n");
    let scenario = Scenario::parse(&text, Path::new("fuzz.toml")).expect("it is sound");
    let outcome = execute(&scenario, &Options::default(), &NoProgress).expect("it can be run");
    outcome.write(directory).expect("results can be written");
    // Digests would keep damaged tables from their reader.
    let path = directory.join("manifest.json");
    let text = fs::read_to_string(&path).expect("a manifest is text");
    let mut manifest: serde_json::Value = serde_json::from_str(&text).expect("and JSON");
    manifest["files"] = serde_json::json!({});
    fs::write(&path, manifest.to_string()).expect("a result's file can be replaced");
}

fn files() -> Vec<String> {
    let tables = TABLES.iter().map(|table| format!("{table}.parquet"));
    tables.chain(["manifest.json".to_owned()]).collect()
}

/// The first byte says which file the rest is put in place of.
pub fn check(data: &[u8]) {
    let Some((which, contents)) = data.split_first() else {
        return;
    };
    let (directory, good) = &*RESULT;
    let files = files();
    let which = usize::from(*which) % files.len();
    let path = directory.join(&files[which]);
    fs::write(&path, contents).expect("a result's file can be replaced");
    let loaded = Saved::load(directory);
    fs::write(&path, &good[which]).expect("a result's file can be restored");
    match loaded {
        Ok(saved) => {
            let _ = Summary::of(&saved.tables);
            for (_, table) in saved.tables.all() {
                write_csv(table, &mut std::io::sink()).expect("a table can be exported");
            }
        }
        Err(error) => {
            let said = error.explain();
            assert!(said.contains(&files[which]), "{said}");
            assert!(
                said.len() <= crate::messages::MESSAGE_BYTES,
                "{} bytes",
                said.len()
            );
        }
    }
}

/// A sound input for each file.
pub fn seeds() -> Vec<Vec<u8>> {
    let with_index = |(index, contents): (u8, &Vec<u8>)| [&[index], contents.as_slice()].concat();
    (0..).zip(&RESULT.1).map(with_index).collect()
}

/// Removes the directory that inputs are put into.
pub fn clean() {
    let _ = fs::remove_dir_all(&RESULT.0);
}
