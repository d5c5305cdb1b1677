//! A mistake in one place is told as one mistake, in whichever statement of a shipped scenario it is.

use crate::common;

use std::path::Path;

use unpause_scenario::Scenario;

/// Every so many statements of a scenario is broken.
const STRIDE: usize = 13;

/// Byte ranges of values of one line, with the key.
fn values(source: &str) -> Vec<(usize, usize)> {
    let mut at = 0;
    let mut found = Vec::new();
    let mut in_text = false;
    for line in source.split_inclusive('\n') {
        let begins = at;
        at += line.len();
        let was = in_text;
        in_text ^= line.matches("\"\"\"").count() % 2 == 1;
        let Some((key, value)) = line.split_once('=').filter(|_| !was && !in_text) else {
            continue;
        };
        let is_key = |key: &str| key.chars().all(|c| c.is_alphanumeric() || "_ ".contains(c));
        if is_key(key) && !value.contains(['[', '{', '#']) {
            let start = begins + key.len() + 1;
            found.push((start, begins + line.trim_end().len()));
        }
    }
    found
}

#[test]
fn one_mistake_is_told_as_one() {
    let mut broken = 0;
    let mut faults = Vec::new();
    for (number, (name, path)) in common::shipped().into_iter().enumerate() {
        let source = std::fs::read_to_string(&path).expect("it is there");
        for (start, end) in values(&source)
            .into_iter()
            .skip(number % STRIDE)
            .step_by(STRIDE)
        {
            // A short one leaves no room for what could stand there instead. Other places refer to names, units and hosts.
            let line = source[..start].lines().last().unwrap_or_default();
            let referred = ["name", "unit", "hosts"]
                .iter()
                .any(|key| line.starts_with(key));
            let value = ["\"zzz\"", "5"][usize::from(!referred) * (broken % 2)];
            let text = format!("{} {value}{}", &source[..start], &source[end..]);
            let Err(first) = Scenario::parse(&text, Path::new(&path)) else {
                continue;
            };
            broken += 1;
            let all = Scenario::parse_all(&text, Path::new(&path)).expect_err("as before");
            if all.len() > 1 {
                let told: Vec<String> = all.iter().map(|it| it.explain()).collect();
                faults.push(format!("{name}: {first}\n  {}", told.join("\n  ")));
            }
        }
    }
    assert!(broken > 100, "{broken} scenarios were broken");
    assert!(
        faults.is_empty(),
        "{} of {broken}:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

/// The errors in a text, a line each.
fn told(text: &str) -> Vec<String> {
    let all = Scenario::parse_all(text, Path::new("mine.toml")).expect_err("it has mistakes");
    let place = |it: &unpause_scenario::Error| it.location().map(|(_, line, _)| line);
    all.iter()
        .map(|it| format!("{}: {it}", place(it).unwrap_or(0)))
        .collect()
}

#[test]
fn what_is_not_there_hides_no_other_mistake() {
    let text = "title = \"x\"\nduraton = \"1ms\"\n[topology]\nbuilder = \"two-swich\"\n";
    assert_eq!(
        told(text),
        [
            "1: no schemes to run",
            "2: unknown key `duraton`",
            "1: no traffic",
            "4: unknown topology builder \"two-swich\"",
        ]
    );
    let text = "duration = \"1ms\"\n[[scheme]]\nname = \"PFC\"\ncongestion_control = \"dcqn\"\n\
        [[traffic]]\nname = \"F1\"\nkind = \"flow\"\nfrom = \"H7\"\nto = \"H9\"\nsize = \"1KBB\"\n";
    assert_eq!(
        told(text),
        [
            "1: no topology",
            "4: unknown congestion control \"dcqn\"",
            "10: `1KBB` is not a size: `KBB` is not one of its units",
        ]
    );
}

#[test]
fn single_brackets_are_one_mistake() {
    let source = r#"
duration = "1ms"
[topology]
builder = "single-switch"
hosts = 2
rate = "40Gbps"
delay = "1us"
[[scheme]]
name = "PFC"
[traffic]
name = "all"
kind = "permutation"
"#;
    let all = Scenario::parse_all(source, Path::new("test.toml")).expect_err("it is a table");
    let told: Vec<String> = all.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["there may be several `traffic`"]);
}

#[test]
fn a_value_too_short_for_another_is_one_mistake() {
    let text = "duration = 5\n[topology]\nbuilder = \"single-switch\"\nhosts = 2\nrate=4\ndelay=1\n\
        [[scheme]]\nname = \"PFC\"\n[[traffic]]\nname = \"F\"\nkind = \"flow\"\nfrom = \"H0\"\nto = \"H1\"\n";
    assert_eq!(
        told(text),
        [
            "1: `5` is not a time: it has no unit",
            "5: `4` is not a data rate: it has no unit",
            "6: `1` is not a time: it has no unit",
        ]
    );
}

#[test]
fn a_wrong_job_does_not_make_traffic_missing() {
    let text = "duration = \"1ms\"\n[topology]\nbuilder = \"single-switch\"\nhosts = 2\nrate = \"1Gbps\"\n\
        delay = \"1us\"\n[[scheme]]\nname = \"PFC\"\n[[job]]\nname = \"J\"\nranks = 2\n[[job.phase]]\nsize = \"1MB\"\n";
    assert_eq!(told(text), ["12: unknown key `phase`"]);
}

/// A header at fault takes its table with it, and a key that is missing is so once.
#[test]
fn a_wrong_header_makes_nothing_else_missing() {
    let sound = "duration = \"1ms\"\n[topology]\nbuilder = \"single-switch\"\nhosts = 4\nrate = \"1Gbps\"\ndelay = \"1us\"\n\
        [[scheme]]\nname = \"A\"\n[[traffic]]\nname = \"f\"\nkind = \"burst\"\nfrom = \"H1\"\nto = \"H0\"\nsize = \"1KB\"\n\
        [[sweep]]\nname = \"x\"\nkey = \"pfc.xoff\"\nvalues = [50, 60]\nunit = \"KB\"\n";
    assert!(Scenario::parse_all(sound, Path::new("mine.toml")).is_ok());
    for (right, wrong, message) in [
        ("[topology]", "[topolgy]", "unknown key `topolgy`"),
        ("[topology]", "[topology", "unclosed table"),
        ("[[scheme]]", "[[shceme]]", "unknown key `shceme`"),
        ("[[traffic]]", "[[trafic]]", "unknown key `trafic`"),
        ("[[traffic]]", "[[traffic]", "unclosed array table"),
        ("duration = \"1ms\"\n", "", "key `duration` is missing"),
        (
            "duration = \"1ms\"",
            "title = \"t\"",
            "key `duration` is missing",
        ),
    ] {
        let all = told(&sound.replacen(right, wrong, 1));
        assert!(
            all.len() == 1 && all[0].contains(message),
            "{wrong}: {all:?}"
        );
    }
}
