//! `unpause run`

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use unpause_scenario::{
    self as scenario, Admitted, Cache, Error, Options, Outcome, Place, Scenario, Simulator,
    Summary, Target, WriteOptions, execute_at,
};
use unpause_sim::{Samples, Watch};

use crate::args::{Run, Say};
use crate::output::{Errors, complain, show_json, write_error};
use crate::progress::Bars;
use crate::ranks::Team;
use crate::report::Package;
use crate::{cache, complaint, cost, files, interrupt, report, target, text, warnings};

/// Runs scenarios one after the other, with a team if there is one. Answers the exit code.
pub fn run(args: &Run, package: &dyn Package, team: Option<&Team>) -> Result<u8, Errors> {
    let files = files::all(&args.files).map_err(|error| vec![error])?;
    if let (Some(_), [_, _, ..]) = (&args.out, &files[..]) {
        return Err(vec![Error::Other {
            message: format!(
                "--out is a single directory, but there are {} scenarios",
                files.len()
            ),
            help: Some("omit --out: each scenario then gets its own directory in results/".into()),
        }]);
    }
    // What is wrong with any of them is said before any is run.
    let mut scenarios = Vec::new();
    let mut errors = Vec::new();
    for file in &files {
        match files::load(file) {
            Ok(scenario) => scenarios.push((file, scenario)),
            Err(more) => errors.extend(more),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut told = Vec::new();
    let mut worst = 0;
    for (file, scenario) in &scenarios {
        let code = match one(args, (file, scenario), package, team) {
            Ok((code, value)) => {
                told.push(value);
                code
            }
            Err(Stop::Code(code)) => return Ok(code),
            Err(Stop::Error(error)) if scenarios.len() == 1 => return Err(vec![error]),
            Err(Stop::Error(error)) => {
                told.push(json!({ "errors": complaint::as_json(std::slice::from_ref(&error)) }));
                complaint::explain(&[error], crate::args::Form::Text)
            }
        };
        worst = worst.max(code);
    }
    if args.say.is_json() {
        match &told[..] {
            [only] => show_json(only),
            _ => show_json(&json!(told)),
        }
    }
    Ok(worst)
}

/// Why there is no result.
enum Stop {
    Error(Error),
    Code(u8),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// Runs one scenario; answers the exit code and what JSON says of it.
fn one(
    args: &Run,
    (file, scenario): (&Path, &Scenario),
    package: &dyn Package,
    team: Option<&Team>,
) -> Result<(u8, Value), Stop> {
    let say = args.say;
    let mut options = options(args);
    if team.is_some() {
        // All of them do one run, and then the next.
        options.threads = Some(1);
    }
    let place = place_of(args, file)?;
    interrupt::end_in_order();
    let admitted = Admitted::of(scenario, &options, Target::Streamed(&place))?;
    let runs = admitted.runs().len();
    if say.verbose || (!say.quiet && std::io::stderr().is_terminal()) {
        tell(&cost::text(admitted.total(), runs, args.threads));
    }
    if let Some(team) = team.filter(|_| !say.quiet) {
        tell(&team.speed(&admitted.runs()[0]));
    }
    if interrupt::interrupted() {
        return Err(Stop::Code(interrupted(&place, runs)));
    }
    let cache = cache_for(args, team)?;
    let bars = Bars::new(admitted.costs(), say, team.is_some());
    let outcome = match simulated(
        scenario,
        admitted,
        (&place, cache.as_ref()),
        &bars,
        (file, team),
    ) {
        Err(Error::Interrupted) => return Err(Stop::Code(interrupted(&place, runs))),
        outcome => outcome?,
    };
    drop(bars);
    let write = WriteOptions {
        fct_hpcc: args.fct_hpcc,
        interrupted: Some(&interrupt::interrupted),
    };
    let before = match outcome.write_with(&place, &write) {
        Err(Error::Interrupted) => return Err(Stop::Code(interrupted(&place, runs))),
        before => before?,
    };
    let summaries = Summary::of(&outcome.tables);
    let title = scenario.title();
    // Until the report is drawn, too, nobody else writes there.
    let printed = (args.no_report, package, place.directory(), say);
    let code = print(printed, title, &outcome, &summaries);
    say.tell(&cache::reused(cache.as_ref(), runs));
    say.tell(&format!("tables: {}\n", place.directory().display()));
    say.tell(&target::replaced(&before));
    let value = json!({
        "file": file.display().to_string(),
        "directory": place.directory().display().to_string(),
        "runs": summaries,
        "timings": outcome.timings,
        "warnings": outcome.warnings,
        "reused": cache.as_ref().map_or(0, Cache::reused),
        "replaced": before.replaced.map(|old| old.scenario.file),
        "kept": before.kept,
    });
    Ok((code, value))
}

/// The cache; none for a team, whose other processes would wait for a run that is taken from it.
fn cache_for(args: &Run, team: Option<&Team>) -> Result<Option<Cache>, Error> {
    match team {
        Some(_) => Ok(None),
        None => cache::of_user(args.fresh, args.say.quiet),
    }
}

/// Runs a scenario in this process, or with a team from `file`.
fn simulated(
    scenario: &Scenario,
    admitted: Admitted,
    (place, cache): (&Place, Option<&Cache>),
    bars: &Bars,
    (file, team): (&Path, Option<&Team>),
) -> Result<Outcome, Error> {
    let simulate = team.map(|team| {
        |run: &scenario::Run, watch: &mut Watch<'_>, samples: Option<&Samples<'_>>| {
            team.simulate(file, run, watch, samples)
        }
    });
    let simulator = team
        .zip(simulate.as_ref())
        .map(|(team, simulate)| Simulator {
            simulate,
            threads: team.all_threads(),
        });
    execute_at(place, scenario, admitted, bars, cache, simulator)
}

/// Says on standard error what is expected.
fn tell(text: &str) {
    write_error(&text::wrapped(text, text::columns()));
}

/// The options of a run, from the command line.
pub fn options(args: &Run) -> Options {
    Options {
        schemes: args.schemes.clone(),
        seed: args.seed,
        seeds: args.seeds,
        duration: args.duration,
        threads: args.threads.map(usize::from),
        exact_packets: args.exact_packets,
        force: args.force,
    }
}

/// Takes the directory that the result is to be written to, before anything is simulated.
fn place_of(args: &Run, file: &Path) -> Result<Place, Error> {
    if let Some(out) = &args.out {
        return Place::take(out);
    }
    let file = files::named(file);
    let directory: PathBuf = target::default_directory(file, args.seed, "");
    target::check_default(&directory, file)?;
    Place::take(&directory)
}

/// Prints the table and the answer of a result, draws its report unless that is not wanted, and prints warnings.
/// Returns the exit code.
pub fn print(
    (no_report, package, directory, say): (bool, &dyn Package, &Path, Say),
    title: Option<&str>,
    outcome: &Outcome,
    runs: &[Summary],
) -> u8 {
    let table = || {
        let title = title.map(|title| format!("{title}\n")).unwrap_or_default();
        say.tell(&(title + &text::table(&[(None, runs)])));
    };
    let code = if no_report {
        report::print(package, directory, say, table);
        0
    } else {
        report::render(package, directory, say, table)
    };
    if say.verbose {
        say.tell(&text::speeds(runs, &outcome.timings));
    }
    let said = warnings::text(&outcome.warnings, runs, say.verbose);
    say.tell(&text::wrapped(&said, text::columns()));
    code
}

/// Says what is left of a run that was stopped; answers the exit code.
fn interrupted(place: &Place, runs: usize) -> u8 {
    match place.kept_runs() {
        0 => complain!("interrupted: nothing was written"),
        kept => complain!(
            "interrupted: {kept} of {runs} runs are kept in {}; the same command resumes from there",
            place.directory().display()
        ),
    }
    interrupt::code()
}
