//! Marks that come after PFC, and curves that drop what must not be lost.

use super::fill::Senders;
use crate::import::sonic::finding::{Finding, Given, Severity};
use crate::import::sonic::model::{COLORS, ConfigDb, Curve, Wred};
use crate::text::count::count;

/// What is said of curves, and of queues that have one.
pub(super) fn check(db: &ConfigDb, findings: &mut Vec<Finding>) {
    for (name, wred) in &db.wred {
        for (color, curve) in COLORS.iter().zip(&wred.colors) {
            shape(name, color, curve, findings);
        }
    }
    for (port, qos) in db.pfc_ports() {
        for priority in &qos.pfc {
            let queue = db.queue_of(port, *priority);
            let settings = db.queues.get(&(port.to_owned(), queue));
            let Some(name) = settings.and_then(|queue| queue.wred.as_ref()) else {
                continue;
            };
            let Some(wred) = db.wred.get(&name.value) else {
                continue;
            };
            drops(name, wred, findings);
            reach(db, port, *priority, name, wred, findings);
        }
    }
}

fn shape(name: &str, color: &str, curve: &Curve, findings: &mut Vec<Finding>) {
    let (Some(min), Some(max)) = (&curve.min, &curve.max) else {
        return;
    };
    if min.value > max.value {
        let message = format!(
            "{name}: {color}_min_threshold is above {color}_max_threshold: {} > {} B",
            count(min.value),
            count(max.value)
        );
        let fix = "set the minimum below the maximum";
        findings.push(Finding::new(
            Severity::Error,
            "wred-shape",
            &min.spot,
            message,
            fix,
        ));
    }
}

/// Without ECN, WRED drops frames of a lossless queue.
fn drops(name: &Given<String>, wred: &Wred, findings: &mut Vec<Finding>) {
    let marks = wred.ecn.as_ref().is_some_and(|ecn| ecn.value != "ecn_none");
    let dropping = wred.colors.iter().flat_map(|curve| &curve.is_enabled);
    let is_on = dropping.into_iter().any(|it| it.value);
    if !marks && is_on {
        let spot = wred.ecn.as_ref().map_or(&wred.spot, |ecn| &ecn.spot);
        let message = format!(
            "{} drops because it has no ECN, and queues of lossless priorities use it: PFC cannot save these frames",
            name.value
        );
        let fix = "set ecn to ecn_all, or bind the lossless queues to a curve that marks";
        findings.push(Finding::new(
            Severity::Error,
            "wred-drops-lossless",
            spot,
            message,
            fix,
        ));
    }
}

/// The curve of packets that nobody has coloured: green; the first that is set otherwise.
fn first(wred: &Wred) -> Option<(&'static str, &Given<u64>)> {
    let curves = COLORS.iter().zip(&wred.colors);
    let set = curves.filter(|(_, curve)| curve.is_enabled.as_ref().is_none_or(|it| it.value));
    let mut set = set.filter_map(|(color, curve)| Some((*color, curve.min.as_ref()?)));
    set.next()
}

/// A curve that is switched off.
fn off(name: &Given<String>, wred: &Wred) -> Option<Finding> {
    let mut switches = wred
        .colors
        .iter()
        .filter_map(|curve| curve.is_enabled.as_ref());
    let off = switches.find(|switch| !switch.value)?;
    let message = format!(
        "{} marks nothing because its curves are switched off, and a lossless queue uses it",
        name.value
    );
    let fix = "set wred_green_enable to true";
    Some(Finding::new(
        Severity::Warning,
        "wred-off",
        &off.spot,
        message,
        fix,
    ))
}

/// From how many senders on the queue reaches the threshold before PFC stops them.
fn reach(
    db: &ConfigDb,
    port: &str,
    priority: u8,
    name: &Given<String>,
    wred: &Wred,
    findings: &mut Vec<Finding>,
) {
    let Some((color, min)) = first(wred) else {
        findings.extend(off(name, wred));
        return;
    };
    let Some(senders) = Senders::of(db, port, priority) else {
        return;
    };
    let all = senders.number();
    let of_curve = format!(
        "{color}_min_threshold of {}: {} B",
        name.value,
        count(min.value)
    );
    let fewest = senders.fewest(min.value);
    match fewest {
        Some(1) => {}
        Some(number) => {
            let message = format!(
                "marks begin before PFC only from {number} senders on: fewer are stopped by PAUSE before they are marked ({})",
                name.value
            );
            let lines = [
                of_curve,
                senders.arithmetic(number - 1),
                senders.arithmetic(number),
            ];
            let fix = format!(
                "set {color}_min_threshold below {} B if a single sender is to be marked",
                count(senders.fill(1))
            );
            let finding = Finding::new(Severity::Note, "wred-late", &min.spot, message, fix);
            findings.push(finding.because(lines));
        }
        None => {
            let message = format!(
                "no number of senders of this switch fills a lossless queue up to the first mark before PFC stops them \
                 ({}): ECN never acts",
                name.value
            );
            let more = match min.value >= senders.size {
                true => {
                    "the threshold is no less than the whole pool: no number of senders reaches it"
                        .to_owned()
                }
                false => {
                    let alone = senders.fill(1);
                    format!("one sender is stopped at {} B", count(alone))
                }
            };
            let lines = [of_curve, senders.arithmetic(all), more];
            let fix = format!(
                "set {color}_min_threshold below {} B, so that one sender is marked, or raise the lossless profiles' \
                 threshold (dynamic_th)",
                count(senders.fill(1))
            );
            let finding =
                Finding::new(Severity::Error, "wred-unreachable", &min.spot, message, fix);
            findings.push(finding.because(lines));
        }
    }
}
