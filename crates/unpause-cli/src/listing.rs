//! `unpause list`

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use unpause_scenario::{
    BUILDERS, CONGESTION_CONTROLS, Error, Key, LOSS_RECOVERIES, MARKINGS, TRAFFIC_KINDS, cdf,
    plain, sections,
};

use crate::args::{Form, List};
use crate::output::show;
use crate::text::{beside, columns, wrapped};

/// Columns of what is listed by a pattern, where standard output has none of its own.
const WIDTH: usize = 80;

/// A heading, and what stands below it.
struct Group {
    head: String,
    items: Vec<Item>,
}

/// Something that a scenario can name, with its keys.
struct Item {
    line: Line,
    keys: Vec<Line>,
}

/// The description of `name`, from a column on.
struct Line {
    name: String,
    column: usize,
    text: String,
}

impl Line {
    fn has(&self, pattern: &str) -> bool {
        [&self.name, &self.text]
            .iter()
            .any(|it| it.to_lowercase().contains(pattern))
    }

    fn shown(&self, width: Option<usize>) -> String {
        match self.column {
            0 => wrapped(&(self.name.clone() + &self.text), width),
            column => beside(&self.name, column, &self.text, width),
        }
    }
}

/// `unpause list`
pub fn list(args: &List) -> Result<(), Error> {
    let pattern = args.pattern.as_deref();
    let text = everything(args.output, pattern);
    match pattern.filter(|_| text.is_empty()) {
        None => {
            show(&text);
            Ok(())
        }
        Some(pattern) => Err(Error::Other {
            message: format!("nothing has `{pattern}` in its name, its keys or their descriptions"),
            help: Some("`unpause list` shows everything".into()),
        }),
    }
}

/// Everything that a scenario can name, and the scenarios below `scenarios/` and `papers/`; with a pattern, what has it
/// in its name, its keys or their descriptions, in any case of letters. Empty if nothing has.
fn everything(form: Form, pattern: Option<&str>) -> String {
    if form == Form::Json {
        return programs();
    }
    let width = columns().or(pattern.map(|_| WIDTH));
    let pattern = pattern.unwrap_or_default().to_lowercase();
    let mut shown = Vec::new();
    for group in groups() {
        let all = group.is_called(&pattern);
        let mut text = String::new();
        for item in group.items {
            // By its name or that of the group, all of it; else the keys that have the pattern.
            let whole = all || item.line.has(&pattern);
            let keys = item.keys.iter().filter(|key| whole || key.has(&pattern));
            let keys: String = keys.map(|key| key.shown(width)).collect();
            if whole || !keys.is_empty() {
                text += &item.line.shown(width);
                text += &keys;
            }
        }
        if !text.is_empty() {
            shown.push(wrapped(&group.head, width) + &text);
        }
    }
    shown.join("\n")
}

impl Group {
    /// True if `pattern` is what it is called, or the first word of that: `topologies`, `congestion`.
    fn is_called(&self, pattern: &str) -> bool {
        let title = self.head.split([':', '(']).next().unwrap_or_default();
        let title = title.trim_end().to_lowercase();
        title == pattern || title.split(' ').next() == Some(pattern)
    }
}

fn groups() -> Vec<Group> {
    let keyed = |name: &str, what: &str, of: &[Key]| Item {
        line: named(name, what),
        keys: keys(of),
    };
    let alone = |line: Line| Item {
        line,
        keys: Vec::new(),
    };
    let group = |head: &str, items: Vec<Item>| Group {
        head: head.to_owned(),
        items,
    };
    let controls = CONGESTION_CONTROLS.iter();
    let controls =
        controls.map(|control| keyed(control.name(), control.summary(), &control.keys()));
    let markings = MARKINGS.iter();
    let markings =
        markings.map(|marking| keyed(marking.name(), marking.summary(), &marking.keys()));
    let recoveries = LOSS_RECOVERIES.iter();
    let recoveries =
        recoveries.map(|recovery| keyed(recovery.name(), recovery.summary(), &recovery.keys()));
    let builders = BUILDERS.iter();
    let builders = builders.map(|builder| keyed(builder.name(), builder.nodes(), &builder.keys()));
    let traffic = TRAFFIC_KINDS.iter();
    let traffic = traffic.map(|traffic| keyed(traffic.name(), traffic.what(), &traffic.keys()));
    let tables = sections();
    let tables = tables.iter().map(|(path, table)| Item {
        line: Line {
            name: of_table(path),
            column: 0,
            text: String::new(),
        },
        keys: keys(table),
    });
    let distributions = cdf::BUILTIN.iter().map(|(name, csv)| {
        let about = csv.lines().next().unwrap_or_default();
        alone(named(name, about.trim_start_matches(['#', ' '])))
    });
    vec![
        group(
            "Congestion controls (congestion_control = …), and the keys of [scheme.…]:",
            controls.collect(),
        ),
        group(
            "Marking in switches (marking = …), and the keys of [scheme.…]:",
            markings.collect(),
        ),
        group(
            "Loss recovery of RoCE (loss_recovery = …), and the keys of [scheme.…]:",
            recoveries.collect(),
        ),
        group(
            "Topologies ([topology] builder = …; file = … reads an HPCC/ns-3 topology):",
            builders.collect(),
        ),
        group("Traffic ([[traffic]] kind = …):", traffic.collect()),
        group("Keys of the other tables:", tables.collect()),
        group(
            "Flow-size distributions (cdf = …; a file's name reads a CSV of bytes, probability):",
            distributions.collect(),
        ),
        group("Scenarios:", scenarios().into_iter().map(alone).collect()),
    ]
}

