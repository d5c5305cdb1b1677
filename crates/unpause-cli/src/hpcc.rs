//! `unpause import hpcc`.

use std::io::Write;
use std::path::{Path, PathBuf};

use unpause_import::FileError;
use unpause_import::hpcc_config::{self, Wish};
use unpause_scenario::{Error, Scenario};

use crate::args::ImportHpcc;
use crate::imported::show_imported;
use crate::target;

/// Makes a scenario of a configuration, and says what was read, and what of it is not in there. Nothing is written
/// unless the scenario can be run.
pub fn import(args: &ImportHpcc) -> Result<(), Error> {
    let folder = args.out.parent().unwrap_or(Path::new(""));
    let wish = Wish {
        base: args.base.as_deref(),
        parallel: args.parallel,
    };
    let imported = hpcc_config::import(&args.file, folder, wish).map_err(failed)?;
    Scenario::of_import(&imported, &args.out).map_err(failed)?;
    target::spare(&args.out, imported.files.iter().map(PathBuf::as_path))?;
    target::write_whole(&args.out, args.force, |file| {
        file.write_all(imported.text.as_bytes())
    })?;
    show_imported(&args.out, &imported.notes, &imported.left_out);
    Ok(())
}

fn failed(error: FileError) -> Error {
    match error {
        FileError::Io { path, reason } => Error::io("read", &path, reason),
        line => Error::Other {
            message: line.to_string(),
            help: Some("docs/hpcc.md lists what of HPCC's configuration can be run".into()),
        },
    }
}
