//! From the text of a scenario to the configuration of each run.

mod base;
mod flows;
mod idle;
mod merge;
mod mistakes;
mod queues;
mod refusal;
mod replaced;
mod rtt;
mod run;
pub(crate) mod scenario;
mod unused;

use std::ops::Range;
use std::path::Path;

use serde_spanned::Spanned;
use toml::de::DeValue;
use unpause_sim::Invalid;

use crate::files::Files;
use crate::sections::sweep::{self, Point};
use crate::sections::traffic;
use crate::size;
use crate::text::document::{self, Table, take_string, take_tables};
use flows::unique;
use idle::Idle;
use run::{at_most, compile_run, take_scheme};
use unpause_results::run::{Heading, Run};
use unpause_text::error::{Checked, Problem};
use unpause_text::limits;

/// Everything a file says.
pub(crate) struct Compiled {
    pub heading: Heading,
    pub runs: Vec<Run>,
}

/// Compiles a file: every scheme at every sweep point. Relative paths start at `directory`.
pub(crate) fn file(source: &str, directory: &Path) -> Checked<Compiled> {
    compile(source, directory, None)
}

/// The same for a scenario that a program drives: its last entry of traffic stands for the messages to come.
pub(crate) fn driven(
    source: &str,
    directory: &Path,
    driver: &traffic::Driver,
) -> Checked<Compiled> {
    compile(source, directory, Some(driver))
}

fn compile(source: &str, directory: &Path, driver: Option<&traffic::Driver>) -> Checked<Compiled> {
    let mut root = document::parse(source)?;
    let sweep = sweep::read_all(take_tables(&mut root, "sweep")?)?;
    let (schemes, last) = scheme_names(&root)?;
    replaced::check(&root, &sweep)?;
    let mut runs = size::Runs::new((schemes.len(), last), &sweep, source)?;
    let files = Files::new(directory);
    let mut compiled = Compiled {
        heading: Heading {
            sweep_columns: sweep.columns.clone(),
            ..Heading::default()
        },
        runs: Vec::new(),
    };
    let mut idle = Idle::default();
    for scheme in &schemes {
        for point in &sweep.points {
            // Each run has a document of its own, in which `set` and the sweep replace keys.
            let root = document::parse(source)?;
            let (file, mut run, unread) =
                compile_run(root, (scheme, &schemes), point, &files, driver)?;
            idle.add(unread, compiled.runs.len(), scheme);
            runs.add(&run.config)?;
            if let Err(invalid) = unpause_sim::check(&run.config) {
                let root = with_scheme(source, scheme, point)?;
                return Err(refusal::problem(&invalid, &run.config, &root, &run.names));
            }
            run.index = compiled.runs.len() as u32;
            compiled.heading.title = file.title.value().cloned();
            compiled.heading.source = file.source.value().cloned();
            compiled.runs.push(run);
        }
    }
    let points = &sweep.points;
    idle.check(&schemes, compiled.runs.len(), |run| {
        let (scheme, point) = (run / points.len(), run % points.len());
        with_scheme(source, &schemes[scheme], &points[point])
    })?;
    unused::check(&root, &compiled.runs)?;
    unused::note_idle_laws(&root, &mut compiled.runs);
    Ok(compiled)
}

/// Compiles `run` of this file again, with another seed.
pub(crate) fn with_seed(
    source: &str,
    directory: &Path,
    driver: Option<&traffic::Driver>,
    run: &Run,
    seed: u64,
) -> Checked<Run> {
    let (schemes, _) = scheme_names(&document::parse(source)?)?;
    let point = point_of(source, run)?.with_seed(seed);
    let (root, files) = (document::parse(source)?, Files::new(directory));
    let (_, again, _) = compile_run(root, (&run.scheme, &schemes), &point, &files, driver)?;
    Ok(again)
}

/// The point of the sweep of `source` that `run` belongs to, whatever seed it has got.
fn point_of(source: &str, run: &Run) -> Checked<Point> {
    let mut root = document::parse(source)?;
    let sweep = sweep::read_all(take_tables(&mut root, "sweep")?)?;
    let is_own = |point: &Point| {
        let mut both = point.values.iter().zip(&run.values);
        both.all(|(swept, own)| swept.is_seed || swept == own)
    };
    let point = sweep.points.into_iter().find(is_own);
    Ok(point.expect("a run comes from a point of its file"))
}

/// Reports a refusal of `run` at its place in the file `source`.
pub(crate) fn refused(source: &str, run: &Run, invalid: &Invalid) -> Checked<Box<Problem>> {
    let point = point_of(source, run)?;
    let root = with_scheme(source, &run.scheme, &point)?;
    let problem = refusal::problem(invalid, &run.config, &root, &run.names);
    Ok(problem)
}

/// The file as it is for a scheme at a point of a sweep, with that one scheme.
fn with_scheme<'i>(source: &'i str, scheme: &str, point: &'i Point) -> Checked<Table<'i>> {
    let mut root = document::parse(source)?;
    let schemes = root.get_ref().get_key_value("scheme");
    let key = schemes.map(|(key, _)| key.clone());
    let scheme = take_scheme(&mut root, scheme, point)?;
    if let Some(key) = key {
        let scheme = Spanned::new(scheme.span(), DeValue::Table(scheme.into_inner()));
        root.get_mut().insert(key, scheme);
    }
    Ok(root)
}

/// Names of the schemes, all different, and where the last one is.
fn scheme_names(root: &Table<'_>) -> Checked<(Vec<String>, Range<usize>)> {
    let mut names: Vec<Spanned<String>> = Vec::new();
    let mut last = 0..0;
    let tables = take_tables(&mut root.clone(), "scheme")?;
    at_most("scheme", &tables, limits::RUNS)?;
    for mut table in tables {
        let span = table.span();
        last = span.clone();
        let Some(name) = take_string(&mut table, "name")? else {
            return Problem::new("a scheme without a name")
                .at(span, "this table needs `name`")
                .help("write name = \"PFC+DCQCN\", or another name for its results")
                .err();
        };
        if name.get_ref().contains(char::is_control) {
            return Problem::new("a name with a control character")
                .at(name.span(), "such as a tab or the end of a line")
                .help("write blanks instead")
                .err();
        }
        if name.get_ref().trim().is_empty() {
            return Problem::new("a name without visible characters")
                .at(name.span(), "expected letters, digits or punctuation")
                .help("write name = \"PFC+DCQCN\", or another name for its results")
                .err();
        }
        unique(&mut names, name, "scheme")?;
    }
    if names.is_empty() {
        return Problem::new("no schemes to run")
            .at(root.span(), "this file has no [[scheme]]")
            .help("add [[scheme]] with name = \"PFC\"; `unpause list` shows congestion controls")
            .absent("[[scheme]]\nname = \"PFC\"\n")
            .err();
    }
    let names = names.into_iter().map(Spanned::into_inner).collect();
    Ok((names, last))
}
