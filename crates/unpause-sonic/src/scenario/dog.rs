//! The PFC watchdog: of all ports, of those to hosts, or of some.

use std::collections::BTreeSet;

use super::fabric_ports::{Ports, Use};
use super::places::{At, differing, most_of_all};
use super::writer::Writer;
use crate::model::ConfigDb;
use unpause_import::FileError;

/// SONiC's time between two looks where none is set, ms.
const POLL: u64 = 100;

/// Writes `[switch.watchdog]`.
pub(super) fn watchdog(
    ports: &Ports<'_>,
    lossless: &BTreeSet<u8>,
    has_maps: bool,
    writer: &mut Writer,
) -> Result<(), FileError> {
    let mut with_one = ports
        .all()
        .filter(|at| at.db.watchdog.ports.contains_key(at.port));
    let first = with_one.next().map(|at| at.whose());
    if let Some(first) = first.as_ref().filter(|_| lossless.is_empty()) {
        writer.leave_out(format!(
            "PFC_WD of {first}: no priority is lossless, so a watchdog has nothing to watch"
        ));
        return Ok(());
    }
    for db in ports.switches() {
        big_red_switch(db)?;
    }
    let Some(first) = first else {
        return Ok(());
    };
    if has_maps {
        writer.leave_out(format!(
            "PFC_WD of {first}: a scenario has no watchdog where class, queue and group have different numbers"
        ));
        return Ok(());
    }
    let mut all = Vec::new();
    for at in ports.all() {
        let value = times(&at, writer);
        let number = 0;
        all.push(At { at, number, value });
    }
    let which = |all: &[At<'_, Option<Times>>]| -> Option<Times> {
        let first = all.first()?.value.clone()?;
        all.iter()
            .all(|it| it.value.as_ref() == Some(&first))
            .then_some(first)
    };
    let (to_hosts, others): (Vec<_>, Vec<_>) = all.iter().cloned().partition(|it| it.at.to_host);
    let others_have_none = others.iter().all(|it| it.value.is_none());
    match (which(&all), which(&to_hosts)) {
        (Some(same), _) => write(&same, "all", writer),
        (None, Some(same)) if others_have_none => write(&same, "hosts", writer),
        _ => {
            for (mut scope, value) in differing("PFC_WD", &all, most_of_all, writer) {
                scope.priorities.clear();
                match value {
                    Some(times) if scope.port.is_none() && scope.switch.is_none() => {
                        write(&times, "all", writer);
                    }
                    Some(times) => writer.of(&scope, "watchdog", times.inline(), "PFC_WD"),
                    None => {}
                }
            }
        }
    }
    Ok(())
}

/// The settings of a watchdog.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Times {
    /// ms.
    detection: u64,
    /// ms.
    restoration: u64,
    /// Between two polls, ms.
    poll: u64,
    action: String,
}

impl Times {
    /// As an inline table.
    fn inline(&self) -> String {
        format!(
            "{{ detection_time = \"{}ms\", restoration_time = \"{}ms\", poll_interval = \"{}ms\", action = \"{}\" }}",
            self.detection, self.restoration, self.poll, self.action
        )
    }
}

/// Writes the table, for `which` ports.
fn write(times: &Times, which: &str, writer: &mut Writer) {
    writer.line("[switch.watchdog]");
    for (key, value) in [
        ("detection_time", times.detection),
        ("restoration_time", times.restoration),
    ] {
        writer.key(key, format!("\"{value}ms\""), &format!("PFC_WD {key}"));
    }
    writer.key(
        "poll_interval",
        format!("\"{}ms\"", times.poll),
        "PFC_WD GLOBAL POLL_INTERVAL",
    );
    writer.key("action", format!("\"{}\"", times.action), "PFC_WD action");
    writer.key("ports", format!("\"{which}\""), "ports that PFC_WD names");
    writer.line("");
}

/// Times and action of a port.
fn times(at: &Use<'_>, writer: &mut Writer) -> Option<Times> {
    let it = at.db.watchdog.ports.get(at.port)?;
    let qos = at.db.qos.get(at.port);
    let watched = qos.and_then(|qos| qos.watched.as_ref());
    if let Some(qos) = qos.filter(|qos| watched.is_none_or(|it| qos.pfc != it.value)) {
        writer.leave_out(format!(
            "{}: pfcwd_sw_enable is not as pfc_enable: a scenario's watchdog watches all lossless priorities, here {:?}",
            at.whose(),
            qos.pfc
        ));
    }
    let detection = it.detection.as_ref().map_or(200, |it| it.value);
    if it.restoration.is_none() {
        writer.leave_out(format!(
            "{}: PFC_WD has no restoration_time, and SONiC never ends a storm by itself: {} ms here, as `pfcwd start` has it",
            at.whose(),
            2 * detection
        ));
    }
    let restoration = it.restoration.as_ref().map_or(2 * detection, |it| it.value);
    let action = it.action.as_ref();
    Some(Times {
        detection,
        restoration,
        poll: at.db.watchdog.poll.as_ref().map_or(POLL, |it| it.value),
        action: action.map_or("drop".to_owned(), |it| it.value.clone()),
    })
}

/// Refuses the switch that stops all lossless queues.
fn big_red_switch(db: &ConfigDb) -> Result<(), FileError> {
    let switch = db.watchdog.big_red_switch.as_ref();
    match switch.filter(|it| it.value == "enable") {
        None => Ok(()),
        Some(switch) => {
            let expected = "disable: a scenario's watchdog has no such switch";
            Err(db
                .place(&switch.spot)
                .error("BIG_RED_SWITCH enable", expected))
        }
    }
}
