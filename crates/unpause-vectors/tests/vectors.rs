//! Vectors of every mechanism, and programs that answer them rightly, wrongly or not at all.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use unpause_vectors::{Case, Failure, Form, Mechanism, cases_of, check, find, mechanisms, write};

const PATIENCE: Duration = Duration::from_secs(300);

fn lines(cases: &[Case]) -> Vec<Value> {
    let mut out = Vec::new();
    write(cases, Form::Json, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn of(name: &str, kind: &str) -> Mechanism {
    find(name, Some(kind)).unwrap().remove(0)
}

/// A program that answers what is expected, but for the lines that `change` changes.
fn program(file: &str, cases: &[Case], change: impl Fn(usize, &mut Value)) -> String {
    let path: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
    let mut text = String::new();
    for (at, line) in lines(cases).into_iter().enumerate() {
        let mut answer = line["expect"].clone();
        change(at, &mut answer);
        writeln!(text, "{answer}").unwrap();
    }
    std::fs::write(&path, text).unwrap();
    format!(
        "exec 3<'{}'; while read -r told; do read -r answer <&3; printf '%s\\n' \"$answer\"; done",
        path.display()
    )
}

#[test]
fn every_mechanism_answers_something_of_each_kind_that_it_can() {
    for mechanism in mechanisms() {
        let cases = cases_of(&mechanism);
        let (name, kind) = (mechanism.name, mechanism.kind.name());
        assert!(cases.len() >= 3, "{name}: {} cases", cases.len());
        let all = lines(&cases);
        let distinct: BTreeSet<String> =
            all.iter().map(|line| line["expect"].to_string()).collect();
        let least = if kind.ends_with("point") { 2 } else { 20 };
        assert!(distinct.len() >= least, "{name}, {kind}: {distinct:?}");
        // Nothing happens before what happened before it.
        for case in &cases {
            let mut last = 0;
            for line in lines(std::slice::from_ref(case)) {
                let now = line["now_ps"].as_u64().unwrap_or(last);
                assert!(now >= last, "{name}, {}: {now} after {last}", case.name);
                last = now;
            }
        }
        // The same each time.
        assert_eq!(all, lines(&cases_of(&mechanism)), "{name}");
    }
}

#[test]
fn verdicts_of_every_kind_come() {
    let verdicts = |name| -> BTreeSet<String> {
        let all = lines(&cases_of(&of(name, "congestion-point")));
        let told = all
            .iter()
            .filter_map(|line| line["expect"]["verdict"].as_str());
        told.map(str::to_owned).collect()
    };
    for name in [
        "np-ecn",
        "red",
        "wred",
        "dctcp-red",
        "tcn",
        "codel",
        "ecn-sharp",
        "ecn-sharp-tofino",
    ] {
        assert!(verdicts(name).contains("mark-ce"), "{name}");
    }
    assert!(verdicts("qcn").contains("notify"));
}

/// Arrivals by default, as 802.1Qau says; with the other count departures alone are answered.
#[test]
fn qcn_answers_what_it_counts() {
    let notifying = |count: &str| -> BTreeSet<String> {
        let mut point = of("qcn", "congestion-point");
        assert_eq!(point.set("count", count), Ok(true));
        let all = lines(&cases_of(&point));
        let notifies = all
            .iter()
            .filter(|line| line["expect"]["verdict"] == "notify");
        notifies.map(|line| line["event"].to_string()).collect()
    };
    let only = |event: &str| BTreeSet::from([format!("\"{event}\"")]);
    assert_eq!(notifying("arrivals"), only("enqueue"));
    assert_eq!(notifying("departures"), only("dequeue"));
}

#[test]
fn pcn_begins_like_this() {
    let mut text = String::new();
    for (name, kind) in [
        ("pcn", "congestion-control"),
        ("np-ecn", "congestion-point"),
    ] {
        for form in [Form::Json, Form::Words] {
            let mut out = Vec::new();
            write(&cases_of(&of(name, kind)), form, &mut out).unwrap();
            let out = String::from_utf8(out).unwrap();
            text.extend(out.lines().take(6).flat_map(|line| [line, "\n"]));
        }
    }
    insta::assert_snapshot!(text);
}

#[test]
fn a_program_that_answers_as_expected_passes() {
    let cases = cases_of(&of("pcn", "congestion-control"));
    let command = program("right", &cases, |_, _| {});
    let passed = check(&cases, &command, Form::Json, 0.0, PATIENCE).unwrap();
    assert_eq!(passed.cases, cases.len());
    assert_eq!(passed.events, lines(&cases).len());
}

#[test]
fn the_first_answer_that_differs_is_named() {
    let cases = cases_of(&of("pcn", "congestion-control"));
    let wrong = |at, answer: &mut Value| {
        if at == 4 || at == 6 {
            answer["rate_bps"] = (answer["rate_bps"].as_u64().unwrap() + 1).into();
        }
    };
    let command = program("wrong", &cases, wrong);
    let Err(Failure::Differs(found)) = check(&cases, &command, Form::Json, 0.0, PATIENCE) else {
        panic!("not noticed");
    };
    insta::assert_snapshot!(found);
    // Within a tolerance it is the same.
    check(&cases, &command, Form::Json, 1e-3, PATIENCE).unwrap();
}

#[test]
fn a_field_that_is_not_answered_differs_but_for_null() {
    let cases = cases_of(&of("pcn", "congestion-control"));
    let without = |name: &'static str| {
        move |_, answer: &mut Value| {
            answer.as_object_mut().unwrap().remove(name);
        }
    };
    let command = program("without-timer", &cases, without("timer_ps"));
    check(&cases, &command, Form::Json, 0.0, PATIENCE).unwrap();
    let command = program("without-rate", &cases, without("rate_bps"));
    let failed = check(&cases, &command, Form::Json, 0.0, PATIENCE).unwrap_err();
    let text = failed.to_string();
    assert!(
        text.contains("rate_bps: expected 40000000000, answered nothing"),
        "{text}"
    );
}

#[test]
fn what_goes_wrong_with_the_program_is_said() {
    let cases = cases_of(&of("pcn", "notification-point"));
    for (command, form, said) in [
        ("exit 3", Form::Json, "the program ended with exit code 3"),
        (
            "head -n 1 > /dev/null",
            Form::Json,
            "the program ended with exit code 0",
        ),
        (
            "while read -r told; do echo 7; done",
            Form::Json,
            "`7` is not understood: a JSON object",
        ),
        (
            "while read -r told; do echo {; done",
            Form::Json,
            "`{` is not understood: no JSON",
        ),
        (
            "while read -r told; do echo 7; done",
            Form::Words,
            "`7` is no `name=value`",
        ),
    ] {
        let failed = check(&cases, command, form, 0.0, PATIENCE).unwrap_err();
        let text = failed.to_string();
        assert!(text.contains(said), "{command}: {text}");
        assert!(text.starts_with("case 1 ("), "{command}: {text}");
    }
    let failed = check(
        &cases,
        "sleep 60",
        Form::Json,
        0.0,
        Duration::from_millis(50),
    )
    .unwrap_err();
    assert!(
        failed.to_string().contains("no answer within 0.05 s"),
        "{failed}"
    );
}

#[test]
fn mechanisms_are_found_by_name() {
    let kinds: Vec<_> = find("pcn", None)
        .unwrap()
        .iter()
        .map(|it| it.kind.name())
        .collect();
    assert_eq!(kinds, ["notification-point", "congestion-control"]);
    assert_eq!(
        find("np-enc", None).unwrap_err(),
        "no mechanism is called np-enc; did you mean np-ecn?"
    );
    assert_eq!(
        find("np-ecn", Some("flow-control")).unwrap_err(),
        "np-ecn is a congestion-point"
    );
    let text = find("pcn", Some("sender")).unwrap_err();
    assert!(
        text.contains("there are congestion-point, notification-point"),
        "{text}"
    );
}

#[test]
fn parameters_are_set_by_name() {
    let mut law = of("dcqcn", "congestion-control");
    let before = lines(&cases_of(&law));
    assert_eq!(law.set("rate_ai", "5_000_000"), Ok(true));
    assert_eq!(law.set("alpha_order", "update-first"), Ok(true));
    assert_eq!(law.set("weight", "1"), Ok(false));
    let after = lines(&cases_of(&law));
    assert_eq!(after[0]["parameters"]["rate_ai"], 5_000_000);
    assert_eq!(after[0]["parameters"]["alpha_order"], "update-first");
    assert_ne!(before, after);
    for (name, value) in [
        ("rate_ai", "5Mbps"),
        ("alpha_order", "last"),
        ("fr_threshold", "-1"),
    ] {
        let text = law.set(name, value).unwrap_err();
        assert!(
            text.contains(&format!("{name} cannot be {value}")),
            "{text}"
        );
    }
}
