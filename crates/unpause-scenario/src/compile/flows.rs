//! Traffic: the entries of `[[traffic]]` and `[[job]]`, and the driver of a run.

use std::ops::Range;

use serde_spanned::Spanned;
use unpause_protocols::congestion_control;
use unpause_protocols::units::Time;
use unpause_sim::config::Fabric;
use unpause_sim::jobs::Job;
use unpause_sim::traffic::{Following, TrafficSpec};

use crate::compile::queues::Queues;
use crate::sections::file::{File, load_scale};
use crate::sections::{job, traffic};
use crate::size;
use unpause_import::fabric::names::NamedJob;
use unpause_results::run::load::Load;
use unpause_text::error::{Checked, Problem};

/// The entries of `[[traffic]]`, and who drives the run, if somebody does, with where the file stands.
pub(crate) struct Entries<'i> {
    pub written: Vec<traffic::Written>,
    pub jobs: Vec<job::Written>,
    pub driver: Option<(&'i traffic::Driver, Range<usize>)>,
}

/// The entries of `[[traffic]]`.
pub(crate) struct Flows {
    pub names: Vec<String>,
    pub specs: Vec<TrafficSpec>,
    /// Window laws of entries that have one of their own.
    pub laws: Vec<(u16, congestion_control::Config)>,
    /// How much later the flows of entries start, at most.
    pub jitters: Vec<(u16, Time)>,
    pub following: Vec<Following>,
    pub jobs: Vec<Job>,
    pub named_jobs: Vec<NamedJob>,
    /// The loads that entries ask for.
    pub loads: Vec<Load>,
    /// Where those that follow say so.
    pub places: Vec<(u16, Range<usize>)>,
}

/// Names of the entries, what they send, and which follow which.
pub(crate) fn read(
    entries: Entries<'_>,
    file: &File,
    queues: &Queues<'_>,
    fabric: &Fabric,
    context: &traffic::Context<'_>,
) -> Checked<Flows> {
    let load_scale = load_scale(file)?;
    let mut names = Vec::new();
    let mut specs = Vec::new();
    let mut laws = Vec::new();
    let mut jitters = Vec::new();
    let mut after = Vec::new();
    let mut loads = Vec::new();
    for entry in entries.written {
        let span = entry.place.clone();
        let mut entry = traffic::entry(entry, context)?;
        if let Some(factor) = load_scale {
            entry.spec.scale_load(factor);
        }
        loads.extend(load(&entry.spec, specs.len(), load_scale, context));
        if let Err(why) = entry.spec.validate(fabric) {
            return Problem::new(why).at(span, "in this entry").err();
        }
        size::check_flows(&entry.spec, file.duration.get_ref().0, span.clone())?;
        queues.check(entry.spec.priorities(), span)?;
        unique(&mut names, entry.name, "traffic")?;
        after.extend(entry.after.map(|after| (specs.len() as u16, after)));
        laws.extend(entry.law.map(|law| (specs.len() as u16, law)));
        jitters.extend(entry.jitter.map(|most| (specs.len() as u16, most)));
        specs.push(entry.spec);
    }
    let jobs: Vec<&str> = entries.jobs.iter().map(job::Written::name).collect();
    let following = traffic::following(&after, &names, &jobs)?;
    let seed = *file.seed.value();
    let (mut running, mut named) = (Vec::new(), Vec::new());
    for job in job::jobs(entries.jobs, (specs.len(), seed), context)? {
        let spec = TrafficSpec::Flows(job.job.as_ref().map_or(Vec::new(), |it| it.flows(seed)));
        queues.check(spec.priorities(), job.place)?;
        unique(&mut names, job.name, "traffic or job")?;
        specs.push(spec);
        running.extend(job.job);
        named.push(job.names);
    }
    let mut names: Vec<String> = names.into_iter().map(Spanned::into_inner).collect();
    if let Some((driver, whole)) = entries.driver {
        let (name, spec) = driver.entry(&names, whole.clone(), context)?;
        queues.check(spec.priorities(), whole)?;
        names.push(name);
        specs.push(spec);
    }
    Ok(Flows {
        jobs: running,
        named_jobs: named,
        laws,
        jitters,
        following,
        names,
        specs,
        loads,
        places: after
            .iter()
            .map(|(entry, after)| (*entry, after.place()))
            .collect(),
    })
}

/// The load that the entry that was read last asks for, if it asks for one.
fn load(
    spec: &TrafficSpec,
    entry: usize,
    scale: Option<f64>,
    context: &traffic::Context<'_>,
) -> Option<Load> {
    let (asked, bits_per_second) = context.load.take()?;
    let TrafficSpec::Pattern(pattern) = spec else {
        return None;
    };
    Some(Load {
        entry: entry as u16,
        asked: asked * scale.unwrap_or(1.0),
        bits_per_second,
        start: pattern.arrivals.start,
        stop: pattern.arrivals.stop,
        most: pattern.arrivals.max_flows,
    })
}

pub(crate) fn unique(
    names: &mut Vec<Spanned<String>>,
    name: Spanned<String>,
    what: &str,
) -> Checked<()> {
    if let Some(other) = names.iter().find(|it| it.get_ref() == name.get_ref()) {
        let mut places = [other.span(), name.span()];
        places.sort_by_key(|it| it.start);
        let [first, second] = places;
        return Problem::new(format!(
            "two entries of `{what}` have the name `{}`",
            name.get_ref()
        ))
        .at(second, "the second")
        .at(first, "the first")
        .err();
    }
    names.push(name);
    Ok(())
}
