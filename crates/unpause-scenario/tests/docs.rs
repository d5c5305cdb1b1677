//! Parts of the documents are made of the code: between `<!-- made: WHAT -->` and `<!-- end -->`.
//!
//! `make docs` writes them; here it is checked that nobody has forgotten to.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use unpause_results::columns::{Holds, key_of};
use unpause_scenario::{
    BUILDERS, CONGESTION_CONTROLS, Key, KeyDefault, LOSS_RECOVERIES, LossRecovery, MARKINGS,
    TABLES, TRAFFIC_KINDS, Tables, json_schema, sections,
};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const END: &str = "<!-- end -->";

/// The text after `<!-- made: WHAT -->`.
fn made(what: &str) -> String {
    match what.split_once(' ') {
        Some(("columns", table)) => columns(table),
        Some(("keys", scheme)) => keys(scheme),
        Some(("table", path)) => table(path),
        _ => match what {
            "builders" => builders(),
            "builders' keys" => keys_of_builders(),
            "kinds of traffic" => kinds(),
            "kinds' keys" => keys_of_kinds(),
            "congestion controls" => congestion_controls(),
            "markings" => markings(),
            _ => panic!("nobody knows how to make `{what}`"),
        },
    }
}

/// The columns of a table after those that open every table, or these.
fn columns(table: &str) -> String {
    let tables = Tables::default();
    let opening = 2;
    let schema = tables.get(table).unwrap_or(&tables.runs).schema();
    let fields = schema.fields();
    let fields = match tables.get(table) {
        Some(_) => &fields[opening..],
        None => &fields[..opening],
    };
    let mut text = String::from("| column | type | meaning |\n|---|---|---|\n");
    for field in fields {
        let kind = match field.data_type().to_string().to_lowercase().as_str() {
            "utf8" => "string".to_owned(),
            kind => kind.to_owned(),
        };
        let null = if field.is_nullable() { ", or null" } else { "" };
        let meaning = &field.metadata()["text"];
        writeln!(text, "| `{}` | {kind}{null} | {meaning} |", field.name()).unwrap();
        if field.name() == "seed" {
            text += "| one for each `[[sweep]]` | float64 | its value, in the sweep's `unit` |\n";
        }
    }
    text
}

/// The value of a key that is not written, in Markdown.
fn default(key: &Key) -> String {
    let value = match &key.default {
        KeyDefault::Required => return "required".to_owned(),
        KeyDefault::Words(words) => return (*words).to_owned(),
        KeyDefault::Value(value) => value.as_str(),
    };
    match value {
        "off" => "-".to_owned(),
        value if value.starts_with('[') => format!("`{value}`"),
        value if value.contains(' ') => value.to_owned(),
        value if value.parse::<f64>().is_ok() || value.parse::<bool>().is_ok() => {
            format!("`{value}`")
        }
        value => format!("`\"{value}\"`"),
    }
}

/// Keys of a table, one a line, with `defaults` of each, and their origins if any has one.
fn rows(keys: &[Key], columns: &[&str], defaults: impl Fn(usize) -> String) -> String {
    let has_origins = keys.iter().any(|key| !key.origin.is_empty());
    let mut head = vec!["key", "value"];
    head.extend(columns);
    head.push("meaning");
    if has_origins {
        head.push("default from");
    }
    let lines = "---|".repeat(head.len());
    let mut text = format!("| {} |\n|{lines}\n", head.join(" | "));
    for (index, key) in keys.iter().enumerate() {
        let (name, kind, meaning) = (key.name, &key.kind.text, key.description);
        write!(
            text,
            "| `{name}` | {kind} | {} | {meaning} |",
            defaults(index)
        )
        .unwrap();
        if has_origins {
            write!(text, " {} |", key.origin).unwrap();
        }
        text.push('\n');
    }
    text
}

/// The keys of a table that is the same whatever a key in it says.
fn table(path: &str) -> String {
    let path = if path == "top" { "" } else { path };
    let found = sections().into_iter().find(|(it, _)| *it == path);
    let (_, keys) = found.expect("a document names a table that there is");
    rows(&keys, &["default"], |index| default(&keys[index]))
}

fn keys(scheme: &str) -> String {
    let recoveries = LOSS_RECOVERIES.into_iter();
    if let Some(found) = recoveries.into_iter().find(|it| it.name() == scheme) {
        let keys = LossRecovery::keys(found);
        return rows(&keys, &["default"], |index| default(&keys[index]));
    }
    let found = CONGESTION_CONTROLS
        .into_iter()
        .find(|it| it.name() == scheme);
    let found = found.expect("a document names a congestion control that there is");
    let (keys, variants) = (found.keys(), found.variants());
    if variants.is_empty() {
        return rows(&keys, &["default"], |index| default(&keys[index]));
    }
    let names = variants.iter().enumerate();
    let names = names.map(|(index, (name, _))| match index {
        0 => format!("default: `{name}`"),
        _ => format!("`{name}`"),
    });
    let names = Vec::from_iter(names);
    let names = Vec::from_iter(names.iter().map(String::as_str));
    rows(&keys, &names, |index| {
        let defaults = variants.iter().map(|(_, keys)| default(&keys[index]));
        Vec::from_iter(defaults).join(" | ")
    })
}

