//! From tables to types: maps, what ports do with classes, queues, marking, the watchdog.

use std::collections::BTreeSet;

use super::entry::Entry;
use super::finding::{Given, Severity};
use super::model::{COLORS, ConfigDb, Curve, Map, Qos, Queue, Scheduler, Watched, Wred};
use super::read::{LAST_GROUP, LAST_QUEUE, one_of, positive};
use super::table::Tables;
use super::values;

/// Maps: their table, the field of `PORT_QOS_MAP` that names one, the largest number on either side.
pub(super) const MAPS: [(&str, &str, u8, u8); 6] = [
    ("DSCP_TO_TC_MAP", "dscp_to_tc_map", 63, 15),
    ("DOT1P_TO_TC_MAP", "dot1p_to_tc_map", 7, 15),
    ("TC_TO_QUEUE_MAP", "tc_to_queue_map", 15, LAST_QUEUE),
    ("TC_TO_PRIORITY_GROUP_MAP", "tc_to_pg_map", 15, LAST_GROUP),
    (
        "MAP_PFC_PRIORITY_TO_QUEUE",
        "pfc_to_queue_map",
        7,
        LAST_QUEUE,
    ),
    (
        "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
        "pfc_to_pg_map",
        7,
        LAST_GROUP,
    ),
];

/// Reads maps, and what each port has of them.
pub(super) fn maps(tables: &mut Tables<'_>, db: &mut ConfigDb) {
    for (table, _, most, largest) in MAPS {
        for entry in tables.entries(table) {
            let map = map(tables, &entry, most, largest);
            db.maps.insert((table, entry.key.to_owned()), map);
        }
    }
    for entry in tables.entries("PORT_QOS_MAP") {
        let qos = qos(tables, &entry);
        let ports = match entry.key {
            "global" => vec!["global"],
            list => tables.known_ports(&entry, list, Severity::Error),
        };
        for port in ports {
            if db.qos.insert(port.to_owned(), qos.clone()).is_some() {
                let message = "the port is in another entry, too".to_owned();
                tables.error(
                    "overlapping-ranges",
                    &entry.spot(),
                    message,
                    "keep one entry a port",
                );
            }
        }
    }
}

fn map(tables: &mut Tables<'_>, entry: &Entry<'_>, most: u8, largest: u8) -> Map {
    let mut map = Map {
        spot: entry.spot(),
        ..Map::default()
    };
    for name in entry.names() {
        let number = match values::small_number(&name, most) {
            Ok(number) => number,
            Err(why) => {
                let spot = entry.spot_of(&name);
                tables.error("bad-value", &spot, why, "the map's left side is a number");
                continue;
            }
        };
        let read = |text: &str| values::small_number(text, largest);
        if let Some(to) = tables.read(entry, &name, read) {
            map.entries.insert(number, to);
        }
    }
    map
}

fn qos(tables: &mut Tables<'_>, entry: &Entry<'_>) -> Qos {
    let mut qos = Qos {
        spot: entry.spot(),
        pfc_spot: entry.spot_of("pfc_enable"),
        ..Qos::default()
    };
    match priorities(tables, entry, "pfc_enable") {
        Some(pfc) => qos.pfc = pfc.value,
        None => qos.is_unread = entry.has("pfc_enable"),
    }
    qos.watched = priorities(tables, entry, "pfcwd_sw_enable");
    for (table, field, ..) in MAPS {
        let there = entry.has(field);
        match tables.reference(entry, field, table) {
            Some(name) => {
                qos.maps.insert(table, name);
            }
            None => qos.is_broken |= there,
        }
    }
    qos.scheduler = tables.reference(entry, "scheduler", "SCHEDULER");
    qos
}

/// `3,4`, or nothing at all.
fn priorities(
    tables: &mut Tables<'_>,
    entry: &Entry<'_>,
    field: &str,
) -> Option<Given<BTreeSet<u8>>> {
    tables.read(entry, field, |text| {
        if text.is_empty() {
            Ok(BTreeSet::new())
        } else if text.contains('-') {
            Err("priorities stand one by one, as in 3,4".into())
        } else {
            values::small_numbers(text, 7)
        }
    })
}

