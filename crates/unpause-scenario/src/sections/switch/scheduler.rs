//! `[switch.scheduler]`: which priority of an egress port sends next.

use std::collections::BTreeMap;
use unpause_protocols::names::Names;
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::Size;

use serde_spanned::Spanned;
use unpause_protocols::scheduler::{self, dwrr, strict};
use unpause_sim::config::{HostConfig, PRIORITIES};

use crate::text::checks::{both, data_priority};
use crate::text::keys::{Keys, WithDefault, Written};
use crate::text::kind::OneOf;

const SHARES: (&str, &str) = (
    "strict priority has no parameters",
    "remove it, or set kind = \"dwrr\"",
);

type Weights = BTreeMap<String, Spanned<u32>>;
type Quanta = BTreeMap<String, Spanned<Size>>;
type Priorities = Vec<Spanned<u8>>;

/// `[switch.scheduler]`
#[derive(Keys)]
#[keys("switch.scheduler", idle = SHARES)]
pub(crate) struct Scheduler {
    /// `"strict"` priority, or `"dwrr"`: deficit weighted round robin
    pub(crate) kind: Spanned<OneOf<SchedulerKind>>,
    /// weight of each priority: `{ 0 = 2, 1 = 1, 2 = 1 }`
    pub(crate) weights: Written<Weights>,
    /// bytes per round for each unit of weight
    #[key(default = Size(QUANTUM), from = "the ECN♯ authors' code")]
    pub(crate) quantum: WithDefault<Size>,
    /// instead of weights, bytes per round: `{ 0 = "3000B", 1 = "1500B" }`
    pub(crate) quanta: Written<Quanta>,
    /// priorities served strictly before those with weights, higher numbers first: `[4, 5]`
    #[key(unset = "none")]
    pub(crate) strict: Written<Priorities>,
}

/// How the priorities of a port share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Names)]
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

/// The scheduler of `[switch.scheduler]`, if `is_used`.
pub(crate) fn scheduler(
    file: &Written<Scheduler>,
    host: &HostConfig,
    is_used: bool,
) -> Checked<Scheduled> {
    // Strict priority is what there is without the table, too.
    let strict =
        |table: &Spanned<Scheduler>| table.get_ref().kind.get_ref().0 == SchedulerKind::Strict;
    let table = match file.peek() {
        Some(table) if is_used || strict(table) => file.get(),
        _ => None,
    };
    let Some(table) = table.filter(|table| !strict(table)) else {
        return Ok(strict_priority());
    };
    let file = table.get_ref();
    let mut params = dwrr::Params {
        quantum: [1; PRIORITIES],
        group: [0; PRIORITIES],
    };
    let mut priorities = 0;
    for (priority, quantum) in quanta(table, host)? {
        params.quantum[usize::from(priority)] = quantum;
        priorities |= 1 << priority;
    }
    for priority in file.strict.value().into_iter().flatten() {
        let number = of_data(data_priority(priority)?, priority.span(), host)?;
        if priorities >> number & 1 == 1 {
            return Problem::new(format!(
                "priority {number} is served both strictly and by a share"
            ))
            .at(
                priority.span(),
                "strict here, and with a weight or a quantum",
            )
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
    match (file.weights.get(), file.quanta.get()) {
        (Some(weights), Some(quanta)) => both("weights", weights, "quanta", quanta),
        (None, None) => Problem::new("no priority has a weight")
            .at(table.span(), "DWRR needs weights")
            .help("set weights = { 0 = 2, 1 = 1 }: priority 0 gets twice as much as priority 1")
            .err(),
        (Some(weights), None) => {
            let unit = file.quantum.value().0;
            each(weights, host, |weight| u64::from(*weight).checked_mul(unit))
        }
        (None, Some(quanta)) => {
            if let Some(quantum) = file.quantum.get() {
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
                .help("leave it out if no traffic uses it, or list it in `strict`")
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
    table: &Written<Scheduler>,
    used: u8,
    entry: std::ops::Range<usize>,
) -> Checked<()> {
    let missing = used & !scheduled.priorities;
    let (Some(table), true) = (table.peek(), missing != 0) else {
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
