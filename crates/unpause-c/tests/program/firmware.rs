//! The library without an operating system: the example runs on nothing but two system calls, and on a Cortex-M4.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::compile::{compiler, is_there, printed_by};

/// The static library without `std`, for this target of rustc's.
fn library(target: Option<&str>) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("firmware");
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--quiet", "--offline", "--package", "unpause-c"])
        .args(["--no-default-features", "--profile", "firmware"])
        .arg("--target-dir")
        .arg(&directory)
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    let mut built = directory;
    if let Some(target) = target {
        cargo.args(["--target", target]);
        built.push(target);
    }
    printed_by(&mut cargo);
    built.join("firmware/libunpause_c.a")
}

/// The example with one of its ports, compiled.
fn program(compiler: &str, port: &str, options: &[&str], library: &Path, last: &[&str]) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let examples = root.join("examples/firmware");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("firmware-{port}"));
    let warnings = ["-Wall", "-Wextra", "-Werror"];
    printed_by(
        Command::new(compiler)
            .args(["-std=c11", "-Os", "-ffreestanding", "-nostdlib"])
            .args(warnings)
            .args(["-Wl,--gc-sections", "-Wl,-z,noexecstack", "-I"])
            .arg(root.join("include"))
            .args(options)
            .arg(examples.join("pcn.c"))
            .arg(examples.join(format!("{port}.c")))
            .arg(library)
            .args(last)
            .arg("-o")
            .arg(&program),
    );
    program
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn the_example_runs_without_a_c_library() {
    let Some(compiler) = compiler() else {
        eprintln!("skipped: no C compiler (CC, or `cc`)");
        return;
    };
    let options = ["-static", "-fno-stack-protector"];
    let program = program(&compiler, "linux_x86_64", &options, &library(None), &[]);
    assert_eq!(printed_by(&mut Command::new(program)), crate::pcn());
}

/// The targets of rustc's that are installed.
fn targets() -> String {
    let mut rustup = Command::new("rustup");
    let found = rustup.args(["target", "list", "--installed"]).output();
    found.map_or(String::new(), |it| {
        String::from_utf8_lossy(&it.stdout).into_owned()
    })
}

#[test]
fn the_example_runs_on_a_cortex_m4() {
    const TARGET: &str = "thumbv7em-none-eabi";
    let (compiler, machine) = ("arm-none-eabi-gcc", "qemu-system-arm");
    let installed = targets().lines().any(|line| line == TARGET);
    if !(installed && is_there(compiler) && is_there(machine)) {
        eprintln!(
            "skipped: needs {compiler}, {machine} and rustup's target {TARGET} (make install-all)"
        );
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/firmware/cortex_m4.ld");
    let script = script.to_str().expect("the path is text");
    let options = ["-mcpu=cortex-m4", "-mthumb", "-T", script];
    let program = program(
        compiler,
        "cortex_m4",
        &options,
        &library(Some(TARGET)),
        &["-lgcc"],
    );
    let mut emulated = Command::new(machine);
    emulated
        .args(["-machine", "mps2-an386", "-display", "none"])
        .args(["-monitor", "none", "-serial", "none"])
        .args(["-chardev", "stdio,id=out"])
        .args(["-semihosting-config", "enable=on,target=native,chardev=out"])
        .arg("-kernel")
        .arg(program)
        .stdin(std::process::Stdio::null());
    assert_eq!(printed_by(&mut emulated), crate::pcn());
}

#[test]
fn the_library_builds_for_risc_v() {
    const TARGET: &str = "riscv32imac-unknown-none-elf";
    if !targets().lines().any(|line| line == TARGET) {
        eprintln!("skipped: needs rustup's target {TARGET} (make install-all)");
        return;
    }
    assert!(library(Some(TARGET)).is_file());
}