/// Reads schedulers, curves of marks, and which queue has which.
pub(super) fn queues(tables: &mut Tables<'_>, db: &mut ConfigDb) {
    for entry in tables.entries("SCHEDULER") {
        const MOST: i64 = 1 << 40;
        let guaranteed = ["cir", "cbs"].into_iter().find(|it| entry.has(it));
        let meter = one_of(tables, &entry, "meter_type", &["packets", "bytes"]);
        let meter = meter.filter(|it| it.value == "packets");
        let scheduler = Scheduler {
            spot: entry.spot(),
            kind: one_of(tables, &entry, "type", &["STRICT", "DWRR", "WRR"]),
            weight: tables.number(&entry, "weight", 1, 100).map(positive),
            rate: tables.number(&entry, "pir", 0, MOST).map(positive),
            burst: tables.number(&entry, "pbs", 0, MOST).map(positive),
            guaranteed: guaranteed.map(|field| entry.spot_of(field)),
            in_packets: meter.map(|it| it.spot),
        };
        db.schedulers.insert(entry.key.to_owned(), scheduler);
    }
    for entry in tables.entries("WRED_PROFILE") {
        let wred = wred(tables, &entry);
        db.wred.insert(entry.key.to_owned(), wred);
    }
    for entry in tables.entries("QUEUE") {
        let scheduler = tables.reference(&entry, "scheduler", "SCHEDULER");
        let wred = tables.reference(&entry, "wred_profile", "WRED_PROFILE");
        let Some((ports, range)) = tables.ports_and_range(&entry, LAST_QUEUE) else {
            continue;
        };
        for port in ports {
            for number in &range {
                let queue: &mut Queue = db.queues.entry((port.to_owned(), *number)).or_default();
                let both = (queue.scheduler.is_some() && scheduler.is_some())
                    || (queue.wred.is_some() && wred.is_some());
                if both {
                    let message = format!("queue {number} of the port is in another entry, too");
                    let fix = "let ranges of a port not overlap: which of them counts depends on their order";
                    tables.error("overlapping-ranges", &entry.spot(), message, fix);
                }
                queue.scheduler = scheduler.clone().or(queue.scheduler.take());
                queue.wred = wred.clone().or(queue.wred.take());
            }
        }
    }
}

/// The values of `ecn` that SONiC accepts.
const ECN: [&str; 8] = [
    "ecn_none",
    "ecn_green",
    "ecn_yellow",
    "ecn_red",
    "ecn_green_yellow",
    "ecn_green_red",
    "ecn_yellow_red",
    "ecn_all",
];

fn wred(tables: &mut Tables<'_>, entry: &Entry<'_>) -> Wred {
    let colors = COLORS.map(|color| Curve {
        min: tables.bytes(entry, &format!("{color}_min_threshold")),
        max: tables.bytes(entry, &format!("{color}_max_threshold")),
        probability: percent(tables, entry, &format!("{color}_drop_probability")),
        is_enabled: tables.read(entry, &format!("wred_{color}_enable"), |text| match text {
            "true" => Ok(true),
            "false" => Ok(false),
            other => Err(format!(
                "`{}` is neither true nor false",
                values::short(other)
            )),
        }),
    });
    let wred = Wred {
        spot: entry.spot(),
        colors,
        marks: COLORS.map(|color| marks(tables, entry, color)),
        ecn: one_of(tables, entry, "ecn", &ECN),
    };
    for (color, own) in COLORS.iter().zip(&wred.marks) {
        if let Some(given) = own.any().filter(|_| !wred.marks(color)) {
            let message = format!("thresholds of ECN for {color} packets, which ecn does not mark");
            let fix = format!("set ecn to ecn_all or to a value with {color}, or remove them");
            tables.error("wred-shape", &given.spot, message, &fix);
        }
    }
    wred
}

fn percent(tables: &mut Tables<'_>, entry: &Entry<'_>, field: &str) -> Option<Given<u64>> {
    tables.number(entry, field, 0, 100).map(positive)
}

/// ECN's own thresholds of a colour, by either of their names.
fn marks(tables: &mut Tables<'_>, entry: &Entry<'_>, color: &str) -> Curve {
    let [first, second] = [format!("ecn_{color}"), format!("{color}_ect")].map(|prefix| Curve {
        min: tables.bytes(entry, &format!("{prefix}_min_threshold")),
        max: tables.bytes(entry, &format!("{prefix}_max_threshold")),
        probability: percent(tables, entry, &format!("{prefix}_mark_probability")),
        is_enabled: None,
    });
    Curve {
        min: first.min.or(second.min),
        max: first.max.or(second.max),
        probability: first.probability.or(second.probability),
        is_enabled: None,
    }
}

/// Reads the PFC watchdog.
pub(super) fn watchdog(tables: &mut Tables<'_>, db: &mut ConfigDb) {
    const MOST: i64 = 1 << 40;
    for entry in tables.entries("PFC_WD") {
        if entry.key == "GLOBAL" {
            let poll = tables.number(&entry, "POLL_INTERVAL", 1, MOST);
            db.watchdog.poll = poll.map(positive);
            db.watchdog.big_red_switch =
                one_of(tables, &entry, "BIG_RED_SWITCH", &["enable", "disable"]);
            continue;
        }
        let watched = Watched {
            spot: entry.spot(),
            detection: tables
                .number(&entry, "detection_time", 1, MOST)
                .map(positive),
            restoration: tables
                .number(&entry, "restoration_time", 1, MOST)
                .map(positive),
            action: one_of(tables, &entry, "action", &["drop", "forward", "alert"]),
        };
        if !entry.has("detection_time") {
            let message = "the entry has no detection_time".to_owned();
            tables.error(
                "bad-value",
                &entry.spot(),
                message,
                "add it: SONiC refuses the entry",
            );
        }
        if entry.key.contains(',') {
            let message = "the watchdog takes one port an entry, not a list".to_owned();
            tables.error(
                "bad-key",
                &entry.spot(),
                message,
                "write an entry for each port",
            );
        }
        for port in tables.known_ports(&entry, entry.key, Severity::Error) {
            db.watchdog.ports.insert(port.to_owned(), watched.clone());
        }
    }
}