fn of_table(path: &str) -> String {
    match path {
        "" => "  the file itself".to_owned(),
        "scheme" | "traffic" | "sweep" | "event" | "topology.link" => format!("  [[{path}]]"),
        _ => format!("  [{path}]"),
    }
}

/// The scenarios here, with their titles.
fn scenarios() -> Vec<Line> {
    let mut files = Vec::new();
    find(Path::new("scenarios"), &mut files);
    for paper in sorted(Path::new("papers")) {
        find(&paper.join("scenarios"), &mut files);
    }
    let line = |file: &PathBuf| Line {
        name: format!("  {}", file.display()),
        column: 49,
        text: title(file),
    };
    if !files.is_empty() {
        files.iter().map(line).collect()
    } else {
        vec![Line {
            name: "  none below ./scenarios and ./papers".into(),
            column: 0,
            text: String::new(),
        }]
    }
}

/// All but the scenarios, for programs.
fn programs() -> String {
    let one = |name: &str, summary: &str, keys: &[Key]| json!({"name": name, "summary": summary, "keys": described(keys)});
    let sections = sections();
    let all = json!({
        "congestion_controls": CONGESTION_CONTROLS
            .iter()
            .map(|it| one(it.name(), it.summary(), &it.keys()))
            .collect::<Vec<_>>(),
        "markings": MARKINGS
            .iter()
            .map(|it| one(it.name(), it.summary(), &it.keys()))
            .collect::<Vec<_>>(),
        "loss_recoveries": LOSS_RECOVERIES
            .iter()
            .map(|it| one(it.name(), it.summary(), &it.keys()))
            .collect::<Vec<_>>(),
        "builders": BUILDERS
            .iter()
            .map(|it| one(it.name(), &plain(it.nodes()), &it.keys()))
            .collect::<Vec<_>>(),
        "traffic": TRAFFIC_KINDS
            .iter()
            .map(|it| one(it.name(), &plain(it.what()), &it.keys()))
            .collect::<Vec<_>>(),
        "tables": sections
            .iter()
            .map(|(path, keys)| json!({"path": path, "keys": described(keys)}))
            .collect::<Vec<_>>(),
        "cdfs": cdf::BUILTIN.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
    });
    serde_json::to_string_pretty(&all).expect("it is plain data") + "\n"
}

fn described(keys: &[Key]) -> Value {
    let one = |key: &Key| {
        json!({
            "name": key.name,
            "kind": plain(&key.kind.text),
            "required": key.is_required(),
            "default": plain(&key.default.to_string()),
            "description": plain(key.description),
            "origin": plain(key.origin),
        })
    };
    keys.iter().map(one).collect()
}

fn keys(keys: &[Key]) -> Vec<Line> {
    let line = |key: &Key| {
        let origin = match key.origin {
            "" => String::new(),
            origin => format!(" (default from {origin})"),
        };
        let default = plain(&key.default.to_string());
        Line {
            name: format!("    {:21} {default:14}", key.name),
            column: 41,
            text: plain(key.description) + &plain(&origin),
        }
    };
    let lines = keys
        .iter()
        .filter(|key| !key.description.starts_with("[below]"));
    lines.map(line).collect()
}

/// A name, and what it is.
fn named(name: &str, what: &str) -> Line {
    Line {
        name: format!("  {name:14}"),
        column: 17,
        text: plain(what),
    }
}

fn find(directory: &Path, files: &mut Vec<PathBuf>) {
    for path in sorted(directory) {
        if path.is_dir() {
            find(&path, files);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            files.push(path);
        }
    }
}

/// The entries of a directory; empty if it cannot be read.
fn sorted(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The title in the file, without reading the rest.
fn title(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("title = "));
    line.unwrap_or_default().trim_matches('"').to_owned()
}
