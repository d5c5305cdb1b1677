//! The PFC watchdog, where all ports have one, or those to hosts.

use std::collections::BTreeSet;

use super::fabric_ports::{Ports, Use};
use super::same::{Of, one};
use super::writer::Writer;
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
    let polls = polls(ports)?;
    let Some(first) = first else {
        return Ok(());
    };
    if has_maps {
        writer.leave_out(format!(
            "PFC_WD of {first}: a scenario has no watchdog where class, queue and group have different numbers"
        ));
        return Ok(());
    }
    let mut all: Vec<Of<'_, String>> = Vec::new();
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
    let times = one(
        "the watchdog's detection_time, restoration_time and action",
        &all,
    )?;
    let poll = one("POLL_INTERVAL", &polls)?.unwrap_or(POLL);
    write(&times.unwrap_or_default(), poll, which, writer);
    Ok(())
}

/// Writes the table: times and action as [`times`] has them, ms between two polls, and at which ports.
fn write(times: &str, poll: u64, which: &str, writer: &mut Writer) {
    let mut words = times.split(' ');
    let mut word = || words.next().unwrap_or_default();
    writer.line("[switch.watchdog]");
    writer.key(
        "detection_time",
        format!("\"{}ms\"", word()),
        "PFC_WD detection_time",
    );
    writer.key(
        "restoration_time",
        format!("\"{}ms\"", word()),
        "PFC_WD restoration_time",
    );
    writer.key(
        "poll_interval",
        format!("\"{poll}ms\""),
        "PFC_WD GLOBAL POLL_INTERVAL",
    );
    writer.key("action", format!("\"{}\"", word()), "PFC_WD action");
    writer.key("ports", format!("\"{which}\""), "ports that PFC_WD names");
    writer.line("");
}

/// Times and action of a port, as one text.
fn times<'a>(at: &Use<'a>, writer: &mut Writer) -> Option<Of<'a, String>> {
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
    let action = it.action.as_ref().map_or("drop", |it| it.value.as_str());
    Some(Of {
        value: format!("{detection} {restoration} {action}"),
        db: at.db,
        whose: at.whose(),
        spot: it.spot.clone(),
    })
}

/// How often switches look that have a watchdog anywhere.
fn polls<'a>(ports: &Ports<'a>) -> Result<Vec<Of<'a, u64>>, FileError> {
    let mut polls = Vec::new();
    for db in ports.switches() {
        let dog = &db.watchdog;
        if let Some(switch) = dog
            .big_red_switch
            .as_ref()
            .filter(|it| it.value == "enable")
        {
            let expected = "disable: a scenario's watchdog has no such switch";
            return Err(db
                .place(&switch.spot)
                .error("BIG_RED_SWITCH enable", expected));
        }
        if let Some(poll) = dog.poll.as_ref().filter(|_| !dog.ports.is_empty()) {
            polls.push(Of {
                value: poll.value,
                db,
                whose: db.name(),
                spot: poll.spot.clone(),
            });
        }
    }
    Ok(polls)
}
