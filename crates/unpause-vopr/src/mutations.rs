//! The engine broken on purpose: does a check notice?
//!
//! Each file in `mutations/` names a place in the engine by its text, and what stands there instead when
//! the mutation is on. All are put into one copy of the crates, which is compiled once; an environment
//! variable says which one is on.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use toml::Table;

/// The environment variable that names the mutation that is on.
const SWITCH: &str = "UNPAUSE_MUTATION";
/// Crates that are copied, those that are mutated first.
const CRATES: [&str; 9] = [
    "unpause-sim",
    "unpause-protocols",
    "unpause-derive",
    "unpause-text",
    "unpause-import",
    "unpause-sonic",
    "unpause-results",
    "unpause-scenario",
    "unpause-vopr",
];
const MUTATED: usize = 2;
/// Seeds that the copy has to pass with no mutation on.
const AS_IT_IS: u64 = 500;

/// A way to break the engine.
#[derive(Clone, Debug)]
struct Mutation {
    name: String,
    /// The fault, in a sentence.
    what: String,
    /// A text that stands once in the engine, whatever its white space.
    find: String,
    /// The replacement; `MUTATED` is true when the mutation is on.
    replace: String,
}

/// A source file of the copy.
struct Source {
    path: PathBuf,
    text: String,
}

/// Judges up to `count` seeds for each mutation of `names`, or for all, in a copy below `directory`;
/// prints a table. True if each was noticed.
///
/// # Errors
///
/// If a mutation does not find its place, or the copy cannot be compiled.
pub fn run(names: &[String], seed: u64, count: u64, directory: &Path) -> io::Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mutations = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("mutations"))?;
    if let Some(unknown) = names
        .iter()
        .find(|name| mutations.iter().all(|m| m.name != **name))
    {
        return Err(io::Error::other(format!("there is no mutation {unknown}")));
    }
    let program = build(&root, &mutations, directory)?;
    let (check, ..) = first_failure(&program, "", seed, AS_IT_IS.min(count))?;
    if let Some(check) = check {
        return Err(io::Error::other(format!("it fails as it is: {check}")));
    }
    println!("| mutation | detected by | at seed | seeds checked |\n|---|---|---|---|");
    let mut all = true;
    for mutation in &mutations {
        if !names.is_empty() && !names.contains(&mutation.name) {
            continue;
        }
        let (check, at, judged) = first_failure(&program, &mutation.name, seed, count)?;
        all &= check.is_some();
        let check = check.map_or("**nothing**".to_owned(), |check| format!("`{check}`"));
        println!("| {} | {check} | {at} | {judged} |", mutation.what);
    }
    Ok(all)
}

fn read(directory: &Path) -> io::Result<Vec<Mutation>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory)? {
        paths.push(entry?.path());
    }
    paths.sort();
    paths.iter().map(|path| mutation(path)).collect()
}

fn mutation(path: &Path) -> io::Result<Mutation> {
    let wrong = |why: String| io::Error::other(format!("{}: {why}", path.display()));
    let table: Table = fs::read_to_string(path)?
        .parse()
        .map_err(|error: toml::de::Error| wrong(error.to_string()))?;
    let text = |key: &str| {
        let text = table.get(key).and_then(toml::Value::as_str);
        let text = text.map(|text| text.trim().to_owned());
        text.ok_or_else(|| wrong(format!("`{key}` is missing")))
    };
    let name = path.file_stem().unwrap_or_default();
    Ok(Mutation {
        name: name.to_string_lossy().into_owned(),
        what: text("what")?,
        find: text("find")?,
        replace: text("replace")?,
    })
}

