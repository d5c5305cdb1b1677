//! The commands.

use std::{fs, io};

use unpause_scenario::{
    Error, Options, Place, Saved, Scenario, Summary, WriteOptions, execute, write_csv,
};

use crate::args::{Compare, Export, Run, Validate};
use crate::progress::Bars;
use crate::{interrupt, show, target, text};

/// `unpause run` without the report. Returns the result's directory, which is still ours.
pub fn run(args: &Run) -> Result<Place, Error> {
    interrupt::listen();
    let scenario = Scenario::load(&args.file)?;
    let place = place_of(args)?;
    let options = Options {
        schemes: args.schemes.clone(),
        seed: args.seed,
        duration: args.duration,
        threads: args.threads.map(usize::from),
    };
    let outcome = execute(&scenario, &options, &Bars::default())?;
    let write = WriteOptions {
        fct_hpcc: args.fct_hpcc,
        interrupted: Some(&interrupt::interrupted),
    };
    let before = outcome.write_with(&place, &write)?;

    let summaries = Summary::of(&outcome.tables);
    let mut shown = String::new();
    if let Some(title) = scenario.title() {
        shown += &format!("{title}\n");
    }
    shown += &text::summary_table(&[(None, &summaries, &outcome.timings)]);
    shown += &text::warnings(&outcome.warnings);
    shown += &format!("tables: {}\n", place.directory().display());
    shown += &target::replaced(&before);
    show(&shown);
    Ok(place)
}

/// Takes the directory that the result is to be written to, before anything is simulated.
fn place_of(args: &Run) -> Result<Place, Error> {
    if let Some(out) = &args.out {
        return Place::take(out);
    }
    let directory = target::default_directory(&args.file, args.seed, "");
    target::check_default(&directory, &args.file)?;
    Place::take(&directory)
}

/// `unpause validate`
pub fn validate(args: &Validate) -> Result<(), Error> {
    for file in &args.files {
        let scenario = Scenario::load(file)?;
        let runs = scenario.runs();
        let first = &runs[0];
        let mut schemes: Vec<&str> = runs.iter().map(|run| run.scheme.as_str()).collect();
        schemes.dedup();
        show(&format!(
            "{}: ok: {} runs of {}; {} nodes, {} links, {} traffic entries, {} simulated\n",
            file.display(),
            runs.len(),
            schemes.join(", "),
            first.config.fabric.nodes.len(),
            first.config.fabric.links.len(),
            first.names.traffic.len(),
            first.config.stop,
        ));
        show(&text::warnings(&scenario.warnings()));
    }
    Ok(())
}

/// `unpause compare`
pub fn compare(args: &Compare) -> Result<(), Error> {
    let mut results = Vec::new();
    for directory in &args.directories {
        let saved = Saved::load(directory)?;
        results.push((
            directory.display().to_string(),
            Summary::of(&saved.tables),
            saved.manifest,
        ));
    }
    let rows: Vec<_> = results
        .iter()
        .map(|(name, summaries, manifest)| {
            (
                Some(name.as_str()),
                summaries.as_slice(),
                manifest.runs.as_slice(),
            )
        })
        .collect();
    show(&text::summary_table(&rows));
    for (name, _, manifest) in &results {
        if !manifest.warnings.is_empty() {
            show(&format!("{name}:\n{}", text::warnings(&manifest.warnings)));
        }
    }
    Ok(())
}

/// `unpause export`
pub fn export(args: &Export) -> Result<(), Error> {
    let saved = Saved::load(&args.directory)?;
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| args.directory.join("csv"));
    fs::create_dir_all(&out).map_err(|error| Error::io("write", &out, error))?;
    let path_of = |name: &str| out.join(format!("{name}.csv"));
    let there = saved.tables.all().map(|(name, _)| path_of(name));
    if let Some(path) = there.into_iter().find(|path| path.exists() && !args.force) {
        return Err(target::exists(&path));
    }
    for (name, table) in saved.tables.all() {
        let path = path_of(name);
        let write = |file: &mut fs::File| write_csv(table, file).map_err(io::Error::from);
        target::write_whole(&path, args.force, write)?;
        show(&format!("{}\n", path.display()));
    }
    Ok(())
}
