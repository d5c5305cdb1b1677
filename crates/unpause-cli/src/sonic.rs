//! `unpause import sonic`.

use std::io::Write;
use std::path::PathBuf;

use unpause_import::FileError;
use unpause_scenario::{Error, Scenario};

use crate::args::ImportSonic;
use crate::imported::show_imported;
use crate::lint::failed;
use crate::target;

/// Makes a scenario of configurations of switches, and says how they were understood, and what is not in there. Nothing
/// is written unless the scenario can be run.
pub fn import(args: &ImportSonic) -> Result<(), Error> {
    let dumps = args.lldp.iter().map(|(_, path)| path.as_path());
    target::spare(
        &args.out,
        args.files.iter().map(PathBuf::as_path).chain(dumps),
    )?;
    let read = args.files.iter().map(|path| unpause_sonic::read(path));
    let mut switches = read.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let notes = unpause_sonic::lldp::add(&mut switches, &args.lldp).map_err(refused)?;
    let imported = unpause_sonic::import(&switches).map_err(refused)?;
    Scenario::parse(&imported.text, &args.out)?;
    target::write_whole(&args.out, args.force, |file| {
        file.write_all(imported.text.as_bytes())
    })?;
    let notes = [notes, imported.notes].concat();
    show_imported(&args.out, &notes, &imported.left_out);
    Ok(())
}

fn refused(error: FileError) -> Error {
    Error::Other {
        message: error.to_string(),
        help: Some(
            "docs/operators.md lists what of config_db.json becomes part of a scenario".into(),
        ),
    }
}
