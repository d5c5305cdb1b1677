//! `unpause init`: a scenario to start from.

use std::io::Write;

use unpause_scenario::Error;

use crate::args::{Init, Template};
use crate::output::show;
use crate::target;

impl Template {
    /// The scenario; a test checks and runs each.
    fn scenario(self) -> &'static str {
        match self {
            Self::Incast => include_str!("../templates/incast.toml"),
            Self::LeafSpine => include_str!("../templates/leaf-spine.toml"),
            Self::Storage => include_str!("../templates/storage.toml"),
            Self::Training => include_str!("../templates/training.toml"),
            Self::Lossy => include_str!("../templates/lossy.toml"),
        }
    }
}

/// `unpause init`
pub fn init(args: &Init) -> Result<(), Error> {
    let scenario = args.template.scenario();
    let Some(path) = &args.file else {
        show(scenario);
        return Ok(());
    };
    target::write_whole(path, args.force, |file| file.write_all(scenario.as_bytes()))?;
    show(&format!(
        "scenario: {0}\nrun it: unpause run {0}\n",
        path.display()
    ));
    Ok(())
}
