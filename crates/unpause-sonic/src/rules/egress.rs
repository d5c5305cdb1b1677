//! Egress limits that drop lossless frames before PFC can stop them.

use std::collections::{BTreeMap, BTreeSet};

use super::fill::Senders;
use super::headroom::cable_of;
use super::need::{Cable, Need};
use crate::finding::{Finding, Severity, Spot};
use crate::model::{ConfigDb, Pool, Profile, Threshold};
use unpause_import::buffers::fewest;
use unpause_text::count::{count, counted};

/// The bytes that each port may still send after XOFF even if its peer conforms to the standard: the first of `needs`.
fn late(db: &ConfigDb, needs: &dyn Fn(&Cable) -> Vec<Need>) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for (name, port) in &db.ports {
        let need = cable_of(port).and_then(|cable| needs(&cable).into_iter().next());
        all.extend(need.map(|need| (name.clone(), need.bytes)));
    }
    all
}

/// Checks the queues of lossless priorities.
pub(super) fn check(
    db: &ConfigDb,
    needs: &dyn Fn(&Cable) -> Vec<Need>,
    findings: &mut Vec<Finding>,
) {
    let late = late(db, needs);
    let before = findings.len();
    for (port, qos) in db.pfc_ports() {
        if port == "global" {
            continue;
        }
        for priority in &qos.pfc {
            let queue = db.queue_of(port, *priority);
            match db.queue_profile(port, queue) {
                Some((given, profile)) => {
                    let crate::model::Buffer::Profile(name) = &given.value else {
                        continue;
                    };
                    let it = Limit { name, profile };
                    findings.extend(limit(db, port, *priority, queue, &it, &late));
                }
                None if db.queue_buffers.contains_key(&(port.to_owned(), queue)) => {}
                None if db.queue_buffers.is_empty() => {}
                None => {
                    let message = format!(
                        "queue {queue} of lossless priority {priority} has no profile in BUFFER_QUEUE: its limit is the \
                         switch's default"
                    );
                    let fix = format!(
                        "add \"<port>|{queue}\" to BUFFER_QUEUE with the egress lossless profile"
                    );
                    findings.push(Finding::new(
                        Severity::Warning,
                        "queue-without-profile",
                        &qos.pfc_spot,
                        message,
                        fix,
                    ));
                }
            }
        }
    }
    // Where some queues exceed their limit, it needs no warning that others do not.
    let own = findings.split_off(before);
    let exceeded: BTreeSet<Spot> = own
        .iter()
        .filter(|it| it.severity == Severity::Error)
        .map(|it| it.spot.clone())
        .collect();
    let is_news = |it: &Finding| it.rule != BELOW || !exceeded.contains(&it.spot);
    findings.extend(own.into_iter().filter(is_news));
    whole_pools(db, findings);
}

const BELOW: &str = "egress-below-ingress";

struct Limit<'a> {
    name: &'a str,
    profile: &'a Profile,
}

/// The most bytes that a queue of this profile may hold if it alone is full, and how they are computed.
fn most(profile: &Profile, pool: &Pool) -> Option<(u64, String)> {
    let size = pool.size.as_ref()?.value;
    let reserved = profile.size.as_ref().map_or(0, |size| size.value);
    match profile.threshold.as_ref()?.value {
        Threshold::Static(bytes) => {
            let most = bytes.min(size);
            Some((
                most,
                format!(
                    "static_th {}, pool {}: {} B",
                    count(bytes),
                    count(size),
                    count(most)
                ),
            ))
        }
        Threshold::Dynamic(power) => {
            let alpha = f64::powi(2.0, power as i32);
            let most = (size as f64 * alpha / (1.0 + alpha)) as u64 + reserved;
            let text = format!(
                "alpha B / (1 + alpha) + {} reserved, alpha = {alpha}, B = {}: {} B",
                count(reserved),
                count(size),
                count(most)
            );
            Some((most, text))
        }
    }
}

fn limit(
    db: &ConfigDb,
    port: &str,
    priority: u8,
    queue: u8,
    it: &Limit<'_>,
    late: &BTreeMap<String, u64>,
) -> Option<Finding> {
    let (name, profile) = (it.name, it.profile);
    let (pool_name, pool) = db.pool_of(profile)?;
    if pool_name.contains("lossy") {
        let binding = &db.queue_buffers[&(port.to_owned(), queue)].spot;
        let message = format!(
            "queue {queue} of lossless priority {priority} is bound to {name}, of {pool_name}: it drops frames that PFC \
             has admitted"
        );
        let fix = "bind it to the egress lossless profile";
        let rule = "egress-drops-first";
        return Some(Finding::new(Severity::Error, rule, binding, message, fix));
    }
    let senders = Senders::of(db, port, priority)?;
    let most = most(profile, pool)?;
    let apart = below(it, &senders, late, most.clone())?;
    let Some(within) = senders.with_headroom_within(db) else {
        return Some(apart);
    };
    match below(it, &within, late, most) {
        Some(other) if other.severity == apart.severity => Some(apart),
        _ => Some(only_if_apart(apart, &senders, &within)),
    }
}

