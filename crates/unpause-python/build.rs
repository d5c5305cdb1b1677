//! Copies of every paper what the Python package needs into `OUT_DIR`, from where maturin takes it into
//! the wheel (`include` in pyproject.toml).

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    println!("cargo::rerun-if-changed={}", papers.display());
    let out = env::var_os("OUT_DIR").map(PathBuf::from);
    let out = out.ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    let out = out.join("papers");
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    for paper in fs::read_dir(papers)? {
        let paper = paper?;
        let to = out.join(paper.file_name());
        copy(&paper.path(), &to, &["toml", "py"])?;
        copy(&paper.path().join("scenarios"), &to.join("scenarios"), &[])?;
    }
    Ok(())
}

/// Copies the files of a folder with one of `extensions`; without any, all files and folders.
fn copy(from: &Path, to: &Path, extensions: &[&str]) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let Some(name) = path.file_name() else {
            continue;
        };
        let extension = path.extension().and_then(|it| it.to_str()).unwrap_or("");
        if path.is_dir() && extensions.is_empty() {
            copy(&path, &to.join(name), extensions)?;
        } else if path.is_file() && (extensions.is_empty() || extensions.contains(&extension)) {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}
