//! C and C++ programs linked with the library.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use tempfile::NamedTempFile;

/// The ACK of a message is the only one: it delays the next step by its own time.
const FABRIC: &str = r#"
duration = "1s"
[topology]
builder = "single-switch"
hosts = 8
rate = "400Gbps"
delay = "500ns"
[host]
payload = "9000B"
ack_every = 1000000
[[scheme]]
name = "PFC"
"#;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The static library that cargo has made of the sources together with these tests.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a file");
    let folder = test.parent().expect("it is in a folder");
    let entries = std::fs::read_dir(folder).expect("it can be read");
    let libraries = entries.flatten().filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with("libunpause_network") && name.ends_with(".a")
    });
    let age = |entry: &std::fs::DirEntry| {
        let modified = entry.metadata().and_then(|it| it.modified());
        modified.unwrap_or(SystemTime::UNIX_EPOCH)
    };
    let newest = libraries.max_by_key(age);
    newest.expect("cargo has made it").path()
}

/// Compiles a program; none where there is no compiler, which is said.
fn compile(compiler: (&str, &str), options: &[&str], sources: &[&str]) -> Option<PathBuf> {
    let (variable, default) = compiler;
    let compiler = std::env::var(variable).unwrap_or_else(|_| default.to_owned());
    let found = Command::new(&compiler).arg("--version").output();
    if !found.is_ok_and(|it| it.status.success()) {
        eprintln!("skipped: no compiler ({variable}, or `{default}`)");
        return None;
    }
    let name = Path::new(sources[0]).file_stem().expect("a file");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let root = Path::new(ROOT);
    let compiled = Command::new(compiler)
        .args(["-Wall", "-Wextra", "-Werror", "-O1"])
        .args(options)
        .arg("-I")
        .arg(root.join("crates/unpause-network/include"))
        .args(sources.iter().map(|source| root.join(source)))
        .arg("-o")
        .arg(&program)
        .arg(library())
        .args(["-lpthread", "-ldl", "-lm"])
        .current_dir(root)
        .output()
        .expect("the compiler runs");
    let said = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{sources:?}:\n{said}");
    Some(program)
}

fn output(program: &Path, arguments: &[&str]) -> String {
    let run = Command::new(program).args(arguments).output();
    let run = run.expect("the program runs");
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(
        run.status.success(),
        "{arguments:?}: {}\n{said}",
        run.status
    );
    String::from_utf8(run.stdout).expect("it prints text")
}

fn scenario() -> (NamedTempFile, String) {
    let mut file = NamedTempFile::new().expect("a file");
    file.write_all(FABRIC.as_bytes())
        .expect("it can be written");
    let path = file.path().to_str().expect("a name").to_owned();
    (file, path)
}

/// Picoseconds that a frame of so many bytes lasts at 400 Gb/s.
const fn lasts(bytes: u64) -> u64 {
    bytes * 20
}

/// Picoseconds of a block of whole frames of 9000 B and 48 B of headers, alone through one switch.
const fn alone(frames: u64) -> u64 {
    (frames + 1) * lasts(9048) + 2 * 500_000
}

/// A step of a ring of `steps` ends when a block has come that waited for the ACK of the step before to leave.
const fn ring(steps: u64, frames: u64) -> u64 {
    steps * alone(frames) + (steps - 1) * lasts(66)
}

#[test]
fn a_ring_in_c() {
    let (_file, scenario) = scenario();
    let source = "crates/unpause-network/examples/ring.c";
    let Some(program) = compile(("CC", "cc"), &["-std=c11", "-DBLOCK=126000"], &[source]) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("results");
    let said = output(&program, &[&scenario, results.to_str().expect("a name")]);
    let ps = ring(14, 14);
    let end = format!("{}.{:03} ns", ps / 1000, ps % 1000);
    let expected: String = (0..8).map(|rank| format!("rank {rank}: {end}\n")).collect();
    let mut lines: Vec<_> = said.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, expected.lines().collect::<Vec<_>>());
    assert!(results.join("flows.parquet").exists());
}

/// The C++ class of `integrations/astra-sim`, against the header that stands in for ASTRA-sim's.
fn astra(arguments: &[&str]) -> Option<String> {
    static ONCE: std::sync::OnceLock<Option<PathBuf>> = std::sync::OnceLock::new();
    let program = ONCE.get_or_init(|| {
        let folder = "integrations/astra-sim";
        let sources = ["tests/driver.cc", "src/unpause_astra.cc"];
        let sources = sources.map(|source| format!("{folder}/{source}"));
        let options = [
            "-std=c++17",
            "-Iintegrations/astra-sim/src",
            "-Iintegrations/astra-sim/tests",
        ];
        let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
        compile(("CXX", "c++"), &options, &sources)
    });
    let (_file, scenario) = scenario();
    let scenario = format!("--unpause-scenario={scenario}");
    let arguments = [&[scenario.as_str()], arguments].concat();
    program.as_ref().map(|program| output(program, &arguments))
}

fn ends(said: &str) -> Vec<u64> {
    let ends = said.lines().filter_map(|line| line.split_once("done at "));
    let ends = ends.filter_map(|(_, end)| end.strip_suffix(" ns"));
    ends.map(|end| end.parse().expect("a number")).collect()
}

#[test]
fn a_ring_behind_the_interface_of_astra_sim() {
    let Some(said) = astra(&["ring"]) else {
        return;
    };
    // 11 frames of 9000 B and one of 1000 B.
    let block = 11 * lasts(9048) + 2 * lasts(1048) + 2 * 500_000 + (lasts(9048) - lasts(1048));
    let ps = 14 * block + 13 * lasts(66);
    assert_eq!(ends(&said), [ps / 1000; 8]);
    assert!(said.ends_with("sends done\n"), "{said}");
}

#[test]
fn a_receive_can_wait_for_the_acknowledgement() {
    let arrived = astra(&["ring"]);
    let Some(acknowledged) = astra(&["--unpause-completion", "ack", "ring"]) else {
        return;
    };
    let arrived = ends(&arrived.expect("it is compiled"));
    let acknowledged = ends(&acknowledged);
    // The ACK travels two links, store and forward, in each of 14 steps; it delays no block.
    let ack = 2 * (500_000 + lasts(66));
    let without = arrived[0] * 1000 - 13 * lasts(66);
    let expected = (without + 14 * ack) / 1000;
    assert!(
        acknowledged.iter().all(|end| end.abs_diff(expected) <= 1),
        "{acknowledged:?}, {expected}"
    );
}

#[test]
fn receives_of_one_key_are_a_stream() {
    let Some(said) = astra(&["stream"]) else {
        return;
    };
    let expected = "first 600\nlarge\nthe last is not told while it is asked for\nlast 400\n";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn what_is_wrong_is_said() {
    let Some(wrong) = astra(&["wrong"]) else {
        return;
    };
    assert_eq!(
        wrong,
        "error: there is no rank 99: this fabric has 8, numbered from 0\n"
    );
    let lost = astra(&["lost"]).expect("it is compiled");
    let expected = "8 of 8 ranks have not finished: 0 messages are under way, 1 receives wait\n";
    assert!(lost.starts_with(expected), "{lost}");
    let option = astra(&["--unpause-completion=never"]).expect("it is compiled");
    assert!(
        option.contains("delivered and ack are possible"),
        "{option}"
    );
    let value = astra(&["--unpause-results"]).expect("it is compiled");
    assert!(value.contains("--unpause-results needs a value"), "{value}");
}
