//! Result directories of which somebody hopes that unpause writes or deletes outside of them.

#![cfg(all(feature = "parquet", unix))]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use unpause_scenario::{Options, Outcome, Place, Saved, saved_manifest};

use crate::small;

fn outcome() -> Outcome {
    small::outcome(&["PFC"], &Options::default())
}

/// Files and what is in them, links and where they lead, of everything below.
fn all(folder: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|it| it.unwrap().path())
        .collect();
    paths.sort();
    for path in paths {
        let about = path.symlink_metadata().unwrap();
        let held = match (about.is_dir(), about.is_file()) {
            (true, _) => b"folder".to_vec(),
            (_, true) => fs::read(&path).unwrap(),
            _ => b"special".to_vec(),
        };
        found.push((path.clone(), held));
        if about.is_dir() {
            all(&path, found);
        }
    }
}

fn seen(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    all(folder, &mut found);
    found
}

/// Makes a directory hostile; what lies outside is in the second.
type Plant = fn(&Path, &Path);

fn commit(out: &Path) -> PathBuf {
    let commit = out.join(".unpause/commit");
    fs::create_dir_all(&commit).unwrap();
    commit
}

const PLANTS: [(&str, Plant); 12] = [
    ("lock as link", |out, outside| {
        commit(out);
        symlink(outside.join("canary"), out.join(".unpause/lock")).unwrap();
    }),
    ("lock as another's name", |out, outside| {
        commit(out);
        fs::hard_link(outside.join("canary"), out.join(".unpause/lock")).unwrap();
    }),
    ("room as link", |out, outside| {
        symlink(outside.join("room"), out.join(".unpause")).unwrap();
    }),
    ("commit as link", |out, outside| {
        fs::create_dir(out.join(".unpause")).unwrap();
        symlink(outside.join("room"), out.join(".unpause/commit")).unwrap();
    }),
    ("runs as link", |out, outside| {
        fs::create_dir(out.join(".unpause")).unwrap();
        symlink(outside.join("room"), out.join(".unpause/runs")).unwrap();
    }),
    ("a file to a linked folder", |out, outside| {
        symlink(outside, out.join("figures")).unwrap();
        fs::create_dir_all(commit(out).join("figures")).unwrap();
        fs::write(commit(out).join("figures/canary"), "theirs").unwrap();
    }),
    ("a name in a linked folder goes", |out, outside| {
        symlink(outside, out.join("figures")).unwrap();
        fs::write(commit(out).join("remove.json"), r#"["figures/canary"]"#).unwrap();
    }),
    ("names with dots go", |out, _| {
        let names =
            r#"["../outside/canary", "figures/../../outside/canary", "hpcc/../../outside/canary"]"#;
        fs::write(commit(out).join("remove.json"), names).unwrap();
    }),
    ("an absolute name goes", |out, outside| {
        let name = serde_json::json!([outside.join("canary")]);
        fs::write(commit(out).join("remove.json"), name.to_string()).unwrap();
    }),
    (
        "files of a linked folder go with the result",
        |out, outside| {
            symlink(outside, out.join("figures")).unwrap();
            let report = r#"{"files": ["figures/canary", "../outside/canary", "mine"]}"#;
            fs::write(out.join("report.json"), report).unwrap();
        },
    ),
    ("a table as a pipe", |out, _| {
        fs::remove_file(out.join("flows.parquet")).unwrap();
        let made = Command::new("mkfifo")
            .arg(out.join("flows.parquet"))
            .status();
        assert!(made.unwrap().success());
    }),
    ("a table and the manifest as links", |out, outside| {
        for file in ["flows.parquet", "manifest.json"] {
            fs::rename(out.join(file), outside.join(file)).unwrap();
            symlink(outside.join(file), out.join(file)).unwrap();
        }
    }),
];

#[test]
fn nothing_outside_is_touched() {
    let outcome = outcome();
    for (name, plant) in PLANTS {
        let place = tempfile::tempdir().unwrap();
        let (out, outside) = (place.path().join("out"), place.path().join("outside"));
        outcome.write(&out).unwrap();
        fs::write(out.join("mine"), "mine").unwrap();
        fs::create_dir_all(outside.join("room/kept")).unwrap();
        fs::write(outside.join("canary"), "alive").unwrap();
        fs::write(outside.join("room/new-canary"), "alive").unwrap();
        plant(&out, &outside);
        let (inside, around) = (seen(&out), seen(&outside));

        // Who reads changes nothing at all.
        let read = [Saved::load(&out), Saved::load_totals(&out)];
        let _ = saved_manifest(&out);
        assert_eq!(seen(&out), inside, "{name}: reading");
        assert_eq!(seen(&outside), around, "{name}: reading");
        let is_odd = name.contains("table");
        for read in read {
            assert_eq!(read.is_err(), is_odd, "{name}");
            let said = read.err().map(|error| error.explain()).unwrap_or_default();
            assert!(
                !is_odd || said.contains(".parquet") || said.contains("manifest"),
                "{said}"
            );
        }
        // Who writes changes nothing outside.
        let taken = Place::take(&out).map(|place| place.kept_runs());
        let written = outcome.write(&out).err();
        assert_eq!(seen(&outside), around, "{name}: {taken:?} {written:?}");
        assert!(out.join("mine").exists(), "{name}");
    }
}

#[test]
fn a_link_in_the_way_is_named() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    outcome().write(&out).unwrap();
    symlink(place.path(), out.join(".unpause")).unwrap();
    let said = Place::take(&out).unwrap_err().explain();
    assert!(said.contains("`.unpause` in it is not a folder"), "{said}");
}
