//! Maps that pause another queue than the one that fills.

use std::collections::BTreeSet;

use crate::finding::{Finding, Given, Severity, Spot};
use crate::model::{ConfigDb, Map};
use unpause_import::classes::{Mismatch, mismatches};

const TO_GROUP: &str = "TC_TO_PRIORITY_GROUP_MAP";
const TO_QUEUE: &str = "TC_TO_QUEUE_MAP";
const PFC_TO_QUEUE: &str = "MAP_PFC_PRIORITY_TO_QUEUE";
const PFC_TO_GROUP: &str = "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP";

/// Checks the maps of ports with PFC.
pub(super) fn check(db: &ConfigDb, findings: &mut Vec<Finding>) {
    for (port, qos) in db.pfc_ports() {
        // What is missing is said already.
        if port == "global" || qos.is_broken {
            continue;
        }
        for priority in &qos.pfc {
            for table in [PFC_TO_QUEUE, PFC_TO_GROUP] {
                lacks(db, port, table, *priority, findings);
            }
        }
        let Some(groups) = db.map(port, TO_GROUP) else {
            let message =
                "the port has PFC, but no tc_to_pg_map: no class maps to a lossless priority group";
            let fix = "set tc_to_pg_map of the port in PORT_QOS_MAP";
            findings.push(Finding::new(
                Severity::Error,
                "no-map",
                &qos.pfc_spot,
                message,
                fix,
            ));
            continue;
        };
        let Some(queues) = db.map(port, TO_QUEUE) else {
            let message =
                "the port has PFC, but no tc_to_queue_map: no class maps to a lossless queue";
            let fix = "set tc_to_queue_map of the port in PORT_QOS_MAP";
            findings.push(Finding::new(
                Severity::Error,
                "no-map",
                &qos.pfc_spot,
                message,
                fix,
            ));
            continue;
        };
        for priority in &qos.pfc {
            let it = Priority {
                db,
                port,
                priority: *priority,
                group: db.group_of(port, *priority),
                queue: db.queue_of(port, *priority),
            };
            it.check(groups, queues, findings);
        }
    }
}

/// A map that is there, but not for a priority with PFC.
fn lacks(
    db: &ConfigDb,
    port: &str,
    table: &'static str,
    priority: u8,
    findings: &mut Vec<Finding>,
) {
    let Some(map) = db
        .map(port, table)
        .filter(|map| !map.entries.contains_key(&priority))
    else {
        return;
    };
    let what = if table == PFC_TO_QUEUE {
        "queue"
    } else {
        "priority group"
    };
    let message = format!(
        "PFC is on for priority {priority}, but the map of its {what} ({table}) has no entry for it: the switch's default \
         {what} applies"
    );
    let fix = format!("add \"{priority}\": \"{priority}\" to the map");
    findings.push(Finding::new(
        Severity::Warning,
        "pfc-map-incomplete",
        &map.spot,
        message,
        fix,
    ));
}

/// A priority with PFC at a port.
struct Priority<'a> {
    db: &'a ConfigDb,
    port: &'a str,
    priority: u8,
    /// The group that asks for its PAUSE.
    group: u8,
    /// The queue that its PAUSE stops.
    queue: u8,
}

