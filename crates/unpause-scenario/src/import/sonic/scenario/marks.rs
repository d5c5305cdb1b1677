//! Schemes: PFC alone, and with DCQCN by the curve of the lossless queues.

use std::collections::BTreeSet;

use super::fabric_ports::{Ports, Use};
use super::same::{Of, by_switch};
use super::writer::Writer;
use crate::import::FileError;
use crate::import::sonic::model::{COLORS, Wred};

/// A curve, as one text: min, max, percent.
type OfCurve<'a> = Of<'a, String>;

/// Writes the schemes.
pub(super) fn schemes(
    ports: &Ports<'_>,
    lossless: &BTreeSet<u8>,
    writer: &mut Writer,
) -> Result<(), FileError> {
    let mut all: Vec<OfCurve<'_>> = Vec::new();
    let mut without = Vec::new();
    for at in ports.all() {
        lossy(&at, lossless, writer);
        for queue in lossless {
            let settings = at.db.queues.get(&(at.port.to_owned(), *queue));
            let name = settings.and_then(|settings| settings.wred.as_ref());
            match name.and_then(|name| Some((name, at.db.wred.get(&name.value)?))) {
                None => without.push(format!("{} queue {queue}", at.whose())),
                Some((name, it)) => all.extend(curve(&at, *queue, &name.value, it, writer)),
            }
        }
    }
    writer.line("[[scheme]]");
    writer.line("name = \"PFC\"");
    writer.line("");
    let Some((curve, others)) = by_switch("the curve of marks (min, max, percent)", &all)? else {
        return Ok(());
    };
    if let Some(first) = without.first() {
        writer.leave_out(format!(
            "{first}: no wred_profile, as {} other queues: here they mark as the others",
            without.len() - 1
        ));
    }
    for (switch, other) in &others {
        let from = "WRED_PROFILE of this switch";
        let (min, max, share) = parts(other);
        writer.own(switch, "kmin", format!("\"{min}B\""), from);
        writer.own(switch, "kmax", format!("\"{max}B\""), from);
        writer.own(switch, "pmax", format!("{share}"), from);
    }
    let (min, max, share) = parts(&curve);
    writer.line("[[scheme]]");
    let of_hosts = "what hosts do with marks no switch says: DCQCN";
    writer.key("name", "\"PFC+DCQCN\"", of_hosts);
    writer.line("congestion_control = \"dcqcn\"");
    writer.line("");
    writer.line("[scheme.dcqcn]");
    writer.key(
        "kmin",
        format!("\"{min}B\""),
        "WRED_PROFILE green_min_threshold",
    );
    writer.key(
        "kmax",
        format!("\"{max}B\""),
        "WRED_PROFILE green_max_threshold",
    );
    writer.key(
        "pmax",
        format!("{share}"),
        "WRED_PROFILE green_drop_probability",
    );
    writer.line("");
    Ok(())
}

/// The smallest and the largest threshold of a curve, and the share at the largest.
fn parts(curve: &str) -> (&str, &str, f64) {
    let mut words = curve.split(' ');
    let mut word = || words.next().unwrap_or_default();
    let (min, max, percent) = (word(), word(), word());
    let share = percent.parse::<f64>().unwrap_or(100.0) / 100.0;
    (min, max, share)
}

/// Curves of lossy queues.
fn lossy(at: &Use<'_>, lossless: &BTreeSet<u8>, writer: &mut Writer) {
    let own = (at.port.to_owned(), 0)..=(at.port.to_owned(), u8::MAX);
    for ((_, queue), settings) in at.db.queues.range(own) {
        let Some(name) = settings.wred.as_ref().filter(|_| !lossless.contains(queue)) else {
            continue;
        };
        writer.leave_out(format!(
            "{}: QUEUE {queue} wred_profile {}: of a lossy queue; a scheme marks alike in every queue",
            at.whose(),
            name.value
        ));
    }
}

/// The curve of green packets, if it marks.
fn curve<'a>(
    at: &Use<'a>,
    queue: u8,
    name: &str,
    it: &Wred,
    writer: &mut Writer,
) -> Option<OfCurve<'a>> {
    let [green, others @ ..] = &it.colors;
    let marks = it.ecn.as_ref().is_some_and(|ecn| ecn.value != "ecn_none");
    let (Some(min), Some(max), true) = (&green.min, &green.max, marks) else {
        writer.leave_out(format!(
            "{}: WRED_PROFILE {name}: no ECN, or no curve for green packets: it marks nothing",
            at.whose()
        ));
        return None;
    };
    for (color, other) in COLORS.iter().skip(1).zip(others) {
        if other.min.as_ref().is_some_and(|it| it.value != min.value) {
            writer.leave_out(format!(
                "{}: WRED_PROFILE {name}: the curve of {color} packets: a scenario has none",
                at.db.name()
            ));
        }
    }
    let percent = green.probability.as_ref().map_or(100, |it| it.value);
    Some(Of {
        value: format!("{} {} {percent}", min.value, max.value),
        db: at.db,
        whose: format!("{} queue {queue}", at.whose()),
        spot: min.spot.clone(),
    })
}
