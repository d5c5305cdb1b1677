//! `unpause suggest`: settings from what an operator knows of a fabric.

mod comparison;
mod dcqcn;
mod headroom;
mod lines;
mod pcn;
mod pfc;
mod rtts;
mod scenario;
mod thresholds;

use std::io::Write;
use std::path::Path;

use unpause_scenario::Error;

use crate::args::{
    SuggestDcqcn, SuggestEcn, SuggestHeadroom, SuggestPcn, SuggestPfc, Write as Written,
};
use crate::output::show;
use crate::target;
use comparison::Comparison;
pub use headroom::{Cells, Terms, of_cable};
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
        Some(path) => write(
            path,
            args.force,
            &scenario::text(&setting, &args.scenario, path)?,
        )?,
        None => String::new(),
    };
    show(&(setting.text() + &written));
    Ok(())
}

/// Writes a scenario; answers how to run it.
fn write(path: &Path, force: bool, text: &str) -> Result<String, Error> {
    target::write_whole(path, force, |file| file.write_all(text.as_bytes()))?;
    let path = path.display();
    Ok(format!("\nscenario: {path}\nrun it: unpause run {path}\n"))
}

/// Shows `text`, and writes the comparison if somebody wants it.
fn show_and_compare(
    text: &str,
    args: &Written,
    comparison: impl FnOnce() -> Result<Comparison, Error>,
) -> Result<(), Error> {
    let written = match &args.write {
        Some(path) => write(path, args.force, &comparison()?.text(path)?)?,
        None => String::new(),
    };
    show(&(text.to_owned() + &written));
    Ok(())
}

/// `unpause suggest headroom`
pub fn headroom(args: &SuggestHeadroom) -> Result<(), Error> {
    show(&headroom::suggest(args)?.text());
    Ok(())
}

/// `unpause suggest pfc`
pub fn pfc(args: &SuggestPfc) -> Result<(), Error> {
    let thresholds = pfc::suggest(args)?;
    show_and_compare(&thresholds.text(), &args.write, || thresholds.comparison())
}

/// `unpause suggest dcqcn`
pub fn dcqcn(args: &SuggestDcqcn) -> Result<(), Error> {
    let text = dcqcn::text(args.rate);
    show_and_compare(&text, &args.write, || Ok(dcqcn::comparison(args.rate)))
}

/// `unpause suggest pcn`
pub fn pcn(args: &SuggestPcn) -> Result<(), Error> {
    let setting = pcn::Setting::of(args)?;
    show_and_compare(&setting.text(), &args.write, || setting.comparison())
}