/// Compiles a copy with all mutations in it; answers the program.
fn build(root: &Path, mutations: &[Mutation], directory: &Path) -> io::Result<PathBuf> {
    let copy = directory.join("source");
    let mut sources = Vec::new();
    for (number, name) in CRATES.iter().enumerate() {
        let from = root.join("crates").join(name);
        let to = copy.join("crates").join(name);
        if number < MUTATED {
            copy_all(&from, &to, &|path| !path.ends_with("src"))?;
            sources.extend(sources_of(&from.join("src"), &to.join("src"))?);
        } else {
            copy_all(&from, &to, &|_| true)?
        }
        prune(&to, &from)?;
    }
    write(
        &copy.join("Cargo.lock"),
        &fs::read(root.join("Cargo.lock"))?,
    )?;
    // Members that are not copied are left out.
    let workspace = fs::read_to_string(root.join("Cargo.toml"))?;
    let lines = workspace.lines();
    let lines: Vec<&str> = lines
        .filter(|line| !line.starts_with("default-members"))
        .collect();
    write(&copy.join("Cargo.toml"), lines.join("\n").as_bytes())?;
    apply(mutations, &mut sources)?;
    for source in &sources {
        let mut text = source.text.clone();
        if source.path.ends_with("src/lib.rs") {
            text += &switch();
        }
        write(&source.path, text.as_bytes())?;
    }
    let target = fs::canonicalize(directory)?.join("build");
    let status = Command::new("cargo")
        .args(["build", "--release", "--quiet", "--package", "unpause-vopr"])
        .arg("--target-dir")
        .arg(&target)
        .current_dir(&copy)
        .status()?;
    if status.success() {
        Ok(target.join("release/unpause-vopr"))
    } else {
        Err(io::Error::other("the copy cannot be compiled"))
    }
}

/// The switch that selects the mutation in the mutated crates.
fn switch() -> String {
    format!(
        "
/// True if the mutation of this name is on.
#[allow(unused_qualifications)]
pub fn mutated(name: &str) -> bool {{
    extern crate std;
    static ON: std::sync::OnceLock<Option<std::string::String>> = std::sync::OnceLock::new();
    ON.get_or_init(|| std::env::var(\"{SWITCH}\").ok()).as_deref() == Some(name)
}}
"
    )
}

/// Files of `from`, to be written into `to`.
fn sources_of(from: &Path, to: &Path) -> io::Result<Vec<Source>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            found.extend(sources_of(&entry.path(), &to)?);
        } else {
            let text = fs::read_to_string(entry.path())?;
            found.push(Source { path: to, text });
        }
    }
    Ok(found)
}

fn copy_all(from: &Path, to: &Path, wanted: &dyn Fn(&Path) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if !wanted(&entry.path()) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            copy_all(&entry.path(), &to, wanted)?;
        } else {
            write(&to, &fs::read(entry.path())?)?;
        }
    }
    Ok(())
}

/// Deletes from a copy, if there is one, what its original has no more: a module that has moved would be found twice.
fn prune(copy: &Path, original: &Path) -> io::Result<()> {
    if !copy.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(copy)? {
        let entry = entry?;
        let (path, original) = (entry.path(), original.join(entry.file_name()));
        let is_dir = entry.file_type()?.is_dir();
        if original.is_dir() && is_dir {
            prune(&path, &original)?;
        } else if !original.exists() || original.is_dir() != is_dir {
            if is_dir {
                fs::remove_dir_all(path)?
            } else {
                fs::remove_file(path)?
            }
        }
    }
    Ok(())
}

/// Writes a file unless it is there already, so that only what has changed is compiled again.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, bytes)
}

/// Puts every mutation into its place.
fn apply(mutations: &[Mutation], sources: &mut [Source]) -> io::Result<()> {
    for mutation in mutations {
        let mut places = Vec::new();
        for (number, source) in sources.iter().enumerate() {
            let all = places_of(&source.text, &mutation.find);
            places.extend(all.into_iter().map(|place| (number, place)));
        }
        let [(number, place)] = &places[..] else {
            let (name, count) = (&mutation.name, places.len());
            let why =
                format!("mutation {name}: its text stands {count} times in the engine, not once");
            return Err(io::Error::other(why));
        };
        let on = format!("crate::mutated(\"{}\")", mutation.name);
        let text = mutation.replace.replace("MUTATED", &on);
        sources[*number].text.replace_range(place.clone(), &text);
    }
    Ok(())
}

