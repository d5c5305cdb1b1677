//! Which runs of a scenario to execute, and with which seeds, duration and threads.

use unpause_protocols::units::Time;
use unpause_sim::config::Skipping;

use crate::compile::scenario::Scenario;
use unpause_results::run::Run;
use unpause_text::error::{Error, nearest};
use unpause_text::limits;

/// Options of an execution, in place of those in the file.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Schemes to run; empty for all.
    pub schemes: Vec<String>,
    /// Another seed, also in the place of the file's sweep over seeds.
    pub seed: Option<u64>,
    /// Every run with this many seeds, one after the other from its own or, of a sweep over seeds, from the first.
    pub seeds: Option<u32>,
    /// Another duration.
    pub duration: Option<Time>,
    /// Threads, shared among the runs; one per core if `None`.
    pub threads: Option<usize>,
    /// Simulate every packet: skip nothing that repeats itself. Results are the same.
    pub exact_packets: bool,
    /// Run even what is expected to need more memory or disk than there is.
    pub force: bool,
}

/// The runs that the options ask for, numbered from 0.
///
/// # Errors
///
/// If options name what there is not.
pub fn selected(scenario: &Scenario, options: &Options) -> Result<Vec<Run>, Error> {
    let mut known: Vec<&str> = scenario
        .runs()
        .iter()
        .map(|run| run.scheme.as_str())
        .collect();
    known.dedup();
    for scheme in &options.schemes {
        if !known.contains(&scheme.as_str()) {
            return Err(Error::Other {
                message: format!("there is no scheme `{scheme}` in this scenario"),
                help: nearest(scheme, &known),
            });
        }
    }
    if options.duration == Some(Time::ZERO) {
        return Err(Error::Other {
            message: "the duration is zero".into(),
            help: None,
        });
    }
    check_warmup(scenario, options)?;
    let asked = options.seed.is_some() || options.seeds.is_some();
    let first = scenario.runs().first().map(|run| run.config.seed);
    let repeats =
        |run: &Run| run.values.iter().any(|swept| swept.is_seed) && Some(run.config.seed) != first;
    let wanted = |run: &&Run| {
        let chosen = options.schemes.is_empty() || options.schemes.contains(&run.scheme);
        chosen && !(asked && repeats(run))
    };
    let seeds = u64::from(options.seeds.unwrap_or(1).max(1));
    let count = scenario.runs().iter().filter(wanted).count() as u64 * seeds;
    if count > limits::RUNS as u64 {
        return Err(Error::Other {
            message: format!("{count} runs with {seeds} seeds"),
            help: Some(format!("at most {} are possible", limits::RUNS)),
        });
    }
    let mut runs = Vec::new();
    for run in scenario.runs().iter().filter(wanted) {
        for more in 0..seeds {
            let seed = options.seed.unwrap_or(run.config.seed).wrapping_add(more);
            let mut run = scenario.with_seed(run, seed)?;
            run.index = runs.len() as u32;
            run.config.stop = options.duration.unwrap_or(run.config.stop);
            if options.exact_packets {
                run.config.skipping = Skipping::Never;
            }
            runs.push(run);
        }
    }
    Ok(runs)
}

/// Refuses a duration within the warm-up of a run.
fn check_warmup(scenario: &Scenario, options: &Options) -> Result<(), Error> {
    let Some(duration) = options.duration else {
        return Ok(());
    };
    let warmups = scenario.runs().iter().map(|run| run.warmup);
    match warmups.max().filter(|warmup| duration <= *warmup) {
        Some(warmup) => Err(Error::Other {
            message: format!("the duration of {duration} is not longer than `warmup`, {warmup}"),
            help: Some("set a longer duration, or a shorter warmup in the scenario".into()),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn seeds_that_are_asked_for_replace_those_of_the_file() {
        let text = r#"
duration = "1us"
[topology]
builder = "single-switch"
hosts = 2
rate = "10Gbps"
delay = "1us"
[[scheme]]
name = "PFC"
[[traffic]]
kind = "flow"
name = "F0"
from = "H0"
to = "H1"
size = "1KB"
[[sweep]]
name = "xoff_kb"
key = "pfc.xoff"
unit = "KB"
values = [64, 128]
[[sweep]]
name = "repetition"
key = "seed"
values = [1, 2, 3]
"#;
        let scenario = Scenario::parse(text, Path::new("seeds.toml")).unwrap();
        let runs = |options: &Options| -> Vec<(u64, f64, f64)> {
            let runs = selected(&scenario, options).unwrap();
            let of_run = |run: &Run| (run.config.seed, run.values[0].value, run.values[1].value);
            runs.iter().map(of_run).collect()
        };
        assert_eq!(runs(&Options::default()).len(), 6);
        let seed = Options {
            seed: Some(7),
            ..Options::default()
        };
        assert_eq!(runs(&seed), [(7, 64.0, 7.0), (7, 128.0, 7.0)]);
        let seeds = Options {
            seeds: Some(2),
            ..Options::default()
        };
        let twice = [64.0, 128.0].map(|xoff| [(1, xoff, 1.0), (2, xoff, 2.0)]);
        assert_eq!(runs(&seeds), twice.concat());
    }
}
