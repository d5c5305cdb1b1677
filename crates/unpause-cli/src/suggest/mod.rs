//! `unpause suggest`: settings from what an operator knows of a fabric.

mod headroom;
mod lines;
mod rtts;
mod scenario;
mod thresholds;

use std::io::Write;

use unpause_scenario::Error;

use crate::args::{SuggestEcn, SuggestHeadroom};
use crate::output::show;
use crate::target;
use rtts::{Rtts, wrong};
use thresholds::Setting;

/// `unpause suggest ecn`
pub fn ecn(args: &SuggestEcn) -> Result<(), Error> {
    let rtts = match (&args.rtt, &args.rtt_file) {
        (Some(text), _) => Rtts::of_percentiles(text, args.average)?,
        (None, Some(path)) => Rtts::of_file(path, args.average)?,
        (None, None) => return Err(wrong("no RTTs".into())),
    };
    let setting = Setting {
        rtts,
        rate: args.rate,
        lambda: args.lambda,
    };
    let written = match &args.write {
        Some(path) => {
            let text = scenario::text(&setting, &args.scenario, path)?;
            target::write_whole(path, args.force, |file| file.write_all(text.as_bytes()))?;
            format!("\nscenario: {0}\nrun it: unpause run {0}\n", path.display())
        }
        None => String::new(),
    };
    show(&(setting.text() + &written));
    Ok(())
}

/// `unpause suggest headroom`
pub fn headroom(args: &SuggestHeadroom) -> Result<(), Error> {
    show(&headroom::suggest(args)?.text());
    Ok(())
}