/// A finding that depends on whether the size of the pool of `senders` includes its shared headroom: both answers.
fn only_if_apart(mut finding: Finding, senders: &Senders, within: &Senders) -> Finding {
    finding.severity = Severity::Warning;
    let headroom = count(senders.size - within.size);
    finding.message += &format!(
        ". So it is if the switch adds the pool's xoff of {headroom} B to its size, as Spectrum does; SAI says that size \
         includes it, and then it is not so"
    );
    let all = within.number();
    finding.because([format!("if size includes xoff: {}", within.arithmetic(all))])
}

/// A limit below what senders bring until PFC has stopped them, or below their pool.
fn below(
    it: &Limit<'_>,
    senders: &Senders,
    late: &BTreeMap<String, u64>,
    (most, text): (u64, String),
) -> Option<Finding> {
    let name = it.name;
    let spot = match &it.profile.threshold {
        Some(threshold) => &threshold.spot,
        None => &it.profile.spot,
    };
    let brought = |number| senders.fill(number) + senders.late(number, late);
    let fewest = fewest(senders.number(), most, brought);
    // What dynamic_th 7 leaves free is no limit that anybody has set.
    if fewest.is_none() && most >= senders.size - senders.size / 100 {
        return None;
    }
    let (severity, rule, message) = match fewest {
        Some(number) => {
            let bring = if number == 1 {
                "sender brings"
            } else {
                "senders bring"
            };
            let message = format!(
                "lossless frames are dropped at egress first: a queue of {name} holds {} B, but {number} {bring} {} B \
                 into it before PFC has stopped them",
                count(most),
                count(brought(number))
            );
            (Severity::Error, "egress-drops-first", message)
        }
        None => {
            let message = format!(
                "a lossless queue of {name} holds less than the pool from which PFC lets frames in: {} < {} B",
                count(most),
                count(senders.size)
            );
            (Severity::Warning, BELOW, message)
        }
    };
    let needed = brought(senders.number()).max(senders.size);
    let fix = format!(
        "set no effective egress limit for lossless queues: static_th {needed} or more, dynamic_th 7"
    );
    let number = fewest.unwrap_or(senders.number());
    let lines = [
        format!("a queue of {name} holds at most {text}"),
        senders.arithmetic(number),
        format!(
            "after XOFF {} B may still arrive from {number} of them: what `unpause suggest headroom` gives for each \
             cable, MAC and PHY without a delay, no more than xoff",
            count(senders.late(number, late))
        ),
    ];
    let words = format!(
        "in queues into which {number} of {} bring {} B",
        counted(senders.number(), "sender"),
        count(brought(number))
    );
    let finding = Finding::new(severity, rule, spot, message, fix);
    Some(finding.because(lines).case(needed, words))
}

/// Egress pools of lossless queues that are smaller than the pool of the lossless groups.
fn whole_pools(db: &ConfigDb, findings: &mut Vec<Finding>) {
    let groups = db.groups.keys();
    let lossless = groups.filter_map(|(port, group)| db.lossless(port, *group)?.1);
    let ingress = lossless.filter_map(|profile| db.pool_of(profile));
    let largest = ingress
        .filter_map(|(name, pool)| Some((pool.size.as_ref()?.value, name)))
        .max();
    let Some((ingress, of)) = largest else {
        return;
    };
    for (name, pool) in &db.pools {
        let is_egress = pool
            .direction
            .as_ref()
            .is_some_and(|it| it.value == "egress");
        let Some(size) = pool
            .size
            .as_ref()
            .filter(|_| is_egress && !name.contains("lossy"))
        else {
            continue;
        };
        if size.value < ingress {
            let message = format!(
                "{name} is smaller than {of}: it is full, and drops, while PFC still lets frames in: {} < {} B",
                count(size.value),
                count(ingress)
            );
            let fix =
                format!("set its size to {ingress} or more: both are views of the same memory");
            let finding = Finding::new(
                Severity::Error,
                "egress-drops-first",
                &size.spot,
                message,
                fix,
            );
            let line = format!(
                "{} - {} = {} B that {of} lets in have no place",
                count(ingress),
                count(size.value),
                count(ingress - size.value)
            );
            findings.push(finding.because([line]));
        }
    }
}
