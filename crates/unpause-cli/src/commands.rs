//! The commands that are neither long nor Python's.

use std::fmt::Display;
use std::path::PathBuf;
use std::{fs, io};

use serde_json::{Value, json};
use unpause_scenario::{Cost, Effort, Error, Options, Saved, Scenario, Summary, costs, write_csv};

use crate::args::{Compare, Export, Open, Validate};
use crate::output::{Errors, complain, show, show_json};
use crate::report::Package;
use crate::{complaint, cost, files, report, target, text, traces, warnings};

/// `unpause validate`
pub fn validate(args: &Validate) -> Result<u8, Errors> {
    let say = args.say;
    let files = files::all(&args.files).map_err(|error| vec![error])?;
    let mut told: Vec<Value> = Vec::new();
    let mut failed = 0_u32;
    for file in &files {
        if traces::is_trace(file) {
            failed += u32::from(!traces::validate(file, say, &mut told));
            continue;
        }
        match files::load(file) {
            Ok(scenario) => {
                let cost = args
                    .cost
                    .then(|| costs(&scenario, &Options::default(), Effort::Thorough));
                let cost = cost.transpose().map_err(|error| vec![error])?;
                let cost = cost.map(|runs| Cost::of_all(&runs, true));
                let long = (cost.is_none() && !say.is_json()).then(|| of_long(&scenario));
                told.push(json!({
                    "file": file.display().to_string(),
                    "ok": true,
                    "runs": scenario.runs().len(),
                    "programs": programs(&scenario).collect::<Vec<_>>(),
                    "warnings": scenario.warnings(),
                    "cost": cost,
                }));
                let said = sound(&files::named(file).display().to_string(), &scenario);
                say.tell(&text::wrapped(&said, text::columns()));
                for it in programs(&scenario) {
                    let said = format!(
                        "   job {}: {}, {}; {}, {} B an iteration\n",
                        it["job"].as_str().unwrap_or_default(),
                        several(&it["ranks"], "rank", "ranks"),
                        several(&it["operations"], "operation", "operations"),
                        several(&it["messages"], "message", "messages"),
                        it["bytes"],
                    );
                    say.tell(&text::wrapped(&said, text::columns()));
                }
                if let Some(cost) = cost.or(long.flatten()) {
                    let said = format!("   {}\n", cost::text(&cost, scenario.runs().len(), None));
                    say.tell(&text::wrapped(&said, text::columns()));
                }
                let said = warnings::text(&scenario.warnings(), &[], say.verbose);
                say.tell(&text::wrapped(&said, text::columns()));
            }
            Err(errors) => {
                failed += 1;
                told.push(json!({
                    "file": file.display().to_string(),
                    "ok": false,
                    "errors": complaint::as_json(&errors),
                }));
                if !say.is_json() {
                    complaint::explain(&errors, say.output);
                }
            }
        }
    }
    if say.is_json() {
        show_json(&json!(told));
    }
    if failed > 0 && files.len() > 1 && !say.quiet {
        complain!("{failed} of {} scenarios have mistakes", files.len());
    }
    Ok(u8::from(failed > 0))
}

/// Facts about the jobs of a scenario's first run that are read from files.
fn programs(scenario: &Scenario) -> impl Iterator<Item = Value> {
    let run = &scenario.runs()[0];
    run.config.jobs.iter().filter_map(|job| {
        let program = job.program.as_ref()?;
        Some(json!({
            "job": run.names.traffic[usize::from(job.entry)],
            "ranks": program.ranks(),
            "operations": program.count(),
            "messages": program.message_count(),
            "bytes": program.bytes(),
        }))
    })
}

/// The cost of a scenario if it is large, so that nobody starts a run of hours by mistake.
fn of_long(scenario: &Scenario) -> Option<Cost> {
    let runs = costs(scenario, &Options::default(), Effort::Quick).ok()?;
    Some(Cost::of_all(&runs, true)).filter(|cost| cost::is_long(cost, runs.len()))
}

/// The line for a valid scenario: its runs and its size.
fn sound(file: &str, scenario: &Scenario) -> String {
    let runs = scenario.runs();
    let first = &runs[0];
    let mut schemes: Vec<&str> = runs.iter().map(|run| run.scheme.as_str()).collect();
    schemes.dedup();
    let jobs = first.names.jobs.len();
    let entries = first.names.traffic.len() - jobs;
    let traffic = (entries > 0).then(|| several(entries, "traffic entry", "traffic entries"));
    let jobs = (jobs > 0).then(|| several(jobs, "job", "jobs"));
    let sent: Vec<String> = traffic.into_iter().chain(jobs).collect();
    format!(
        "{file}: ok: {} ({}); {}, {}, {}; {} simulated\n",
        several(runs.len(), "run", "runs"),
        schemes.join(", "),
        several(first.config.fabric.nodes.len(), "node", "nodes"),
        several(first.config.fabric.links.len(), "link", "links"),
        sent.join(", "),
        first.config.stop,
    )
}