impl Priority<'_> {
    fn check(&self, groups: &Map, queues: &Map, findings: &mut Vec<Finding>) {
        let classes: BTreeSet<u8> = groups
            .entries
            .keys()
            .chain(queues.entries.keys())
            .copied()
            .collect();
        let entry = |map: &Map, class: u8| map.entries.get(&class).map(|to| to.value);
        let maps = (|class| entry(groups, class), |class| entry(queues, class));
        for fault in mismatches(classes.iter().copied(), maps, (self.group, self.queue)) {
            match fault {
                Mismatch::Unfed { class } => self.unfed(class, groups, findings),
                Mismatch::Another { class } => {
                    self.another(class, queues.entries.get(&class), groups, queues, findings);
                }
                Mismatch::Stopped { class } => {
                    self.stopped(class, &queues.entries[&class], groups, findings);
                }
            }
        }
    }

    /// No class comes to the group.
    fn unfed(&self, class: Option<u8>, groups: &Map, findings: &mut Vec<Finding>) {
        let Self {
            priority,
            group,
            queue,
            ..
        } = self;
        let to = class.and_then(|class| groups.entries.get(&class));
        let spot = to.map_or(&groups.spot, |to| &to.spot);
        let line = match (class, to) {
            (Some(class), Some(to)) => format!(
                "PAUSE of priority {priority} stops queue {queue}, of class {class}; class {class} fills priority group {}, not {group}",
                to.value
            ),
            (Some(class), None) => format!(
                "PAUSE of priority {priority} stops queue {queue}, of class {class}; {TO_GROUP} has no entry for class {class}"
            ),
            (None, _) => format!(
                "PAUSE of priority {priority} stops queue {queue}, to which no class maps either"
            ),
        };
        let message = format!(
            "no class maps to priority group {group}, which asks for PAUSE of priority {priority}: PAUSE is never sent, and the \
             frames fill another group"
        );
        let fix = match class {
            Some(class) => format!("map class {class} to priority group {group} in {TO_GROUP}"),
            None => format!(
                "map a class to priority group {group} in {TO_GROUP}, and to queue {queue} in {TO_QUEUE}"
            ),
        };
        findings.push(
            Finding::new(Severity::Error, "map-mismatch", spot, message, fix).because([line]),
        );
    }

    /// The group fills by a class that another queue sends.
    fn another(
        &self,
        class: u8,
        to: Option<&Given<u8>>,
        groups: &Map,
        queues: &Map,
        findings: &mut Vec<Finding>,
    ) {
        let Self {
            priority,
            group,
            queue,
            ..
        } = self;
        let its = match to {
            Some(to) => format!("queue {}", to.value),
            None => "the switch's default queue".to_owned(),
        };
        let message = format!(
            "priority group {group} asks for PAUSE of priority {priority}, which stops queue {queue}, but class {class} of that \
             group waits in {its}: what fills it is not stopped"
        );
        let pfc = match self.db.map(self.port, PFC_TO_QUEUE) {
            Some(map) if map.entries.contains_key(priority) => {
                format!("{PFC_TO_QUEUE}: {priority} -> {queue}")
            }
            _ => format!("{PFC_TO_QUEUE} has no entry for {priority}: queue {queue}"),
        };
        let line = match to {
            Some(to) => format!(
                "{TO_GROUP}: {class} -> {group}; {TO_QUEUE}: {class} -> {}; {pfc}",
                to.value
            ),
            None => format!(
                "{TO_GROUP}: {class} -> {group}; {TO_QUEUE} has no entry for {class}; {pfc}"
            ),
        };
        let (spot, fix) = self.likely(class, to, groups, queues);
        let finding = Finding::new(Severity::Error, "map-mismatch", spot, message, fix);
        findings.push(finding.because([line]));
    }

    /// The entry that is likely the wrong one: whichever of the maps is not the identity.
    fn likely<'m>(
        &'m self,
        class: u8,
        to: Option<&'m Given<u8>>,
        groups: &'m Map,
        queues: &'m Map,
    ) -> (&'m Spot, String) {
        let of_pfc = self.db.map(self.port, PFC_TO_QUEUE);
        let of_pfc = of_pfc.and_then(|map| map.entries.get(&self.priority));
        let of_pfc = of_pfc.filter(|given| given.value != self.priority);
        let to_itself = to.is_some_and(|to| to.value == class);
        let queue = self.queue;
        let in_queue = format!("map class {class} to queue {queue} in {TO_QUEUE}");
        match (to, of_pfc) {
            (_, Some(given)) if to_itself => {
                let fix = format!(
                    "map priority {} to queue {class} in {PFC_TO_QUEUE}",
                    self.priority
                );
                (&given.spot, fix)
            }
            _ if class != self.group && to_itself => {
                let fix = format!(
                    "map class {class} to a lossy priority group in {TO_GROUP}, or to queue {queue} in {TO_QUEUE}"
                );
                (&groups.entries[&class].spot, fix)
            }
            (Some(to), _) => (&to.spot, in_queue),
            (None, _) => (&queues.spot, in_queue),
        }
    }

    /// The queue that is stopped has a class whose frames fill another group.
    fn stopped(&self, class: u8, to: &Given<u8>, groups: &Map, findings: &mut Vec<Finding>) {
        let Self {
            priority,
            group,
            queue,
            ..
        } = self;
        let its = groups.entries.get(&class);
        let is_lossless = its.is_some_and(|its| self.db.lossless(self.port, its.value).is_some());
        let fills = match its {
            Some(its) => format!("priority group {}", its.value),
            None => "the switch's default priority group".to_owned(),
        };
        let message = if is_lossless {
            format!(
                "PAUSE of priority {priority} stops queue {queue}, in which class {class} waits, whose frames fill {fills}: it is \
                 stopped for others, and asks for PAUSE of another priority"
            )
        } else {
            format!(
                "class {class} waits in queue {queue}, which PAUSE of priority {priority} stops, but fills {fills}, which is \
                 lossy: its frames are delayed and then dropped"
            )
        };
        let line = match its {
            Some(its) => format!(
                "{TO_QUEUE}: {class} -> {queue}; {TO_GROUP}: {class} -> {}, not {group}",
                its.value
            ),
            None => format!("{TO_QUEUE}: {class} -> {queue}; {TO_GROUP} has no entry for {class}"),
        };
        let (spot, fix) = match its {
            Some(its) if class == *priority => (
                &its.spot,
                format!("map class {class} to priority group {group} in {TO_GROUP}"),
            ),
            _ => (
                &to.spot,
                format!(
                    "map class {class} to a queue of its own in {TO_QUEUE}, or to priority group {group} in {TO_GROUP}"
                ),
            ),
        };
        findings.push(
            Finding::new(Severity::Error, "map-mismatch", spot, message, fix).because([line]),
        );
    }
}
