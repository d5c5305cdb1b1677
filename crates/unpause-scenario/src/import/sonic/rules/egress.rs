//! Egress limits that drop lossless frames before PFC can stop them.

use super::fill::Senders;
use crate::import::sonic::finding::{Finding, Severity};
use crate::import::sonic::model::{ConfigDb, Pool, Profile, Threshold};
use crate::text::count::count;

/// What is said of queues of lossless priorities.
pub(super) fn check(db: &ConfigDb, findings: &mut Vec<Finding>) {
    for (port, qos) in db.pfc_ports() {
        if port == "global" {
            continue;
        }
        for priority in &qos.pfc {
            let queue = db.queue_of(port, *priority);
            match db.queue_profile(port, queue) {
                Some((given, profile)) => {
                    let crate::import::sonic::model::Buffer::Profile(name) = &given.value else {
                        continue;
                    };
                    let it = Limit { name, profile };
                    limit(db, port, *priority, queue, &it, findings);
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
    whole_pools(db, findings);
}

struct Limit<'a> {
    name: &'a str,
    profile: &'a Profile,
}

/// What a queue of this profile may hold if it alone is full, bytes, and how that is computed.
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
    findings: &mut Vec<Finding>,
) {
    let (name, profile) = (it.name, it.profile);
    let Some((pool_name, pool)) = db.pool_of(profile) else {
        return;
    };
    if pool_name.contains("lossy") {
        let binding = &db.queue_buffers[&(port.to_owned(), queue)].spot;
        let message = format!(
            "queue {queue} of lossless priority {priority} is bound to {name}, of {pool_name}: it drops frames that PFC \
             has admitted"
        );
        let fix = "bind it to the egress lossless profile";
        let rule = "egress-drops-first";
        findings.push(Finding::new(Severity::Error, rule, binding, message, fix));
        return;
    }
    let (Some(senders), Some(most)) = (Senders::of(db, port, priority), most(profile, pool)) else {
        return;
    };
    findings.extend(below(it, &senders, most));
}

/// A limit below what senders bring before PFC stops them, or below their pool.
fn below(it: &Limit<'_>, senders: &Senders, (most, text): (u64, String)) -> Option<Finding> {
    let name = it.name;
    let spot = match &it.profile.threshold {
        Some(threshold) => &threshold.spot,
        None => &it.profile.spot,
    };
    let fewest = senders.fewest(most);
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
                 into it before PFC stops them",
                count(most),
                count(senders.fill(number))
            );
            (Severity::Error, "egress-drops-first", message)
        }
        None => {
            let message = format!(
                "a lossless queue of {name} holds less than the pool from which PFC lets frames in: {} < {} B",
                count(most),
                count(senders.size)
            );
            (Severity::Warning, "egress-below-ingress", message)
        }
    };
    let fix = format!(
        "set no effective egress limit for lossless queues: static_th {} or more, dynamic_th 7",
        senders.size
    );
    let lines = [
        format!("a queue of {name} holds at most {text}"),
        senders.arithmetic(fewest.unwrap_or(senders.number())),
    ];
    Some(Finding::new(severity, rule, spot, message, fix).because(lines))
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
