//! The program as users see it: exit codes, messages, and what is left on the disk.

#[cfg(unix)]
mod output;
mod terminal;
#[cfg(unix)]
mod unix;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const SCENARIO: &str = r#"
title = "two hosts"
duration = "200us"

[topology]
builder = "single-switch"
hosts = 3
rate = "40Gbps"
delay = "1us"

[[scheme]]
name = "PFC"

[[scheme]]
name = "PFC+PCN"
congestion_control = "pcn"

[[traffic]]
name = "F0"
kind = "flow"
from = ["H0", "H1"]
to = "H2"
size = "64KB"
record = true

[probes]
interval = "10us"
ports = ["S0->H2"]
"#;

fn unpause(directory: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_unpause"))
        .args(args)
        .current_dir(directory)
        .env("NO_COLOR", "1")
        .output()
        .expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A directory with the scenario in it.
fn workplace() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("two.toml"), SCENARIO).unwrap();
    directory
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_run_writes_a_complete_directory_and_a_summary() {
    let place = workplace();
    let run = unpause(
        place.path(),
        &["run", "two.toml", "--no-report", "--fct-hpcc"],
    );
    assert!(run.status.success(), "{}", text(&run.stderr));
    let shown = text(&run.stdout);
    assert!(shown.starts_with("two hosts\n"), "{shown}");
    assert!(shown.contains("PFC+PCN"), "{shown}");
    assert!(shown.contains("no PAUSE was sent"), "{shown}");
    let expected = [
        "causes.parquet",
        "collectives.parquet",
        "critical.parquet",
        "delays.parquet",
        "fct-PFC+PCN.txt",
        "fct-PFC.txt",
        "flow_series.parquet",
        "flows.parquet",
        "iterations.parquet",
        "job_links.parquet",
        "jobs.parquet",
        "link_changes.parquet",
        "loads.parquet",
        "losses.parquet",
        "manifest.json",
        "messages.parquet",
        "packets.parquet",
        "pauses.parquet",
        "port_series.parquet",
        "ports.parquet",
        "ranks.parquet",
        "runs.parquet",
        "scenario.toml",
        "storms.parquet",
        "victims.parquet",
    ];
    let results = place.path().join("results");
    assert_eq!(names(&results.join("two")), expected);
    assert_eq!(names(&results), ["two"]);
    let fct = fs::read_to_string(results.join("two/fct-PFC.txt")).unwrap();
    assert_eq!(fct.lines().count(), 2, "{fct}");

    let compare = unpause(place.path(), &["compare", "results/two", "results/two"]);
    assert!(compare.status.success(), "{}", text(&compare.stderr));
    // A row for each run of each result; where a Python has the package, its table, in which equal results are one row.
    let said = text(&compare.stdout);
    let rows = said.lines().filter(|line| line.contains("PFC"));
    assert!(rows.count() >= 4, "{said}");
    let export = unpause(place.path(), &["export", "results/two", "--csv"]);
    assert!(export.status.success(), "{}", text(&export.stderr));
    // It is about frames alone.
    let snap = ["export", "results/two", "--csv", "--snap", "64"];
    let said = text(&unpause(place.path(), &snap).stderr);
    assert!(said.contains("cannot be used with"), "{said}");
    let flows = fs::read_to_string(results.join("two/csv/flows.csv")).unwrap();
    assert_eq!(flows.lines().count(), 5, "{flows}");
    assert!(flows.starts_with("run,scheme,flow_id,traffic,src,dst,priority,size_bytes,start_ns"));
}

#[test]
fn the_same_scenario_and_seed_give_the_same_bytes() {
    let place = workplace();
    for (out, threads) in [("a", "1"), ("b", "4")] {
        let args = [
            "run",
            "two.toml",
            "--no-report",
            "--out",
            out,
            "--threads",
            threads,
        ];
        assert!(unpause(place.path(), &args).status.success());
    }
    for name in names(&place.path().join("a")) {
        let read = |run: &str| fs::read(place.path().join(run).join(&name)).unwrap();
        assert!(
            name == "manifest.json" || read("a") == read("b"),
            "{name} differs"
        );
    }
}

#[test]
fn options_replace_what_the_file_says() {
    let place = workplace();
    let args = [
        "run",
        "two.toml",
        "--no-report",
        "--scheme",
        "PFC",
        "--seed",
        "7",
        "--duration",
        "50us",
        "--out",
        "out",
    ];
    let run = unpause(place.path(), &args);
    assert!(run.status.success(), "{}", text(&run.stderr));
    assert!(
        unpause(place.path(), &["export", "out", "--csv"])
            .status
            .success()
    );
    let runs = fs::read_to_string(place.path().join("out/csv/runs.csv")).unwrap();
    assert_eq!(runs.lines().count(), 2, "{runs}");
    assert!(runs.contains("\n0,PFC,7,50000,"), "{runs}");
}

#[test]
fn only_results_are_replaced() {
    let place = workplace();
    let args = ["run", "two.toml", "--no-report", "--out", "out"];
    for _ in 0..2 {
        assert!(unpause(place.path(), &args).status.success());
    }
    fs::create_dir(place.path().join("mine")).unwrap();
    fs::write(place.path().join("mine/notes.txt"), "keep").unwrap();
    let run = unpause(
        place.path(),
        &["run", "two.toml", "--no-report", "--out", "mine"],
    );
    assert_eq!(run.status.code(), Some(1));
    assert!(text(&run.stderr).contains("mine exists and is not a result directory"));
    assert_eq!(names(&place.path().join("mine")), ["notes.txt"]);
    assert_eq!(names(place.path()), ["mine", "out", "two.toml"]);
}

