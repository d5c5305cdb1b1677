//! C and C++ programs linked with the library, under AddressSanitizer and UndefinedBehaviorSanitizer where the compiler has them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
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
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
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
    let name = sources[0].replace(['/', '.'], "-");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let root = Path::new(ROOT);
    let sanitizers: &[&str] = if has_sanitizers(&compiler) {
        &SANITIZERS
    } else {
        eprintln!("without sanitizers: {compiler} has none");
        &[]
    };
    let compiled = Command::new(compiler)
        .args(["-Wall", "-Wextra", "-Werror", "-O1"])
        .args(sanitizers)
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

const SANITIZERS: [&str; 2] = [
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=undefined",
];

/// True if a program that it has compiled with sanitizers runs.
fn has_sanitizers(compiler: &str) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("empty.c"), folder.path().join("empty"));
    std::fs::write(&source, "int main(void) { return 0; }\n").expect("it can be written");
    let compiled = Command::new(compiler)
        .args(SANITIZERS)
        .args(["-x", "c"])
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .output();
    let is_compiled = compiled.is_ok_and(|compiled| compiled.status.success());
    is_compiled && Command::new(program).status().is_ok_and(|it| it.success())
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

/// Picoseconds that a frame of this many bytes lasts at 400 Gb/s.
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

const FOLDER: &str = "integrations/astra-sim";

/// A program of `integrations/astra-sim`, against headers that stand in for others'.
fn integrated(sources: &[&str], headers: &str) -> Option<PathBuf> {
    let sources: Vec<_> = sources
        .iter()
        .map(|source| format!("{FOLDER}/{source}"))
        .collect();
    let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
    let options = [
        "-std=c++17",
        "-Iintegrations/astra-sim/src",
        &format!("-I{FOLDER}/{headers}"),
    ];
    compile(("CXX", "c++"), &options, &sources)
}

/// Runs a program on the fabric; what it prints, on its standard output and in case of an error.
fn drive(program: &Path, arguments: &[&str]) -> String {
    let (_file, scenario) = scenario();
    let scenario = format!("--unpause-scenario={scenario}");
    let run = Command::new(program)
        .arg(scenario)
        .args(arguments)
        .output()
        .expect("the program runs");
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(!said.contains("Sanitizer"), "{arguments:?}:\n{said}");
    assert!(run.status.code().is_some(), "{arguments:?}:\n{said}");
    String::from_utf8_lossy(&run.stdout).into_owned() + &said
}

/// The class that is ASTRA-sim's network, as a program that does not need ASTRA-sim calls it.
fn astra(arguments: &[&str]) -> Option<String> {
    static ONCE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let sources = [
        "tests/driver.cc",
        "src/unpause_astra.cc",
        "src/unpause_fabric.cc",
    ];
    let program = ONCE.get_or_init(|| integrated(&sources, "tests"));
    program.as_ref().map(|program| drive(program, arguments))
}

/// The front end: a ring all-reduce, messages of 100,000 B.
fn front_end(arguments: &[&str]) -> Option<String> {
    static ONCE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let sources = [
        "src/main.cc",
        "src/unpause_astra.cc",
        "src/unpause_fabric.cc",
    ];
    let program = ONCE.get_or_init(|| integrated(&sources, "tests"));
    let usual = [
        "--workload-configuration",
        "100000",
        "--system-configuration=system.json",
        "--remote-memory-configuration=memory.json",
    ];
    let arguments = [&usual[..], arguments].concat();
    program.as_ref().map(|program| drive(program, &arguments))
}

fn ends(said: &str) -> Vec<u64> {
    let ends = said.lines().filter_map(|line| line.split_once("done at "));
    let ends = ends.filter_map(|(_, end)| end.strip_suffix(" ns"));
    ends.map(|end| end.parse().expect("a number")).collect()
}

/// Picoseconds of 11 frames of 9000 B and one of 1000 B, alone through one switch.
const BLOCK: u64 = 12 * lasts(9048) + lasts(1048) + 2 * 500_000;

#[test]
fn a_ring_behind_the_interface_of_astra_sim() {
    let Some(said) = front_end(&[]) else {
        return;
    };
    let ps = 14 * BLOCK + 13 * lasts(66);
    assert_eq!(ends(&said), [ps / 1000; 8], "{said}");
    let four = front_end(&["--logical-dims=2,2"]).expect("it is compiled");
    let ps = 6 * BLOCK + 5 * lasts(66);
    assert_eq!(ends(&four), [ps / 1000; 4], "{four}");
}

