//! Figures and the HTML report, drawn by the Python package.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::args::Reproduce;

/// Draws the report of a result, or says how to get one.
pub fn render(directory: &Path) {
    let Some(python) = python() else {
        eprintln!(
            "hint: no report was drawn: no Python with the package `unpause` was found; \
             `pip install .` in the repository gets it, UNPAUSE_PYTHON names another interpreter, \
             --no-report leaves it out"
        );
        return;
    };
    let status = Command::new(&python)
        .args(["-m", "unpause.report"])
        .arg(directory)
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => {
            eprintln!("warning: the report was not drawn: {status}; the tables are complete")
        }
        Err(error) => eprintln!("warning: the report was not drawn: {error}"),
    }
}

/// Reproduces a paper. Returns the exit code.
pub fn reproduce(args: &Reproduce) -> u8 {
    let Some(python) = python() else {
        eprintln!("error: no Python with the package `unpause` was found, which draws and judges");
        eprintln!(
            "hint: `pip install .` in the repository gets it, UNPAUSE_PYTHON names another \
             interpreter"
        );
        return 1;
    };
    let mut command = Command::new(&python);
    command.args(["-m", "unpause.reproduce"]).arg(&args.what);
    if args.full {
        command.arg("--full");
    }
    if let Some(out) = &args.out {
        command.arg("--out").arg(out);
    }
    if let Some(threads) = args.threads {
        command.arg("--threads").arg(threads.to_string());
    }
    match command.status() {
        // A child that a signal ended has no code.
        Ok(status) => status.code().map_or(1, |code| code as u8),
        Err(error) => {
            eprintln!("error: {}: {error}", python.display());
            1
        }
    }
}

/// The interpreter in UNPAUSE_PYTHON, else the first one in which `import unpause` works.
fn python() -> Option<OsString> {
    if let Some(python) = std::env::var_os("UNPAUSE_PYTHON").filter(|python| !python.is_empty()) {
        return Some(python);
    }
    ["python3", "python"]
        .into_iter()
        .map(OsString::from)
        .find(|python| {
            let import = Command::new(python)
                .args(["-c", "import unpause.report"])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            import.is_ok_and(|status| status.success())
        })
}
