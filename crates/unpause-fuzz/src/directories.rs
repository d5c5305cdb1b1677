//! Result directories in which names stand for something else: links, folders, cut files, a commit that was cut
//! short. Whatever is read or written there, nothing outside changes.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use unpause_scenario::{
    NoProgress, Options, OutFolder, Outcome, Saved, Scenario, execute, saved_manifest,
};

/// Names that are read, written, moved or removed.
const NAMES: [&str; 20] = [
    "manifest.json",
    "scenario.toml",
    "runs.parquet",
    "flows.parquet",
    "report.json",
    "report.html",
    "figures",
    "figures/canary",
    "csv",
    "csv/canary",
    ".unpause",
    ".unpause/lock",
    ".unpause/commit",
    ".unpause/commit/manifest.json",
    ".unpause/commit/flows.parquet",
    ".unpause/commit/remove.json",
    ".unpause/commit/figures",
    ".unpause/commit/figures/canary",
    ".unpause/runs",
    ".unpause/new-1",
];

/// Lists of names that a `report.json` and a `remove.json` may contain.
const LISTS: [&str; 3] = [
    r#"["figures/canary", "../outside/canary", "/etc/passwd", "csv/canary"]"#,
    r#"{"files": ["figures/canary", "../outside/canary", "figures/../../outside/canary"]}"#,
    "[[[",
];

/// Short: most of the time goes into files.
const SCENARIO: &str = r#"
seed = 1
duration = "20us"
[topology]
builder = "single-switch"
hosts = 2
rate = "40Gbps"
delay = "1us"
[[scheme]]
name = "PFC"
[[traffic]]
name = "one"
kind = "flow"
from = "H1"
to = "H0"
size = "10KB"
"#;

static OUTCOME: LazyLock<Outcome> = LazyLock::new(|| {
    let scenario = Scenario::parse(SCENARIO, Path::new("fuzz.toml")).expect("it is sound");
    execute(&scenario, &Options::default(), &NoProgress).expect("it can be run")
});

static PLACE: LazyLock<PathBuf> = LazyLock::new(|| {
    std::env::temp_dir().join(format!("unpause-fuzz-directories-{}", std::process::id()))
});

/// Two bytes say what a name becomes; then the directory is read, written to, and exported.
pub fn check(data: &[u8]) {
    let (out, outside) = (PLACE.join("out"), PLACE.join("outside"));
    let _ = fs::remove_dir_all(&*PLACE);
    fs::create_dir_all(outside.join("folder")).expect("a temporary folder can be made");
    for name in ["canary", "folder/canary", "folder/flows.parquet"] {
        fs::write(outside.join(name), "alive").expect("and files in it");
    }
    OUTCOME.write(&out).expect("results can be written");
    for pair in data.chunks_exact(2).take(8) {
        // What does not go, such as a file in a link's place, is left out.
        let _ = plant(
            &out,
            &outside,
            pair[0],
            NAMES[usize::from(pair[1]) % NAMES.len()],
        );
    }
    let before = state(&outside);
    let kept = state(&out);
    let read = Saved::load(&out);
    let _ = saved_manifest(&out);
    assert_eq!(state(&out), kept, "who reads changes nothing");
    let written = OUTCOME.write(&out);
    if let Ok(saved) = &read {
        assert_eq!(saved.manifest.seeds, [1]);
    }
    if written.is_ok() {
        Saved::load(&out).expect("what was written can be read");
    }
    if let Ok(csv) = OutFolder::inside(&out, "csv") {
        let _ = csv.write("canary", true, |file| file.write_all(b"theirs"));
    }
    assert_eq!(state(&outside), before, "outside of the result");
}

fn plant(out: &Path, outside: &Path, kind: u8, name: &str) -> io::Result<()> {
    let path = out.join(name);
    let Some(folder) = path.parent() else {
        return Ok(());
    };
    // Through a link that was planted before, this would change what is outside.
    if folder
        .canonicalize()
        .is_ok_and(|real| real.starts_with(outside))
    {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    let sound = fs::read(&path).unwrap_or_default();
    match path.symlink_metadata() {
        Ok(about) if about.is_dir() => fs::remove_dir_all(&path)?,
        Ok(_) => fs::remove_file(&path)?,
        Err(_) => {}
    }
    match kind % 9 {
        0 => link(&outside.join("canary"), &path),
        1 => link(&outside.join("folder"), &path),
        2 => link(&outside.join("nothing"), &path),
        3 => link(&path, &path),
        4 => fs::create_dir_all(path.join("full")),
        5 => fs::write(&path, &sound[..sound.len() / 2]),
        6 => fs::hard_link(outside.join("canary"), &path),
        7 => Ok(()),
        _ => fs::write(&path, LISTS[usize::from(kind / 9) % LISTS.len()]),
    }
}

#[cfg(unix)]
fn link(to: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, path)
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The files below a folder, without following links.
fn state(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let about = path.symlink_metadata().expect("it is there");
            if about.is_dir() {
                folders.push(path.clone());
            }
            let held = about
                .is_file()
                .then(|| fs::read(&path).expect("it is there"));
            found.insert(path, held.unwrap_or_default());
        }
    }
    found
}

/// Each kind of thing at each name.
pub fn seeds() -> Vec<Vec<u8>> {
    (0..9_u8)
        .map(|kind| (0..8).flat_map(|at| [kind, kind * 3 + at]).collect())
        .collect()
}

/// Removes the directory.
pub fn clean() {
    let _ = fs::remove_dir_all(&*PLACE);
}
