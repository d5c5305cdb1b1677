//! The commands.

use std::fs;
use std::path::{Path, PathBuf};

use unpause_scenario::{
    Error, Options, Saved, Scenario, Summary, WriteOptions, check_destination, execute, write_csv,
};

use crate::args::{Compare, Export, Run, Validate};
use crate::progress::Bars;
use crate::{interrupt, show, text};

/// `unpause run` without the report. Returns the result's directory.
pub fn run(args: &Run) -> Result<PathBuf, Error> {
    interrupt::listen();
    let scenario = Scenario::load(&args.file)?;
    let directory = args
        .out
        .clone()
        .unwrap_or_else(|| default_directory(&args.file));
    check_destination(&directory)?;
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
    outcome.write_with(&directory, &write)?;

    let summaries = Summary::of(&outcome.tables);
    let mut shown = String::new();
    if let Some(title) = scenario.title() {
        shown += &format!("{title}\n");
    }
    shown += &text::summary_table(&[(None, &summaries, &outcome.timings)]);
    shown += &text::warnings(&outcome.warnings);
    shown += &format!("tables: {}\n", directory.display());
    show(&shown);
    Ok(directory)
}

fn default_directory(file: &Path) -> PathBuf {
    Path::new("results").join(file.file_stem().unwrap_or_default())
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
    let fail = |path: &Path, reason| Error::Io {
        action: "write",
        path: path.to_owned(),
        reason,
    };
    fs::create_dir_all(&out).map_err(|error| fail(&out, error))?;
    for (name, table) in saved.tables.all() {
        let path = out.join(format!("{name}.csv"));
        let mut csv = Vec::new();
        write_csv(table, &mut csv).map_err(|error| fail(&path, error.into()))?;
        fs::write(&path, csv).map_err(|error| fail(&path, error))?;
        show(&format!("{}\n", path.display()));
    }
    Ok(())
}
