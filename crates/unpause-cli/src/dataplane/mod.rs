//! `unpause dataplane`: congestion points as programs of a switch pipeline, and sequences to try them with.

mod accuracy;
mod mistake;
mod program;
mod random;
mod record;
mod sequence;
mod tape;

use std::path::Path;

use unpause_protocols::units::Time;
use unpause_scenario::{Error, Run, Scenario};

use crate::args::{Dataplane, DataplaneBuild, DataplaneRandom, DataplaneRecord};
use crate::output::show;
use mistake::wrong;
use program::Program;

/// `unpause dataplane`
pub fn dataplane(args: &Dataplane) -> Result<(), Error> {
    match args {
        Dataplane::Build(args) => build(args),
        Dataplane::Record(args) => record(args),
        Dataplane::Random(args) => random(args),
        Dataplane::Accuracy(args) => accuracy::accuracy(args),
    }
}

fn build(args: &DataplaneBuild) -> Result<(), Error> {
    let scenario = Scenario::load(&args.file)?;
    let (run, program) = choose(&args.file, &scenario, args.scheme.as_deref())?;
    for path in program.write(&args.file, run, &args.out)? {
        show(&format!("{}\n", path.display()));
    }
    Ok(())
}

fn record(args: &DataplaneRecord) -> Result<(), Error> {
    let scenario = Scenario::load(&args.file)?;
    let (run, _) = choose(&args.file, &scenario, args.scheme.as_deref())?;
    let start = args.start_at.unwrap_or(Time::ZERO);
    let counts = record::record(run, &args.port, start, &args.out)?;
    show(&counts.text(&args.out));
    Ok(())
}

fn random(args: &DataplaneRandom) -> Result<(), Error> {
    let scenario = Scenario::load(&args.file)?;
    let (run, _) = choose(&args.file, &scenario, args.scheme.as_deref())?;
    let counts = random::random(run, args.packets, args.seed, &args.out)?;
    show(&counts.text(&args.out));
    Ok(())
}

/// The first run of a scheme that has a program: of the one named, or of the only one.
fn choose<'a>(
    file: &Path,
    scenario: &'a Scenario,
    scheme: Option<&str>,
) -> Result<(&'a Run, Program), Error> {
    let file = file.display();
    let mut runs: Vec<&Run> = Vec::new();
    for run in scenario.runs() {
        if runs.iter().all(|it| it.scheme != run.scheme) {
            runs.push(run);
        }
    }
    if let Some(name) = scheme {
        let names: Vec<&str> = runs.iter().map(|run| run.scheme.as_str()).collect();
        let run = runs.iter().find(|run| run.scheme == name).ok_or_else(|| {
            wrong(
                format!("{file}: there is no scheme `{name}`"),
                &format!("it has {}", names.join(", ")),
            )
        })?;
        let program = Program::of(run).map_err(|refusal| refusal.at(&file, name))?;
        return Ok((run, program));
    }
    let with: Vec<&Run> = runs
        .iter()
        .copied()
        .filter(|run| Program::has(&run.config.scheme.congestion_point))
        .collect();
    match with.as_slice() {
        [run] => {
            let program = Program::of(run).map_err(|refusal| refusal.at(&file, &run.scheme))?;
            Ok((run, program))
        }
        [] => Err(wrong(
            format!("{file}: no scheme has a marking for which there is a program"),
            program::MARKINGS,
        )),
        several => {
            let names: Vec<&str> = several.iter().map(|run| run.scheme.as_str()).collect();
            Err(wrong(
                format!(
                    "{file}: several schemes have a program: {}",
                    names.join(", ")
                ),
                "choose one with --scheme",
            ))
        }
    }
}
