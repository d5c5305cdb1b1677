//! The house rules that a program can check. Where one does not hold yet, `exceptions.txt` says so:
//! its lines may only go.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use unpause_tidy::{Needs, circle, crates, functions, needs, rooms, root};

const MOST_LINES_OF_A_FILE: usize = 500;
const MOST_LINES_OF_A_FUNCTION: usize = 70;

/// Lines `RULE WHAT [NUMBER]` of `exceptions.txt`: what of the rule, and how far it may go.
fn exceptions(rule: &str) -> BTreeMap<String, usize> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("exceptions.txt"));
    let text = text.expect("the list of exceptions is there");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let words = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
    words
        .filter(|words| words.first() == Some(&rule))
        .map(|words| {
            let number = words
                .get(2)
                .map_or(0, |number| number.parse().expect("a number"));
            (words[1].to_owned(), number)
        })
        .collect()
}

/// Fails for every one of `found` that is beyond `most` and beyond its exception, and for every
/// exception that is not needed.
fn check(rule: &str, most: usize, found: impl IntoIterator<Item = (String, usize)>) {
    let mut exceptions = exceptions(rule);
    let mut faults = Vec::new();
    for (what, number) in found {
        if number <= most {
            continue;
        }
        match exceptions.remove(&what) {
            Some(allowed) if number <= allowed => {}
            Some(allowed) => faults.push(format!("{what}: {number}, no more than {allowed}")),
            None => faults.push(format!("{what}: {number}, at most {most}")),
        }
    }
    for what in exceptions.keys() {
        faults.push(format!(
            "{what} keeps the rule now: remove it from exceptions.txt"
        ));
    }
    assert!(faults.is_empty(), "{rule}:\n{}", faults.join("\n"));
}

/// A circle of files, or of what lies in some folder.
fn any_circle(files: &Needs) -> Option<Vec<String>> {
    circle(files).or_else(|| rooms(files).values().find_map(circle))
}

/// Files that need one another in a circle but for those in the list, which are thought away.
#[test]
fn files_need_one_another_in_one_direction() {
    let mut exceptions = exceptions("circle");
    for sources in crates() {
        let all = needs(&sources);
        let mut needs = all.clone();
        needs.retain(|file, _| !exceptions.contains_key(file));
        assert_eq!(
            any_circle(&needs),
            None,
            "each of these needs the next, the last the first"
        );
        exceptions.retain(|file, _| {
            let Some(of_file) = all.get(file) else {
                return true;
            };
            let mut needs = needs.clone();
            needs.insert(file.clone(), of_file.clone());
            any_circle(&needs).is_none()
        });
    }
    let unneeded: Vec<_> = exceptions.keys().collect();
    assert!(
        unneeded.is_empty(),
        "in no circle now, remove from exceptions.txt: {unneeded:?}"
    );
}

#[test]
fn files_are_short() {
    let sources = crates().into_iter().flatten();
    check(
        "file",
        MOST_LINES_OF_A_FILE,
        sources.map(|source| (source.path, source.lines)),
    );
}

#[test]
fn functions_are_short() {
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for source in crates().iter().flatten() {
        for function in functions(source) {
            let lines = found
                .entry(format!("{}:{}", source.path, function.name))
                .or_default();
            *lines = function.lines.max(*lines);
        }
    }
    check("function", MOST_LINES_OF_A_FUNCTION, found);
}

/// Collects the symbolic links among committed files: no dot folders, no `target`, no `results`.
fn links(folder: &Path, name: &str, found: &mut BTreeMap<String, usize>) {
    for entry in fs::read_dir(folder)
        .expect("a folder can be read")
        .flatten()
    {
        let file = entry.file_name().to_string_lossy().into_owned();
        if file.starts_with('.') || ["target", "results", "__pycache__"].contains(&&*file) {
            continue;
        }
        let name = if name.is_empty() {
            file
        } else {
            format!("{name}/{file}")
        };
        let kind = entry.file_type().expect("an entry has a type");
        if kind.is_symlink() {
            *found.entry(folder_of(&name)).or_default() += 1;
        } else if kind.is_dir() {
            links(&entry.path(), &name, found);
        }
    }
}

fn folder_of(name: &str) -> String {
    name.rsplit_once('/')
        .map_or(".".into(), |(folder, _)| folder.to_owned())
}

#[test]
fn nothing_is_a_symbolic_link() {
    let mut found = BTreeMap::new();
    links(&root(), "", &mut found);
    check("link", 0, found);
}