#[test]
fn what_is_replaced_and_what_stays_is_said() {
    let place = workplace();
    let run = |args: &[&str]| {
        let args = [&["run", "two.toml", "--no-report"], args].concat();
        let run = unpause(place.path(), &args);
        assert!(run.status.success(), "{args:?}: {}", text(&run.stderr));
        text(&run.stdout)
    };
    assert!(!run(&["-o", "out/"]).contains("replaced"));
    fs::write(place.path().join("out/notes.txt"), "keep").unwrap();
    let said = run(&["-o", "out/", "--seed", "7"]);
    assert!(
        said.contains("replaced: the result of two.toml (seed 1)\nkept unchanged: notes.txt\n")
    );
    assert!(place.path().join("out/notes.txt").exists());
    run(&["-o", "out/", "--seeds", "2"]);
    let said = run(&["-o", "out/"]);
    assert!(said.contains("replaced: the result of two.toml (seed 1, 2)\n"));
}

#[test]
fn default_directories_do_not_collide() {
    let place = workplace();
    let run = |args: &[&str]| {
        let run = unpause(place.path(), &[&["run", "--no-report"], args].concat());
        (run.status.code(), text(&run.stderr))
    };
    fs::create_dir_all(place.path().join("a/scenarios")).unwrap();
    fs::copy(
        place.path().join("two.toml"),
        place.path().join("a/scenarios/two.toml"),
    )
    .unwrap();
    for args in [
        &["two.toml"][..],
        &["two.toml", "--seed", "7"],
        &["a/scenarios/two.toml"],
    ] {
        assert_eq!(run(args).0, Some(0), "{args:?}");
    }
    assert_eq!(
        names(&place.path().join("results")),
        ["a-two", "two", "two-seed7"]
    );
    // Another file with the same folder and name.
    fs::create_dir(place.path().join("scenarios")).unwrap();
    fs::copy(
        place.path().join("two.toml"),
        place.path().join("scenarios/two.toml"),
    )
    .unwrap();
    let (code, said) = run(&["scenarios/two.toml"]);
    assert_eq!(code, Some(1));
    assert!(
        said.contains("results/two has the result of another scenario, two.toml"),
        "{said}"
    );
    assert_eq!(run(&["scenarios/two.toml", "-o", "results/two"]).0, Some(0));
}

#[test]
fn nothing_is_overwritten_without_being_asked_to() {
    let place = workplace();
    assert!(
        unpause(place.path(), &["run", "two.toml", "--no-report"])
            .status
            .success()
    );
    let flows = place.path().join("results/two/csv/flows.csv");
    let suggest = [
        "suggest",
        "ecn",
        "--rate",
        "10Gbps",
        "--rtt",
        "0:80us,100:240us",
        "--write",
    ];
    for (args, file) in [
        (&["export", "results/two"][..], &flows),
        (
            &[&suggest[..], &["two.toml"]].concat(),
            &place.path().join("two.toml"),
        ),
    ] {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "mine").unwrap();
        let refused = unpause(place.path(), args);
        assert_eq!(refused.status.code(), Some(1), "{args:?}");
        assert!(
            text(&refused.stderr).contains("exists\nhint: --force replaces it"),
            "{args:?}"
        );
        assert_eq!(fs::read_to_string(file).unwrap(), "mine");
        let forced = unpause(place.path(), &[args, &["--force"]].concat());
        assert!(forced.status.success(), "{}", text(&forced.stderr));
        assert_ne!(fs::read_to_string(file).unwrap(), "mine");
    }
}

#[test]
fn what_needs_the_python_package_says_so() {
    for arguments in [
        &["sweep", "two.toml", "--vary", "seed=1..3"][..],
        &["reproduce", "pcn/F11"][..],
    ] {
        let place = workplace();
        let output = Command::new(env!("CARGO_BIN_EXE_unpause"))
            .args(arguments)
            .current_dir(place.path())
            .env("PATH", place.path())
            .env_remove("UNPAUSE_PYTHON")
            .output()
            .expect("the program runs");
        assert_eq!(output.status.code(), Some(1));
        let message = text(&output.stderr);
        assert!(message.contains("need the Python package"), "{message}");
        assert!(message.contains("hint: `pip install .`"), "{message}");
        assert!(!place.path().join("results").exists());
    }
}

#[test]
fn several_processes_of_mpirun_do_not_each_run_everything() {
    let place = workplace();
    let ranked = |arguments: &[&str], size: &str, rank: &str| {
        Command::new(env!("CARGO_BIN_EXE_unpause"))
            .args(arguments)
            .current_dir(place.path())
            .env("OMPI_COMM_WORLD_SIZE", size)
            .env("OMPI_COMM_WORLD_RANK", rank)
            .output()
            .expect("the program runs")
    };
    let run = ["run", "two.toml", "--no-report"];
    for arguments in [
        &run[..],
        &["sweep", "two.toml", "--vary", "seed=1..3"],
        &["testbed", "two.toml"],
        &["reproduce", "pcn/F11"],
    ] {
        let first = ranked(arguments, "2", "0");
        assert_eq!(first.status.code(), Some(1));
        let message = text(&first.stderr);
        assert!(message.contains("started 2 times by mpirun"), "{message}");
        assert!(message.contains("do not use mpirun"), "{message}");
        let other = ranked(arguments, "2", "1");
        assert_eq!(other.status.code(), Some(0));
        assert_eq!(text(&other.stderr) + &text(&other.stdout), "");
    }
    assert!(!place.path().join("results").exists());
    assert!(ranked(&["validate", "two.toml"], "2", "1").status.success());
    assert!(ranked(&run, "1", "0").status.success());
}
