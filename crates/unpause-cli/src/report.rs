//! What the Python package does: figures and the HTML report, and sweeps.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::args::Reproduce;

/// Draws the report of a result, or says how to get one.
pub fn render(directory: &Path) {
    let Some(python) = python("unpause.report") else {
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

/// Runs a sweep. Returns the exit code.
pub fn sweep(arguments: &[OsString]) -> u8 {
    run_module("sweeps", "unpause.sweep_command", arguments)
}

/// Reproduces a paper. Returns the exit code.
pub fn reproduce(args: &Reproduce) -> u8 {
    let mut arguments = vec![OsString::from(&args.what)];
    if args.full {
        arguments.push("--full".into());
    }
    if let Some(out) = &args.out {
        arguments.extend(["--out".into(), out.into()]);
    }
    if let Some(markdown) = &args.markdown {
        arguments.extend(["--markdown".into(), markdown.into()]);
    }
    if let Some(threads) = args.threads {
        arguments.extend(["--threads".into(), threads.to_string().into()]);
    }
    run_module("reproductions", "unpause.reproduce", &arguments)
}

/// Runs a Python module, or says that `what` needs it. Returns the exit code.
fn run_module(what: &str, module: &str, arguments: &[OsString]) -> u8 {
    let Some(python) = python(module) else {
        eprintln!(
            "error: {what} need the Python package `unpause`, and no Python that has it was found\n\
             hint: `pip install .` in the repository gets it, UNPAUSE_PYTHON names another \
             interpreter"
        );
        return 1;
    };
    let status = Command::new(&python)
        .args(["-m", module])
        .args(arguments)
        .status();
    match status {
        // A child that a signal ended has no code.
        Ok(status) => status
            .code()
            .map_or(1, |code| u8::try_from(code).unwrap_or(1)),
        Err(error) => {
            eprintln!("error: {} cannot be run: {error}", python.display());
            1
        }
    }
}

/// The interpreter in UNPAUSE_PYTHON, else the first one in which `module` can be imported.
fn python(module: &str) -> Option<OsString> {
    if let Some(python) = std::env::var_os("UNPAUSE_PYTHON").filter(|python| !python.is_empty()) {
        return Some(python);
    }
    ["python3", "python"]
        .into_iter()
        .map(OsString::from)
        .find(|python| {
            let import = Command::new(python)
                .args(["-c", &format!("import {module}")])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            import.is_ok_and(|status| status.success())
        })
}
