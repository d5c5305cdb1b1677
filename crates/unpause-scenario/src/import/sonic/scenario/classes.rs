//! Classes, which are the same as priorities, queues and groups in a scenario; the order in which queues are served.

use std::collections::{BTreeMap, BTreeSet};

use super::fabric_ports::{Ports, Use};
use super::same::{Of, one};
use super::writer::Writer;
use crate::import::FileError;
use crate::import::sonic::finding::Given;

const TO_GROUP: &str = "TC_TO_PRIORITY_GROUP_MAP";
const TO_QUEUE: &str = "TC_TO_QUEUE_MAP";
const PFC_TO_QUEUE: &str = "MAP_PFC_PRIORITY_TO_QUEUE";
const PFC_TO_GROUP: &str = "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP";
const DSCPS: &str = "DSCP_TO_TC_MAP";
/// Of congestion notification packets, by convention: CS6.
const CNP: u8 = 48;

/// Refuses maps of lossless priorities that are not the identity; names the others that are not.
pub(super) fn check(
    ports: &Ports<'_>,
    lossless: &BTreeSet<u8>,
    writer: &mut Writer,
) -> Result<(), FileError> {
    for at in ports.all() {
        for table in [TO_QUEUE, TO_GROUP, PFC_TO_QUEUE, PFC_TO_GROUP] {
            let entries = at
                .db
                .map(at.port, table)
                .into_iter()
                .flat_map(|map| &map.entries);
            for (from, to) in entries.filter(|(from, to)| to.value != **from) {
                one_entry(&at, table, *from, to, lossless, writer)?;
            }
        }
    }
    Ok(())
}

fn one_entry(
    at: &Use<'_>,
    table: &str,
    from: u8,
    to: &Given<u8>,
    lossless: &BTreeSet<u8>,
    writer: &mut Writer,
) -> Result<(), FileError> {
    if lossless.contains(&from) || lossless.contains(&to.value) {
        let found = format!("{from} -> {} in {table}, at {}", to.value, at.whose());
        let expected = "the same number on both sides for lossless priorities: in a scenario class, queue, group and \
                        PFC's priority are one; `unpause lint` says what this map does";
        return Err(at.db.place(&to.spot).error(found, expected));
    }
    // Lossy groups need no number of their own.
    if table == TO_QUEUE {
        writer.leave_out(format!(
            "{}: {table} {from} -> {}: a class is its own queue in a scenario",
            at.db.name(),
            to.value
        ));
    }
    Ok(())
}

/// Which DSCPs are which lossless priority.
pub(super) fn dscps(ports: &Ports<'_>, lossless: &BTreeSet<u8>, writer: &mut Writer) {
    let mut said: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for at in ports.all() {
        let Some(map) = at.db.map(at.port, DSCPS) else {
            continue;
        };
        for priority in lossless {
            let own = map
                .entries
                .iter()
                .filter(|(_, class)| class.value == *priority);
            let own: Vec<String> = own.map(|(dscp, _)| dscp.to_string()).collect();
            let line = format!("DSCP {} -> priority {priority}", own.join(", "));
            let whose = said.entry(line).or_default();
            if !whose.contains(&at.db.name()) {
                whose.push(at.db.name());
            }
        }
    }
    for (line, whose) in said {
        writer.notes.push(format!(
            "{line} ({}): traffic names its priority",
            whose.join(", ")
        ));
    }
}

/// The priority of CNPs, if the switches have one for their DSCP.
pub(super) fn cnp(ports: &Ports<'_>, lossless: &BTreeSet<u8>) -> Option<u8> {
    let classes = ports.all().map(|at| {
        let map = at.db.map(at.port, DSCPS)?;
        map.entries.get(&CNP).map(|class| class.value)
    });
    let classes: BTreeSet<Option<u8>> = classes.collect();
    let only = classes.into_iter().collect::<Vec<_>>();
    match only[..] {
        [Some(class)] if class <= 7 && !lossless.contains(&class) => Some(class),
        _ => None,
    }
}

/// Writes `[switch.scheduler]`, if all ports have the same; `control` is the priority of CNPs.
pub(super) fn scheduler(
    ports: &Ports<'_>,
    control: u8,
    writer: &mut Writer,
) -> Result<(), FileError> {
    let mut all: Vec<Of<'_, String>> = Vec::new();
    let mut missing = Vec::new();
    for at in ports.all() {
        match of_port(&at, control, writer)? {
            None => missing.push(at.whose()),
            Some(it) => all.push(it),
        }
    }
    if let (Some(without), Some(with)) = (missing.first(), all.first()) {
        writer.leave_out(format!(
            "QUEUE scheduler: {} has one, {without} has none: a scenario has one for all; queues are served strictly, higher \
             numbers first",
            with.whose
        ));
        return Ok(());
    }
    let Some(value) = one("the scheduler", &all)? else {
        return Ok(());
    };
    let (weights, strict) = value.split_once('|').unwrap_or_default();
    writer.line("[switch.scheduler]");
    if weights.is_empty() {
        writer.key("kind", "\"strict\"", "SCHEDULER type STRICT");
    } else {
        writer.key(
            "kind",
            "\"dwrr\"",
            "SCHEDULER type; WRR counts packets there",
        );
        writer.key(
            "weights",
            format!("{{ {weights} }}"),
            "QUEUE scheduler, SCHEDULER weight",
        );
        if !strict.is_empty() {
            writer.key("strict", format!("[{strict}]"), "SCHEDULER type STRICT");
        }
    }
    writer.line("");
    Ok(())
}

/// Weights and strict queues of a port.
fn of_port<'a>(
    at: &Use<'a>,
    control: u8,
    writer: &mut Writer,
) -> Result<Option<Of<'a, String>>, FileError> {
    let (mut weights, mut strict, mut first) = (Vec::new(), Vec::new(), None);
    for queue in 0..8_u8 {
        let settings = at.db.queues.get(&(at.port.to_owned(), queue));
        let Some(name) = settings.and_then(|queue| queue.scheduler.as_ref()) else {
            continue;
        };
        let Some(it) = at.db.schedulers.get(&name.value) else {
            continue;
        };
        if let Some(shaper) = it.shapers.first() {
            let found = format!("a shaper for queue {queue} of {}", at.whose());
            let expected = "a scheduler without pir, cir and meter_type: a scenario has no shapers";
            return Err(at.db.place(shaper).error(found, expected));
        }
        first.get_or_insert_with(|| name.spot.clone());
        if queue == control {
            writer.leave_out(format!(
                "{}: scheduler of queue {queue}: it carries CNPs, which go before all others in a scenario",
                at.db.name()
            ));
            continue;
        }
        match it.kind.as_ref().map(|kind| kind.value.as_str()) {
            Some("STRICT") => strict.push(queue.to_string()),
            _ => {
                let weight = it.weight.as_ref().map_or(1, |weight| weight.value);
                weights.push(format!("{queue} = {weight}"));
            }
        }
    }
    Ok(first.map(|spot| Of {
        value: format!("{}|{}", weights.join(", "), strict.join(", ")),
        db: at.db,
        whose: at.whose(),
        spot,
    }))
}
