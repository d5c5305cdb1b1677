//! Schemes: PFC alone, and with DCQCN by the curves of the queues.

use std::collections::BTreeSet;

use super::fabric_ports::{Ports, Use};
use super::places::{At, differing, most};
use super::writer::{Scope, Writer};
use crate::import::sonic::model::{COLORS, Wred};

/// A curve: bytes of the smallest and the largest threshold, percent at the largest.
type Curve = (u64, u64, u64);

/// Writes the schemes. `control` is the priority of CNPs, whose queue has no curve.
pub(super) fn schemes(
    ports: &Ports<'_>,
    lossless: &BTreeSet<u8>,
    control: u8,
    writer: &mut Writer,
) {
    let mut all = Vec::new();
    for at in ports.all() {
        for number in (0..8).filter(|number| *number != control) {
            let value = curve(&at, number, writer);
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
        return;
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
}

/// What queues have otherwise than the scheme says.
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

/// The curve of green packets of a queue, if it marks.
fn curve(at: &Use<'_>, queue: u8, writer: &mut Writer) -> Option<Curve> {
    let name = at
        .db
        .queues
        .get(&(at.port.to_owned(), queue))?
        .wred
        .as_ref()?;
    let it: &Wred = at.db.wred.get(&name.value)?;
    let name = &name.value;
    let [green, others @ ..] = &it.colors;
    let marks = it.ecn.as_ref().is_some_and(|ecn| ecn.value != "ecn_none");
    let (Some(min), Some(max), true) = (&green.min, &green.max, marks) else {
        writer.leave_out(format!(
            "{}: WRED_PROFILE {name}: no ECN, or no curve for green packets: its queues mark and drop nothing here",
            at.db.name()
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
    Some((min.value, max.value, percent))
}
