//! PFC without a lossless priority group, and the reverse.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Finding, Given, Severity, Spot};
use crate::model::{Buffer, ConfigDb};

/// Whether the file has no lossless groups yet: SONiC makes them when ports come up.
fn is_template(db: &ConfigDb) -> bool {
    let mut groups = db.groups.keys();
    db.profiles
        .values()
        .all(|profile| profile.xoff.is_none() && !profile.is_unread)
        && !groups.any(|(port, group)| db.lossless(port, *group).is_some())
}

/// Checks ports whose PFC and priority groups do not agree.
pub(super) fn check(db: &ConfigDb, findings: &mut Vec<Finding>) {
    let is_template = is_template(db);
    for (port, qos) in db.pfc_ports() {
        if port == "global" {
            findings.push(Finding::new(
                Severity::Error,
                "pfc-without-pg",
                &qos.pfc_spot,
                "pfc_enable of the key global has no effect: PFC is a setting of a port",
                "write pfc_enable in the entry of each port",
            ));
            continue;
        }
        for priority in &qos.pfc {
            missing(db, port, *priority, is_template, findings);
        }
    }
    without_pfc(db, findings);
    uneven(db, findings);
}

/// PFC of a priority whose group is not there, or is lossy.
fn missing(
    db: &ConfigDb,
    port: &str,
    priority: u8,
    is_template: bool,
    findings: &mut Vec<Finding>,
) {
    let group = db.group_of(port, priority);
    if db.lossless(port, group).is_some() {
        return;
    }
    let qos = &db.qos[port];
    let of_port: Vec<String> = db
        .groups
        .keys()
        .filter(|(of, _)| of == port)
        .map(|(_, group)| group.to_string())
        .collect();
    let there = if of_port.is_empty() {
        "BUFFER_PG has no entry of the port".to_owned()
    } else {
        format!("BUFFER_PG has groups {} of the port", of_port.join(", "))
    };
    let entry = db.groups.get(&(port.to_owned(), group));
    let it = db.ports.get(port);
    let is_unused = it.is_some_and(|it| it.is_down)
        || it.is_some_and(|it| it.cable.as_ref().is_some_and(|cable| cable.value == 0.0));
    let (severity, message, fix) = match entry.map(|given| &given.value) {
        // Said already.
        Some(Buffer::Unknown) => return,
        Some(Buffer::Profile(name)) => (
            Severity::Error,
            format!(
                "PFC is on for priority {priority}, but its priority group {group} is lossy: {name} has no xoff, so it \
                 never asks for PAUSE and drops"
            ),
            format!("give group {group} the lossless profile of the port's speed and cable, or take {priority} out of pfc_enable"),
        ),
        // Groups of ports that are shut down are taken back; none is made for a cable of 0 m.
        _ if is_unused => (
            Severity::Note,
            format!("PFC is on for priority {priority}, but there is no priority group {group}; the port is not in use"),
            "add it to BUFFER_PG before the port is used".to_owned(),
        ),
        None if is_template => (
            Severity::Warning,
            format!("PFC is on for priority {priority}, and the file has no lossless groups at all: SONiC makes them when a port comes up"),
            "check the file that the switch has after that: what they will be depends on speed, CABLE_LENGTH and the switch's tables".to_owned(),
        ),
        _ => (
            Severity::Error,
            format!("PFC is on for priority {priority}, but there is no priority group {group}: its frames have no headroom"),
            format!("add \"{port}|{group}\" to BUFFER_PG with the lossless profile of the port's speed and cable, or take {priority} out of pfc_enable")
                .replace(port, "<port>"),
        ),
    };
    let spot = match entry {
        Some(given) => &given.spot,
        None => &qos.pfc_spot,
    };
    let enabled: Vec<String> = qos.pfc.iter().map(u8::to_string).collect();
    let numbers = format!("pfc_enable is \"{}\"; {there}", enabled.join(","));
    findings.push(Finding::new(severity, "pfc-without-pg", spot, message, fix).because([numbers]));
}

/// A lossless group for which no PAUSE is sent.
fn without_pfc(db: &ConfigDb, findings: &mut Vec<Finding>) {
    for ((port, group), given) in &db.groups {
        if db.lossless(port, *group).is_none() {
            continue;
        }
        let qos = db.qos.get(port);
        // What cannot be read is said already.
        if qos.is_some_and(|qos| qos.is_unread) {
            continue;
        }
        let asks = |priority: &u8| db.group_of(port, *priority) == *group;
        if qos.is_some_and(|qos| qos.pfc.iter().any(asks)) {
            continue;
        }
        let enabled = match qos {
            None => "PORT_QOS_MAP has no entry of the port".to_owned(),
            Some(qos) if qos.pfc.is_empty() => "the port has no pfc_enable".to_owned(),
            Some(qos) => {
                let enabled: Vec<String> = qos.pfc.iter().map(u8::to_string).collect();
                format!("pfc_enable is \"{}\"", enabled.join(","))
            }
        };
        let message = format!(
            "priority group {group} is lossless, but PFC is off for it: no PAUSE is sent, and what its headroom cannot \
             hold is dropped"
        );
        let fix = format!(
            "add {group} to pfc_enable of the port in PORT_QOS_MAP, or give the group a lossy profile"
        );
        let finding = Finding::new(Severity::Error, "pg-without-pfc", &given.spot, message, fix);
        findings.push(finding.because([enabled]));
    }
}

