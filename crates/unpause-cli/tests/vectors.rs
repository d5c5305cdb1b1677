//! `unpause vectors` and `unpause check`, as one types them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn unpause(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_unpause");
    Command::new(program).args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    let all = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8(all).unwrap()
}

#[test]
fn mechanisms_and_their_parameters_are_listed() {
    let listed = text(&unpause(&["vectors"]));
    let parameters = text(&unpause(&["vectors", "dcqcn", "--parameters"]));
    insta::assert_snapshot!(format!("{listed}\n{parameters}"));
}

#[test]
fn what_cannot_be_a_vector_is_refused() {
    let mut all = String::new();
    for arguments in [
        "vectors pnc",
        "vectors pcn --kind flow-control",
        "vectors pcn --kind sender",
        "vectors pcn --set w_mini=3",
        "vectors dcqcn --set alpha_order=last",
        "vectors dcqcn --set rate_ai=40Mbps",
        "vectors dcqcn --set rate_ai",
        "vectors dcqcn --set rate_ai=5 --set rate_ai=6",
        "vectors --parameters",
        "check pcn",
        "check pcn --against ./none --tolerance 2",
    ] {
        let parts: Vec<&str> = arguments.split(' ').collect();
        let output = unpause(&parts);
        assert_ne!(output.status.code(), Some(0), "{arguments}");
        all += &format!("$ unpause {arguments}\n{}\n", text(&output));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn settings_change_the_vectors_of_all_that_know_them() {
    let lines = |arguments: &[&str]| {
        let output = unpause(arguments);
        assert!(output.status.success(), "{}", text(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    // Receiver and sender of PCN have it both.
    let set = lines(&["vectors", "pcn", "--set", "rec_rate_unit=1000000"]);
    let begun = set
        .lines()
        .filter(|line| line.contains(r#""event":"create""#));
    let mut kinds: Vec<bool> = begun
        .map(|line| {
            assert!(line.contains(r#""rec_rate_unit":1000000"#), "{line}");
            line.contains("notification-point")
        })
        .collect();
    kinds.dedup();
    assert_eq!(kinds, [true, false]);
    assert_ne!(set, lines(&["vectors", "pcn"]));
}

/// PCN in one header, compiled with these options; none where there is no C compiler, which is said.
fn header(name: &str, options: &[&str]) -> Option<PathBuf> {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../unpause-c/examples/pcn_check.c");
    let compiled = Command::new(&compiler)
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-o"])
        .arg(&program)
        .args(options)
        .arg(source)
        .output();
    let Ok(compiled) = compiled else {
        eprintln!("skipped: no C compiler (CC, or `cc`)");
        return None;
    };
    assert!(compiled.status.success(), "{}", text(&compiled));
    Some(program)
}

fn check(program: &Path, more: &[&str]) -> Output {
    let command = format!("'{}'", program.display());
    let mut arguments = vec![
        "check",
        "--words",
        "--timeout",
        "300s",
        "--against",
        &command,
    ];
    arguments.extend(more);
    unpause(&arguments)
}

/// The arguments: the sender, the receiver and the queue of PCN, and parameters other than the defaults.
const SENDER: [&str; 3] = ["pcn", "--kind", "congestion-control"];
const RECEIVER: [&str; 3] = ["pcn", "--kind", "notification-point"];
const QUEUE: [&str; 3] = ["np-ecn", "--kind", "congestion-point"];
const OTHERS: [(&[&str], &[&str]); 3] = [
    (&SENDER, &["w_min=429496729", "min_rate=123456789"]),
    (&RECEIVER, &["period=7", "rec_rate_unit=999"]),
    (&RECEIVER, &["period=3333333", "congested_above_percent=0"]),
];

#[test]
fn a_pcn_in_c_is_right() {
    let Some(program) = header("pcn_check", &[]) else {
        return;
    };
    let mut said = String::new();
    for part in [SENDER, RECEIVER, QUEUE] {
        let output = check(&program, &part);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        said += &text(&output);
    }
    insta::assert_snapshot!(said);
    for (part, values) in OTHERS {
        let set = values.iter().flat_map(|value| ["--set", value]);
        let asked: Vec<&str> = part.iter().copied().chain(set).collect();
        let output = check(&program, &asked);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    }
}

#[test]
fn the_first_event_that_a_wrong_pcn_in_c_answers_wrongly_is_shown() {
    let Some(program) = header("pcn_check_wrong", &["-DKEEPS_WEIGHT"]) else {
        return;
    };
    let output = check(&program, &SENDER);
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(text(&output));
    let asked = [&SENDER[..], &["--output", "json"]].concat();
    let output = check(&program, &asked);
    assert_eq!(output.status.code(), Some(1));
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["differs"]["fields"][0]["field"], "rate_bps");
}
