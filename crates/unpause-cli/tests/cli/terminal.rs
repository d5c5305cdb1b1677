//! Messages for people, editors and programs.

use std::fs;
use std::process::Command;

use super::{SCENARIO, names, text, unpause, workplace};

#[test]
fn mistakes_have_exit_code_1_and_leave_nothing() {
    let place = workplace();
    fs::write(
        place.path().join("bad.toml"),
        SCENARIO.replace("64KB", "64Kb"),
    )
    .unwrap();
    for (args, said) in [
        (vec!["run", "bad.toml"], "bad.toml:23:8: error: "),
        (vec!["validate", "bad.toml"], "b is a bit and B a byte"),
        (vec!["run", "nowhere.toml"], "cannot read nowhere.toml"),
        (
            vec!["run", "two.toml", "--scheme", "PCN"],
            "there is no scheme `PCN`",
        ),
        (vec!["compare", "nowhere"], "cannot read nowhere"),
        (
            vec!["run", "two.toml", "--out", "two.toml"],
            "cannot write two.toml",
        ),
    ] {
        let run = unpause(place.path(), &args);
        assert_eq!(run.status.code(), Some(1), "{args:?}");
        assert!(
            text(&run.stderr).contains(said),
            "{args:?}: {}",
            text(&run.stderr)
        );
        assert_eq!(text(&run.stdout), "", "{args:?}");
    }
    let usage = unpause(place.path(), &["run", "two.toml", "--duration", "50"]);
    assert_eq!(usage.status.code(), Some(2));
    assert!(
        text(&usage.stderr).contains("it has no unit"),
        "{}",
        text(&usage.stderr)
    );
    assert_eq!(names(place.path()), ["bad.toml", "two.toml"]);
}

#[test]
fn a_pattern_lists_what_has_it_within_80_columns() {
    let place = workplace();
    let of = |pattern: &str| unpause(place.path(), &["list", pattern]);
    let list = text(&of("DCQCN").stdout);
    assert!(
        list.lines().all(|line| line.chars().count() <= 80),
        "{list}"
    );
    // By its name, with all its keys; of another table the keys that speak of it.
    assert!(
        list.contains("  dcqcn") && list.contains("    alpha_init"),
        "{list}"
    );
    assert!(!list.contains("Topologies"), "{list}");
    let xoff = text(&of("xoff").stdout);
    assert!(
        xoff.contains("  [pfc]") && !xoff.contains("alpha_init"),
        "{xoff}"
    );
    // By the name of a group, all that is in it.
    for (pattern, name) in [
        ("topologies", "single-switch"),
        ("congestion controls", "timely"),
    ] {
        let list = text(&of(pattern).stdout);
        assert!(list.contains(&format!("  {name} ")), "{list}");
    }
    let none = of("no such thing");
    assert_eq!(none.status.code(), Some(1));
    assert!(text(&none.stderr).contains("nothing has `no such thing`"));
    let wide = Command::new(env!("CARGO_BIN_EXE_unpause"))
        .args(["list", "dcqcn"])
        .current_dir(place.path())
        .env("COLUMNS", "60")
        .output()
        .unwrap();
    let wide = text(&wide.stdout);
    assert!(
        wide.lines().all(|line| line.chars().count() <= 60),
        "{wide}"
    );
}

#[test]
fn a_chakra_trace_is_validated_by_itself() {
    let place = workplace();
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../unpause-scenario/tests/");
    for (from, to) in [
        ("data/jobs/pair.1.et", "t.1.et"),
        ("bad/cut.0.et", "t.0.et"),
    ] {
        fs::copy(format!("{data}{from}"), place.path().join(to)).expect("it is there");
    }
    let good = unpause(place.path(), &["validate", "t.1.et"]);
    assert!(good.status.success());
    assert_eq!(
        text(&good.stdout),
        "t.1.et: ok: Chakra trace of rank 1; 4 nodes: 0 compute, 2 send, 2 receive, 0 collective; 60000 B sent\n"
    );
    let both = unpause(
        place.path(),
        &["validate", "t.0.et", "t.1.et", "--output", "json"],
    );
    assert!(!both.status.success());
    let told: serde_json::Value = serde_json::from_slice(&both.stdout).expect("it is JSON");
    assert_eq!(told[1]["trace"]["sent_bytes"], 60_000);
    let said = told[0]["errors"][0]["message"].as_str().unwrap_or_default();
    assert!(
        said.contains("t.0.et: byte ") && said.contains("is the file truncated?"),
        "{said}"
    );
}

