//! `[switch.scheduler]`: which priority of an egress port sends next.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_spanned::Spanned;
use unpause_protocols::scheduler::{self, dwrr, strict};
use unpause_sim::config::{HostConfig, PRIORITIES};

use crate::text::checks::{both, data_priority};
use crate::text::error::{Checked, Problem};
use crate::text::quantity::Size;

/// `[switch.scheduler]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scheduler {
    pub kind: SchedulerKind,
    /// By priority.
    pub weights: Option<Spanned<BTreeMap<String, Spanned<u32>>>>,
    /// By priority.
    pub quanta: Option<Spanned<BTreeMap<String, Spanned<Size>>>>,
    pub quantum: Option<Spanned<Size>>,
    pub strict: Option<Spanned<Vec<Spanned<u8>>>>,
}

/// How the priorities of a port share it.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SchedulerKind {
    Strict,
    Dwrr,
}

/// A scheduler, and the priorities that have a queue in it.
pub(crate) struct Scheduled {
    pub scheduler: scheduler::Config,
    /// Bit p set: priority p has a queue.
    pub priorities: u8,
}

/// Bytes of a quantum for each unit of weight: those of the ECN# authors' code.
const QUANTUM: u64 = 1500;

/// What `[switch.scheduler]` says.
pub(crate) fn scheduler(
    file: &Option<Spanned<Scheduler>>,
    host: &HostConfig,
) -> Checked<Scheduled> {
    let Some(table) = file else {
        return Ok(strict_priority());
    };
    let file = table.get_ref();
    if let SchedulerKind::Strict = file.kind {
        let shares = [
            file.weights.as_ref().map(Spanned::span),
            file.quanta.as_ref().map(Spanned::span),
            file.quantum.as_ref().map(Spanned::span),
            file.strict.as_ref().map(Spanned::span),
        ];
        if let Some(span) = shares.into_iter().flatten().next() {
            return Problem::new("strict priority has no parameters")
                .at(span, "this has no effect")
                .help("remove it, or set kind = \"dwrr\"")
                .err();
        }
        return Ok(strict_priority());
    }
    let mut params = dwrr::Params {
        quantum: [1; PRIORITIES],
        group: [0; PRIORITIES],
    };
    let mut priorities = 0;
    for (priority, quantum) in quanta(table, host)? {
        params.quantum[usize::from(priority)] = quantum;
        priorities |= 1 << priority;
    }
    for priority in file.strict.iter().flat_map(Spanned::get_ref) {
        let number = of_data(data_priority(priority)?, priority.span(), host)?;
        if priorities >> number & 1 == 1 {
            return Problem::new(format!("priority {number} is served in two ways"))
                .at(priority.span(), "strictly, and with a weight or a quantum")
                .at(table.span(), "in this table")
                .err();
        }
        params.group[usize::from(number)] = 1 + number;
        priorities |= 1 << number;
    }
    Ok(Scheduled {
        scheduler: scheduler::Config::Dwrr(params),
        priorities,
    })
}

fn strict_priority() -> Scheduled {
    Scheduled {
        scheduler: scheduler::Config::Strict(strict::Params),
        priorities: u8::MAX,
    }
}

/// The bytes of a turn of each priority that takes turns.
fn quanta(table: &Spanned<Scheduler>, host: &HostConfig) -> Checked<Vec<(u8, u32)>> {
    let file = table.get_ref();
    match (&file.weights, &file.quanta) {
        (Some(weights), Some(quanta)) => both("weights", weights, "quanta", quanta),
        (None, None) => Problem::new("nobody knows who gets how much")
            .at(table.span(), "DWRR needs weights")
            .help("set weights = { 0 = 2, 1 = 1 }: priority 0 gets twice as much as priority 1")
            .err(),
        (Some(weights), None) => {
            let unit = file
                .quantum
                .as_ref()
                .map_or(QUANTUM, |unit| unit.get_ref().0);
            each(weights, host, |weight| u64::from(*weight).checked_mul(unit))
        }
        (None, Some(quanta)) => {
            if let Some(quantum) = &file.quantum {
                return both("quantum", quantum, "quanta", quanta);
            }
            each(quanta, host, |size: &Size| Some(size.0))
        }
    }
}

fn each<T>(
    map: &Spanned<BTreeMap<String, Spanned<T>>>,
    host: &HostConfig,
    bytes: impl Fn(&T) -> Option<u64>,
) -> Checked<Vec<(u8, u32)>> {
    if map.get_ref().is_empty() {
        return Problem::new("no priority takes turns")
            .at(map.span(), "this is empty")
            .err();
    }
    let one = |(key, value): (&String, &Spanned<T>)| {
        let Some(priority) = key.parse().ok().filter(|p| usize::from(*p) < PRIORITIES) else {
            return Problem::new(format!("there is no priority `{key}`"))
                .at(value.span(), "of this one")
                .help("priorities are 0 to 7: weights = { 0 = 2, 1 = 1 }")
                .err();
        };
        let priority = of_data(priority, value.span(), host)?;
        match bytes(value.get_ref()).map(u32::try_from) {
            Some(Ok(0)) => Problem::new(format!("priority {priority} gets nothing"))
                .at(value.span(), "must be above zero")
                .help("leave it out if nobody sends in it, or list it in `strict`")
                .err(),
            Some(Ok(quantum)) => Ok((priority, quantum)),
            _ => Problem::new(format!("a turn of priority {priority} has more than 4 GB"))
                .at(value.span(), "here")
                .err(),
        }
    };
    map.get_ref().iter().map(one).collect()
}

/// Control packets go before all others anyway.
fn of_data(priority: u8, span: std::ops::Range<usize>, host: &HostConfig) -> Checked<u8> {
    if priority == host.control_priority {
        return Problem::new(format!("priority {priority} carries control frames"))
            .at(span, "they go before all others")
            .help("remove it here, or set host.control_priority")
            .err();
    }
    Ok(priority)
}

/// Every one of `used` has a queue.
pub(crate) fn check_queues(
    scheduled: &Scheduled,
    table: &Option<Spanned<Scheduler>>,
    used: u8,
    entry: std::ops::Range<usize>,
) -> Checked<()> {
    let missing = used & !scheduled.priorities;
    let (Some(table), true) = (table, missing != 0) else {
        return Ok(());
    };
    let priority = missing.trailing_zeros();
    Problem::new(format!("priority {priority} has no queue"))
        .at(entry, format!("this traffic has priority {priority}"))
        .at(table.span(), "this scheduler does not know it")
        .help(format!(
            "give it a weight, list it in `strict`, or set another `priority`, which is {} by default",
            unpause_sim::traffic::FlowSettings::default().priority
        ))
        .err()
}
