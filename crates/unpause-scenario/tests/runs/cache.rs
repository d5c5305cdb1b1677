//! Finished runs are taken from a cache if they would be the same, and only then.
#![cfg(feature = "parquet")]

use std::fs;
use std::path::Path;

use unpause_scenario::{Cache, NoProgress, Options, Place, Scenario, WriteOptions, execute_at};

const SCENARIO: &str = r#"
title = "Two to one"
duration = "100us"
[topology]
builder = "single-switch"
hosts = 3
rate = "40Gbps"
delay = "1us"
[[scheme]]
name = "PFC"
[[scheme]]
name = "PFC+DCQCN"
congestion_control = "dcqcn"
[[traffic]]
name = "F"
kind = "flow"
from = ["H0", "H1"]
to = "H2"
size = "40KB"
[[sweep]]
name = "number"
key = "seed"
values = [1, 2]
"#;

/// Runs `source` into `folder`; how many runs came from the cache.
fn run(source: &str, folder: &Path, cache: &Cache) -> u32 {
    let scenario = Scenario::parse(source, Path::new("two.toml")).unwrap();
    let place = Place::take(folder).unwrap();
    let before = cache.reused();
    let outcome = execute_at(
        &place,
        &scenario,
        &Options::default(),
        &NoProgress,
        false,
        Some(cache),
        None,
    );
    outcome
        .unwrap()
        .write_with(&place, &WriteOptions::default())
        .unwrap();
    cache.reused() - before
}

fn tables(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let paths = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let of_table = |path: &std::path::PathBuf| path.extension().is_some_and(|it| it == "parquet");
    let mut found: Vec<_> = paths
        .filter(of_table)
        .map(|path| {
            (
                path.file_name().unwrap().to_str().unwrap().to_owned(),
                fs::read(&path).unwrap(),
            )
        })
        .collect();
    found.sort();
    found
}

fn cache(folder: &Path, fresh: bool) -> Cache {
    Cache::new(folder.join("cache"), 1_000_000_000, fresh)
}

#[test]
fn the_same_scenario_is_not_simulated_again() {
    let folder = tempfile::tempdir().unwrap();
    let results = ["a", "b", "c", "d"].map(|name| folder.path().join(name));
    let usual = cache(folder.path(), false);
    assert_eq!(run(SCENARIO, &results[0], &usual), 0);
    assert_eq!(usual.holds().runs, 4);
    assert_eq!(run(SCENARIO, &results[1], &usual), 4);
    // A run does not depend on its title.
    assert_eq!(run(&SCENARIO.replace("Two", "2"), &results[2], &usual), 4);
    let fresh = cache(folder.path(), true);
    assert_eq!(run(SCENARIO, &results[3], &fresh), 0);
    for other in &results[1..] {
        assert!(tables(other) == tables(&results[0]));
    }
    fresh.clear().unwrap();
    assert_eq!(usual.holds().runs, 0);
}

#[test]
fn whatever_a_table_depends_on_makes_another_run() {
    let folder = tempfile::tempdir().unwrap();
    let result = folder.path().join("result");
    for (from, to, same) in [
        ("values = [1, 2]", "values = [1, 3]", 2),
        ("values = [1, 2]", "values = [3, 4]", 0),
        ("\"100us\"", "\"90us\"", 0),
        ("40KB", "41KB", 0),
        ("\"1us\"", "\"2us\"", 0),
        ("\"dcqcn\"", "\"timely\"", 2),
        ("PFC+DCQCN", "both", 2),
        // Names alone: no number differs.
        ("name = \"F\"", "name = \"G\"", 0),
        ("name = \"number\"", "name = \"other\"", 0),
    ] {
        let cache = cache(folder.path(), false);
        cache.clear().unwrap();
        run(SCENARIO, &result, &cache);
        let source = SCENARIO.replace(from, to);
        assert_ne!(source, SCENARIO, "{from}");
        assert_eq!(run(&source, &result, &cache), same, "{from} became {to}");
        let alone = folder.path().join("alone");
        let empty = Cache::new(folder.path().join("empty"), 0, true);
        run(&source, &alone, &empty);
        assert!(tables(&result) == tables(&alone), "{from} became {to}");
    }
}

#[test]
fn a_damaged_run_is_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path(), false);
    let results = ["a", "b"].map(|name| folder.path().join(name));
    run(SCENARIO, &results[0], &cache);
    let entries = fs::read_dir(folder.path().join("cache")).unwrap();
    for entry in entries.flatten().take(2) {
        let file = entry.path().join("flows.parquet");
        let mut bytes = fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(file, bytes).unwrap();
    }
    assert_eq!(run(SCENARIO, &results[1], &cache), 2);
    assert!(tables(&results[0]) == tables(&results[1]));
}

#[test]
fn the_least_recently_used_goes_first() {
    let folder = tempfile::tempdir().unwrap();
    let result = folder.path().join("result");
    let seed = |seed: u32| SCENARIO.replace("[1, 2]", &format!("[{seed}]"));
    let all = cache(folder.path(), false);
    run(&seed(1), &result, &all);
    let limit = all.holds().bytes * 5 / 4;
    let limited = Cache::new(folder.path().join("cache"), limit, false);
    run(&seed(2), &result, &limited);
    assert!(limited.holds().bytes <= limit);
    assert_eq!(limited.holds().runs, 2);
    assert_eq!(run(&seed(2), &result, &limited), 2);
    assert_eq!(run(&seed(1), &result, &limited), 0);
}