#[test]
fn validate_counts_what_a_scenario_sends() {
    let place = workplace();
    let ring = "num_ranks 2\nrank 0 {\nsend 9b to 1\n}\nrank 1 {\nrecv 9b from 0\n}\n";
    fs::write(place.path().join("one.goal"), ring).unwrap();
    let (head, _) = SCENARIO.split_once("[[traffic]]").expect("it has some");
    let job = "[[job]]\nname = \"J\"\nranks = \"H0..H1\"\ngoal = \"one.goal\"\n";
    for (name, file) in [
        ("job.toml", format!("{head}{job}")),
        (
            "both.toml",
            format!("{SCENARIO}{job}{}", job.replace('J', "K")),
        ),
    ] {
        fs::write(place.path().join(name), file).unwrap();
    }
    let said = |name| text(&unpause(place.path(), &["validate", name]).stdout);
    let of_job = said("job.toml");
    assert!(of_job.contains(" links, 1 job; "), "{of_job}");
    let line = "   job J: 2 ranks, 2 operations; 1 message, 9 B an iteration\n";
    assert!(of_job.contains(line), "{of_job}");
    let of_both = said("both.toml");
    assert!(
        of_both.contains(" links, 1 traffic entry, 2 jobs; "),
        "{of_both}"
    );
    let of_traffic = said("two.toml");
    assert!(
        of_traffic.contains(" links, 1 traffic entry; "),
        "{of_traffic}"
    );
}

#[test]
fn list_and_validate_answer_on_standard_output() {
    let place = workplace();
    let list = text(&unpause(place.path(), &["list"]).stdout);
    for word in [
        "dcqcn",
        "cnp_interval",
        "leaf-spine",
        "poisson",
        "websearch",
        "none below ./scenarios and ./papers",
    ] {
        assert!(list.contains(word), "{word}");
    }
    let validate = text(&unpause(place.path(), &["validate", "--cost", "two.toml"]).stdout);
    assert!(
        validate.contains("\n   about 1,000 packet-hops of 4 flows: "),
        "{validate}"
    );
    assert!(
        validate.contains("two.toml: ok: 2 runs (PFC, PFC+PCN); 4 nodes"),
        "{validate}"
    );
    // Unasked only what takes minutes.
    let short = text(&unpause(place.path(), &["validate", "two.toml"]).stdout);
    assert!(!short.contains("packet-hops"), "{short}");
    let hours = SCENARIO
        .replace("\"200us\"", "\"2000s\"")
        .replace("\"10us\"", "\"10ms\"");
    let random = r#"
[[traffic]]
name = "random"
kind = "poisson"
from = "H0..H1"
to = "H2"
size = "1MB"
load = 0.9
load_of = "receivers"
"#;
    fs::write(place.path().join("hours.toml"), hours + random).unwrap();
    let long = text(&unpause(place.path(), &["validate", "hours.toml"]).stdout);
    assert!(long.contains("packet-hops of "), "{long}");
}

/// Five mistakes in one file, one in another, none in a third: all are told, and where.
#[test]
fn all_mistakes_of_all_files_are_told() {
    let place = workplace();
    let five = SCENARIO
        .replace("duration = \"200us\"", "duration = \"200\"")
        .replace("\"pcn\"", "\"pnc\"")
        .replace("interval = \"10us\"", "intervall = \"10us\"")
        .replace("64KB", "64Kb")
        .replace(
            "[[scheme]]\nname = \"PFC\"\n",
            "[pfc]\nxof = \"1KB\"\n[[scheme]]\nname = \"PFC\"\n",
        );
    fs::write(place.path().join("five.toml"), five).unwrap();
    fs::create_dir(place.path().join("more")).unwrap();
    fs::write(
        place.path().join("more/one.toml"),
        SCENARIO.replace("H2", "H7"),
    )
    .unwrap();
    fs::write(place.path().join("more/pyproject.toml"), "[tool]\n").unwrap();
    let run = unpause(place.path(), &["validate", "two.toml", "five.toml", "more"]);
    assert_eq!(run.status.code(), Some(1));
    assert!(text(&run.stdout).starts_with("two.toml: ok"));
    insta::assert_snapshot!(text(&run.stderr));
    let json = unpause(
        place.path(),
        &[
            "validate",
            "--output",
            "json",
            "two.toml",
            "five.toml",
            "more",
        ],
    );
    assert_eq!(text(&json.stderr), "2 of 3 scenarios have mistakes\n");
    let told: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(told[0]["ok"], true);
    assert_eq!(told[1]["errors"].as_array().unwrap().len(), 5);
    assert_eq!(told[2]["errors"][0]["file"], "more/one.toml");
}

