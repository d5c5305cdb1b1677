//! Signals, limits, links, and two writers at once.

use std::fs;
use std::process::Command;

use super::{SCENARIO, names, text, unpause, workplace};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Ctrl-C in the middle of a run that would take minutes.
#[test]
fn an_interrupted_run_leaves_nothing() {
    let place = workplace();
    let long = SCENARIO
        .replace("200us", "100s")
        .replace("10us", "10ms")
        .replace("size = \"64KB\"\n", "");
    fs::write(place.path().join("long.toml"), long).unwrap();
    let mut run = Command::new(env!("CARGO_BIN_EXE_unpause"))
        .args(["run", "long.toml", "--no-report"])
        .current_dir(place.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let kill = Command::new("kill")
        .args(["-INT", &run.id().to_string()])
        .status()
        .unwrap();
    assert!(kill.success());
    let deadline = Instant::now() + Duration::from_secs(60);
    let status = loop {
        match run.try_wait().unwrap() {
            Some(status) => break status,
            None if Instant::now() > deadline => {
                run.kill().unwrap();
                panic!("the run goes on after Ctrl-C");
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    assert_eq!(status.code(), Some(130));
    assert_eq!(names(place.path()), ["long.toml", "two.toml"]);
}

fn long() -> String {
    SCENARIO
        .replace("200us", "100s")
        .replace("10us", "10ms")
        .replace("size = \"64KB\"\n", "")
}

/// Ctrl-C and SIGTERM: one line each, and the exit code that shells expect.
#[test]
fn signals_end_runs_with_a_line() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let place = workplace();
        fs::write(place.path().join("long.toml"), long()).unwrap();
        let run = Command::new(env!("CARGO_BIN_EXE_unpause"))
            .args(["run", "long.toml", "--no-report"])
            .current_dir(place.path())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        while !place.path().join("results/long/.unpause/lock").exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(100));
        let pid = run.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &pid])
                .status()
                .unwrap()
                .success()
        );
        let run = run.wait_with_output().unwrap();
        assert_eq!(run.status.code(), Some(code));
        assert_eq!(text(&run.stderr), "interrupted: nothing was written\n");
        assert_eq!(names(place.path()), ["long.toml", "two.toml"]);
    }
}

/// A short scheme is done when a long one is stopped: it is not run again.
#[test]
fn finished_runs_are_kept() {
    let place = workplace();
    let scenario = SCENARIO
        .replace("200us", "4ms")
        .replace("10us", "1ms")
        .replace("size = \"64KB\"\n", "");
    let slow = "[[scheme]]\nname = \"slow\"\nset = { duration = \"100s\" }\n[[traffic]]";
    let scenario = scenario.replacen("[[traffic]]", slow, 1);
    fs::write(place.path().join("long.toml"), &scenario).unwrap();
    let start = || {
        Command::new(env!("CARGO_BIN_EXE_unpause"))
            .args([
                "run",
                "long.toml",
                "--no-report",
                "--threads",
                "3",
                "--force",
                "--seeds",
                "200",
            ])
            .current_dir(place.path())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let mut run = start();
    let runs = place.path().join("results/long/.unpause/runs");
    while names(&runs).len() < 3 {
        assert!(run.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = run.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    let run = run.wait_with_output().unwrap();
    let said = text(&run.stderr);
    let kept = names(&runs).len();
    assert!(
        said.contains(&format!(
            "interrupted: {kept} of 600 runs are kept in results/long"
        )),
        "{said}"
    );
}

/// A run that would take minutes is refused at once.
#[test]
fn places_that_cannot_be_written_are_found_before_anything_is_simulated() {
    let place = workplace();
    fs::write(place.path().join("long.toml"), long()).unwrap();
    std::os::unix::fs::symlink("nowhere/at/all", place.path().join("dangling")).unwrap();
    for out in ["/proc/unpause", "two.toml/out", "dangling"] {
        let run = unpause(place.path(), &["run", "long.toml", "--out", out]);
        assert_eq!(run.status.code(), Some(1), "{out}");
        let said = text(&run.stderr);
        assert!(said.contains(&format!("cannot write {out}")), "{said}");
    }
    assert_eq!(names(place.path()), ["dangling", "long.toml", "two.toml"]);
}

#[test]
fn links_are_written_through() {
    let place = workplace();
    fs::create_dir_all(place.path().join("disk/results")).unwrap();
    std::os::unix::fs::symlink("disk/results", place.path().join("link")).unwrap();
    for _ in 0..2 {
        let run = unpause(
            place.path(),
            &["run", "two.toml", "--no-report", "-o", "link"],
        );
        assert!(run.status.success(), "{}", text(&run.stderr));
    }
    assert!(place.path().join("link").is_symlink());
    assert!(place.path().join("disk/results/manifest.json").exists());
    fs::write(place.path().join("real.csv"), "mine").unwrap();
}

#[test]
fn a_second_writer_is_warned_of_the_first() {
    let place = workplace();
    fs::write(place.path().join("long.toml"), long()).unwrap();
    let mut first = Command::new(env!("CARGO_BIN_EXE_unpause"))
        .args(["run", "long.toml", "--no-report", "-o", "out"])
        .current_dir(place.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lock = place.path().join("out/.unpause/lock");
    while fs::read_to_string(&lock).is_ok_and(|text| text.is_empty()) || !lock.exists() {
        assert!(first.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(10));
    }
    let second = unpause(place.path(), &["run", "two.toml", "-o", "out"]);
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(second.status.code(), Some(1));
    let said = text(&second.stderr);
    assert!(
        said.contains(&format!("another unpause (process {}, since", first.id())),
        "{said}"
    );
    // The killed run hinders no other.
    let third = unpause(
        place.path(),
        &["run", "two.toml", "--no-report", "-o", "out"],
    );
    assert!(third.status.success(), "{}", text(&third.stderr));
    assert!(!place.path().join("out/.unpause").exists());
}

/// A file-size limit fails writes as a full disk does.
#[test]
fn a_full_disk_leaves_nothing_that_looks_complete() {
    let place = workplace();
    let program = env!("CARGO_BIN_EXE_unpause");
    let script = format!("trap '' XFSZ; ulimit -f 2; exec {program} run two.toml --no-report");
    let run = Command::new("bash")
        .args(["-c", &script])
        .current_dir(place.path())
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(1), "{}", text(&run.stderr));
    assert!(
        text(&run.stderr).contains("cannot write"),
        "{}",
        text(&run.stderr)
    );
    assert_eq!(names(&place.path().join("results")), [""; 0]);
}
