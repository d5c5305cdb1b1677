//! Entries of traffic whose flows bring another load than they ask for.

use crate::run::Run;
use crate::run::measured::Measured;
use crate::run::offered::{self, Offered};
use crate::warnings::foreseen::Foreseen;
use unpause_text::count::count;

/// Kind of the note.
pub const KIND: &str = "other-load";
/// Least relative difference between the load asked for and the load offered that is worth a note.
const LEAST: f64 = 0.05;
/// Flows drawn before a run, at most: 0.1 s.
const MOST_FLOWS: f64 = 1e6;

/// Of a run that has been simulated.
pub fn of(measured: &Measured) -> Vec<Foreseen> {
    let Measured { run, results, .. } = measured;
    let end = results.totals.simulated;
    notes(run, &offered::offered(run, &results.flows, end))
}

/// Of a run before that.
pub fn foreseen(run: &Run) -> Vec<Foreseen> {
    let offered = offered::foreseen(run, MOST_FLOWS);
    offered.map_or(Vec::new(), |offered| notes(run, &offered))
}

fn notes(run: &Run, offered: &[Offered<'_>]) -> Vec<Foreseen> {
    let note = |it: &Offered<'_>| {
        let (asked, share) = (it.load.asked, it.share()?);
        if (share / asked - 1.0).abs() <= LEAST {
            return None;
        }
        let name = &run.names.traffic[usize::from(it.load.entry)];
        Some(Foreseen {
            kind: KIND,
            message: format!(
                "traffic `{name}` brings another load than it asks for: {}, not {} ({} in {}, seed {})",
                digits(share),
                digits(asked),
                plural(it.flows),
                it.until - it.from,
                run.config.seed
            ),
            help: "arrivals and sizes are random, and few large flows have most of the bytes: a longer run or more seeds \
                   come closer in the mean"
                .to_owned(),
            key: ["traffic", name, "load"].map(str::to_owned).into(),
        })
    };
    offered.iter().filter_map(note).collect()
}

fn plural(flows: u64) -> String {
    let noun = if flows == 1 { "flow" } else { "flows" };
    format!("{} {noun}", count(flows))
}

/// Three significant digits.
fn digits(share: f64) -> String {
    let before = if share > 0.0 {
        share.log10().floor() as i32
    } else {
        0
    };
    let text = format!("{share:.*}", (2 - before).max(0) as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}
