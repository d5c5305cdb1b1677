//! `unpause lint`.

use serde_json::{Value, json};
use unpause_import::FileError;
use unpause_protocols::units::Rate;
use unpause_scenario::Error;
use unpause_sonic::{Cable, ConfigDb, Finding, Need, Severity};

use crate::args::{Form, Lint};
use crate::output::{Errors, show, show_json};
use crate::suggest::{Cells, of_cable};

/// More places of which the same is true are only counted.
const PLACES: usize = 6;

/// Says what is wrong with each file; answers the exit code.
pub fn lint(args: &Lint) -> Result<u8, Errors> {
    let mut files = Vec::new();
    let mut errors = Vec::new();
    for path in &args.files {
        match unpause_sonic::read(path) {
            Ok(db) => files.push(db),
            Err(error) => errors.push(failed(error)),
        }
    }
    let worst = if args.strict {
        Severity::Warning
    } else {
        Severity::Error
    };
    let mut code = 0;
    let mut all = Vec::new();
    for db in &files {
        let findings = unpause_sonic::lint(db, &|cable| needs(db, cable));
        code |= u8::from(findings.iter().any(|finding| finding.severity <= worst));
        match args.format {
            Form::Text => show(&text(db, &findings)),
            Form::Json => all.push(as_json(db, &findings)),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    if args.format == Form::Json {
        show_json(&json!({ "files": all }));
    }
    Ok(code)
}

/// A syntax error of a JSON file, at its position.
pub fn failed(error: FileError) -> Error {
    match error {
        FileError::Io { path, reason } => Error::io("read", &path, reason),
        other => Error::Other {
            message: other.to_string(),
            help: Some("`python3 -m json.tool FILE` also checks JSON".into()),
        },
    }
}

/// The headroom that a cable needs: the least by IEEE's terms, the most, and that of SONiC's script if it knows the speed.
fn needs(db: &ConfigDb, cable: &Cable) -> Vec<Need> {
    let lossless_mtu = db.lossless_mtu.as_ref().map(|mtu| mtu.value);
    let small = db.small_packets.as_ref();
    let small = small.and_then(|it| u8::try_from(it.value).ok());
    let rate = Rate::from_mbps(cable.mbps);
    let cells = match unpause_sonic::chip(db) {
        Some(chip) => match chip.spectrum {
            Some(generation) => Cells::OfSpectrum(generation),
            None => Cells::Of(chip.name, chip.cell),
        },
        None if db.device.hwsku.is_some() => Cells::Unknown,
        None => Cells::OfSpectrum(3),
    };
    let all = of_cable(rate, cable.metres, cable.mtu, cells, lossless_mtu, small);
    let need = |(profile, terms): (String, crate::suggest::Terms)| Need {
        profile,
        bytes: terms.bytes,
        terms: terms.table(),
    };
    all.into_iter().map(need).collect()
}

fn text(db: &ConfigDb, findings: &[Finding]) -> String {
    let mut text = String::new();
    for it in findings {
        let (line, column) = db.line_column(&it.spot);
        let file = db.path.display();
        text += &format!(
            "{file}:{line}:{column}: {}: {} [{}]\n",
            it.severity.name(),
            it.message,
            it.rule
        );
        text += &format!("  at {}\n", it.spot.path);
        for line in &it.arithmetic {
            text += &format!("  | {line}\n");
        }
        text += &format!("  fix: {}\n", it.fix);
        let places = it.also.iter().take(PLACES);
        let places: Vec<String> = places
            .map(|spot| format!("{} (line {})", spot.path, db.line_column(spot).0))
            .collect();
        if !places.is_empty() {
            let more = match it.also.len() - places.len() {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            text += &format!("  also at {}{more}\n", places.join(", "));
        }
        text.push('\n');
    }
    let number = |severity: Severity| {
        findings
            .iter()
            .filter(|finding| finding.severity == severity)
            .count()
    };
    let counted = |severity: Severity| match number(severity) {
        1 => format!("1 {}", severity.name()),
        number => format!("{number} {}s", severity.name()),
    };
    text += &if findings.is_empty() {
        format!("{}: no findings\n", db.path.display())
    } else {
        format!(
            "{}: {}, {}, {}\n",
            db.path.display(),
            counted(Severity::Error),
            counted(Severity::Warning),
            counted(Severity::Note)
        )
    };
    text
}

fn as_json(db: &ConfigDb, findings: &[Finding]) -> Value {
    let place = |spot: &unpause_sonic::Spot| {
        let (line, column) = db.line_column(spot);
        json!({ "path": spot.path, "line": line, "column": column })
    };
    let one = |it: &Finding| {
        let (line, column) = db.line_column(&it.spot);
        json!({
            "severity": it.severity.name(),
            "rule": it.rule,
            "path": it.spot.path,
            "line": line,
            "column": column,
            "message": it.message,
            "arithmetic": it.arithmetic,
            "fix": it.fix,
            "also": it.also.iter().map(place).collect::<Vec<_>>(),
        })
    };
    json!({
        "file": db.path.display().to_string(),
        "findings": findings.iter().map(one).collect::<Vec<_>>(),
    })
}
