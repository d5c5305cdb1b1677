//! Marks that come after PFC, and curves that drop what must not be lost.

use std::collections::{BTreeMap, BTreeSet};

use super::fill::Senders;
use crate::finding::{Finding, Given, Severity};
use crate::model::{COLORS, ConfigDb, Curve, Green, Wred};
use crate::values::some_of;
use unpause_text::count::count;

/// Checks curves, and queues that have one.
pub(super) fn check(db: &ConfigDb, findings: &mut Vec<Finding>) {
    for (name, wred) in &db.wred {
        for (color, (drops, marks)) in COLORS.iter().zip(wred.colors.iter().zip(&wred.marks)) {
            shape(name, color, drops, findings);
            shape(name, &format!("ecn_{color}"), marks, findings);
        }
    }
    for (name, queues) in used(db) {
        let wred = &db.wred[name];
        match wred.green() {
            Green::Drops => findings.push(drops(name, wred)),
            Green::Off => findings.push(off(name, wred)),
            Green::Marks(curve) => {
                findings.extend(by_default(name, wred, &curve, "a lossless queue"));
                if let Some(min) = &curve.min {
                    reach(db, &queues, name, min, findings);
                }
            }
        }
    }
    for (name, wred) in lossy(db) {
        if let Green::Marks(curve) = wred.green() {
            findings.extend(by_default(name, wred, &curve, "a queue"));
        }
    }
}

/// The profiles that only lossy queues have.
fn lossy(db: &ConfigDb) -> BTreeMap<&str, &Wred> {
    let names = db.queues.values().filter_map(|queue| queue.wred.as_ref());
    let profiles = names.filter_map(|name| db.wred.get_key_value(&name.value));
    let mut all: BTreeMap<&str, &Wred> = profiles.map(|(name, it)| (name.as_str(), it)).collect();
    let lossless = used(db);
    all.retain(|name, _| !lossless.contains_key(name));
    all
}

/// The profiles of lossless queues, and which port and priority these are of.
fn used(db: &ConfigDb) -> BTreeMap<&str, Vec<(&str, u8)>> {
    let mut used: BTreeMap<&str, Vec<(&str, u8)>> = BTreeMap::new();
    for (port, qos) in db.pfc_ports() {
        for priority in &qos.pfc {
            let queue = db.queue_of(port, *priority);
            let settings = db.queues.get(&(port.to_owned(), queue));
            let name = settings.and_then(|queue| queue.wred.as_ref());
            if let Some(name) = name.filter(|name| db.wred.contains_key(&name.value)) {
                used.entry(&name.value).or_default().push((port, *priority));
            }
        }
    }
    used
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

/// Where `ecn` leaves out green packets, WRED drops those of a lossless queue.
fn drops(name: &str, wred: &Wred) -> Finding {
    let (spot, mode) = match &wred.ecn {
        None => (&wred.spot, "there is no ecn".to_owned()),
        Some(ecn) => (&ecn.spot, format!("ecn is {}", ecn.value)),
    };
    let message = format!(
        "{name} drops green packets because {mode}, and queues of lossless priorities use it: PFC cannot save these frames"
    );
    let fix = "set ecn to ecn_all, or bind the lossless queues to a curve that marks";
    let rule = "wred-drops-lossless";
    let finding = Finding::new(Severity::Error, rule, spot, message, fix);
    finding.because([UNCOLOURED.to_owned()])
}

const UNCOLOURED: &str = "packets are green unless a policer colours them";

/// A curve that does nothing with green packets.
fn off(name: &str, wred: &Wred) -> Finding {
    let [green, ..] = &wred.colors;
    let (spot, why) = match (&green.is_enabled, &wred.ecn) {
        (Some(switch), _) => (&switch.spot, "wred_green_enable is false".to_owned()),
        (None, Some(ecn)) => (&ecn.spot, format!("ecn is {}", ecn.value)),
        (None, None) => (&wred.spot, "there is no ecn".to_owned()),
    };
    let message =
        format!("{name} marks no green packets because {why}, and a lossless queue uses it");
    let fix = "set wred_green_enable to true and ecn to ecn_all";
    let finding = Finding::new(Severity::Warning, "wred-off", spot, message, fix);
    finding.because([UNCOLOURED.to_owned()])
}

/// A key that is missing, whose default in SAI (saiwred.h) means that nothing is marked.
fn by_default(name: &str, wred: &Wred, curve: &Curve, user: &str) -> Option<Finding> {
    let (key, default, fix) = if wred.is_off_by_default() {
        (
            "wred_green_enable",
            "false",
            "add \"wred_green_enable\": \"true\"",
        )
    } else if curve.min.is_none() {
        (
            "green_min_threshold",
            "0, which stands for the whole buffer",
            "add green_min_threshold, in bytes",
        )
    } else if curve.max.is_none() {
        (
            "green_max_threshold",
            "0, which stands for the whole buffer",
            "add green_max_threshold, in bytes",
        )
    } else {
        return None;
    };
    let message = format!(
        "{name} has no {key}, and {user} uses it: SAI's default is {default}, so a switch that follows SAI marks no green packets"
    );
    let attribute = key.trim_start_matches("wred_").to_uppercase();
    let source = format!("SAI_WRED_ATTR_{attribute}, default {default} (SAI, saiwred.h)");
    let rule = "wred-default";
    let finding = Finding::new(Severity::Warning, rule, &wred.spot, message, fix);
    Some(finding.because([source, UNCOLOURED.to_owned()]))
}

/// How marks and PAUSE of a queue go together.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Reached {
    /// From how many senders on the queue reaches the first mark before PFC stops them; none if never.
    fewest: Option<usize>,
    /// Where one sender is stopped, bytes.
    alone: u64,
    /// How the numbers are computed, a line each.
    lines: Vec<String>,
    /// The field that says when senders are stopped.
    threshold: &'static str,
}

