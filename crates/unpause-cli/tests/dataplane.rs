//! `unpause dataplane`: what it writes, and what it refuses.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Eight senders meet at B1, and XOFF is low enough for S1 to pause S0.
const SCENARIO: &str = r#"
duration = "2ms"

[topology]
builder = "dumbbell"
left = 8
right = 2
rate = "10Gbps"
bottleneck_rate = "40Gbps"
delay = "1us"

[pfc]
xoff = "20KB"

[[scheme]]
name = "ECN#"
congestion_control = "dctcp"
marking = "ecn-sharp-tofino"
[scheme.ecn-sharp-tofino]
ins_target = "100us"
pst_target = "10us"
pst_interval = "50us"

[[scheme]]
name = "PCN"
congestion_control = "pcn"

[[scheme]]
name = "exact"
congestion_control = "dctcp"
marking = "ecn-sharp"

[[scheme]]
name = "PFC"

[[traffic]]
name = "incast"
kind = "burst"
from = "A1..A8"
to = "B1"
size = "50KB"
start = "10us"

[[traffic]]
name = "bystander"
kind = "flow"
from = "A1"
to = "B2"
size = "100KB"
"#;

fn unpause(directory: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_unpause"))
        .arg("dataplane")
        .args(args)
        .current_dir(directory)
        .env("NO_COLOR", "1")
        .output()
        .expect("the program runs")
}

fn workplace(scenario: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("it.toml"), scenario).unwrap();
    directory
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn refusal(scenario: &str, args: &[&str]) -> String {
    let place = workplace(scenario);
    let output = unpause(place.path(), args);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_program_has_its_text_its_entries_and_a_manifest() {
    let place = workplace(SCENARIO);
    let args = ["build", "it.toml", "--scheme", "ECN#", "--out", "out"];
    let paths = said(&unpause(place.path(), &args));
    assert_eq!(
        paths,
        "out/ecn-sharp.spec\nout/entries.txt\nout/manifest.json\n"
    );
    let manifest = fs::read_to_string(place.path().join("out/manifest.json")).unwrap();
    insta::assert_snapshot!(manifest);
}

#[test]
fn a_sequence_of_a_port_has_the_simulator_s_marks() {
    let place = workplace(SCENARIO);
    let record = |scheme: &str, port: &str, more: &[&str]| {
        let args = ["record", "it.toml", "--scheme", scheme, "--port", port];
        let args = [&args[..], &["--out", "a.seq"], more].concat();
        said(&unpause(place.path(), &args))
    };
    insta::assert_snapshot!(record("ECN#", "S1->B1", &[]));
    // PAUSE from S1 stops S0, and what it held goes unmarked.
    insta::assert_snapshot!(record("PCN", "S0->S1", &[]));
    // The clock runs from time 0 on: a packet every 4.29 s, two of them here.
    insta::assert_snapshot!(record("ECN#", "S1->B1", &["--start-at", "9s"]));
}

#[test]
fn a_random_sequence_is_the_same_each_time() {
    let place = workplace(SCENARIO);
    let random = |seed: &str, out: &str| {
        let args = ["random", "it.toml", "--scheme", "PCN", "--packets", "5000"];
        let args = [&args[..], &["--seed", seed, "--out", out]].concat();
        said(&unpause(place.path(), &args));
        fs::read(place.path().join(out)).unwrap()
    };
    assert!(random("1", "a.seq") == random("1", "b.seq"));
    assert!(random("1", "a.seq") != random("2", "b.seq"));
}

#[test]
fn accuracy_is_a_table_over_parameters() {
    let place = workplace(SCENARIO);
    let args = ["random", "it.toml", "--scheme", "ECN#", "--packets", "5000"];
    let args = [&args[..], &["--out", "a.seq"]].concat();
    said(&unpause(place.path(), &args));
    said(&unpause(
        place.path(),
        &["accuracy", "a.seq", "--out", "a.csv"],
    ));
    let table = fs::read_to_string(place.path().join("a.csv")).unwrap();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split(',').collect())
        .collect();
    assert_eq!(rows.len(), 1 + 14 * 3);
    for row in &rows[1..] {
        let number = |column: &str| {
            let index = rows[0].iter().position(|name| *name == column);
            row[index.expect("a column")]
                .parse::<i64>()
                .expect("a number")
        };
        assert_eq!((row[0], number("packets")), ("a", 5000));
        // Packets that both mark, counted from either side.
        assert_eq!(
            number("exact_marks") - number("exact_only"),
            number("hardware_marks") - number("hardware_only")
        );
        assert!(number("earliest_ns") <= 0 && number("latest_ns") >= 0);
    }
}

#[test]
fn what_cannot_be_a_program_is_refused() {
    let build = ["build", "it.toml", "--out", "out"];
    let of = |scheme| [&build[..], &["--scheme", scheme]].concat();
    let long = SCENARIO.replace("ins_target = \"100us\"", "ins_target = \"5s\"");
    let short = SCENARIO.replace("pst_interval = \"50us\"", "pst_interval = \"500ns\"");
    let refusals = [
        refusal(SCENARIO, &build),
        refusal(SCENARIO, &of("PCM")),
        refusal(SCENARIO, &of("exact")),
        refusal(SCENARIO, &of("PFC")),
        refusal(&long, &of("ECN#")),
        refusal(&short, &of("ECN#")),
    ];
    insta::assert_snapshot!(refusals.join("\n"));
}

#[test]
fn what_cannot_be_recorded_is_refused() {
    let record = |scenario: &str, port: &str| {
        let args = ["record", "it.toml", "--scheme", "PCN", "--out", "a.seq"];
        refusal(scenario, &[&args[..], &["--port", port]].concat())
    };
    let voq = SCENARIO.replace("[pfc]", "[switch]\nqueueing = \"voq\"\n\n[pfc]");
    let refusals = [
        record(SCENARIO, "S0"),
        record(SCENARIO, "S7->S1"),
        record(SCENARIO, "S0->B1"),
        record(SCENARIO, "A1->S0"),
        record(&voq, "S0->S1"),
    ];
    insta::assert_snapshot!(refusals.join("\n"));
}

#[test]
fn what_is_no_sequence_is_refused() {
    let args = ["accuracy", "it.toml", "--out", "a.csv"];
    insta::assert_snapshot!(refusal(SCENARIO, &args));
}