#[test]
fn scenarios_are_read_from_standard_input_and_written_by_init() {
    let place = workplace();
    let init = unpause(place.path(), &["init"]);
    assert!(init.status.success());
    assert!(
        unpause(place.path(), &["init", "mine.toml"])
            .status
            .success()
    );
    let again = unpause(place.path(), &["init", "mine.toml"]);
    assert!(text(&again.stderr).contains("mine.toml exists\nhint: --force"));
    assert_eq!(
        fs::read(place.path().join("mine.toml")).unwrap(),
        init.stdout
    );
    let mut run = Command::new(env!("CARGO_BIN_EXE_unpause"))
        .args([
            "run",
            "-",
            "--no-report",
            "--duration",
            "100us",
            "--output",
            "json",
        ])
        .current_dir(place.path())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut run.stdin.take().unwrap(), &init.stdout).unwrap();
    let run = run.wait_with_output().unwrap();
    assert!(run.status.success());
    let told: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(told["directory"], "results/stdin");
    assert_eq!(told["runs"].as_array().unwrap().len(), 3);
}

/// Each compares PFC with something else, and asks about a flow or a job.
#[test]
fn every_template_of_init_runs() {
    let place = workplace();
    for name in ["incast", "leaf-spine", "storage", "training", "lossy"] {
        let file = format!("{name}.toml");
        let init = unpause(place.path(), &["init", "--template", name, &file]);
        assert!(init.status.success(), "{}", text(&init.stderr));
        let written = fs::read_to_string(place.path().join(&file)).unwrap();
        assert!(written.contains("watch = true") || written.contains("[[job]]"));
        assert!(written.contains("name = \"PFC\"") && written.contains("\"pcn\""));
        assert!(written.lines().all(|line| line.len() <= 120), "{name}");
        let validate = unpause(place.path(), &["validate", &file]);
        assert_eq!(text(&validate.stderr), "", "{name}");
        let run = unpause(
            place.path(),
            &["run", &file, "--no-report", "--duration", "600us", "-q"],
        );
        assert!(run.status.success(), "{name}: {}", text(&run.stderr));
    }
    let unknown = unpause(place.path(), &["init", "--template", "leafspine"]);
    assert_eq!(unknown.status.code(), Some(2));
    let said = text(&unknown.stderr);
    assert!(said.contains("leaf-spine"), "{said}");
}

#[test]
fn several_files_and_seeds_run_one_after_the_other() {
    let place = workplace();
    fs::copy(
        place.path().join("two.toml"),
        place.path().join("three.toml"),
    )
    .unwrap();
    let args = [
        "run",
        "two.toml",
        "three.toml",
        "--no-report",
        "--seeds",
        "3",
        "-q",
    ];
    let run = unpause(place.path(), &args);
    assert!(run.status.success(), "{}", text(&run.stderr));
    assert_eq!(text(&run.stdout), "");
    assert!(
        unpause(place.path(), &["export", "results/three"])
            .status
            .success()
    );
    let runs = fs::read_to_string(place.path().join("results/three/csv/runs.csv")).unwrap();
    let seeds: Vec<_> = runs
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(2).unwrap())
        .collect();
    assert_eq!(seeds, ["1", "2", "3", "1", "2", "3"]);
    let out = unpause(place.path(), &["run", "two.toml", "three.toml", "-o", "x"]);
    assert!(text(&out.stderr).contains("--out is a single directory, but there are 2 scenarios"));
}

#[test]
fn what_takes_more_than_there_is_is_refused_before_it_starts() {
    let place = workplace();
    let huge = SCENARIO.replace("200us", "600s").replace("10us", "20us");
    let huge = huge.replace("size = \"64KB\"\n", "");
    fs::write(place.path().join("huge.toml"), huge).unwrap();
    // As on a small machine.
    let bytes = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = bytes
        .lines()
        .next()
        .and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    if total.is_none_or(|kb| kb > 40_000_000) {
        return;
    }
    let run = unpause(place.path(), &["run", "huge.toml", "--no-report"]);
    assert_eq!(run.status.code(), Some(1));
    let said = text(&run.stderr);
    // Samples of flows alone take 36 GB; how many PAUSEs there are is known by the beginning only.
    let told = said.split("this would take about ").nth(1);
    let told =
        told.and_then(|rest| rest.split_once(" GB of memory (4 flows, 240,000,000 samples)"));
    let gigabytes: Option<f64> = told.and_then(|(number, _)| number.parse().ok());
    assert!(gigabytes.is_some_and(|gigabyte| gigabyte > 36.0), "{said}");
    assert_eq!(names(place.path()), ["huge.toml", "two.toml"]);
}

#[test]
fn completions_and_manual_have_every_command() {
    let place = workplace();
    for args in [
        &["completions", "bash"][..],
        &["completions", "zsh"],
        &["man"],
    ] {
        let shown = text(&unpause(place.path(), args).stdout);
        for word in ["run", "sweep", "validate", "reproduce", "init", "vary"] {
            assert!(shown.contains(word), "{args:?}: {word}");
        }
    }
    let help = text(&unpause(place.path(), &["run", "--help"]).stdout);
    assert!(help.contains("Examples:\n  unpause run"), "{help}");
}
