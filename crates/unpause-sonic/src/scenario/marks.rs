//! Schemes: PFC alone, and with DCQCN by the curves of the queues.

use std::collections::BTreeSet;

use super::fabric_ports::{Ports, Use};
use super::places::{At, differing, most};
use super::writer::{Scope, Writer};
use crate::finding::Given;
use crate::model::{COLORS, Curve as Colour, Green, Wred};
use unpause_import::FileError;
use unpause_text::count::count;

/// A curve: bytes of the smallest and the largest threshold, percent at the largest.
type Curve = (u64, u64, u64);

/// Writes the schemes. `control` is the priority of CNPs, whose queue has no curve.
pub(super) fn schemes(
    ports: &Ports<'_>,
    lossless: &BTreeSet<u8>,
    control: u8,
    writer: &mut Writer,
) -> Result<(), FileError> {
    let mut all = Vec::new();
    for at in ports.all() {
        for number in (0..8).filter(|number| *number != control) {
            let value = curve(&at, number, writer)?;
            all.push(At { at, number, value });
        }
        let own = at.db.queues.get(&(at.port.to_owned(), control));
        if own.is_some_and(|it| it.wred.is_some()) {
            writer.leave_out(format!(
                "{}: wred_profile of queue {control}: it carries CNPs, which no scenario marks or drops so",
                at.db.name()
            ));
        }
    }
    writer.line("[[scheme]]");
    writer.line("name = \"PFC\"");
    writer.line("");
    let is_lossless = |it: &&At<'_, Option<Curve>>| lossless.contains(&it.number);
    let with = |of: &[&At<'_, Option<Curve>>]| -> Vec<Curve> {
        of.iter().filter_map(|it| it.value).collect()
    };
    let every: Vec<&At<'_, Option<Curve>>> = all.iter().collect();
    let own: Vec<&At<'_, Option<Curve>>> = all.iter().filter(is_lossless).collect();
    let curves = match with(&own) {
        none if none.is_empty() => with(&every),
        some => some,
    };
    if curves.is_empty() {
        return Ok(());
    }
    let same = most(&curves.iter().collect::<Vec<_>>());
    write(same, writer);
    let different = differing("wred_profile", &all, most, writer);
    for (scope, value) in different {
        let is_general = scope.port.is_none() && scope.switch.is_none();
        if is_general && value == Some(same) {
            continue;
        }
        own_curve(&scope, value, writer);
    }
    Ok(())
}

/// Writes the curve of queues that differ from the scheme.
fn own_curve(scope: &Scope, value: Option<Curve>, writer: &mut Writer) {
    let Some((min, max, percent)) = value else {
        return writer.of(
            scope,
            "marking",
            "\"none\"",
            "QUEUE without a wred_profile that marks",
        );
    };
    let from = "QUEUE wred_profile";
    writer.of(scope, "kmin", format!("\"{min}B\""), from);
    writer.of(scope, "kmax", format!("\"{max}B\""), from);
    writer.of(scope, "pmax", share(percent), from);
}

fn share(percent: u64) -> String {
    format!("{}", percent as f64 / 100.0)
}

fn write((min, max, percent): Curve, writer: &mut Writer) {
    writer.line("[[scheme]]");
    let of_hosts = "what hosts do with marks no switch says: DCQCN";
    writer.key("name", "\"PFC+DCQCN\"", of_hosts);
    writer.line("congestion_control = \"dcqcn\"");
    let of_switches = "WRED_PROFILE: marks what is ECN-capable, drops the rest";
    writer.key("marking", "\"wred\"", of_switches);
    writer.line("");
    writer.line("[scheme.wred]");
    for (key, value, of) in [
        ("kmin", format!("\"{min}B\""), "green_min_threshold"),
        ("kmax", format!("\"{max}B\""), "green_max_threshold"),
        ("pmax", share(percent), "green_drop_probability"),
    ] {
        writer.key(key, value, &format!("WRED_PROFILE {of}"));
    }
    writer.line("");
}

/// The curve of green packets of a queue, if it marks them.
fn curve(at: &Use<'_>, queue: u8, writer: &mut Writer) -> Result<Option<Curve>, FileError> {
    let settings = at.db.queues.get(&(at.port.to_owned(), queue));
    let name = settings.and_then(|queue| queue.wred.as_ref());
    let Some((name, it)) = name.and_then(|name| at.db.wred.get_key_value(&name.value)) else {
        return Ok(None);
    };
    let whose = format!("{}: WRED_PROFILE {name}", at.db.name());
    let why = match it.green() {
        Green::Marks(of) => match (&of.min, &of.max) {
            (Some(min), Some(max)) => {
                others(&whose, it, writer);
                return rising(at, min, max, &of).map(Some);
            }
            _ => "no thresholds of green packets: its queues mark and drop nothing here",
        },
        Green::Drops => {
            "it drops green packets and marks none (ecn): its queues mark and drop nothing here"
        }
        Green::Off => {
            "it marks no green packets (wred_green_enable, ecn): its queues mark and drop nothing here"
        }
    };
    writer.leave_out(format!("{whose}: {why}"));
    Ok(None)
}

/// A curve whose first threshold is not above the second one.
fn rising(
    at: &Use<'_>,
    min: &Given<u64>,
    max: &Given<u64>,
    of: &Colour,
) -> Result<Curve, FileError> {
    if min.value > max.value {
        let found = format!(
            "green_min_threshold of {} B above green_max_threshold of {} B",
            count(min.value),
            count(max.value)
        );
        let expected = "a minimum that is not above the maximum";
        return Err(at.db.place(&min.spot).error(found, expected));
    }
    let percent = of.probability.as_ref().map_or(100, |it| it.value);
    Ok((min.value, max.value, percent))
}

/// Names the curves of other colours that are not as the green one.
fn others(whose: &str, it: &Wred, writer: &mut Writer) {
    let numbers = |of: &Colour| {
        let all = [&of.min, &of.max, &of.probability];
        all.map(|it| it.as_ref().map(|it| it.value))
    };
    if it.is_off_by_default() {
        writer.leave_out(format!(
            "{whose}: wred_green_enable is missing: read as true, as the curve is meant. By SAI's default it is false, and \
             such a switch marks nothing, as under scheme PFC"
        ));
    }
    if it.marks[0].any().is_some() {
        writer.leave_out(format!(
            "{whose}: thresholds at which packets without ECN are dropped: ECN has its own, and a scenario has one curve for \
             both, that of ECN"
        ));
    }
    let [green, others @ ..] = &it.colors;
    let [own_green, own @ ..] = &it.marks;
    for (color, (other, own)) in COLORS.iter().skip(1).zip(others.iter().zip(own)) {
        let drops = numbers(green).into_iter().zip(numbers(other));
        let mut pairs = drops.chain(numbers(own_green).into_iter().zip(numbers(own)));
        if pairs.any(|(green, other)| other.is_some() && other != green) {
            writer.leave_out(format!(
                "{whose}: the curve of {color} packets: a scenario has none"
            ));
        }
    }
}
