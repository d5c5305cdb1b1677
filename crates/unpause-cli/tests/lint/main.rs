//! `unpause lint`: a sound `config_db.json`, and the same with one fault each.

mod defaults;
mod faults;
mod forms;
mod numbers;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

const GOOD: &str = include_str!("../data/config_db.json");

/// Runs the command; returns both outputs and the exit code.
fn unpause(directory: &Path, args: &[&str]) -> (String, i32) {
    let output = Command::new(env!("CARGO_BIN_EXE_unpause"))
        .args(args)
        .current_dir(directory)
        .env("NO_COLOR", "1")
        .output()
        .expect("the program runs");
    let said = [output.stdout, output.stderr].concat();
    let code = output.status.code().expect("it has ended");
    (String::from_utf8_lossy(&said).into_owned(), code)
}

fn lint(text: &str, options: &[&str]) -> (String, i32) {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("leaf0.json"), text).unwrap();
    unpause(place.path(), &[&["lint", "leaf0.json"], options].concat())
}

/// The sound file with fields set; `null` removes one.
fn with(edits: &[(&str, &str, &str, Value)]) -> String {
    let mut root: Value = serde_json::from_str(GOOD).unwrap();
    for (table, key, field, value) in edits {
        let tables = root.as_object_mut().unwrap();
        let table = tables.entry(*table).or_insert(json!({}));
        if key.is_empty() {
            *table = value.clone();
            continue;
        }
        let table = table.as_object_mut().unwrap();
        if field.is_empty() {
            match value {
                Value::Null => drop(table.remove(*key)),
                value => drop(table.insert((*key).to_owned(), value.clone())),
            }
            continue;
        }
        let entry = table.entry(*key).or_insert(json!({}));
        let entry = entry.as_object_mut().unwrap();
        match value {
            Value::Null => drop(entry.remove(*field)),
            value => drop(entry.insert((*field).to_owned(), value.clone())),
        }
    }
    serde_json::to_string_pretty(&root).unwrap()
}

/// Severity, rule and path of each finding.
fn findings(text: &str) -> Vec<String> {
    let (output, _) = lint(text, &["--format", "json"]);
    let json: Value =
        serde_json::from_str(&output).unwrap_or_else(|error| panic!("{error}: {output}"));
    let findings = json["files"][0]["findings"].as_array().unwrap();
    let line = |finding: &Value| {
        ["severity", "rule", "path"]
            .map(|key| finding[key].as_str().unwrap())
            .join(" ")
    };
    findings.iter().map(line).collect()
}

/// Checks a fault a line: edits of table, key, field and value, and a finding to which they lead; `-` stands for none.
fn check(faults: &str) {
    for fault in faults.trim().lines() {
        let (edits, finding) = fault.split_once(" => ").expect("a finding");
        let edits: Vec<_> = edits.split(" & ").map(edit).collect();
        let findings = findings(&with(&edits));
        assert!(
            findings.iter().any(|one| one == finding),
            "{fault}: {findings:?}"
        );
    }
}

fn edit(text: &str) -> (&str, &str, &str, Value) {
    let mut words = text
        .splitn(4, ' ')
        .map(|word| if word == "-" { "" } else { word });
    let mut word = || words.next().expect("four words");
    let (table, key, field) = (word(), word(), word());
    (table, key, field, serde_json::from_str(word()).unwrap())
}

#[test]
fn a_sound_file_has_no_findings() {
    let (said, code) = lint(GOOD, &["--strict"]);
    assert_eq!((said.as_str(), code), ("leaf0.json: no findings\n", 0));
}

#[test]
fn findings_of_many_ports_are_reported_once_with_their_arithmetic() {
    let text = GOOD
        .replace(
            "\"3\": \"3\",\n      \"4\": \"4\",\n      \"5\": \"0\"",
            "\"3\": \"0\",\n      \"4\": \"4\",\n      \"5\": \"0\"",
        )
        .replace("\"xoff\": \"165568\"", "\"xoff\": \"20000\"")
        .replace("\"POLL_INTERVAL\": \"200\"", "\"POLL_INTERVAL\": \"400\"");
    let (said, code) = lint(&text, &[]);
    assert_eq!(code, 1);
    insta::assert_snapshot!(said);
}

