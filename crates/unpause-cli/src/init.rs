//! `unpause init`: a scenario to start from.

use std::io::Write;

use unpause_scenario::Error;

use crate::args::Init;
use crate::output::show;
use crate::target;

/// The scenario; a test checks and runs it.
pub const SCENARIO: &str = include_str!("init.toml");

/// `unpause init`
pub fn init(args: &Init) -> Result<(), Error> {
    let Some(path) = &args.file else {
        show(SCENARIO);
        return Ok(());
    };
    target::write_whole(path, args.force, |file| file.write_all(SCENARIO.as_bytes()))?;
    show(&format!(
        "scenario: {0}\nrun it: unpause run {0}\n",
        path.display()
    ));
    Ok(())
}
