//! Each mistake in `tests/bad` is reported at its place, with advice. The reports are beside the cases.
//!
//! `cargo insta review`, or INSTA_UPDATE=always, accepts changed messages.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use miette::{Diagnostic, GraphicalReportHandler, LabeledSpan, SourceCode};
use unpause_scenario::{Error, Scenario};

const DURATION: &str = "duration = \"1ms\"\n";

/// Tables that a case gets unless it has its own.
const TABLES: [(&str, &str); 3] = [
    (
        "topology",
        r#"
[topology]
builder = "single-switch"
hosts = 4
rate = "40Gbps"
delay = "1us"
"#,
    ),
    (
        "scheme",
        r#"
[[scheme]]
name = "PFC"
"#,
    ),
    (
        "traffic",
        r#"
[[traffic]]
name = "F0"
kind = "flow"
from = "H0"
to = "H1"
size = "64KB"
"#,
    ),
];

/// The paths of TOML files in a folder, in order.
fn files(folder: &str) -> Vec<PathBuf> {
    std::env::set_current_dir(env!("CARGO_MANIFEST_DIR")).expect("the crate's directory exists");
    let entries = std::fs::read_dir(folder).expect("the folder exists");
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "toml"));
    files.sort();
    files
}

/// A case as a whole scenario.
fn complete(case: &str) -> String {
    let tables = if case.starts_with('[') {
        0
    } else {
        case.find("\n[").map_or(case.len(), |at| at + 1)
    };
    let (keys, tables) = case.split_at(tables);
    let has = |name: &str| {
        tables.lines().any(|line| {
            let rest = line.trim_start_matches('[').strip_prefix(name);
            line.starts_with('[') && rest.is_some_and(|rest| rest.starts_with(['.', ']']))
        })
    };
    let duration = if keys.starts_with("duration") || keys.contains("\nduration") {
        ""
    } else {
        DURATION
    };
    let missing: String = TABLES
        .iter()
        .filter(|(name, _)| !has(name))
        .map(|(_, text)| *text)
        .collect();
    format!("{keys}{duration}{tables}{missing}")
}

/// The message, each marked place in its line with its label, and the advice.
fn report(error: &Error, origin: &Path) -> String {
    assert!(error.location().is_some(), "no place: {error}");
    GraphicalReportHandler::new()
        .render_report(&mut String::new(), error)
        .expect("a terminal can show it");
    let mut report = format!("  {error}\n");
    let source = error.source_code().expect("a place is in a source");
    for label in error.labels().into_iter().flatten() {
        let text = label.label().unwrap_or_default();
        writeln!(report, "  | {}: {text}", marked(source, &label, origin)).unwrap();
    }
    if let Some(help) = error.help_text() {
        writeln!(report, "  help: {help}").unwrap();
    }
    report
}

/// The marked text in its line, or at the beginning of a long line; in another file with its place.
fn marked(source: &dyn SourceCode, label: &LabeledSpan, origin: &Path) -> String {
    let near = source
        .read_span(label.inner(), 1, 1)
        .expect("the place is in the file");
    let start = label.offset() - near.span().offset();
    let (before, rest) = near.data().split_at(start);
    let (mark, after) = rest.split_at(label.len().min(rest.len()));
    let before = before.rsplit(|&byte| byte == b'\n').next();
    let after = after.split(|&byte| byte == b'\n').next();
    let text =
        |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
    let line = format!("{}‹{}›{}", text(before), text(Some(mark)), text(after));
    let mut text = line.trim().to_owned();
    if let Some((end, _)) = text.char_indices().nth(160) {
        text.truncate(end);
        text.push('…');
    }
    let name = near.name().unwrap_or_default();
    if Path::new(name) == origin {
        return text;
    }
    let place = source
        .read_span(label.inner(), 0, 0)
        .expect("the place is in the file");
    let (line, column) = (place.line() + 1, place.column() + 1);
    format!("{name}:{line}:{column}: {text}")
}

fn reports(title: &str, result: Result<Scenario, Vec<Error>>, origin: &Path) -> String {
    let Err(errors) = result else {
        panic!("{title} of {} has no mistake", origin.display());
    };
    let reports: String = errors.iter().map(|error| report(error, origin)).collect();
    format!("{title}\n{reports}\n")
}

#[test]
fn each_case_is_reported() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("bad");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for file in files("tests/bad") {
        let text = std::fs::read_to_string(&file).expect("cases are text");
        let mut all = String::new();
        for case in text.split("### ").skip(1) {
            let (title, case) = case.split_once('\n').expect("a case follows its title");
            let result = Scenario::parse_all(&complete(case), &file);
            all += &reports(title, result, &file);
        }
        let topic = file
            .file_stem()
            .expect("a file has a name")
            .to_string_lossy();
        settings.bind(|| insta::assert_snapshot!(&*topic, all));
    }
    let whole: String = files("tests/bad/whole")
        .iter()
        .map(|file| {
            let title = file
                .file_stem()
                .expect("a file has a name")
                .to_string_lossy();
            reports(
                &title,
                Scenario::load(file).map_err(|error| vec![error]),
                file,
            )
        })
        .collect();
    settings.bind(|| insta::assert_snapshot!("whole", whole));
}
