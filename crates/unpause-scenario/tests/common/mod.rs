//! The scenarios that ship with the project.

use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Every scenario file with its name from the repository's root, `papers/pcn/scenarios/f2.toml`.
pub fn shipped() -> Vec<(String, PathBuf)> {
    let root = Path::new(ROOT);
    let mut files = Vec::new();
    for paper in folder(&root.join("papers")) {
        collect(&paper.join("scenarios"), &mut files);
    }
    collect(&root.join("scenarios"), &mut files);
    files.sort();
    let name = |file: &Path| {
        let name = file.strip_prefix(root).expect("it was found there");
        name.display().to_string()
    };
    files.into_iter().map(|file| (name(&file), file)).collect()
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    for path in folder(path) {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|it| it == "toml") {
            files.push(path);
        }
    }
}

fn folder(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path).expect("scenarios are there");
    entries
        .map(|entry| entry.expect("a folder can be read").path())
        .collect()
}