/// Ports whose priorities with PFC are not those of the others, and a file that says nothing of PFC.
fn uneven(db: &ConfigDb, findings: &mut Vec<Finding>) {
    let unread = db.qos.values().any(|qos| qos.is_unread);
    let mut sets: BTreeMap<&BTreeSet<u8>, Vec<&Spot>> = BTreeMap::new();
    for (_, qos) in db.pfc_ports() {
        sets.entry(&qos.pfc).or_default().push(&qos.pfc_spot);
    }
    let listed = |set: &BTreeSet<u8>| {
        let names: Vec<String> = set.iter().map(u8::to_string).collect();
        names.join(",")
    };
    let most = sets.iter().max_by_key(|(_, ports)| ports.len());
    let Some((usual, _)) = most else {
        if !unread {
            findings.extend(nothing(db));
        }
        return;
    };
    let all: BTreeSet<u8> = sets.keys().flat_map(|set| set.iter().copied()).collect();
    for (port, qos) in db.pfc_ports() {
        for priority in all.difference(&qos.pfc) {
            // Ports whose maps bring nothing into that class need no PFC for it.
            if !comes_here(db, port, *priority) {
                continue;
            }
            let message = format!(
                "PFC is off for priority {priority} here and on at other ports, though DSCPs map to its class: traffic \
                 is lossless on one path through the switch and not on another"
            );
            let fix = "set pfc_enable alike at all ports of that class, or give these ports another dscp_to_tc_map";
            let finding =
                Finding::new(Severity::Warning, "pfc-uneven", &qos.pfc_spot, message, fix);
            findings
                .push(finding.because([format!("pfc_enable is \"{}\" here", listed(&qos.pfc))]));
        }
    }
    let without = db.ports.iter().filter(|(name, port)| {
        let qos = db.qos.get(*name);
        !port.is_down && qos.is_none_or(|qos| qos.pfc.is_empty() && !qos.is_unread)
    });
    for (_, port) in without {
        let message = format!(
            "the port has no PFC, though others have it for {}",
            listed(usual)
        );
        let fix = "set pfc_enable of the port if lossless traffic enters or leaves there";
        findings.push(Finding::new(
            Severity::Note,
            "pfc-uneven",
            &port.spot,
            message,
            fix,
        ));
    }
}

/// A file by which every class is lossy.
fn nothing(db: &ConfigDb) -> Option<Finding> {
    let is_lossless = |(port, group): &(String, u8)| db.lossless(port, *group).is_some();
    // What cannot be read is said already.
    let is_unread = |given: &Given<Buffer>| given.value == Buffer::Unknown;
    if db.groups.keys().any(is_lossless) || db.groups.values().any(is_unread) {
        return None;
    }
    let spot = Spot {
        at: 0,
        path: "$".into(),
    };
    let (message, fix) = if db.groups.is_empty() && db.qos.is_empty() {
        (
            "the file has nothing about PFC: neither pfc_enable nor lossless priority groups",
            "check the file that the switch has, with PORT_QOS_MAP and BUFFER_PG",
        )
    } else {
        (
            "nothing is lossless: no port has pfc_enable, and no priority group is lossless, so that frames of every class \
             are dropped when a queue is full",
            "nothing, if that is meant; else set pfc_enable in PORT_QOS_MAP, and bind lossless profiles in BUFFER_PG",
        )
    };
    let rule = "nothing-lossless";
    Some(Finding::new(Severity::Note, rule, &spot, message, fix))
}

/// Whether a DSCP leads to the class of a priority's queue at a port.
fn comes_here(db: &ConfigDb, port: &str, priority: u8) -> bool {
    let queue = db.queue_of(port, priority);
    let queues = db.map(port, "TC_TO_QUEUE_MAP");
    let dscps = db.map(port, "DSCP_TO_TC_MAP");
    let mut classes = dscps.into_iter().flat_map(|map| map.entries.values());
    classes.any(|class| {
        let to = queues.and_then(|map| map.entries.get(&class.value));
        to.is_some_and(|to| to.value == queue)
    })
}
