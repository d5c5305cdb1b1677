//! Headroom that a cable needs, and what the profile of its port has.

use super::need::{Cable, Need};
use crate::finding::{Finding, Given, Severity};
use crate::model::{Buffer, ConfigDb, DEFAULT_MTU, Port};
use crate::values::metres;
use unpause_text::count::count;

/// Checks profiles that do not hold the headroom that a cable needs.
pub(super) fn check(
    db: &ConfigDb,
    needs: &dyn Fn(&Cable) -> Vec<Need>,
    findings: &mut Vec<Finding>,
) {
    for (port, group) in db.groups.keys() {
        let Some((given, Some(profile))) = db.lossless(port, *group) else {
            continue;
        };
        let Some(it) = db.ports.get(port) else {
            findings.extend(no_port(db, given));
            continue;
        };
        // What cannot be read is said already.
        if profile.is_unread
            || it.is_unread
            || (profile.is_dynamic_headroom && profile.xoff.is_none())
        {
            continue;
        }
        let Some(xoff) = &profile.xoff else {
            findings.push(Finding::new(
                Severity::Error,
                "headroom-too-small",
                &profile.spot,
                "a lossless profile without xoff: there is no headroom",
                "add xoff, the headroom in bytes",
            ));
            continue;
        };
        let name = profile_name(db, port, *group);
        let Some(cable) = cable_of(it) else {
            findings.push(unknown(it));
            continue;
        };
        one(it, &cable, &name, xoff, &needs(&cable), findings);
    }
}

fn profile_name(db: &ConfigDb, port: &str, group: u8) -> String {
    match db.groups.get(&(port.to_owned(), group)).map(|it| &it.value) {
        Some(Buffer::Profile(name)) => name.clone(),
        _ => String::new(),
    }
}

/// A lossless group of a file without the table `PORT`; an entry there that cannot be read is said already.
fn no_port(db: &ConfigDb, given: &Given<Buffer>) -> Option<Finding> {
    let message = "the file has no table PORT with the speeds of its ports, so the headroom of lossless groups cannot be checked";
    let fix = "check the whole file of the switch, with PORT and CABLE_LENGTH";
    let is_missing = !db.tables.iter().any(|name| name == "PORT");
    is_missing.then(|| {
        let rule = "headroom-unknown";
        Finding::new(Severity::Warning, rule, &given.spot, message, fix)
    })
}

/// The cable of a port, if the file says what it takes.
pub(super) fn cable_of(port: &Port) -> Option<Cable> {
    Some(Cable {
        mbps: port.speed.as_ref()?.value,
        metres: port.cable.as_ref()?.value,
        mtu: port.mtu.as_ref().map_or(DEFAULT_MTU, |mtu| mtu.value),
    })
}

/// The finding that the file lacks a property of a port's cable.
fn unknown(port: &Port) -> Finding {
    let (message, fix) = match port.speed {
        None => (
            "the port has no speed, so its headroom cannot be checked",
            "add \"speed\", in Mb/s",
        ),
        Some(_) => (
            "CABLE_LENGTH does not say how long the port's cable is, so its headroom cannot be checked",
            "add the port to CABLE_LENGTH, such as \"40m\": SONiC derives the port's lossless profile from it",
        ),
    };
    let rule = "headroom-unknown";
    Finding::new(Severity::Warning, rule, &port.spot, message, fix)
}

/// Speed and cable of `pg_lossless_<speed>_<cable>_profile`.
fn named(name: &str) -> Option<(u64, f64)> {
    let inside = name.strip_prefix("pg_lossless_")?;
    let mut words = inside.split('_');
    let speed = words.next()?.parse().ok()?;
    let length = metres(words.next()?).ok()?;
    Some((speed, length))
}

fn one(
    port: &Port,
    cable: &Cable,
    name: &str,
    xoff: &Given<u64>,
    needs: &[Need],
    findings: &mut Vec<Finding>,
) {
    let of_other =
        named(name).filter(|(speed, length)| *speed != cable.mbps || *length != cable.metres);
    let is_for_less =
        of_other.is_some_and(|(speed, length)| speed < cable.mbps || length < cable.metres);
    let mut short = needs.iter().enumerate();
    if let Some((at, need)) = short.find(|(_, need)| xoff.value < need.bytes) {
        let severity = if at == 0 || is_for_less {
            Severity::Error
        } else {
            Severity::Warning
        };
        let largest = needs.iter().map(|need| need.bytes).max();
        let mut finding = too_small(severity, cable, name, xoff, need, largest.unwrap_or(0));
        if let Some((speed, length)) = of_other {
            let line = format!(
                "the profile is named for {} Gb/s and {length} m",
                gbps(speed)
            );
            finding = finding.because([line]);
        }
        findings.push(finding);
    } else if let Some((speed, length)) = of_other {
        let spot = port.cable.as_ref().map_or(&port.spot, |cable| &cable.spot);
        let message = format!(
            "the port's lossless profile {name} is for {} Gb/s and {length} m, the port has {} Gb/s and {} m",
            gbps(speed),
            gbps(cable.mbps),
            cable.metres
        );
        let fix = "bind it to the profile of its own speed and cable, or correct CABLE_LENGTH";
        let rule = "profile-of-another-cable";
        findings.push(Finding::new(Severity::Warning, rule, spot, message, fix));
    }
}

fn gbps(mbps: u64) -> f64 {
    mbps as f64 / 1000.0
}

fn too_small(
    severity: Severity,
    cable: &Cable,
    name: &str,
    xoff: &Given<u64>,
    need: &Need,
    largest: u64,
) -> Finding {
    let message = format!(
        "xoff of {name} cannot hold the headroom of its cable ({} Gb/s, {} m of cable, frames of {} B): {} B, needed are {} B",
        gbps(cable.mbps),
        cable.metres,
        cable.mtu,
        count(xoff.value),
        count(need.bytes)
    );
    let missing = need.bytes - xoff.value;
    let mut lines = vec![format!("by {}:", need.profile)];
    lines.extend(need.terms.iter().map(|line| format!("  {line}")));
    lines.push(format!(
        "{} - {} = {} B of a lossless priority {} dropped, at worst, after a sender at full rate is told to stop",
        count(need.bytes),
        count(xoff.value),
        count(missing),
        if missing == 1 { "is" } else { "are" }
    ));
    let fix = format!(
        "set xoff to {largest} or more (by the larger of the calculations), or bind the port to the profile of its own \
         speed and cable (CABLE_LENGTH)"
    );
    let words = format!(
        "with {} Gb/s, {} m of cable, frames of {} B: needed are {} B",
        gbps(cable.mbps),
        cable.metres,
        cable.mtu,
        count(need.bytes)
    );
    let finding = Finding::new(severity, "headroom-too-small", &xoff.spot, message, fix);
    finding.because(lines).case(largest, words)
}
