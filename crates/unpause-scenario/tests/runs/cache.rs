//! Finished runs are taken from a cache if they would be the same, and only then.
#![cfg(feature = "parquet")]

use std::fs;
use std::path::Path;

use unpause_scenario::{
    Admitted, Cache, NoProgress, Options, Place, Scenario, Target, WriteOptions, execute_at,
};

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
    let admitted = Admitted::of(&scenario, &Options::default(), Target::Place(&place)).unwrap();
    let outcome = execute_at(&place, &scenario, admitted, &NoProgress, Some(cache), None);
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
    Cache::open(folder.join("cache"), 1_000_000_000, fresh).unwrap()
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
        let empty = Cache::open(folder.path().join("empty"), 0, true).unwrap();
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
    let limited = Cache::open(folder.path().join("cache"), limit, false).unwrap();
    run(&seed(2), &result, &limited);
    assert!(limited.holds().bytes <= limit);
    assert_eq!(limited.holds().runs, 2);
    assert_eq!(run(&seed(2), &result, &limited), 2);
    assert_eq!(run(&seed(1), &result, &limited), 0);
}

/// Every bit of `run.json` and of its digest is covered.
#[test]
fn a_changed_bit_of_a_run_is_never_believed() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path(), false);
    let result = folder.path().join("a");
    run(SCENARIO, &result, &cache);
    for (number, name) in ["run.json", "run.json.sha256"]
        .iter()
        .cycle()
        .take(12)
        .enumerate()
    {
        let entries = fs::read_dir(folder.path().join("cache")).unwrap();
        let entry = entries.flatten().next().unwrap();
        let file = entry.path().join(name);
        let mut bytes = fs::read(&file).unwrap();
        let at = bytes.len() * number / 12;
        bytes[at] ^= 1 << (number % 8);
        fs::write(file, bytes).unwrap();
        assert_eq!(run(SCENARIO, &result, &cache), 3, "{name}, byte {at}");
        assert_eq!(
            run(SCENARIO, &result, &cache),
            4,
            "a whole run takes its place"
        );
    }
}

#[test]
fn a_run_under_the_name_of_another_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path(), false);
    run(SCENARIO, &folder.path().join("a"), &cache);
    let entries = fs::read_dir(folder.path().join("cache")).unwrap();
    let paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    let aside = folder.path().join("aside");
    fs::rename(&paths[0], &aside).unwrap();
    fs::rename(&paths[1], &paths[0]).unwrap();
    fs::rename(&aside, &paths[1]).unwrap();
    assert_eq!(run(SCENARIO, &folder.path().join("b"), &cache), 2);
}

#[test]
fn what_the_cache_has_not_made_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path(), false);
    let runs = folder.path().join("cache");
    run(SCENARIO, &folder.path().join("a"), &cache);
    let one = fs::read_dir(&runs).unwrap().flatten().next().unwrap();
    fs::write(one.path().join("note.txt"), "mine").unwrap();
    fs::write(runs.join("thesis.txt"), "mine").unwrap();
    fs::create_dir(runs.join("data")).unwrap();
    fs::write(runs.join("data/run.json"), "mine").unwrap();
    fs::create_dir(runs.join("new-data")).unwrap();
    fs::write(runs.join("new-data/flows.parquet"), "mine").unwrap();
    let none = Cache::open(runs.clone(), 0, false).unwrap();
    none.trim();
    assert_eq!(none.holds().runs, 0);
    let left = cache.clear().unwrap();
    assert_eq!(left.len(), 4, "{left:?}");
    for file in ["thesis.txt", "data/run.json", "new-data/flows.parquet"] {
        assert_eq!(fs::read_to_string(runs.join(file)).unwrap(), "mine");
    }
    assert_eq!(
        fs::read_to_string(one.path().join("note.txt")).unwrap(),
        "mine"
    );
    assert!(!one.path().join("flows.parquet").exists());
}

#[cfg(unix)]
#[test]
fn a_cache_that_others_can_write_to_is_not_used() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("cache");
    let open = |path: &Path| Cache::open(path.to_owned(), 1 << 30, false).map(drop);
    fs::create_dir(&runs).unwrap();
    for mode in [0o770, 0o777, 0o702] {
        fs::set_permissions(&runs, fs::Permissions::from_mode(mode)).unwrap();
        let refused = open(&runs).unwrap_err().to_string();
        assert!(refused.contains("others may write"), "{refused}");
    }
    fs::set_permissions(&runs, fs::Permissions::from_mode(0o755)).unwrap();
    open(&runs).unwrap();
    let link = folder.path().join("link");
    symlink(&runs, &link).unwrap();
    for path in [link.clone(), link.join("runs")] {
        let refused = open(&path).unwrap_err().to_string();
        assert!(refused.contains("is a link to"), "{refused}");
    }
    // Only root can give a folder away.
    if std::os::unix::fs::chown(&runs, Some(12_345), None).is_ok() {
        let refused = open(&runs).unwrap_err().to_string();
        assert!(refused.contains("belongs to user 12345"), "{refused}");
    }
}

#[test]
fn programs_share_a_cache() {
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join("alone");
    run(SCENARIO, &alone, &cache(folder.path(), true));
    cache(folder.path(), false).clear().unwrap();
    std::thread::scope(|scope| {
        for number in 0..4 {
            let (folder, alone) = (folder.path(), &alone);
            scope.spawn(move || {
                for round in 0..4 {
                    // One of them has room for nothing, and removes what the others keep.
                    let limit = if number == 0 { 0 } else { 1 << 30 };
                    let cache = Cache::open(folder.join("cache"), limit, false).unwrap();
                    let result = folder.join(format!("{number}-{round}"));
                    run(SCENARIO, &result, &cache);
                    assert!(tables(&result) == tables(alone), "{number}, {round}");
                }
            });
        }
    });
    let last = cache(folder.path(), false);
    run(SCENARIO, &folder.path().join("last"), &last);
    assert_eq!(run(SCENARIO, &folder.path().join("again"), &last), 4);
    let entries = fs::read_dir(folder.path().join("cache")).unwrap().flatten();
    let names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    assert!(names.iter().all(|name| name.len() == 64), "{names:?}");
}
