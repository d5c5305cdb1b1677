//! `unpause list`

use std::fs;
use std::path::{Path, PathBuf};

use unpause_scenario::{
    BUILDERS, CONGESTION_CONTROLS, Key, MARKINGS, TRAFFIC_KINDS, cdf, sections,
};

/// Everything that a scenario can name, and the scenarios below `scenarios/` and `papers/`.
pub fn everything() -> String {
    let mut text =
        String::from("Congestion controls (congestion_control = …), and the keys of [scheme.…]:\n");
    for control in CONGESTION_CONTROLS {
        text += &format!("  {:14} {}\n", control.name(), control.summary());
        text += &keys(&control.keys());
    }
    text += "\nMarking in switches (marking = …), and the keys of [scheme.…]:\n";
    for marking in MARKINGS {
        text += &format!("  {:14} {}\n", marking.name(), marking.summary());
        text += &keys(&marking.keys());
    }
    text += "\nTopology builders ([topology] builder = …; file = … reads an HPCC/ns-3 topology):\n";
    for builder in BUILDERS {
        text += &named(builder.name(), builder.nodes(), builder.keys());
    }
    text += "\nTraffic ([[traffic]] kind = …):\n";
    for kind in TRAFFIC_KINDS {
        text += &named(kind.name(), kind.what(), kind.keys());
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
    text +=
        "\nFlow-size distributions (cdf = …; a file's name reads a CSV of bytes, probability):\n";
    for (name, csv) in cdf::BUILTIN {
        let about = csv
            .lines()
            .next()
            .unwrap_or_default()
            .trim_start_matches(['#', ' ']);
        text += &format!("  {name:14} {about}\n");
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
        text += &format!("  {:46} {}\n", file.display().to_string(), title(&file));
    }
    text
}

fn keys(keys: &[Key]) -> String {
    let line = |key: &Key| {
        let origin = match key.origin {
            "" => String::new(),
            origin => format!(" (default from {origin})"),
        };
        let default = plain(&key.default.to_string());
        let text = plain(key.description) + &plain(&origin);
        format!("    {:21} {default:14} {text}\n", key.name)
    };
    let lines = keys
        .iter()
        .filter(|key| !key.description.starts_with("[below]"));
    lines.map(line).collect()
}

/// Markdown as plain text: no marks of code, and of links what they are called.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once("](") {
        let (start, name) = before.rsplit_once('[').unwrap_or((before, ""));
        plain += start;
        plain += name;
        rest = link.split_once(')').map_or("", |(_, after)| after);
    }
    (plain + rest).replace('`', "")
}

/// A name, what it is, and its keys below.
fn named(name: &str, what: &str, keys: &str) -> String {
    format!("  {name:14} {what}\n    {keys}\n").replace('`', "")
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
