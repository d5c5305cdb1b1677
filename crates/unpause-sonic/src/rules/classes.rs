//! DSCPs of lossless traffic whose class is lossy, and lossless classes that no DSCP leads to.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Finding, Given, Severity};
use crate::model::{ConfigDb, Map};

const DSCPS: &str = "DSCP_TO_TC_MAP";
/// DSCPs that SONiC's own maps have for lossless traffic.
const SONIC: [u8; 2] = [3, 4];
/// The DSCP of RoCE by convention of the vendors of NICs: AF31.
const ROCE: u8 = 26;

/// Checks the DSCPs at ports with PFC.
pub(super) fn check(db: &ConfigDb, findings: &mut Vec<Finding>) {
    let mut of_dscp: BTreeMap<u8, Uses<'_>> = BTreeMap::new();
    for (port, qos) in db.pfc_ports() {
        if port == "global" || qos.is_broken {
            continue;
        }
        let by_tag = db.map(port, "DOT1P_TO_TC_MAP").is_some();
        let Some(map) = db.map(port, DSCPS) else {
            if !by_tag {
                let message = "the port has PFC, but neither a dscp_to_tc_map nor a dot1p_to_tc_map: all frames are of one class";
                let fix = "set dscp_to_tc_map of the port, or of global, in PORT_QOS_MAP";
                findings.push(Finding::new(
                    Severity::Error,
                    "no-map",
                    &qos.pfc_spot,
                    message,
                    fix,
                ));
            }
            continue;
        };
        let lossless = classes(db, port);
        if !by_tag {
            unled(db, port, map, findings);
        }
        conventions(map, &lossless, findings);
        for (dscp, class) in &map.entries {
            let uses = of_dscp.entry(*dscp).or_default();
            if lossless.contains(&class.value) {
                uses.lossless.push((port, class))
            } else {
                uses.lossy.push((port, class, &qos.pfc))
            }
        }
    }
    for (dscp, uses) in &of_dscp {
        uneven(*dscp, uses, findings);
    }
}

/// Who has a DSCP in which class.
#[derive(Default)]
struct Uses<'a> {
    lossless: Vec<(&'a str, &'a Given<u8>)>,
    /// With the priorities that have PFC there.
    lossy: Vec<(&'a str, &'a Given<u8>, &'a BTreeSet<u8>)>,
}

/// Classes whose frames fill a lossless priority group with PFC.
fn classes(db: &ConfigDb, port: &str) -> BTreeSet<u8> {
    let pfc = db.qos.get(port).map(|qos| &qos.pfc);
    let groups: BTreeSet<u8> = pfc
        .into_iter()
        .flatten()
        .map(|priority| db.group_of(port, *priority))
        .collect();
    let map = db.map(port, "TC_TO_PRIORITY_GROUP_MAP");
    let entries = map.into_iter().flat_map(|map| &map.entries);
    let lossless = entries.filter(|(_, group)| groups.contains(&group.value));
    lossless.map(|(class, _)| *class).collect()
}

/// Lossless priorities to which no DSCP leads.
fn unled(db: &ConfigDb, port: &str, map: &Map, findings: &mut Vec<Finding>) {
    let led: BTreeSet<u8> = map.entries.values().map(|class| class.value).collect();
    let Some(groups) = db.map(port, "TC_TO_PRIORITY_GROUP_MAP") else {
        return;
    };
    for priority in &db.qos[port].pfc {
        let group = db.group_of(port, *priority);
        let own: Vec<u8> = groups
            .entries
            .iter()
            .filter(|(_, to)| to.value == group)
            .map(|(class, _)| *class)
            .collect();
        // That no class comes to the group is said already.
        if own.is_empty() || own.iter().any(|class| led.contains(class)) {
            continue;
        }
        let like = map
            .entries
            .get(priority)
            .filter(|_| SONIC.contains(priority));
        let spot = like.map_or(&map.spot, |class| &class.spot);
        let names: Vec<String> = own.iter().map(u8::to_string).collect();
        let message = format!(
            "no DSCP maps to class {} of lossless priority {priority}: traffic that should be lossless goes where frames are dropped",
            names.join(" or ")
        );
        let line = match like {
            Some(class) => format!("{DSCPS}: {priority} -> {}", class.value),
            None => format!(
                "none of the {} entries of {DSCPS} maps to it",
                map.entries.len()
            ),
        };
        let fix = format!(
            "map the DSCP of priority {priority}'s traffic to class {} in {DSCPS}, or switch its PFC off",
            own[0]
        );
        findings.push(
            Finding::new(Severity::Error, "lossless-dscp-lossy", spot, message, fix)
                .because([line]),
        );
    }
}