/// From how many senders on queues reach the threshold before PFC stops them: said once if it is the same for all of them.
fn reach(
    db: &ConfigDb,
    queues: &[(&str, u8)],
    name: &str,
    min: &Given<u64>,
    findings: &mut Vec<Finding>,
) {
    let mut all: BTreeMap<Reached, BTreeSet<&str>> = BTreeMap::new();
    for (port, priority) in queues {
        let Some(senders) = Senders::of(db, port, *priority) else {
            continue;
        };
        let it = reached(&senders, name, min.value);
        all.entry(it).or_default().insert(port);
    }
    let is_one = all.len() == 1;
    for (it, ports) in all {
        let queue = if is_one {
            "a lossless queue".to_owned()
        } else {
            let ports: Vec<&str> = ports.into_iter().collect();
            format!("a lossless queue to {}", some_of(&ports))
        };
        findings.extend(said(&it, &queue, name, min));
    }
}

fn reached(senders: &Senders, name: &str, min: u64) -> Reached {
    let fewest = senders.fewest(min);
    let alone = senders.fill(1);
    let mut lines = vec![format!("green_min_threshold of {name}: {} B", count(min))];
    match fewest {
        Some(number) => {
            lines.extend((number > 1).then(|| senders.arithmetic(number - 1)));
            lines.push(senders.arithmetic(number));
        }
        None => {
            lines.push(senders.arithmetic(senders.number()));
            lines.push(if min >= senders.size {
                "the threshold is no less than the whole pool: no number of senders reaches it"
                    .to_owned()
            } else {
                format!("one sender is stopped at {} B", count(alone))
            });
        }
    }
    Reached {
        fewest,
        alone,
        lines,
        threshold: senders.threshold(),
    }
}

fn said(it: &Reached, queue: &str, name: &str, min: &Given<u64>) -> Option<Finding> {
    let alone = count(it.alone);
    let finding = match it.fewest {
        Some(1) => return None,
        Some(number) => {
            let message = format!(
                "in {queue}, marks begin before PFC only from {number} senders on: fewer are stopped by PAUSE before they \
                 are marked ({name})"
            );
            let fix = format!(
                "set green_min_threshold below {alone} B if a single sender is to be marked"
            );
            Finding::new(Severity::Note, "wred-late", &min.spot, message, fix)
        }
        None => {
            let message = format!(
                "no number of senders of this switch fills {queue} up to the first mark before PFC stops them ({name}): \
                 ECN never acts"
            );
            let fix = format!(
                "set green_min_threshold below {alone} B, so that one sender is marked, or raise the lossless profiles' \
                 threshold ({})",
                it.threshold
            );
            Finding::new(Severity::Error, "wred-unreachable", &min.spot, message, fix)
        }
    };
    let words = match it.fewest {
        Some(number) => format!("in {queue}, from {number} senders on"),
        None => format!("in {queue}, where one sender is stopped at {alone} B"),
    };
    let finding = finding.because(it.lines.iter().cloned());
    // The lowest threshold helps all of them.
    Some(finding.case(u64::MAX - it.alone, words))
}
