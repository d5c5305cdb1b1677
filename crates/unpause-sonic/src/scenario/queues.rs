//! Egress: limits of queues, shapers of queues and ports.

use super::fabric_ports::{Ports, Use};
use super::places::{At, differing, most_of_all};
use super::writer::{Scope, Writer};
use crate::model::{ConfigDb, Scheduler, Threshold};
use unpause_import::FileError;

/// The most that a queue holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Limit {
    /// Bytes.
    Static(u64),
    /// 2 to this power times what is free.
    Dynamic(i64),
}

/// Writes limits of queues; `control` is the priority of CNPs, whose queue has none of its own.
pub(super) fn limits(ports: &Ports<'_>, control: u8, writer: &mut Writer) {
    let mut all = Vec::new();
    for at in ports.all() {
        for number in (0..8).filter(|number| *number != control) {
            let profile = at.db.queue_profile(at.port, number).map(|it| it.1);
            let threshold = profile.and_then(|it| it.threshold.as_ref());
            let value = threshold.map(|it| match it.value {
                Threshold::Static(bytes) => Limit::Static(bytes),
                Threshold::Dynamic(power) => Limit::Dynamic(power),
            });
            all.push(At { at, number, value });
        }
    }
    for (scope, value) in differing("the limit in BUFFER_QUEUE", &all, most_of_all, writer) {
        let from = "BUFFER_QUEUE, BUFFER_PROFILE";
        match value {
            Some(Limit::Static(bytes)) => {
                writer.of(
                    &scope,
                    "queue_limit",
                    format!("\"{bytes}B\""),
                    &format!("{from} static_th"),
                );
            }
            Some(Limit::Dynamic(power)) => {
                let alpha = super::buffers::alpha(power);
                writer.of(
                    &scope,
                    "queue_alpha",
                    alpha,
                    &format!("{from} dynamic_th {power}"),
                );
            }
            // A setting that some queues lack is no general one.
            None => {}
        }
    }
}

/// Writes shapers of queues and ports.
pub(super) fn shapers(
    ports: &Ports<'_>,
    control: u8,
    writer: &mut Writer,
) -> Result<(), FileError> {
    let (mut queues, mut whole) = (Vec::new(), Vec::new());
    for at in ports.all() {
        for number in (0..8).filter(|number| *number != control) {
            let settings = at.db.queues.get(&(at.port.to_owned(), number));
            let name = settings.and_then(|it| it.scheduler.as_ref());
            let it = name.and_then(|name| at.db.schedulers.get(&name.value));
            let value = rate(&at, it, writer)?;
            queues.push(At { at, number, value });
        }
        let own = |name: &str| at.db.qos.get(name)?.scheduler.as_ref();
        let name = own(at.port).or_else(|| own("global"));
        let it = name.and_then(|name| at.db.schedulers.get(&name.value));
        let value = rate(&at, it, writer)?;
        whole.push(At {
            at,
            number: 0,
            value,
        });
    }
    for (scope, value) in differing("the shaper", &queues, most_of_all, writer) {
        shaper(&scope, value, "QUEUE scheduler, SCHEDULER", writer);
    }
    for (scope, value) in differing("the shaper", &whole, most_of_all, writer) {
        let scope = Scope {
            priorities: Default::default(),
            ..scope
        };
        shaper(&scope, value, "PORT_QOS_MAP scheduler, SCHEDULER", writer);
    }
    Ok(())
}

/// Bits per second, and bytes of the bucket.
type Rate = (u64, Option<u64>);

fn shaper(scope: &Scope, value: Option<Rate>, from: &str, writer: &mut Writer) {
    let Some((bps, burst)) = value else { return };
    writer.of(
        scope,
        "max_rate",
        format!("\"{bps}bps\""),
        &format!("{from} pir"),
    );
    if let Some(bytes) = burst {
        writer.of(
            scope,
            "burst",
            format!("\"{bytes}B\""),
            &format!("{from} pbs"),
        );
    }
}

/// The highest rate of a scheduler, if it shapes.
fn rate(
    at: &Use<'_>,
    scheduler: Option<&Scheduler>,
    writer: &mut Writer,
) -> Result<Option<Rate>, FileError> {
    let Some(it) = scheduler else {
        return Ok(None);
    };
    if let Some(spot) = it.in_packets.as_ref().filter(|_| it.rate.is_some()) {
        let expected = "bytes: a scenario has no shapers that count packets";
        return Err(at.db.place(spot).error("meter_type packets", expected));
    }
    if it.guaranteed.is_some() {
        writer.leave_out(format!(
            "{}: SCHEDULER cir, cbs: no rate is guaranteed in a scenario but by weights",
            at.db.name()
        ));
    }
    // SAI: a rate of 0 is none.
    let rate = it.rate.as_ref().filter(|it| it.value > 0);
    let burst = it.burst.as_ref().map(|it| it.value).filter(|it| *it > 0);
    Ok(rate.map(|rate| (rate.value.saturating_mul(8), burst)))
}

/// Notes the parts that have no counterpart.
pub(super) fn rest(db: &ConfigDb, writer: &mut Writer) {
    let name = db.name();
    let numbers = db.queues.keys().chain(db.queue_buffers.keys());
    if numbers.into_iter().any(|(_, number)| *number > 7) {
        writer.leave_out(format!(
            "{name}: QUEUE, BUFFER_QUEUE of queues above 7: a scenario has queues 0 to 7"
        ));
    }
    for (key, pool) in &db.pools {
        let is = |word: &str| pool.direction.as_ref().is_some_and(|it| it.value == word);
        if is("egress") {
            writer.leave_out(format!(
                "{name}: BUFFER_POOL {key}: queues take their shares of the memory that is free, whatever the size of this view \
                 of it"
            ));
        } else if !key.contains("lossless") {
            writer.leave_out(format!(
                "{name}: BUFFER_POOL {key}: lossy frames share the memory of `buffer`, and have limits at egress alone"
            ));
        }
    }
}
