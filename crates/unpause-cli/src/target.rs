//! Where results go, and what is said of what was there.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use unpause_scenario::{Before, Error, OutFolder, saved_manifest};

/// Folders whose names say nothing of a scenario.
const COMMON_FOLDERS: [&str; 2] = ["papers", "scenarios"];

/// `results/pcn-f2-seed7` for `papers/pcn/scenarios/f2.toml` with another seed, and `suffix` behind it.
pub fn default_directory(file: &Path, seed: Option<u64>, suffix: &str) -> PathBuf {
    let folders = file.parent().into_iter().flat_map(Path::components);
    let said = folders.filter_map(|folder| match folder {
        Component::Normal(name) if !COMMON_FOLDERS.iter().any(|common| name == *common) => {
            Some(name)
        }
        _ => None,
    });
    // Of a path from the root, its last folder is what people know.
    let skipped = if file.is_absolute() {
        said.clone().count().saturating_sub(1)
    } else {
        0
    };
    let stem = file.file_stem().unwrap_or_default();
    let parts: Vec<&OsStr> = said.skip(skipped).chain([stem]).collect();
    let mut name = parts.join(OsStr::new("-"));
    if let Some(seed) = seed {
        name.push(format!("-seed{seed}"));
    }
    name.push(suffix);
    Path::new("results").join(name)
}

/// An error if the directory, which nobody has asked for, has the result of another scenario file.
pub fn check_default(directory: &Path, file: &Path) -> Result<(), Error> {
    let Some(manifest) = saved_manifest(directory) else {
        return Ok(());
    };
    let before = Path::new(&manifest.scenario.file);
    if same_file(before, file) {
        return Ok(());
    }
    Err(Error::Other {
        message: format!(
            "{} has the result of another scenario, {}",
            directory.display(),
            before.display()
        ),
        help: Some("choose a directory with --out; nothing was changed".into()),
    })
}

fn same_file(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| {
        path.canonicalize()
            .or_else(|_| std::path::absolute(path))
            .ok()
    };
    real(a) == real(b)
}

/// The note on an earlier result in the directory; empty if there was none.
pub fn replaced(before: &Before) -> String {
    let mut text = String::new();
    if let Some(old) = &before.replaced {
        // An older version may have listed them again for each scheme.
        let every: BTreeSet<u64> = old.seeds.iter().copied().collect();
        let seeds: Vec<String> = every.iter().take(5).map(u64::to_string).collect();
        let more = if every.len() > seeds.len() {
            ", …"
        } else {
            ""
        };
        text += &format!(
            "replaced: the result of {} (seed {}{more})\n",
            old.scenario.file,
            seeds.join(", ")
        );
    }
    if !before.kept.is_empty() {
        text += &format!("kept unchanged: {}\n", before.kept.join(", "));
    }
    text
}

/// An error if `out` is one of the files that it is made of, which would be lost.
pub fn spare<'p>(out: &Path, inputs: impl IntoIterator<Item = &'p Path>) -> Result<(), Error> {
    let mut inputs = inputs.into_iter();
    if !(out.exists() && inputs.any(|input| same_file(input, out))) {
        Ok(())
    } else {
        Err(Error::Other {
            message: format!("{} is read: it cannot be written, too", out.display()),
            help: Some("choose another file with --out; nothing was changed".into()),
        })
    }
}

/// Writes a file that is there whole or not at all. One that is there is replaced by `force` only.
pub fn write_whole(
    path: &Path,
    force: bool,
    write: impl FnOnce(&mut fs::File) -> io::Result<()>,
) -> Result<(), Error> {
    if path.is_dir() {
        return Err(Error::Other {
            message: format!("{} is a directory", path.display()),
            help: Some("name a file, which may be in it; nothing was changed".into()),
        });
    }
    if path.symlink_metadata().is_ok() && !force {
        return Err(exists(path));
    }
    // The user has named it: a link is written through.
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = real
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let written = || {
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // The process's umask takes from that, as from any new file's.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let builder = builder.prefix(".unpause-");
        let mut file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
        write(file.as_file_mut())?;
        file.as_file().sync_all()?;
        if force {
            file.persist(&real).map_err(|error| error.error)?
        } else {
            file.persist_noclobber(&real).map_err(|error| error.error)?
        };
        Ok(())
    };
    written().map_err(|error| Error::io("write", path, error))
}

/// The folder for what is made of the result in `directory`: `out` if the user has named one, else `name` in it.
pub fn folder(out: Option<&Path>, directory: &Path, name: &str) -> Result<OutFolder, Error> {
    match out {
        Some(out) => OutFolder::named(out).map_err(|error| Error::io("write", out, error)),
        None => OutFolder::inside(directory, name)
            .map_err(|error| Error::io("write", &directory.join(name), error)),
    }
}

/// Writes a file into such a folder, whole or not at all. What is there is replaced by `force` only.
pub fn write_in(
    folder: &OutFolder,
    name: &str,
    force: bool,
    write: impl FnOnce(&mut fs::File) -> io::Result<()>,
) -> Result<(), Error> {
    let path = folder.path_of(name);
    match folder.write(name, force, write) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(exists(&path)),
        written => written.map_err(|error| Error::io("write", &path, error)),
    }
}

/// A file that is not replaced without being asked to.
pub fn exists(path: &Path) -> Error {
    Error::Other {
        message: format!("{} exists", path.display()),
        help: Some("--force replaces it; nothing was changed".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_directories_tell_scenarios_apart() {
        let of = |file: &str, seed| {
            let directory = default_directory(Path::new(file), seed, "");
            directory.display().to_string()
        };
        assert_eq!(of("mine.toml", None), "results/mine");
        assert_eq!(of("./mine.toml", Some(7)), "results/mine-seed7");
        assert_eq!(of("papers/pcn/scenarios/f2.toml", None), "results/pcn-f2");
        assert_eq!(
            of("scenarios/hpcc/replay.toml", None),
            "results/hpcc-replay"
        );
        assert_eq!(of("/home/me/lab/x.toml", None), "results/lab-x");
        assert_eq!(of("../x.toml", None), "results/x");
    }
}
