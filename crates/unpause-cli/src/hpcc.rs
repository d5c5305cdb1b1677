//! `unpause import hpcc`.

use std::io::Write;
use std::path::Path;

use unpause_scenario::import::FileError;
use unpause_scenario::import::hpcc_config;
use unpause_scenario::{Error, Scenario};

use crate::args::ImportHpcc;
use crate::output::show;
use crate::target;

/// Makes a scenario of a configuration, and says what of it is not in there.
pub fn import(args: &ImportHpcc) -> Result<(), Error> {
    let folder = args.out.parent().unwrap_or(Path::new(""));
    let imported = hpcc_config::import(&args.file, folder).map_err(failed)?;
    target::write_whole(&args.out, args.force, |file| {
        file.write_all(imported.text.as_bytes())
    })?;
    let scenario = Scenario::load(&args.out)?;
    let flows = scenario.runs().len();
    debug_assert_eq!(flows, 1, "a configuration is one run");
    let mut text = format!("{}: `unpause run` runs it\n", args.out.display());
    if !imported.left_out.is_empty() {
        text += "not carried over:\n";
        for line in &imported.left_out {
            text += &format!("  {line}\n");
        }
    }
    show(&text);
    Ok(())
}

fn failed(error: FileError) -> Error {
    match error {
        FileError::Io { path, reason } => Error::io("read", &path, reason),
        line => Error::Other {
            message: line.to_string(),
            help: Some("docs/hpcc.md says what of HPCC's configuration can be run".into()),
        },
    }
}
