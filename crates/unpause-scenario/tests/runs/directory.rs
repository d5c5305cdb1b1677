//! The result directory: who writes to it, what stays, and what a process that was killed leaves.

#![cfg(feature = "parquet")]

use std::fs;
use std::path::Path;

use unpause_scenario::{Options, Outcome, Place, Saved, Summary};

use crate::small;

use crate::small::run;

fn outcome(seed: u64) -> Outcome {
    let options = Options {
        seed: Some(seed),
        ..Options::default()
    };
    small::outcome(&["A b", "A-b", "a-B"], &options)
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn seeds(directory: &Path) -> Vec<u64> {
    Saved::load(directory).unwrap().manifest.seeds
}

#[test]
fn what_is_of_no_result_stays() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    for beside in ["out.old", "out.incomplete"] {
        fs::create_dir(place.path().join(beside)).unwrap();
        fs::write(place.path().join(beside).join("mine"), "").unwrap();
    }
    outcome(1).write(&out).unwrap();
    fs::create_dir_all(out.join("deeper/result")).unwrap();
    fs::create_dir(out.join("figures")).unwrap();
    for file in [
        "notes.txt",
        "figures/mine.png",
        "figures/queue.png",
        "report.html",
    ] {
        fs::write(out.join(file), "").unwrap();
    }
    // The report says what is its own.
    let report =
        r#"{"files": ["report.html", "report.json", "figures/queue.png", "../out.old/mine"]}"#;
    fs::write(out.join("report.json"), report).unwrap();

    let before = outcome(2).write(&out).unwrap();
    assert_eq!(before.replaced.unwrap().seeds, [1]);
    assert_eq!(before.kept, ["deeper", "figures", "notes.txt"]);
    assert_eq!(seeds(&out), [2]);
    assert_eq!(names(&out.join("figures")), ["mine.png"]);
    assert!(!out.join("report.html").exists());
    assert!(!out.join(".unpause").exists());
    assert_eq!(names(place.path()), ["out", "out.incomplete", "out.old"]);
    assert_eq!(names(&place.path().join("out.old")), ["mine"]);
    assert_eq!(names(&place.path().join("out.incomplete")), ["mine"]);
}

#[test]
fn one_writes_at_a_time_and_the_others_are_told_who() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("a/b/out");
    let first = Place::take(&out).unwrap();
    let said = Place::take(&out).unwrap_err().explain();
    let process = format!("another unpause (process {}, since ", std::process::id());
    assert!(said.contains(&process), "{said}");
    let said = outcome(1).write(&out).unwrap_err().explain();
    assert!(said.contains(&process), "{said}");
    drop(first);
    // Nothing was written: nothing is left.
    assert_eq!(names(place.path()), [""; 0]);
    outcome(1).write(&out).unwrap();
}

/// As many threads as like, at once: the result is always one of them, whole.
#[test]
fn results_do_not_mix() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    let outcomes: Vec<_> = (0..8).map(outcome).collect();
    for _ in 0..10 {
        let written: Vec<bool> = std::thread::scope(|scope| {
            let writers = outcomes
                .iter()
                .map(|it| scope.spawn(|| it.write(&out).is_ok()));
            let writers: Vec<_> = writers.collect();
            writers.into_iter().map(|it| it.join().unwrap()).collect()
        });
        assert!(written.contains(&true));
        let saved = Saved::load(&out).unwrap();
        let column = saved.tables.runs.column_by_name("seed").unwrap();
        let seed = column.as_any().downcast_ref::<arrow_array::UInt64Array>();
        assert_eq!(saved.manifest.seeds, [seed.unwrap().value(0)]);
    }
    assert!(!out.join(".unpause").exists());
}

#[test]
fn a_move_cut_short_is_ended() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    outcome(1).write(&out).unwrap();
    fs::write(out.join("fct-old.txt"), "").unwrap();
    let new = place.path().join("new");
    outcome(2).write(&new).unwrap();
    let files = names(&new);
    // After so many files a process was killed.
    for moved in [0, 1, 5, files.len() - 1] {
        let trial = place.path().join(format!("trial{moved}"));
        let commit = trial.join(".unpause/commit");
        fs::create_dir_all(&commit).unwrap();
        for file in names(&out) {
            fs::copy(out.join(&file), trial.join(&file)).unwrap();
        }
        fs::write(trial.join(".unpause/lock"), "1 0\n").unwrap();
        fs::write(commit.join("remove.json"), r#"["fct-old.txt"]"#).unwrap();
        let is_last = |file: &&String| *file == "manifest.json";
        let (last, first): (Vec<_>, Vec<_>) = files.iter().partition(is_last);
        for (index, file) in [first, last].concat().into_iter().enumerate() {
            let to = if index < moved { &trial } else { &commit };
            fs::copy(new.join(file), to.join(file)).unwrap();
        }
        // Who reads gets the new result, and changes nothing.
        let before = names(&trial);
        assert_eq!(seeds(&trial), [2], "{moved}");
        assert_eq!(names(&trial), before, "{moved}");
        assert!(commit.exists() && trial.join("fct-old.txt").exists());
        drop(Place::take(&trial).unwrap());
        assert_eq!(seeds(&trial), [2], "{moved}");
        assert_eq!(names(&trial), files, "{moved}");
    }
}

#[test]
fn files_of_runs_have_names_of_their_own() {
    let place = tempfile::tempdir().unwrap();
    let out = Place::take(&place.path().join("out")).unwrap();
    let options = unpause_scenario::WriteOptions {
        fct_hpcc: true,
        ..Default::default()
    };
    outcome(1).write_with(&out, &options).unwrap();
    let names = names(out.directory());
    let fct: Vec<_> = names
        .iter()
        .filter(|name| name.starts_with("fct"))
        .collect();
    assert_eq!(fct, ["fct-A-b-run1.txt", "fct-A-b.txt", "fct-a-B-run2.txt"]);
    assert_eq!(
        Saved::load(out.directory()).unwrap().manifest.files.len(),
        25
    );
}

#[test]
fn swept_names_are_kept_with_their_numbers() {
    let text = small::text(&["PFC"])
        + "[[sweep]]\nname = \"by\"\nkey = \"switch.balancing\"\nvalues = [\"random\", \"adaptive\"]\n\
           [[sweep]]\nname = \"kb\"\nkey = \"traffic.F.size\"\nvalues = [10, 20]\nunit = \"KB\"\n";
    let outcome = run(&text);
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    outcome.write(&out).unwrap();
    for tables in [&outcome.tables, &Saved::load(&out).unwrap().tables] {
        let of_run = |run: Summary| -> Vec<String> {
            let values = run.values.iter();
            values
                .map(|(name, value)| format!("{name}={value}"))
                .collect()
        };
        let shown: Vec<_> = Summary::of(tables).into_iter().map(of_run).collect();
        let expected = [
            ("random", 10),
            ("random", 20),
            ("adaptive", 10),
            ("adaptive", 20),
        ];
        assert_eq!(
            shown,
            expected.map(|(by, kb)| vec![format!("by={by}"), format!("kb={kb}")])
        );
    }
    let run = &Summary::of(&outcome.tables)[2];
    let json = serde_json::to_value(run).unwrap();
    assert_eq!(
        json["values"],
        serde_json::json!([["by", "adaptive"], ["kb", 10.0]])
    );
}