/// Laws of RoCE, then window laws of TCP; those with parameters are links to their sections.
fn congestion_controls() -> String {
    let mut text = String::from("| value | of | what |\n|---|---|---|\n");
    for law in CONGESTION_CONTROLS {
        let name = law.name();
        let value = if law.keys().is_empty() {
            format!("`\"{name}\"`")
        } else {
            format!("[`\"{name}\"`](#scheme{name})")
        };
        let of = if law.is_tcp() { "TCP" } else { "RoCE" };
        writeln!(text, "| {value} | {of} | {} |", law.summary()).unwrap();
    }
    text
}

fn markings() -> String {
    let mut text =
        String::from("| `marking` | key | value | default | meaning |\n|---|---|---|---|---|\n");
    for marking in MARKINGS {
        for (index, key) in marking.keys().iter().enumerate() {
            let name = if index == 0 {
                format!("`\"{}\"` ", marking.name())
            } else {
                String::new()
            };
            let (key_name, kind, meaning) = (key.name, &key.kind.text, key.description);
            let default = default(key);
            writeln!(
                text,
                "| {name}| `{key_name}` | {kind} | {default} | {meaning} |"
            )
            .unwrap();
        }
    }
    text
}

fn builders() -> String {
    let mut text = String::from("| `builder` | nodes |\n|---|---|\n");
    for builder in BUILDERS {
        let (name, nodes) = (builder.name(), builder.nodes());
        writeln!(text, "| [`\"{name}\"`](#{name}) | {nodes} |").unwrap();
    }
    text
}

/// The keys of each builder below its name.
fn keys_of_builders() -> String {
    let all = BUILDERS.map(|it| headed(it.name(), &it.keys()));
    all.join("\n")
}

fn headed(name: &str, keys: &[Key]) -> String {
    let rows = rows(keys, &["default"], |index| default(&keys[index]));
    format!("## `\"{name}\"`\n\n{rows}")
}

fn kinds() -> String {
    let mut text = String::from("| `kind` | what |\n|---|---|\n");
    for kind in TRAFFIC_KINDS {
        let (name, what) = (kind.name(), kind.what());
        writeln!(text, "| [`\"{name}\"`](#{name}) | {what} |").unwrap();
    }
    text
}

/// The keys of each kind of traffic below its name.
fn keys_of_kinds() -> String {
    let all = TRAFFIC_KINDS.map(|it| headed(it.name(), &it.keys()));
    all.join("\n")
}

/// The document with a section for each congestion control that has keys: its author may write more there.
fn with_sections(mut document: String) -> String {
    const NEXT: &str = "## Loss recovery\n";
    let with_keys = CONGESTION_CONTROLS.into_iter();
    for law in with_keys.filter(|it| !it.keys().is_empty()) {
        let name = law.name();
        let mark = format!("<!-- made: keys {name} -->\n");
        if !document.contains(&mark) {
            let place = document
                .find(NEXT)
                .expect("a section follows those of congestion controls");
            let section = format!(
                "## `[scheme.{name}]`\n\n{}.\n\n{mark}\n{END}\n\n",
                law.summary()
            );
            document.insert_str(place, &section);
        }
    }
    document
}

