//! A digest of everything that the results of a run depend on.

use std::fmt::{self, Write as _};
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use crate::run::Run;
use crate::run::digest::sha256;

/// Digest of everything that the results of a run depend on, names of its tables' columns and rows included; none if
/// this program cannot be told from another one. `columns` are the names of the swept values.
pub fn key(run: &Run, columns: &[String]) -> Option<String> {
    struct Hash(Sha256);
    impl fmt::Write for Hash {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.update(text.as_bytes());
            Ok(())
        }
    }
    let mut hash = Hash(Sha256::new());
    let program = program()?;
    write!(
        hash,
        "{program} {} {:?} {:?}",
        run.index, run.scheme, run.values
    )
    .ok()?;
    write!(
        hash,
        " {:?} {:?} {:?} {:?} {:?}",
        run.notes, run.hpcc, run.warmup, run.loads, run.config
    )
    .ok()?;
    let mechanisms = run.mechanisms;
    let names = (columns, &run.names.nodes, &run.names.traffic);
    let jobs = &run.names.jobs;
    write!(hash, " {mechanisms:?} {names:?} {jobs:?}").ok()?;
    Some(
        hash.0
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect(),
    )
}

/// Digest of the file that this code was loaded from.
fn program() -> Option<&'static str> {
    static PROGRAM: OnceLock<Option<String>> = OnceLock::new();
    let found = || {
        let here = program as fn() -> Option<&'static str> as usize;
        let maps = fs::read_to_string("/proc/self/maps").ok();
        let mapped = maps.as_deref().and_then(|maps| {
            maps.lines().find_map(|line| {
                let (from, rest) = line.split_once('-')?;
                let (to, rest) = rest.split_once(' ')?;
                let address = |text| usize::from_str_radix(text, 16).ok();
                let inside = (address(from)?..address(to)?).contains(&here);
                let path = rest.find('/').map(|at| PathBuf::from(&rest[at..]));
                path.filter(|_| inside)
            })
        });
        let path = mapped.or_else(|| std::env::current_exe().ok())?;
        Some(sha256(&fs::read(path).ok()?))
    };
    PROGRAM.get_or_init(found).as_deref()
}
