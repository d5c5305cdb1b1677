//! `unpause list`

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use unpause_scenario::{
    BUILDERS, CONGESTION_CONTROLS, Key, KeyDefault, MARKINGS, TRAFFIC_KINDS, cdf, plain, sections,
};

use crate::args::Form;
use crate::text::{beside, columns, wrapped};

/// Everything that a scenario can name, and the scenarios below `scenarios/` and `papers/`.
pub fn everything(form: Form) -> String {
    if form == Form::Json {
        return programs();
    }
    let mut text =
        String::from("Congestion controls (congestion_control = …), and the keys of [scheme.…]:\n");
    for control in CONGESTION_CONTROLS {
        text += &named(control.name(), control.summary());
        text += &keys(&control.keys());
    }
    text += "\nMarking in switches (marking = …), and the keys of [scheme.…]:\n";
    for marking in MARKINGS {
        text += &named(marking.name(), marking.summary());
        text += &keys(&marking.keys());
    }
    text += "\nTopologies ([topology] builder = …; file = … reads an HPCC/ns-3 topology):\n";
    for builder in BUILDERS {
        text += &named(builder.name(), builder.nodes());
        text += &wrapped(&format!("    {}", plain(builder.keys())), columns());
    }
    text += "\nTraffic ([[traffic]] kind = …):\n";
    for kind in TRAFFIC_KINDS {
        text += &named(kind.name(), kind.what());
        text += &wrapped(&format!("    {}", plain(kind.keys())), columns());
    }
    text += "\nKeys of the other tables:\n";
    for (path, table) in sections() {
        text += &match path {
            "" => "  the file itself\n".to_owned(),
            "scheme" | "traffic" | "sweep" | "topology.link" => format!("  [[{path}]]\n"),
            _ => format!("  [{path}]\n"),
        };
        text += &keys(&table);
    }
    let distributions =
        "\nFlow-size distributions (cdf = …; a file's name reads a CSV of bytes, probability):";
    text += &wrapped(distributions, columns());
    for (name, csv) in cdf::BUILTIN {
        let about = csv
            .lines()
            .next()
            .unwrap_or_default()
            .trim_start_matches(['#', ' ']);
        text += &named(name, about);
    }
    let mut files = Vec::new();
    find(Path::new("scenarios"), &mut files);
    for paper in sorted(Path::new("papers")) {
        find(&paper.join("scenarios"), &mut files);
    }
    text += "\nScenarios:\n";
    if files.is_empty() {
        text += "  none below ./scenarios and ./papers\n";
    }
    for file in files {
        let name = format!("  {}", file.display());
        text += &beside(&name, 49, &title(&file), columns());
    }
    text
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
        "builders": BUILDERS
            .iter()
            .map(|it| json!({"name": it.name(), "summary": plain(it.nodes()), "keys": plain(it.keys())}))
            .collect::<Vec<_>>(),
        "traffic": TRAFFIC_KINDS
            .iter()
            .map(|it| json!({"name": it.name(), "summary": plain(it.what()), "keys": plain(it.keys())}))
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
            "kind": plain(key.kind),
            "required": key.default == KeyDefault::Required,
            "default": plain(&key.default.to_string()),
            "description": plain(key.description),
            "origin": plain(key.origin),
        })
    };
    keys.iter().map(one).collect()
}

fn keys(keys: &[Key]) -> String {
    let line = |key: &Key| {
        let origin = match key.origin {
            "" => String::new(),
            origin => format!(" (default from {origin})"),
        };
        let default = plain(&key.default.to_string());
        let text = plain(key.description) + &plain(&origin);
        let name = format!("    {:21} {default:14}", key.name);
        beside(&name, 41, &text, columns())
    };
    let lines = keys
        .iter()
        .filter(|key| !key.description.starts_with("[below]"));
    lines.map(line).collect()
}

/// A name, and what it is.
fn named(name: &str, what: &str) -> String {
    beside(&format!("  {name:14}"), 17, &plain(what), columns())
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

/// What a directory holds; nothing if it cannot be read.
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
