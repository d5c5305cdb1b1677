//! `[[job]]`: ranks that compute and exchange messages.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use unpause_text::error::{Checked, Problem};

use serde_spanned::Spanned;
use unpause_protocols::names::Names as _;
use unpause_protocols::units::Rate;
use unpause_sim::config::NodeId;
use unpause_sim::jobs::{Group as Ranks, Job, Over, Phase, Program};
use unpause_sim::traffic::{FlowSettings, Transport};

use super::traffic::{Context, data_priority, takes_part};
use crate::text::document::{Table, read, take_tables};
use crate::text::keys::{Keys, refuse};
use unpause_import::fabric::names::NamedJob;

mod imported;
mod keys;
mod phases;
mod pipeline;
mod placement;

use keys::{Connecting, Group, RanksKey};
pub(crate) use keys::{JobKeys, StepKeys};
use phases::OfJob;

/// Messages of a job that are recorded unless the file says otherwise.
const MOST_MESSAGES: u64 = 1_000_000;

/// Messages that may have connections of their own: some 500 bytes each.
const MOST_CONNECTIONS: u64 = 1_000_000;

/// One job, whose keys are known.
pub(crate) struct Written {
    place: Range<usize>,
    keys: JobKeys,
    steps: Vec<(Range<usize>, StepKeys)>,
}

impl Written {
    pub fn name(&self) -> &str {
        self.keys.name.get_ref()
    }
}

/// One job, ready to run.
pub(crate) struct Compiled {
    pub name: Spanned<String>,
    /// Where it stands.
    pub place: Range<usize>,
    pub names: NamedJob,
    /// `None` if it has no part in the scheme.
    pub job: Option<Job>,
}

/// Reads the keys of one `[[job]]` table.
pub(crate) fn read_job(mut table: Table<'_>) -> Checked<Written> {
    let place = table.span();
    let steps = take_tables(&mut table, "step")?;
    let step = |table: Table<'_>| Ok((table.span(), read(table, &[])?));
    Ok(Written {
        keys: read(table, &["step"])?,
        steps: steps.into_iter().map(step).collect::<Checked<_>>()?,
        place,
    })
}

/// Makes jobs of what is written, in order: each gets hosts that those before have left. They are entries of the traffic
/// from number `first` on.
pub(crate) fn jobs(
    written: Vec<Written>,
    (first, seed): (usize, u64),
    context: &Context<'_>,
) -> Checked<Vec<Compiled>> {
    let mut taken = HashSet::new();
    let compile = |(at, it): (usize, Written)| job(it, (first + at, seed), &mut taken, context);
    written.into_iter().enumerate().map(compile).collect()
}

fn job(
    written: Written,
    (entry, seed): (usize, u64),
    taken: &mut HashSet<NodeId>,
    context: &Context<'_>,
) -> Checked<Compiled> {
    let keys = &written.keys;
    let hosts = hosts(keys, (entry, seed), taken, context)?;
    let step = written.steps.first().map(|(place, _)| place.clone());
    let imported = imported::imported(keys, step, hosts.len(), context)?;
    let (phases, steps) = match &imported {
        Some(read) => (Vec::new(), read.labels.clone()),
        None => {
            let of = OfJob {
                ranks: hosts.len() as u32,
                parallel: &keys.parallel,
                per_server: &keys.per_server,
                reduce_rate: reduce_rate(keys)?,
                hosts: &hosts,
                seats: &context.topology.fabric.seats(),
                place: written.place.clone(),
            };
            all_phases(&written, &of)?
        }
    };
    let program = imported.map(|it| it.program.clone());
    let (job, warmup) = running(keys, entry as u16, hosts, (phases, program), context)?;
    let part = takes_part(&keys.schemes, context)?;
    if part && context.transport == Transport::Tcp {
        return Problem::new("messages of jobs go over RoCE")
            .at(
                written.place,
                format!("scheme `{}` controls TCP", context.scheme),
            )
            .help("leave the job out of that scheme by `schemes`, or choose a law of RoCE")
            .err();
    }
    let alone = *keys.alone.value();
    refuse(keys.unread())?;
    for (_, step) in &written.steps {
        refuse(step.unread())?;
    }
    Ok(Compiled {
        name: keys.name.clone(),
        place: written.place.clone(),
        names: NamedJob {
            entry: entry as u16,
            placement: placement_name(keys).into(),
            alone,
            warmup,
            steps,
        },
        job: part.then_some(job),
    })
}

/// A job as it runs, and how many of its iterations are warm-up.
fn running(
    keys: &JobKeys,
    entry: u16,
    hosts: Vec<NodeId>,
    (phases, program): (Vec<Phase>, Option<Arc<Program>>),
    context: &Context<'_>,
) -> Checked<(Job, u32)> {
    let exchanges = phases.iter().filter_map(|it| it.collective.as_ref());
    if exchanges.into_iter().any(|it| it.reduce_rate.is_some()) {
        keys.reduce_rate.get();
    }
    let iterations = keys.iterations.within(1..=1_000_000, "iterations")?;
    let flow = FlowSettings {
        priority: match keys.priority.get() {
            Some(priority) => data_priority(priority, context)?,
            None => FlowSettings::default().priority,
        },
        ..FlowSettings::default()
    };
    let of_program = program.as_ref().map_or(0, |it| it.message_count() as u64);
    let messages = (messages_of(&phases) + of_program) * u64::from(iterations);
    let recorded = keys.messages.value().copied();
    let over = match keys.connection.value().0 {
        Connecting::Kept => Over::Connections,
        Connecting::PerMessage => Over::Messages,
    };
    if let Some(connection) = keys.connection.peek()
        && over == Over::Messages
        && messages > MOST_CONNECTIONS
    {
        return Problem::new(format!("{messages} messages"))
            .at(
                connection.span(),
                format!("each with its own connection: at most {MOST_CONNECTIONS}"),
            )
            .help("write connection = \"kept\", or lower `iterations`, `channels` or `slices`")
            .err();
    }
    let mut job = Job {
        entry,
        hosts: Vec::new(),
        start: keys.start.value().0,
        iterations,
        phases,
        program,
        launch: keys.launch.value().0,
        over,
        completion: keys.completion.value().0,
        flow,
        records_messages: recorded.unwrap_or(messages <= MOST_MESSAGES),
    };
    job.sit_at(hosts, &context.topology.fabric);
    Ok((job, warmup(keys, iterations)?))
}

