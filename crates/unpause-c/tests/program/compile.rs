//! Builds the static library as a user would, and C programs with it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The static library, built by cargo into a folder of the tests' own, so that it is of these sources.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("static");
        let status = Command::new(env!("CARGO"))
            .args([
                "build",
                "--quiet",
                "--offline",
                "--package",
                "unpause-c",
                "--target-dir",
            ])
            .arg(&target)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(
            status.expect("cargo runs").success(),
            "the library does not build"
        );
        target.join("debug/libunpause_c.a")
    })
}

/// True if the program is there.
pub fn is_there(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output();
    found.is_ok_and(|it| it.status.success())
}

/// The C compiler, if there is one.
pub fn compiler() -> Option<String> {
    let name = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    is_there(&name).then_some(name)
}

/// Runs a program that must succeed, and returns its output.
pub fn printed_by(command: &mut Command) -> String {
    let run = command.output().expect("the program starts");
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{command:?}: {}\n{said}", run.status);
    String::from_utf8(run.stdout).expect("it prints text")
}

/// Builds and runs a C program of this crate, and returns its output; `None`, with a message, without a C compiler.
pub fn output_of(source: &str) -> Option<String> {
    let Some(compiler) = compiler() else {
        eprintln!("skipped: no C compiler (CC, or `cc`)");
        return None;
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let name = Path::new(source).file_stem().expect("a file");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    printed_by(
        Command::new(compiler)
            .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-I"])
            .arg(root.join("include"))
            .arg(root.join(source))
            .arg("-o")
            .arg(&program)
            .arg(library())
            .args(["-lpthread", "-ldl", "-lm"]),
    );
    Some(printed_by(&mut Command::new(&program)))
}
