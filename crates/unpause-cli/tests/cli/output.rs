//! Standard output that cannot be written, names that are no text, limits of the system.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::{Command, Output};

use super::{SCENARIO, names, text, unpause, workplace};

/// A full device is what a full disk is; `/dev/full` is Linux's.
#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    let place = workplace();
    for args in [
        &["list"][..],
        &["--help"],
        &["schema"],
        &["validate", "two.toml"],
        &["validate", "two.toml", "--output", "json"],
        &["run", "two.toml", "--no-report", "--output", "json"],
        &["compare", "results/two"],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let done = Command::new(env!("CARGO_BIN_EXE_unpause"))
            .args(args)
            .current_dir(place.path())
            .stdout(full)
            .output()
            .unwrap();
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{args:?}: {said}");
        let expected = "error: cannot write standard output: No space left on device";
        assert_eq!(said.matches(expected).count(), 1, "{args:?}: {said}");
    }
}

/// Nobody can be told; the exit code is that of a standard error that can be written.
#[cfg(target_os = "linux")]
#[test]
fn errors_that_cannot_be_written_change_no_exit_code() {
    let place = workplace();
    for args in [
        &["validate", "nosuch.toml"][..],
        &["run", "--bad"],
        &["run", "two.toml", "--no-report", "--verbose"],
        &["compare", "nowhere"],
        &[],
    ] {
        let code = |errors: File| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_unpause"));
            command.args(args).current_dir(place.path()).stderr(errors);
            command.output().unwrap().status.code()
        };
        let open = |name: &str| File::options().write(true).open(name).unwrap();
        let expected = code(open("/dev/null"));
        assert!(matches!(expected, Some(0..=2)), "{args:?}: {expected:?}");
        assert_eq!(code(open("/dev/full")), expected, "{args:?}");
    }
}

#[test]
fn names_that_are_no_text_are_told_as_far_as_they_are() {
    let place = workplace();
    let [file, odd] = [&b"\xff.toml"[..], b"out\xff"].map(OsStr::from_bytes);
    // Some file systems have names of text only.
    if fs::write(place.path().join(file), SCENARIO).is_err() {
        return;
    }
    let done = |args: &[&OsStr]| -> Output {
        Command::new(env!("CARGO_BIN_EXE_unpause"))
            .args(args)
            .args(["--output", "json"])
            .current_dir(place.path())
            .output()
            .unwrap()
    };
    let word = OsStr::new;
    for args in [
        &[word("validate"), file][..],
        &[
            word("run"),
            file,
            word("--no-report"),
            word("--out"),
            word("out"),
        ],
    ] {
        let done = done(args);
        assert!(done.status.success(), "{args:?}: {}", text(&done.stderr));
        let told: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        assert!(told.to_string().contains('\u{fffd}'), "{args:?}: {told}");
    }
    let refused = done(&[word("run"), file, word("--no-report"), word("--out"), odd]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stdout).contains("out\u{fffd}"));
    let missing = OsString::from(OsStr::from_bytes(b"no\xfe.toml"));
    let said = done(&[word("run"), &missing]);
    assert_eq!(said.status.code(), Some(1));
    assert!(text(&said.stdout).contains("no\u{fffd}.toml"));
}

#[test]
fn long_names_of_schemes_fit_into_names_of_files() {
    let place = workplace();
    let long = ["PFC", "PFC+PCN"]
        .iter()
        .fold(SCENARIO.to_owned(), |it, name| {
            it.replace(
                &format!("\"{name}\""),
                &format!("\"{}{name}\"", "ü".repeat(300)),
            )
        });
    fs::write(place.path().join("long.toml"), long).unwrap();
    let args = [
        "run",
        "long.toml",
        "--no-report",
        "--fct-hpcc",
        "--out",
        "o",
    ];
    let run = unpause(place.path(), &args);
    assert!(run.status.success(), "{}", text(&run.stderr));
    let mut found = names(&place.path().join("o"));
    found.retain(|name| name.starts_with("fct-"));
    let begin = format!("fct-{}", "ü".repeat(100));
    assert_eq!(found, [format!("{begin}-run1.txt"), format!("{begin}.txt")]);
}

/// More than the limit on addresses leaves is refused before anything runs.
#[test]
fn a_limit_on_addresses_is_a_limit_on_memory() {
    let place = workplace();
    let many = SCENARIO
        .replace("200us", "20s")
        .replace("10us", "1us")
        .replace("size = \"64KB\"\n", "");
    fs::write(place.path().join("many.toml"), many).unwrap();
    let program = env!("CARGO_BIN_EXE_unpause");
    let script = format!("ulimit -v 3000000; exec {program} run many.toml --no-report");
    let run = Command::new("bash")
        .args(["-c", &script])
        .current_dir(place.path())
        .output()
        .unwrap();
    let said = text(&run.stderr);
    assert_eq!(run.status.code(), Some(1), "{said}");
    assert!(said.contains("of memory ("), "{said}");
    assert_eq!(names(&place.path().join("results")), [""; 0]);
}

#[test]
fn export_follows_no_link_in_a_result() {
    let place = workplace();
    let at = |name: &str| place.path().join(name);
    let args = ["run", "two.toml", "--no-report", "--out", "out"];
    assert!(unpause(place.path(), &args).status.success());
    fs::create_dir(at("outside")).unwrap();
    fs::write(at("outside/canary"), "alive").unwrap();
    symlink(at("outside"), at("out/csv")).unwrap();
    let done = unpause(place.path(), &["export", "out", "--force"]);
    assert_eq!(done.status.code(), Some(1));
    assert!(
        text(&done.stderr).contains("out/csv"),
        "{}",
        text(&done.stderr)
    );
    fs::remove_file(at("out/csv")).unwrap();
    fs::create_dir(at("out/csv")).unwrap();
    symlink(at("outside/canary"), at("out/csv/flows.csv")).unwrap();
    symlink(at("outside/new"), at("out/csv/ports.csv")).unwrap();
    let done = unpause(place.path(), &["export", "out"]);
    assert_eq!(done.status.code(), Some(1));
    assert!(
        text(&done.stderr).contains("flows.csv exists"),
        "{}",
        text(&done.stderr)
    );
    let done = unpause(place.path(), &["export", "out", "--force"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    for name in ["flows", "ports"] {
        let about = at(&format!("out/csv/{name}.csv"))
            .symlink_metadata()
            .unwrap();
        assert!(about.is_file());
    }
    assert_eq!(names(&at("outside")), ["canary"]);
    assert_eq!(fs::read_to_string(at("outside/canary")).unwrap(), "alive");
    assert_eq!(
        names(&at("out/csv")).len(),
        21,
        "nothing is left beside the tables"
    );
}
