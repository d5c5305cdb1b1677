//! The shared headroom pool, and profiles that do not fit their pool.

use std::collections::BTreeMap;

use crate::finding::{Finding, Given, Severity};
use crate::model::{Buffer, ConfigDb, Threshold};
use unpause_text::count::count;

/// Checks the pools.
pub(super) fn check(db: &ConfigDb, findings: &mut Vec<Finding>) {
    shared_headroom(db, findings);
    for (of, bindings) in [("ingress", &db.groups), ("egress", &db.queue_buffers)] {
        for given in bindings.values() {
            direction(db, of, given, findings);
        }
    }
    modes(db, findings);
    whole(db, findings);
}

/// Lossless profiles that lack what SONiC needs, or are of a lossy pool.
fn whole(db: &ConfigDb, findings: &mut Vec<Finding>) {
    let lossless = db
        .profiles
        .iter()
        .filter(|(_, it)| it.xoff.is_some() && !it.is_dynamic_headroom);
    for (name, profile) in lossless {
        if profile.threshold.is_none() && !profile.has_threshold {
            let message =
                format!("{name} has neither dynamic_th nor static_th: SONiC does not make it");
            let fix = "add the one of its pool's mode";
            findings.push(Finding::new(
                Severity::Error,
                "no-threshold",
                &profile.spot,
                message,
                fix,
            ));
        }
        let Some(pool) = &profile.pool else {
            continue;
        };
        if pool.value.contains("lossy") {
            let message = format!("{name} is lossless, but belongs to {}", pool.value);
            let fix = "bind it to the ingress lossless pool";
            findings.push(Finding::new(
                Severity::Error,
                "wrong-pool",
                &pool.spot,
                message,
                fix,
            ));
        }
    }
}

/// The shared headroom pool, which a port alone may need as a whole.
fn shared_headroom(db: &ConfigDb, findings: &mut Vec<Finding>) {
    let mut ports: BTreeMap<(&str, &str), Vec<(u8, u64)>> = BTreeMap::new();
    for (port, group) in db.groups.keys() {
        let Some((_, Some(profile))) = db.lossless(port, *group) else {
            continue;
        };
        let Some((pool, _)) = db.pool_of(profile) else {
            continue;
        };
        let xoff = profile.xoff.as_ref().map_or(0, |xoff| xoff.value);
        ports.entry((pool, port)).or_default().push((*group, xoff));
    }
    for (name, pool) in &db.pools {
        let Some(shared) = pool.xoff.as_ref().filter(|xoff| xoff.value > 0) else {
            continue;
        };
        let sum = |groups: &[(u8, u64)]| groups.iter().map(|(_, xoff)| xoff).sum::<u64>();
        let of_pool = ports.iter().filter(|((of, _), _)| of == name);
        // Of equal ports the first.
        let most = of_pool.rev().max_by_key(|(_, groups)| sum(groups));
        let Some(((_, port), groups)) = most.filter(|(_, groups)| sum(groups) > shared.value)
        else {
            continue;
        };
        let terms: Vec<String> = groups.iter().map(|(_, xoff)| count(*xoff)).collect();
        let message = format!(
            "the shared headroom pool of {name} holds less than the headroom of one port: {} B, {port} alone may need {} B",
            count(shared.value),
            count(sum(groups))
        );
        let which: Vec<String> = groups.iter().map(|(group, _)| group.to_string()).collect();
        let lines = [format!(
            "{port}, xoff of groups {}: {} = {} B",
            which.join(" and "),
            terms.join(" + "),
            count(sum(groups))
        )];
        let fix = format!(
            "set xoff of {name} to {} or more: to the headroom of all ports, divided by how many of them are not told to \
             stop at once",
            sum(groups)
        );
        let finding = Finding::new(
            Severity::Error,
            "shared-headroom-too-small",
            &shared.spot,
            message,
            fix,
        );
        findings.push(finding.because(lines));
    }
}

/// A priority group whose profile is of an egress pool, or a queue whose profile is of an ingress pool.
fn direction(db: &ConfigDb, of: &str, given: &Given<Buffer>, findings: &mut Vec<Finding>) {
    let Buffer::Profile(name) = &given.value else {
        return;
    };
    let pool = db
        .profiles
        .get(name)
        .and_then(|profile| db.pool_of(profile));
    let Some((pool, it)) = pool else {
        return;
    };
    let Some(direction) = it
        .direction
        .as_ref()
        .filter(|it| it.value != of && it.value != "both")
    else {
        return;
    };
    let what = if of == "ingress" {
        "a priority group"
    } else {
        "a queue"
    };
    let message = format!(
        "{name} is of {pool}, an {} pool, but {what} is bound to it",
        direction.value
    );
    let fix = format!("bind it to a profile of an {of} pool");
    findings.push(Finding::new(
        Severity::Error,
        "wrong-pool",
        &given.spot,
        message,
        fix,
    ));
}

/// Thresholds of lossless groups that are not of their pool's mode. Shipped files have lossy ones that are not.
fn modes(db: &ConfigDb, findings: &mut Vec<Finding>) {
    let lossless = db
        .profiles
        .iter()
        .filter(|(_, profile)| profile.xoff.is_some());
    for (name, profile) in lossless {
        let Some((pool, it)) = db.pool_of(profile) else {
            continue;
        };
        let Some(mode) = &it.mode else {
            continue;
        };
        let wants = match mode.value.as_str() {
            "dynamic" => "dynamic_th",
            _ => "static_th",
        };
        let Some(threshold) = &profile.threshold else {
            continue;
        };
        let has = match threshold.value {
            Threshold::Dynamic(_) => "dynamic_th",
            Threshold::Static(_) => "static_th",
        };
        if has != wants {
            let message = format!("{name} has {has}, but {pool} is {}", mode.value);
            let fix = format!("give it {wants}, or change the mode of the pool");
            findings.push(Finding::new(
                Severity::Warning,
                "wrong-mode",
                &threshold.spot,
                message,
                fix,
            ));
        }
    }
}