/// The document with its generated parts renewed, and the names of these parts.
fn renewed<'a>(document: &'a str, links: &Links) -> (String, Vec<&'a str>) {
    let mut parts = document.split("<!-- made: ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    let mut all = Vec::new();
    for part in parts {
        let (what, rest) = part.split_once(" -->\n").expect("a mark is a line");
        let (_, rest) = rest.split_once(END).expect("what is made has an end");
        let part = links.renewed(&made(what), document);
        write!(text, "<!-- made: {what} -->\n\n{part}\n{END}{rest}").unwrap();
        all.push(what);
    }
    (text, all)
}

/// `python/unpause/columns.json`: for each table, name, type, unit and meaning of its columns, what they hold,
/// whether they may be null, and whether they are of its key.
fn columns_for_python() -> String {
    let mut tables = Vec::new();
    for (name, table) in Tables::default().all() {
        let schema = table.schema();
        let columns = schema.fields().iter().map(|field| {
            let metadata = field.metadata();
            let is_float = field.data_type().to_string() == "Float64";
            let column = serde_json::json!({
                "name": field.name(),
                "type": field.data_type().to_string().to_lowercase(),
                "unit": metadata["unit"],
                "text": metadata["text"],
                "nullable": field.is_nullable(),
                "holds": Holds::of(name, field.name(), is_float).name(),
                "key": key_of(name).contains(&field.name().as_str()),
            });
            format!("    {column}")
        });
        let columns: Vec<_> = columns.collect();
        tables.push(format!("  \"{name}\": [\n{}\n  ]", columns.join(",\n")));
    }
    format!("{{\n{}\n}}\n", tables.join(",\n"))
}

fn check(file: &str, old: &str, new: &str) {
    if std::env::var_os("UNPAUSE_DOCS").is_some_and(|what| what == "write") {
        fs::write(Path::new(ROOT).join(file), new).expect("a document can be written");
    } else {
        assert!(
            old == new,
            "{file} is not what the code says: run `make docs`"
        );
    }
}

/// The anchors of the headings of a page, as Markdown viewers derive them.
fn anchors(page: &str) -> impl Iterator<Item = String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| {
        let line = line.trim_start_matches('#').trim().to_lowercase();
        let kept = line
            .chars()
            .filter(|c| c.is_alphanumeric() || "_- ".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

/// Where links of a page lead.
struct Links {
    /// From the page to `docs`, to which links in texts of keys are relative.
    up: &'static str,
    /// By heading of a page of the scenario file, that page.
    pages: HashMap<String, String>,
}

impl Links {
    /// The text with its links as `document` needs them: `(#pfc)` leads to a heading of any page.
    fn renewed(&self, text: &str, document: &str) -> String {
        let own = Vec::from_iter(anchors(document));
        let mut parts = text.split("](");
        let mut renewed = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (target, rest) = part.split_once(')').expect("a link ends");
            let page = target.strip_prefix('#').and_then(|anchor| {
                let is_own = own.iter().any(|heading| heading == anchor);
                self.pages.get(anchor).filter(|_| !is_own)
            });
            let up = match page {
                None if target.starts_with('#') || target.starts_with("http") => "",
                _ => self.up,
            };
            let page = page.map_or("", String::as_str);
            write!(renewed, "]({up}{page}{target}){rest}").unwrap();
        }
        renewed
    }
}

/// The pages of the scenario file below `docs`: its front page, then the others by name.
fn scenario_pages() -> Vec<String> {
    let folder = Path::new(ROOT).join("docs/scenario");
    let entries = fs::read_dir(folder).expect("it is there");
    let entries = entries.map(|entry| entry.expect("it can be listed").file_name());
    let mut pages = Vec::from_iter(entries.map(|name| format!("scenario/{}", name.display())));
    pages.sort();
    pages.insert(0, "scenario.md".to_owned());
    pages
}

fn read(page: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join("docs").join(page)).expect("it is there")
}

#[test]
fn documents_say_what_the_code_says() {
    let mut all = Vec::new();
    let scenario = scenario_pages();
    let mut links = Links {
        up: "",
        pages: HashMap::new(),
    };
    for page in &scenario {
        let text = read(page);
        links
            .pages
            .extend(anchors(&text).map(|anchor| (anchor, page.clone())));
    }
    for page in scenario.iter().map(String::as_str).chain(["tables.md"]) {
        let old = read(page);
        let whole = match page {
            "scenario/scheme.md" => with_sections(old.clone()),
            _ => old.clone(),
        };
        links.up = if page.contains('/') { "../" } else { "" };
        let (new, made) = renewed(&whole, &links);
        check(&format!("docs/{page}"), &old, &new);
        all.extend(made.into_iter().map(str::to_owned));
    }
    for table in TABLES {
        assert!(
            all.contains(&format!("columns {table}")),
            "{table} is in no document"
        );
    }
    for (path, _) in sections() {
        let path = if path.is_empty() { "top" } else { path };
        assert!(
            all.contains(&format!("table {path}")),
            "[{path}] is in no document"
        );
    }
    let file = "python/unpause/columns.json";
    let old = fs::read_to_string(Path::new(ROOT).join(file)).unwrap_or_default();
    check(file, &old, &columns_for_python());
}

#[test]
fn the_schema_is_what_is_declared_of_keys() {
    let file = "docs/scenario.schema.json";
    let old = fs::read_to_string(Path::new(ROOT).join(file)).unwrap_or_default();
    let new = serde_json::to_string_pretty(&json_schema()).expect("it is plain data");
    check(file, &old, &(new + "\n"));
}

#[test]
fn a_congestion_control_gets_its_section() {
    let document = read("scenario/scheme.md");
    assert_eq!(with_sections(document.clone()), document, "all have one");
    let start = document.find("## `[scheme.cubic]`").expect("it has one");
    let end = document.find("## Loss recovery").expect("it follows");
    let without = document[..start].to_owned() + &document[end..];
    let with = with_sections(without);
    let links = Links {
        up: "",
        pages: HashMap::new(),
    };
    let (with, made) = renewed(&with, &links);
    assert!(made.contains(&"keys cubic"));
    assert!(with[start..].starts_with("## `[scheme.cubic]`\n\nTCP CUBIC"));
    assert!(with[start..].contains("| `fast_convergence` |"));
}