/// Where `text` has `find`, whatever the white space of either.
fn places_of(text: &str, find: &str) -> Vec<std::ops::Range<usize>> {
    let solid = |text: &str| -> Vec<(usize, char)> {
        let all = text.char_indices();
        all.filter(|(_, c)| !c.is_whitespace()).collect()
    };
    let (text, find) = (solid(text), solid(find));
    let chars = |part: &[(usize, char)]| part.iter().map(|(_, c)| *c).collect::<Vec<_>>();
    let wanted = chars(&find);
    let found = text
        .windows(wanted.len().max(1))
        .filter(|part| part.iter().zip(&wanted).all(|((_, a), b)| a == b));
    found
        .map(|part| {
            let (last, c) = part[part.len() - 1];
            part[0].0..last + c.len_utf8()
        })
        .collect()
}

/// The check that fails first, if one does, with its seed and the seeds judged until then.
fn first_failure(
    program: &Path,
    mutation: &str,
    seed: u64,
    count: u64,
) -> io::Result<(Option<String>, String, String)> {
    let output = Command::new(program)
        .args(["run", "--first", "--seed", &seed.to_string()])
        .args(["--count", &count.to_string()])
        .env(SWITCH, mutation)
        .stderr(Stdio::null())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let judged = text.split(' ').next().unwrap_or_default().to_owned();
    let failed = text
        .lines()
        .find_map(|line| line.strip_prefix("FAILED seed "));
    Ok(match failed.and_then(|line| line.split_once(": ")) {
        Some((at, rest)) => {
            let check = rest.split(": ").next().unwrap_or_default();
            (Some(check.to_owned()), at.to_owned(), judged)
        }
        None if output.status.success() => (None, String::new(), judged),
        None => (Some("hang".to_owned()), String::new(), judged),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The engine has moved away from under a mutation that fails here.
    #[test]
    fn every_mutation_finds_its_place() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mutations = read(&root.join("mutations")).unwrap();
        assert!(mutations.len() >= 10);
        let of = |name: &&str| {
            let from = root.join("..").join(name).join("src");
            sources_of(&from, &from).unwrap()
        };
        let mut sources: Vec<Source> = CRATES[..MUTATED].iter().flat_map(of).collect();
        apply(&mutations, &mut sources).unwrap();
        for mutation in mutations {
            let on = format!("crate::mutated(\"{}\")", mutation.name);
            let has = sources.iter().filter(|source| source.text.contains(&on));
            assert_eq!(has.count(), 1, "{} is never on", mutation.name);
        }
    }

    /// Without them the copy cannot be compiled.
    #[test]
    fn crates_are_copied_with_those_that_they_need() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for name in CRATES {
            let manifest = fs::read_to_string(crates.join(name).join("Cargo.toml")).unwrap();
            let manifest: Table = manifest.parse().unwrap();
            for table in ["dependencies", "dev-dependencies"] {
                let needed = manifest.get(table).and_then(toml::Value::as_table);
                for needed in needed.into_iter().flat_map(Table::keys) {
                    let is_ours = needed.starts_with("unpause-");
                    assert!(
                        !is_ours || CRATES.contains(&needed.as_str()),
                        "{name} needs {needed}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_copy_loses_what_its_original_has_lost() {
        let directory = tempfile::tempdir().unwrap();
        let (copy, original) = (
            directory.path().join("copy"),
            directory.path().join("original"),
        );
        for path in [
            "original/kept/mod.rs",
            "copy/kept.rs",
            "copy/kept/mod.rs",
            "copy/old/mod.rs",
        ] {
            write(&directory.path().join(path), b"").unwrap();
        }
        prune(&copy, &original).unwrap();
        let left = sources_of(&copy, Path::new("")).unwrap();
        let left: Vec<PathBuf> = left.into_iter().map(|it| it.path).collect();
        assert_eq!(left, [Path::new("kept/mod.rs")]);
        prune(&directory.path().join("none"), &original).unwrap();
    }

    #[test]
    fn white_space_does_not_count() {
        let text = "let a =\n    b\n        .c();";
        let found = places_of(text, "a = b.c()");
        assert_eq!((found.len(), found[0].clone()), (1, 4..text.len() - 1));
        assert!(places_of(text, "a = c").is_empty());
    }
}
