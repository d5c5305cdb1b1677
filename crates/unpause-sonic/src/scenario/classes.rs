//! Classes, which are the same as priorities, queues and groups in a scenario; the order in which queues are served.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};

use super::fabric_ports::{Ports, Use};
use super::same::{Of, by_switch, common};
use super::writer::{Scope, Writer};
use crate::finding::Given;
use unpause_import::FileError;

const TO_GROUP: &str = "TC_TO_PRIORITY_GROUP_MAP";
const TO_QUEUE: &str = "TC_TO_QUEUE_MAP";
const PFC_TO_QUEUE: &str = "MAP_PFC_PRIORITY_TO_QUEUE";
const PFC_TO_GROUP: &str = "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP";
const DSCPS: &str = "DSCP_TO_TC_MAP";
/// Of congestion notification packets, by convention: CS6.
const CNP: u8 = 48;
/// The scenario's own priority of CNPs.
pub(super) const CONTROL: u8 = 7;

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

/// The priority of CNPs, if the switches have one for their DSCP; it is said where a scenario cannot have that one.
pub(super) fn cnp(ports: &Ports<'_>, lossless: &BTreeSet<u8>, writer: &mut Writer) -> Option<u8> {
    let mut classes: BTreeMap<Option<u8>, String> = BTreeMap::new();
    for at in ports.all() {
        let map = at.db.map(at.port, DSCPS);
        let class = map.and_then(|map| map.entries.get(&CNP));
        classes
            .entry(class.map(|class| class.value))
            .or_insert(at.whose());
    }
    let all: Vec<Option<u8>> = classes.keys().copied().collect();
    let why = match all[..] {
        [] | [None] => return None,
        [Some(class)] if class > 7 => {
            format!("class {class}, and a scenario has priorities 0 to 7")
        }
        [Some(class)] if lossless.contains(&class) => {
            format!(
                "class {class}, which is lossless: CNPs wait there behind data, and PAUSE stops them"
            )
        }
        [Some(class)] => return Some(class),
        _ => {
            let class = |class: &Option<u8>| class.map_or("none".to_owned(), |it| it.to_string());
            let each = classes
                .iter()
                .map(|(it, whose)| format!("{} at {whose}", class(it)));
            let each: Vec<String> = each.collect();
            format!("not the same class everywhere ({})", each.join(", "))
        }
    };
    writer.leave_out(format!(
        "DSCP_TO_TC_MAP {CNP} (CNPs): {why}; here CNPs have priority {CONTROL} to themselves, before all others and without PFC"
    ));
    None
}

/// Writes `[switch.scheduler]`, if all ports have the same; `control` is the priority of CNPs.
pub(super) fn scheduler(ports: &Ports<'_>, control: u8, writer: &mut Writer) {
    let mut all: Vec<Of<'_, Served>> = Vec::new();
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
        return;
    }
    let Some(Served { weights, strict }) = common("the scheduler", &all, writer) else {
        return;
    };
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
}

/// Weights and strict queues of a port.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Served {
    /// `0 = 14, 3 = 15`
    weights: String,
    /// `5, 6`
    strict: String,
}

impl Display for Served {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.weights.as_str(), self.strict.as_str()) {
            (weights, "") => write!(f, "{weights}"),
            ("", strict) => write!(f, "strict {strict}"),
            (weights, strict) => write!(f, "{weights}, strict {strict}"),
        }
    }
}

/// How a port serves its queues.
fn of_port<'a>(at: &Use<'a>, control: u8, writer: &mut Writer) -> Option<Of<'a, Served>> {
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
        value: Served {
            weights: weights.join(", "),
            strict: strict.join(", "),
        },
        db: at.db,
        whose: at.whose(),
        spot,
    })
}
