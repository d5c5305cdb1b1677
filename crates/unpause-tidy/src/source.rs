//! The source files of a crate, as modules.

use std::fs;
use std::path::{Path, PathBuf};

/// One Rust file.
pub struct Source {
    /// From the root of the repository, with `/`.
    pub path: String,
    /// Names from the root of its crate: `switch::cioq` is `["switch", "cioq"]`.
    pub module: Vec<String>,
    /// Number of lines.
    pub lines: usize,
    /// Its syntax tree.
    pub ast: syn::File,
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The sources of each crate's library, or of its program where it has no library.
///
/// # Panics
///
/// If a file cannot be read or parsed.
pub fn crates() -> Vec<Vec<Source>> {
    let mut folders = entries(&root().join("crates"));
    folders.retain(|folder| folder.join("src").is_dir());
    folders.iter().map(|folder| sources(folder)).collect()
}

fn sources(folder: &Path) -> Vec<Source> {
    let src = folder.join("src");
    let mut found = Vec::new();
    collect(&src, &mut found);
    if src.join("lib.rs").is_file() {
        found.retain(|file| *file != src.join("main.rs"));
    }
    found.iter().map(|file| read(&src, file)).collect()
}

fn read(src: &Path, file: &Path) -> Source {
    let text = fs::read_to_string(file).expect("a source can be read");
    let ast = syn::parse_file(&text).expect("a source can be parsed");
    let below = file.strip_prefix(src).expect("it was found there");
    let mut module: Vec<String> = below
        .with_extension("")
        .iter()
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    if matches!(
        module.last().map(String::as_str),
        Some("mod" | "lib" | "main")
    ) {
        module.pop();
    }
    let folder = src
        .parent()
        .and_then(Path::file_name)
        .expect("a crate has a folder");
    Source {
        path: format!("crates/{}/src/{}", folder.display(), below.display()),
        module,
        lines: text.lines().count(),
        ast,
    }
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in entries(folder) {
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder can be read");
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