/// A number of things, with the word for them.
fn several(number: impl Display, one: &str, more: &str) -> String {
    let number = number.to_string();
    let word = if number == "1" { one } else { more };
    format!("{number} {word}")
}

/// `unpause open`
pub fn open(args: &Open) -> Result<(), Error> {
    let directory = match &args.directory {
        Some(directory) => directory.clone(),
        None => newest()?,
    };
    if !directory.is_dir() {
        return Err(Error::Other {
            message: if directory.exists() {
                format!("{} is not a result: it is a file", directory.display())
            } else {
                format!("{}: no such directory", directory.display())
            },
            help: Some("name the directory of a result, as written by `unpause run FILE`".into()),
        });
    }
    let pages = ["report.html", "index.html"].map(|page| directory.join(page));
    let Some(page) = pages.into_iter().find(|page| page.is_file()) else {
        return Err(Error::Other {
            message: format!("{} has no report", directory.display()),
            help: Some(format!(
                "`unpause report {}` creates one",
                directory.display()
            )),
        });
    };
    show(&format!("{}\n", page.display()));
    open::that_detached(&page).map_err(|_| Error::Other {
        message: "no web browser found".into(),
        help: Some("open that file in a browser".into()),
    })
}

/// The directory in `results` whose report was drawn last.
fn newest() -> Result<PathBuf, Error> {
    let entries = fs::read_dir("results").into_iter().flatten().flatten();
    let reports = entries.filter_map(|entry| {
        let pages = ["report.html", "index.html"].map(|page| entry.path().join(page));
        let drawn = pages
            .iter()
            .filter_map(|page| page.metadata().ok()?.modified().ok());
        Some((drawn.max()?, entry.path()))
    });
    reports
        .max()
        .map(|(_, directory)| directory)
        .ok_or_else(|| Error::Other {
            message: "there is no report in results/".into(),
            help: Some("name a result directory, or create one: unpause run FILE".into()),
        })
}

/// `unpause compare`
pub fn compare(args: &Compare, package: &dyn Package) -> Result<u8, Error> {
    let say = args.say;
    let mut results = Vec::new();
    for directory in &args.directories {
        let saved = Saved::load_totals(directory)?;
        results.push((
            directory.display().to_string(),
            Summary::of(&saved.tables),
            saved.manifest,
        ));
    }
    let rows: Vec<_> = results
        .iter()
        .map(|(name, summaries, _)| (Some(name.as_str()), summaries.as_slice()))
        .collect();
    if say.is_json() {
        let one = |(name, runs, manifest): &(String, Vec<Summary>, _)| {
            let manifest: &unpause_scenario::Manifest = manifest;
            json!({
                "directory": name,
                "runs": runs,
                "timings": manifest.runs,
                "warnings": manifest.warnings,
            })
        };
        show_json(&results.iter().map(one).collect());
    }
    let code = report::differences(package, args);
    if code.is_none() {
        say.tell(&text::table(&rows));
    }
    for (name, runs, manifest) in &results {
        let said = warnings::text(&manifest.warnings, runs, say.verbose);
        if !said.is_empty() {
            let said = text::wrapped(&said, text::columns());
            say.tell(&format!("{name}:\n{said}"));
        }
    }
    Ok(code.unwrap_or(0))
}

/// `unpause export`
pub fn export(args: &Export) -> Result<(), Error> {
    let say = args.say;
    let saved = Saved::load(&args.directory)?;
    let out = target::folder(args.out.as_deref(), &args.directory, "csv")?;
    let tables: Vec<_> = saved.tables.all().collect();
    let names: Vec<String> = tables
        .iter()
        .map(|(name, _)| format!("{name}.csv"))
        .collect();
    for name in names.iter().filter(|_| !args.force) {
        let path = out.path_of(name);
        match out.has(name) {
            Ok(false) => {}
            Ok(true) => return Err(target::exists(&path)),
            Err(error) => return Err(Error::io("read", &path, error)),
        }
    }
    for (name, (_, table)) in names.iter().zip(tables) {
        let write = |file: &mut fs::File| write_csv(table, file).map_err(io::Error::from);
        target::write_in(&out, name, args.force, write)?;
        say.tell(&format!("{}\n", out.path_of(name).display()));
    }
    if say.is_json() {
        show_json(
            &names
                .iter()
                .map(|name| json!(out.path_of(name).display().to_string()))
                .collect(),
        );
    }
    Ok(())
}
