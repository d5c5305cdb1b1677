//! Classes, which are the same as priorities, queues and groups in a scenario; the order in which queues are served.

use std::collections::{BTreeMap, BTreeSet};

use super::fabric_ports::{Ports, Use};
use super::same::{Of, by_switch, one};
use super::writer::{Scope, Writer};
use crate::import::FileError;
use crate::import::sonic::finding::Given;

const TO_GROUP: &str = "TC_TO_PRIORITY_GROUP_MAP";
const TO_QUEUE: &str = "TC_TO_QUEUE_MAP";
const PFC_TO_QUEUE: &str = "MAP_PFC_PRIORITY_TO_QUEUE";
const PFC_TO_GROUP: &str = "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP";
const DSCPS: &str = "DSCP_TO_TC_MAP";
/// Of congestion notification packets, by convention: CS6.
const CNP: u8 = 48;

/// Writes the maps that make a class, its queue and its group different; answers whether there are any. `control` is the
/// priority of CNPs.
pub(super) fn maps(
    ports: &Ports<'_>,
    lossless: &BTreeSet<u8>,
    control: u8,
    writer: &mut Writer,
) -> Result<bool, FileError> {
    let mut written = false;
    for (table, key) in [
        (TO_QUEUE, "tc_to_queue"),
        (TO_GROUP, "tc_to_pg"),
        (PFC_TO_QUEUE, "pfc_to_queue"),
    ] {
        let mut all = Vec::new();
        for at in ports.all() {
            all.push(of_map(&at, table, lossless, control, writer)?);
        }
        let Some((same, others)) = by_switch(&format!("{table}, but for the identity,"), &all)?
        else {
            continue;
        };
        if !same.is_empty() {
            writer.of(&Scope::default(), key, format!("{{ {same} }}"), table);
        }
        for (switch, own) in &others {
            writer.own(switch, key, format!("{{ {own} }}"), table);
        }
        written |= !same.is_empty() || !others.is_empty();
    }
    for at in ports.all() {
        let map = at.db.map(at.port, PFC_TO_GROUP);
        let mut entries = map.into_iter().flat_map(|map| &map.entries);
        let differs = |(from, to): &(&u8, &Given<u8>)| {
            to.value != **from && (lossless.contains(*from) || lossless.contains(&to.value))
        };
        if let Some((from, to)) = entries.find(differs) {
            let found = format!(
                "{from} -> {} in {PFC_TO_GROUP}, at {}",
                to.value,
                at.whose()
            );
            let expected = "the same number on both sides: in a scenario a group asks for PAUSE of its own number; `unpause \
                            lint` says what this map does";
            return Err(at.db.place(&to.spot).error(found, expected));
        }
    }
    Ok(written)
}

/// The entries of a map at a port that make a difference.
fn of_map<'a>(
    at: &Use<'a>,
    table: &'static str,
    lossless: &BTreeSet<u8>,
    control: u8,
    writer: &mut Writer,
) -> Result<Of<'a, String>, FileError> {
    let map = at.db.map(at.port, table);
    let own = super::buffers::own_lossless(at);
    let mut kept = Vec::new();
    let entries = map.into_iter().flat_map(|map| &map.entries);
    for (from, to) in entries.filter(|(from, to)| **from < 8 && to.value != **from) {
        let matters = match table {
            // Lossy groups need no number of their own.
            TO_GROUP => own.contains(from) || own.contains(&to.value),
            PFC_TO_QUEUE => lossless.contains(from),
            _ => true,
        };
        if !matters {
            continue;
        }
        if *from != control && to.value != control {
            kept.push(format!("{from} = {}", to.value));
            continue;
        }
        let found = format!("{from} -> {} in {table}, at {}", to.value, at.whose());
        if lossless.contains(from) {
            let expected =
                "another queue: that one carries CNPs, which have it to themselves in a scenario";
            return Err(at.db.place(&to.spot).error(found, expected));
        }
        writer.leave_out(format!(
            "{found}: CNPs have priority {control} to themselves in a scenario"
        ));
    }
    Ok(Of {
        value: kept.join(", "),
        db: at.db,
        whose: at.whose(),
        spot: map.map_or_else(|| at.db.ports[at.port].spot.clone(), |it| it.spot.clone()),
    })
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
        match of_port(&at, control, writer) {
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
fn of_port<'a>(at: &Use<'a>, control: u8, writer: &mut Writer) -> Option<Of<'a, String>> {
    let (mut weights, mut strict, mut first) = (Vec::new(), Vec::new(), None);
    for queue in 0..8_u8 {
        let settings = at.db.queues.get(&(at.port.to_owned(), queue));
        let Some(name) = settings.and_then(|queue| queue.scheduler.as_ref()) else {
            continue;
        };
        let Some(it) = at.db.schedulers.get(&name.value) else {
            continue;
        };
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
    first.map(|spot| Of {
        value: format!("{}|{}", weights.join(", "), strict.join(", ")),
        db: at.db,
        whose: at.whose(),
        spot,
    })
}