#[test]
fn a_receive_can_wait_for_the_acknowledgement() {
    let Some(acknowledged) = front_end(&["--unpause-completion", "ack"]) else {
        return;
    };
    let acknowledged = ends(&acknowledged);
    // The ACK travels two links, store and forward, in each of 14 steps; it delays no block.
    let ack = 2 * (500_000 + lasts(66));
    let expected = 14 * (BLOCK + ack) / 1000;
    assert_eq!(acknowledged, [expected; 8]);
}

#[test]
fn arguments_of_the_front_end_are_checked() {
    for (arguments, expected) in [
        (
            &["--logical-dims=3,3"],
            "9 ranks are asked for: the fabric has 8 hosts",
        ),
        (
            &["--logical-dims=2,x"],
            "--logical-dims is \"x\": expected a number above zero",
        ),
        (
            &["--comm-scale=0"],
            "--comm-scale is \"0\": expected a number above zero",
        ),
        (&["--rendezvous-protocol=maybe"], "expected true or false"),
        (
            &["--workload-configuration="],
            "--workload-configuration is missing",
        ),
        (&["--injection-scale"], "--injection-scale needs a value"),
        (
            &["--network-configuration=x"],
            "there is no argument --network-configuration=x",
        ),
    ] {
        let Some(said) = front_end(arguments) else {
            return;
        };
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn receives_of_one_key_are_a_stream() {
    let Some(said) = astra(&["stream"]) else {
        return;
    };
    let expected =
        "first 600\nlarge\nthe last is not told while it is asked for\nlast 400\n2 sends done\n";
    assert_eq!(said, expected);
}

#[test]
fn a_message_of_no_bytes_is_waited_for() {
    let Some(said) = astra(&["empty"]) else {
        return;
    };
    // It is on its way for 1 us and the time of a frame.
    assert!(said.starts_with("1 us\nnothing has come\n3 us\n"), "{said}");
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
    for (arguments, expected) in [
        (
            ["lost"],
            "8 of 8 ranks have not finished: 0 messages are under way, 1 receives wait",
        ),
        (["throws"], "error: a handler has failed"),
        (
            ["negative"],
            "error: a delay below zero cannot be scheduled",
        ),
        (
            ["--unpause-completion=never"],
            "delivered and ack are possible",
        ),
        (["--unpause-results"], "--unpause-results needs a value"),
    ] {
        let said = astra(&arguments).expect("it is compiled");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

/// SimAI's older interface: flows come with their messages, 6 us after they have been sent.
#[test]
fn simais_flows_come_with_their_messages() {
    let sources = [
        "tests/simai/driver.cc",
        "src/unpause_simai.cc",
        "src/unpause_fabric.cc",
    ];
    let Some(program) = integrated(&sources, "tests/simai") else {
        return;
    };
    let first = 6_000_000 + alone(1);
    let ack = 2 * (500_000 + lasts(66));
    let expected = format!(
        "rank 1: flow 41 received at {first} ps\n\
         rank 0: flow 41 acknowledged at {} ps\n\
         rank 0: flow 42 acknowledged at {} ps\n\
         rank 1: flow 42 received at 50000000 ps\n\
         8 ranks, 0 tags left\n",
        first + ack,
        first + lasts(9048) + ack,
    );
    assert_eq!(drive(&program, &[]), expected);
}

/// Every misuse of the C library that it has an answer for: the number of each status, and no fault in between.
#[test]
fn misuse_from_c_is_answered() {
    let source = "crates/unpause-network/tests/misuse.c";
    let Some(program) = compile(("CC", "cc"), &["-std=c11"], &[source]) else {
        return;
    };
    let (_file, scenario) = scenario();
    let said = output(&program, &[&scenario]);
    let statuses: Vec<String> = said
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(what, answer)| format!("{what} {}", answer.split(' ').next().unwrap_or("")))
        .collect();
    let expected = [
        "no file 3",
        "no room 1",
        "no network 2",
        "open 0",
        "no room for ranks 1",
        "ranks 0",
        "no sender 4",
        "no receiver 4",
        "to itself 5",
        "no bytes 5",
        "too many bytes 5",
        "no callback 1",
        "another thread 2",
        "schedule 0",
        "send 0",
        "receive 0",
        "a callback closes 7",
        "a callback runs 7",
        "a callback opens 3",
        "a callback sends to nobody 4",
        "a callback stops 0",
        "run until 0",
        "calls 1",
        "pending 0",
        "messages 1,",
        "close 0",
        "still 1",
        "closed 2",
        "run when closed 2",
    ];
    assert_eq!(statuses, expected, "{said}");
    for line in said.lines().filter(|line| line.contains(": 2 ")) {
        assert!(
            line.contains("it was never opened, it was closed"),
            "{line}"
        );
    }
}