/// DSCPs that are lossless by convention, in a lossy class of this map.
fn conventions(map: &Map, lossless: &BTreeSet<u8>, findings: &mut Vec<Finding>) {
    let is_lossless = |dscp: u8| {
        map.entries
            .get(&dscp)
            .is_some_and(|class| lossless.contains(&class.value))
    };
    let is_lossy = |dscp: u8| {
        map.entries
            .get(&dscp)
            .filter(|class| !lossless.contains(&class.value))
    };
    let any = map
        .entries
        .values()
        .any(|class| lossless.contains(&class.value));
    if !any {
        return;
    }
    // A site that follows SONiC's convention with one of them means the other, too.
    for dscp in SONIC.into_iter().filter(|dscp| lossless.contains(dscp)) {
        let other = SONIC[0] + SONIC[1] - dscp;
        if let Some(class) = is_lossy(dscp).filter(|_| is_lossless(other)) {
            let message = format!(
                "DSCP {dscp} is of lossless class {dscp} in SONiC's maps, but here it is in class {}, which is lossy: its frames are dropped",
                class.value
            );
            let fix = format!(
                "map DSCP {dscp} to class {dscp} in {DSCPS}, or switch PFC of priority {dscp} off"
            );
            let line = format!("{DSCPS}: {dscp} -> {}, {other} -> {other}", class.value);
            let finding = Finding::new(
                Severity::Error,
                "lossless-dscp-lossy",
                &class.spot,
                message,
                fix,
            );
            findings.push(finding.because([line]));
        }
    }
    if let Some(class) = is_lossy(ROCE) {
        let message = format!(
            "DSCP {ROCE}, with which RoCE NICs send by convention, is in class {}, which is lossy: such frames are dropped, \
             not paused",
            class.value
        );
        let names: Vec<String> = lossless.iter().map(u8::to_string).collect();
        let fix = format!(
            "map DSCP {ROCE} to a lossless class ({}), or let hosts send with a DSCP of one",
            names.join(", ")
        );
        // Where its neighbours are in that class, too, nobody has meant it: SONiC's maps have all DSCPs.
        let beside = [ROCE - 1, ROCE + 1].map(|dscp| map.entries.get(&dscp));
        let as_others = beside
            .iter()
            .all(|other| other.is_some_and(|it| it.value == class.value));
        let severity = if as_others {
            Severity::Note
        } else {
            Severity::Warning
        };
        findings.push(Finding::new(
            severity,
            "lossless-dscp-lossy",
            &class.spot,
            message,
            fix,
        ));
    }
}

/// A DSCP that is lossless at some ports of the switch and lossy at others.
fn uneven(dscp: u8, uses: &Uses<'_>, findings: &mut Vec<Finding>) {
    let Some((good, lossless)) = uses.lossless.first() else {
        return;
    };
    // Ports without PFC of that class may be of another kind, as those of dual ToRs are.
    let mut same = uses
        .lossy
        .iter()
        .filter(|(_, _, pfc)| pfc.contains(&lossless.value));
    let Some((bad, lossy, _)) = same.next() else {
        return;
    };
    let message = format!(
        "DSCP {dscp} is lossless at some ports ({good}: class {}) and lossy at others ({bad}: class {}): on its path through \
         the switch it is dropped at one of them",
        lossless.value, lossy.value
    );
    let fix = format!("give all ports one {DSCPS}, and the same lossless classes");
    let line = format!(
        "lossless at {} ports, lossy at {}",
        uses.lossless.len(),
        uses.lossy.len()
    );
    let spot = if uses.lossy.len() <= uses.lossless.len() {
        &lossy.spot
    } else {
        &lossless.spot
    };
    findings.push(
        Finding::new(Severity::Error, "lossless-dscp-lossy", spot, message, fix).because([line]),
    );
}