#[test]
fn warnings_fail_only_if_that_is_wanted() {
    let text = with(&[("CABLE_LENGTH", "AZURE", "Ethernet4", json!("40m"))]);
    assert_eq!(lint(&text, &[]).1, 0);
    assert_eq!(lint(&text, &["--strict"]).1, 1);
    // Notes never do.
    let (said, code) = lint("{}", &["--strict"]);
    assert!(said.contains("the file has nothing about PFC"), "{said}");
    assert_eq!(code, 0);
}

#[test]
fn a_file_from_before_ports_came_up_has_no_errors() {
    let good: Value = serde_json::from_str(GOOD).unwrap();
    let mut profiles = good["BUFFER_PROFILE"].clone();
    let all = profiles.as_object_mut().unwrap();
    all.retain(|name, _| !name.starts_with("pg_lossless"));
    let text = with(&[
        ("BUFFER_PG", "", "", json!({})),
        ("BUFFER_PROFILE", "", "", profiles),
    ]);
    let findings = findings(&text);
    assert_eq!(findings.len(), 2);
    assert!(
        findings
            .iter()
            .all(|it| it.starts_with("warning pfc-without-pg "))
    );
}

#[test]
fn ports_of_another_kind_may_have_other_lossless_classes() {
    // As a ToR of a pair has them: towards the spine one more class is lossless, by maps of its own.
    let lossless = json!({"profile": "pg_lossless_400000_40m_profile"});
    let queue = json!({"profile": "egress_lossless_profile"});
    let dscps = json!({"2": "2", "3": "3", "4": "4", "26": "3"});
    let queues = json!({"0": "0", "1": "1", "2": "2", "3": "3", "4": "4"});
    let groups = json!({"0": "0", "1": "0", "2": "2", "3": "3", "4": "4"});
    let text = with(&[
        ("DSCP_TO_TC_MAP", "UPLINK", "", dscps),
        ("DSCP_TO_TC_MAP", "AZURE", "2", json!("1")),
        ("TC_TO_QUEUE_MAP", "UPLINK", "", queues),
        ("TC_TO_PRIORITY_GROUP_MAP", "UPLINK", "", groups),
        ("MAP_PFC_PRIORITY_TO_QUEUE", "AZURE", "2", json!("2")),
        (
            "PORT_QOS_MAP",
            "Ethernet8",
            "dscp_to_tc_map",
            json!("UPLINK"),
        ),
        (
            "PORT_QOS_MAP",
            "Ethernet8",
            "tc_to_queue_map",
            json!("UPLINK"),
        ),
        ("PORT_QOS_MAP", "Ethernet8", "tc_to_pg_map", json!("UPLINK")),
        ("PORT_QOS_MAP", "Ethernet8", "pfc_enable", json!("2,3,4")),
        ("BUFFER_PG", "Ethernet8|2", "", lossless),
        ("BUFFER_QUEUE", "Ethernet8|2", "", queue),
    ]);
    assert!(findings(&text).is_empty());
}

#[test]
fn a_key_that_is_there_twice_is_said() {
    let text = GOOD.replacen(
        "\"speed\": \"100000\"",
        "\"speed\": \"25000\", \"speed\": \"100000\"",
        1,
    );
    assert_eq!(
        findings(&text),
        ["error duplicate-key $.PORT.Ethernet0.speed"]
    );
    let text = GOOD.replacen("\"PORT\": {", "\"PORT\": {}, \"PORT\": {", 1);
    assert_eq!(findings(&text).len(), 1);
}

#[test]
fn what_is_no_json_has_its_line_and_column() {
    let (said, code) = lint(
        "{\n  \"PORT\": {\n    \"Ethernet0\": {\"speed\": \"100000\",}\n  }\n}\n",
        &[],
    );
    assert_eq!(code, 1);
    assert!(
        said.contains("leaf0.json:3:37: found `}`, expected a key, or no comma before it"),
        "{said}"
    );
    let (said, code) = lint("{\"PORT\": ", &["--format", "json"]);
    assert_eq!(code, 1);
    assert!(
        said.contains("leaf0.json:1:10: found the end of the file"),
        "{said}"
    );
    let place = tempfile::tempdir().unwrap();
    let (said, code) = unpause(place.path(), &["lint", "none.json"]);
    assert!(said.contains("cannot read none.json"), "{said}");
    assert_eq!(code, 1);
}
