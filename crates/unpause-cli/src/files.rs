//! The scenario files that a command line names.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use unpause_scenario::{Error, Scenario};

/// Standard input.
const INPUT: &str = "-";
/// The name of standard input in messages; relative paths in it start at the working directory.
const INPUT_NAME: &str = "stdin.toml";

/// The files that `paths` name: a directory stands for the scenarios below it.
pub fn all(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let before = files.len();
        find(path, &mut files).map_err(|error| Error::io("read", path, error))?;
        if files.len() == before {
            return Err(Error::Other {
                message: format!("there is no scenario below {}", path.display()),
                help: Some("scenarios are files that end in .toml".into()),
            });
        }
    }
    Ok(files)
}

fn find(directory: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let entries = fs::read_dir(directory)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            find(&path, files)?;
        } else if is_scenario(&path) {
            files.push(path);
        }
    }
    Ok(())
}

/// A TOML file with schemes or a base; others may lie beside scenarios.
fn is_scenario(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "toml")
        && fs::read(path).is_ok_and(|text| {
            let text = String::from_utf8_lossy(&text);
            text.lines()
                .map(str::trim_start)
                .any(|line| line.starts_with("[[scheme]]") || line.starts_with("base = "))
        })
}

/// A scenario and where it came from.
pub fn load(path: &Path) -> Result<Scenario, Vec<Error>> {
    if path != Path::new(INPUT) {
        return Scenario::load_all(path);
    }
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map_err(|error| vec![Error::io("read", Path::new("standard input"), error)])?;
    Scenario::parse_all(&text, Path::new(INPUT_NAME))
}

/// The file that a default directory is named after.
pub fn named(path: &Path) -> &Path {
    if path == Path::new(INPUT) {
        Path::new(INPUT_NAME)
    } else {
        path
    }
}
