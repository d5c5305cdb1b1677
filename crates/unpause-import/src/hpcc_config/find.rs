//! Where the files lie that a `config.txt` names.

use std::path::{Path, PathBuf};

use super::parse::HpccConfig;
use crate::FileError;

/// Folders in which files are looked for.
pub(super) struct Finder<'a> {
    /// In order, each with its name in messages.
    folders: Vec<PathBuf>,
    base: Option<&'a Path>,
}

impl<'a> Finder<'a> {
    /// Names of `config` are those from `base`, where the simulator is started; then from the folder of `config`, and
    /// from all above.
    pub fn new(config: &Path, base: Option<&'a Path>) -> Self {
        let folder = config.parent().unwrap_or(Path::new(""));
        let mut folders: Vec<PathBuf> = base.into_iter().map(Path::to_owned).collect();
        folders.push(folder.to_owned());
        let whole = if folder.as_os_str().is_empty() {
            std::env::current_dir()
        } else {
            folder.canonicalize()
        };
        let above = whole.iter().flat_map(|it| it.ancestors().skip(1));
        folders.extend(above.map(Path::to_owned));
        Self { folders, base }
    }

    /// The file that `key` names.
    pub fn find(
        &self,
        config: &HpccConfig,
        key: &str,
        named: &Option<String>,
    ) -> Result<PathBuf, FileError> {
        let place = config.place(key);
        let Some(named) = named else {
            let expected = "one: there is nothing to simulate without";
            return Err(place.error(format!("no {key}"), expected));
        };
        let mut tried = self.folders.iter().map(|folder| folder.join(named));
        if let Some(found) = tried.find(|file| file.is_file()) {
            return Ok(found);
        }
        if Path::new(named).is_absolute() {
            let found = format!("{key} {named}, which does not exist");
            return Err(place.error(found, "a file: name it as it is on this machine"));
        }
        let tried: Vec<String> = self
            .folders
            .iter()
            .map(|folder| path_text(folder))
            .collect();
        let help = match self.base {
            None => "; --base DIR names the folder in which the simulator is started",
            Some(_) => "",
        };
        let found = format!(
            "{key} {named}, which was not found in any of {}",
            tried.join(", ")
        );
        Err(place.error(found, format!("a file in one of these folders{help}")))
    }
}

fn path_text(folder: &Path) -> String {
    if folder.as_os_str().is_empty() {
        ".".into()
    } else {
        folder.display().to_string()
    }
}

/// The path of `file` from the folder `to`.
pub(super) fn relative(to: &Path, file: &Path) -> String {
    let whole = |path: &Path| {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        path.canonicalize().unwrap_or_else(|_| path.to_owned())
    };
    let (to, file) = (whole(to), whole(file));
    let shared = to.components().zip(file.components());
    let shared = shared.take_while(|(a, b)| a == b).count();
    let up = to.components().skip(shared).map(|_| "..");
    let mut path: PathBuf = up.collect();
    path.extend(file.components().skip(shared));
    path.display().to_string()
}
