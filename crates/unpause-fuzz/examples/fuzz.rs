//! One target under libFuzzer: TARGET in the environment names it. With SEEDS in the environment, what all
//! targets start from is written into that directory instead.

#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use unpause_fuzz::{TARGETS, Target, seeds, target};

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("TARGET").unwrap_or_default();
    target(&name).unwrap_or_else(|| {
        let known = TARGETS.map(|(name, _)| name).join(", ");
        eprintln!("error: TARGET is `{name}`; the targets are {known}");
        std::process::exit(2)
    })
});

fn write_seeds() {
    let Some(directory) = std::env::var_os("SEEDS") else {
        return;
    };
    let written = seeds::write(Path::new("."), Path::new(&directory));
    if let Err(error) = &written {
        eprintln!("error: cannot write {}: {error}", directory.display());
    }
    std::process::exit(i32::from(written.is_err()))
}

fuzz_target!(init: write_seeds(), |data: &[u8]| TARGET(data));