/// The hosts of its ranks.
fn hosts(
    keys: &JobKeys,
    (entry, seed): (usize, u64),
    taken: &mut HashSet<NodeId>,
    context: &Context<'_>,
) -> Checked<Vec<NodeId>> {
    let ranks = &keys.ranks;
    let hosts = match ranks.get_ref() {
        RanksKey::Hosts(list) => {
            if let Some(placement) = keys.placement.get() {
                return Problem::new("`placement` has no effect")
                    .at(placement.span(), "the hosts are named")
                    .at(ranks.span(), "here")
                    .help("remove it, or write how many ranks there are")
                    .err();
            }
            context
                .names
                .host_list(&Spanned::new(ranks.span(), list.clone()))?
        }
        RanksKey::Count(count) => {
            let all = context.names.hosts().iter().copied();
            let free: Vec<NodeId> = all.filter(|host| !taken.contains(host)).collect();
            if *count as usize > free.len() {
                let all = context.names.hosts().len();
                return Problem::new(format!(
                    "{count} ranks, but only {} hosts are left",
                    free.len()
                ))
                .at(
                    ranks.span(),
                    format!("of {all} hosts; earlier jobs have the others"),
                )
                .help("name the hosts, as in ranks = \"H0..H7\", where jobs share them")
                .err();
            }
            let placement = keys.placement.value().0;
            let seed = seed ^ (entry as u64) << 32;
            placement::place(placement, *count as usize, &free, context.names, seed)
        }
    };
    if hosts.len() < 2 {
        return Problem::new(format!("a job of {} ranks", hosts.len()))
            .at(ranks.span(), "at least 2")
            .err();
    }
    taken.extend(&hosts);
    Ok(hosts)
}

fn placement_name(keys: &JobKeys) -> &'static str {
    match keys.ranks.get_ref() {
        RanksKey::Hosts(_) => "listed",
        RanksKey::Count(_) => keys.placement.value().0.name(),
    }
}

/// The operations of its ranks, and the names of their steps.
fn all_phases(written: &Written, of: &OfJob<'_>) -> Checked<(Vec<Phase>, Vec<String>)> {
    let own = &written.keys.work;
    if written.steps.is_empty() {
        let (phase, name) = phases::phase(own, Group::All, of)?;
        return Ok((vec![phase], vec![name]));
    }
    let of_step = own.collective.peek().map(|it| ("collective", it.span()));
    let of_step = of_step.or(own.compute.peek().map(|it| ("compute", it.span())));
    if let Some((key, place)) = of_step {
        return Problem::new(format!("`{key}` has no effect"))
            .at(place, "the job has steps of its own")
            .help("move it into a [[job.step]]")
            .err();
    }
    let mut all = Vec::new();
    let mut names = Vec::new();
    for (place, step) in &written.steps {
        let group = step.group.value().0;
        let of = OfJob {
            place: place.clone(),
            ..*of
        };
        let (phase, what) = phases::phase(&step.work, group, &of)?;
        let name = step.name.value().cloned().unwrap_or(what);
        let repeat = step.repeat.within(1..=10_000, "repetitions")?;
        for _ in 0..repeat {
            all.push(phase.clone());
            names.push(name.clone());
        }
    }
    Ok((all, names))
}

fn reduce_rate(keys: &JobKeys) -> Checked<Option<Rate>> {
    match keys.reduce_rate.peek() {
        Some(rate) if rate.get_ref().0 == Rate::ZERO => Problem::new("`reduce_rate` is zero")
            .at(rate.span(), "nothing would ever be reduced")
            .err(),
        rate => Ok(rate.map(|it| it.get_ref().0)),
    }
}

fn warmup(keys: &JobKeys, iterations: u32) -> Checked<u32> {
    match keys.warmup.get() {
        Some(it) if *it.get_ref() >= iterations => {
            Problem::new("nothing is left after the warm-up")
                .at(it.span(), format!("of {iterations} iterations"))
                .help("raise `iterations`")
                .err()
        }
        _ => Ok(*keys.warmup.value()),
    }
}

/// Messages of an iteration, at most.
fn messages_of(phases: &[Phase]) -> u64 {
    let exchanges = phases.iter().filter_map(|it| it.collective.as_ref());
    exchanges
        .map(|exchange| {
            let it = &exchange.collective;
            let of_group = |group: &Ranks| {
                let n = group.len() as u64;
                let sent = match it.algorithm {
                    unpause_sim::jobs::Algorithm::Direct if it.pxn => n - 1,
                    unpause_sim::jobs::Algorithm::Direct => u64::from(it.steps(n as u32)) * (n - 1),
                    _ => it.steps(n as u32).into(),
                };
                n * sent * u64::from(it.lanes())
            };
            exchange.groups.iter().map(of_group).sum::<u64>()
        })
        .sum()
}
