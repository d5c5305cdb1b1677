//! The PFC watchdog, where all ports have one, or those to hosts.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

use super::fabric_ports::{Ports, Use};
use super::same::{Of, common};
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
    let mut all: Vec<Of<'_, Times>> = Vec::new();
    // Ports to switches, and to hosts.
    let (mut with, mut without) = ([0_usize; 2], [0_usize; 2]);
    for at in ports.all() {
        let to = usize::from(at.to_host);
        match times(&at, writer) {
            None => without[to] += 1,
            Some(it) => {
                with[to] += 1;
                all.push(it);
            }
        }
    }
    let which = match (with, without) {
        (_, [0, 0]) => "all",
        ([0, _], [_, 0]) => "hosts",
        _ => {
            writer.leave_out(format!(
                "PFC_WD: {first} and {} other ports have one, {} have none: a scenario has it at all ports or at those to \
                 hosts",
                all.len() - 1,
                without[0] + without[1]
            ));
            return Ok(());
        }
    };
    if let Some(same) = common("PFC_WD", &all, writer) {
        write(&same, which, writer);
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

impl Display for Times {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "detection_time {} ms, restoration_time {} ms, POLL_INTERVAL {} ms, action {}",
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
fn times<'a>(at: &Use<'a>, writer: &mut Writer) -> Option<Of<'a, Times>> {
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
    let value = Times {
        detection,
        restoration,
        poll: at.db.watchdog.poll.as_ref().map_or(POLL, |it| it.value),
        action: action.map_or("drop".to_owned(), |it| it.value.clone()),
    };
    Some(Of {
        value,
        db: at.db,
        whose: at.whose(),
        spot: it.spot.clone(),
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
