//! The PFC watchdog: times that are shorter than its looks, and queues that it cannot watch.

use std::ops::RangeInclusive;

use crate::finding::{Finding, Given, Severity, Spot};
use crate::model::ConfigDb;

/// SONiC's time between two looks where none is set, ms.
const DEFAULT_POLL: u64 = 100;
/// The poll intervals that SONiC's command accepts, ms.
const POLLS: RangeInclusive<u64> = 100..=1000;
/// The times that the watchdog accepts, ms; it refuses an entry with another time.
const DETECTIONS: RangeInclusive<u64> = 100..=5000;
const RESTORATIONS: RangeInclusive<u64> = 100..=60_000;

/// Checks the watchdog.
pub(super) fn check(db: &ConfigDb, findings: &mut Vec<Finding>) {
    let dog = &db.watchdog;
    if dog.ports.is_empty() && dog.poll.is_none() {
        return;
    }
    let poll = dog.poll.as_ref().map_or(DEFAULT_POLL, |poll| poll.value);
    if let Some(given) = dog
        .poll
        .as_ref()
        .filter(|poll| !POLLS.contains(&poll.value))
    {
        outside(Severity::Warning, "POLL_INTERVAL", given, &POLLS, findings);
    }
    for (port, it) in &dog.ports {
        for (name, time, range) in [
            ("detection_time", &it.detection, &DETECTIONS),
            ("restoration_time", &it.restoration, &RESTORATIONS),
        ] {
            let Some(time) = time else {
                continue;
            };
            if time.value < poll {
                let message = format!(
                    "{name} is shorter than the watchdog's poll: {} ms < {poll} ms",
                    time.value
                );
                let line = format!(
                    "the watchdog polls every {poll} ms, so {} ms become at least {poll} ms: {}",
                    time.value,
                    match name {
                        "detection_time" =>
                            "a storm is found after one poll, and a PAUSE of one interval is called a storm",
                        _ => "a storm is over after one poll without a PFC frame",
                    }
                );
                let fix = format!(
                    "set {name} to {poll} or more, or POLL_INTERVAL to {} or less",
                    time.value
                );
                let finding = Finding::new(
                    Severity::Error,
                    "watchdog-faster-than-poll",
                    &time.spot,
                    message,
                    fix,
                );
                findings.push(finding.because([line]));
            }
            if !range.contains(&time.value) {
                outside(Severity::Error, name, time, range, findings);
            }
        }
        if it.restoration.is_none() {
            let message = "no restoration_time: after a storm the queue stays as it is until the watchdog is restarted";
            let fix = "add restoration_time, in ms; `pfcwd start` takes twice detection_time";
            findings.push(Finding::new(
                Severity::Note,
                "watchdog-without-end",
                &it.spot,
                message,
                fix,
            ));
        }
        watched(db, port, findings);
    }
    others(db, findings);
}

fn outside(
    severity: Severity,
    name: &str,
    given: &Given<u64>,
    range: &RangeInclusive<u64>,
    findings: &mut Vec<Finding>,
) {
    let message = format!(
        "{name} of {} ms is outside SONiC's range, {} to {} ms",
        given.value,
        range.start(),
        range.end()
    );
    let fix = "set it within";
    findings.push(Finding::new(
        severity,
        "watchdog-range",
        &given.spot,
        message,
        fix,
    ));
}

/// Whether the watchdog of a port has anything to watch.
fn watched(db: &ConfigDb, port: &str, findings: &mut Vec<Finding>) {
    let mut warn = |spot: &Spot, message: &str, fix: &str| {
        let severity = Severity::Warning;
        findings.push(Finding::new(
            severity,
            "watchdog-without-pfc",
            spot,
            message,
            fix,
        ));
    };
    let spot = &db.watchdog.ports[port].spot;
    let qos = db.qos.get(port);
    // What cannot be read is said already.
    if qos.is_some_and(|qos| qos.is_unread) {
        return;
    }
    if qos.is_none_or(|qos| qos.pfc.is_empty()) {
        let message = "a watchdog of a port without PFC has nothing to watch";
        let fix = "set pfc_enable of the port in PORT_QOS_MAP, or remove the entry";
        warn(spot, message, fix);
        return;
    }
    let is_watched = qos.and_then(|qos| qos.watched.as_ref());
    if is_watched.is_none_or(|it| it.value.is_empty()) {
        let message =
            "the watchdog of the port watches no queue: PORT_QOS_MAP has no pfcwd_sw_enable for it";
        let fix = "set pfcwd_sw_enable of the port as pfc_enable";
        warn(spot, message, fix);
        return;
    }
    let (Some(qos), Some(watches)) = (qos, is_watched) else {
        return;
    };
    for priority in qos.pfc.difference(&watches.value) {
        let message =
            format!("PFC is on for priority {priority}, but the port's watchdog does not watch it");
        let fix = format!("add {priority} to pfcwd_sw_enable");
        let spot = &watches.spot;
        warn(spot, &message, &fix);
    }
}

/// Queues that are watched without PFC, or by no watchdog.
fn others(db: &ConfigDb, findings: &mut Vec<Finding>) {
    for (port, qos) in &db.qos {
        let Some(watched) = &qos.watched else {
            continue;
        };
        let without = watched.value.difference(&qos.pfc);
        for priority in without.filter(|_| !qos.is_unread) {
            let message = format!("the watchdog watches priority {priority}, for which PFC is off");
            let fix = format!("take {priority} out of pfcwd_sw_enable, or add it to pfc_enable");
            findings.push(Finding::new(
                Severity::Warning,
                "watchdog-without-pfc",
                &watched.spot,
                message,
                fix,
            ));
        }
        let is_on = db.watchdog.ports.contains_key(port);
        if !is_on && !watched.value.is_empty() && !db.watchdog.ports.is_empty() && port != "global"
        {
            let message = "pfcwd_sw_enable is set, but PFC_WD has no entry of the port: no watchdog watches it";
            let fix = "add the port to PFC_WD, as the other ports";
            findings.push(Finding::new(
                Severity::Note,
                "watchdog-without-pfc",
                &watched.spot,
                message,
                fix,
            ));
        }
    }
}
