//! From tables to types: the switch, ports, cables, buffers, neighbours.

use super::entry::Entry;
use super::finding::{Finding, Given, Severity};
use super::model::{Buffer, ConfigDb, Neighbor, Pool, Port, Profile, Threshold};
use super::table::Tables;
use super::values;

/// Priority groups and PFC's priorities.
pub(super) const LAST_GROUP: u8 = 7;
/// Switches have up to 20 queues for unicast and multicast; some have more.
pub(super) const LAST_QUEUE: u8 = 63;
/// Mb/s of the fastest port that anybody has announced, and some more.
const FASTEST: i64 = 10_000_000;

/// Reads the switch, its ports and its neighbours.
pub(super) fn ports(tables: &mut Tables<'_>, db: &mut ConfigDb) {
    for entry in tables.entries("DEVICE_METADATA") {
        if entry.key == "localhost" {
            db.device.hostname = tables.text(&entry, "hostname");
            db.device.hwsku = tables.text(&entry, "hwsku");
            db.device.buffer_model = tables.text(&entry, "buffer_model");
            let asic = tables.text(&entry, "asic_name").map(|it| it.value);
            let host = db.device.hostname.as_ref();
            tables.itself = host.map(|host| (host.value.clone(), asic));
        }
    }
    let (mut some_are_up, mut unsaid) = (false, Vec::new());
    for entry in tables.entries("PORT") {
        let speed = tables.number(&entry, "speed", 1, FASTEST);
        let mtu = tables.number(&entry, "mtu", 68, 65_535);
        let speed_is_unread = speed.is_none();
        let is_down = match tables.text(&entry, "admin_status") {
            None => {
                unsaid.push(entry.key.to_owned());
                false
            }
            Some(given) => {
                if !["up", "down"].contains(&given.value.as_str()) {
                    let message = format!(
                        "admin_status: {} is neither up nor down",
                        values::short(&given.value)
                    );
                    tables.error("bad-value", &given.spot, message, "write up or down");
                }
                some_are_up |= given.value == "up";
                given.value == "down"
            }
        };
        let asymmetric = one_of(tables, &entry, "pfc_asym", &["on", "off"]);
        let port = Port {
            spot: entry.spot(),
            alias: tables.text(&entry, "alias").map(|it| it.value),
            speed: speed.map(positive),
            mtu: mtu.map(positive),
            is_down,
            is_asymmetric: asymmetric.is_some_and(|it| it.value == "on"),
            cable: None,
            is_unread: entry.has("speed") && speed_is_unread,
        };
        db.ports.insert(entry.key.to_owned(), port);
    }
    // SONiC's default is down (sonic-port.yang). A file in which no port is up is an excerpt, whose ports are.
    for port in unsaid.iter().filter(|_| some_are_up) {
        if let Some(port) = db.ports.get_mut(port) {
            port.is_down = true;
        }
    }
    cables(tables, db);
    neighbors(tables, db);
}

pub(super) fn positive(given: Given<i64>) -> Given<u64> {
    Given {
        value: given.value.unsigned_abs(),
        spot: given.spot,
    }
}

fn cables(tables: &mut Tables<'_>, db: &mut ConfigDb) {
    for entry in tables.entries("CABLE_LENGTH") {
        for name in entry.names() {
            let cable = tables.read(&entry, &name, values::metres);
            match db.ports.get_mut(&name) {
                Some(port) => {
                    port.is_unread |= cable.is_none();
                    port.cable = cable;
                }
                None if tables.has("PORT") => {
                    let message = format!("there is no port {} in PORT", values::short(&name));
                    let spot = entry.spot_of(&name);
                    tables.warn("unknown-port", &spot, message, "remove it, or add the port");
                }
                None => {}
            }
        }
    }
}

fn neighbors(tables: &mut Tables<'_>, db: &mut ConfigDb) {
    for entry in tables.entries("DEVICE_NEIGHBOR") {
        let neighbor = Neighbor {
            spot: entry.spot(),
            name: tables.text(&entry, "name"),
            port: tables.text(&entry, "port"),
        };
        for port in tables.known_ports(&entry, entry.key, Severity::Warning) {
            db.neighbors.insert(port.to_owned(), neighbor.clone());
        }
    }
    for entry in tables.entries("DEVICE_NEIGHBOR_METADATA") {
        if let Some(kind) = tables.text(&entry, "type") {
            db.neighbor_types.insert(entry.key.to_owned(), kind);
        }
    }
}

/// Reads pools, profiles, and what has which.
pub(super) fn buffers(tables: &mut Tables<'_>, db: &mut ConfigDb) {
    for entry in tables.entries("BUFFER_POOL") {
        let pool = Pool {
            spot: entry.spot(),
            size: tables.bytes(&entry, "size"),
            direction: one_of(tables, &entry, "type", &["ingress", "egress", "both"]),
            mode: one_of(tables, &entry, "mode", &["dynamic", "static"]),
            xoff: tables.bytes(&entry, "xoff"),
        };
        db.pools.insert(entry.key.to_owned(), pool);
    }
    for entry in tables.entries("BUFFER_PROFILE") {
        let profile = profile(tables, &entry);
        db.profiles.insert(entry.key.to_owned(), profile);
    }
    for entry in tables.entries("BUFFER_PG") {
        bindings(tables, db, &entry, LAST_GROUP);
    }
    for entry in tables.entries("BUFFER_QUEUE") {
        bindings(tables, db, &entry, LAST_QUEUE);
    }
    for table in [
        "BUFFER_PORT_INGRESS_PROFILE_LIST",
        "BUFFER_PORT_EGRESS_PROFILE_LIST",
    ] {
        for entry in tables.entries(table) {
            tables.known_ports(&entry, entry.key, Severity::Error);
            let Some(list) = tables.list(&entry, "profile_list") else {
                continue;
            };
            for name in list.value.split(',').map(str::trim) {
                let one = Given {
                    value: name.to_owned(),
                    spot: list.spot.clone(),
                };
                tables.resolve(&one, "BUFFER_PROFILE");
            }
        }
    }
    for entry in tables.entries("LOSSLESS_TRAFFIC_PATTERN") {
        db.lossless_mtu = tables.number(&entry, "mtu", 64, 65_535).map(positive);
        let small = tables.number(&entry, "small_packet_percentage", 0, 100);
        db.small_packets = small.map(positive);
    }
    for entry in tables.entries("DEFAULT_LOSSLESS_BUFFER_PARAMETER") {
        tables.number(&entry, "default_dynamic_th", -8, 8);
        db.over_subscribe_ratio = tables.number(&entry, "over_subscribe_ratio", 0, 1 << 20);
    }
}

/// A word out of a few.
pub(super) fn one_of(
    tables: &mut Tables<'_>,
    entry: &Entry<'_>,
    field: &str,
    words: &[&str],
) -> Option<Given<String>> {
    let given = tables.text(entry, field)?;
    if !words.contains(&given.value.as_str()) {
        let message = format!(
            "{field}: {} is none of {}",
            values::short(&given.value),
            words.join(", ")
        );
        tables.error("bad-value", &given.spot, message, "write one of them");
        return None;
    }
    Some(given)
}

fn profile(tables: &mut Tables<'_>, entry: &Entry<'_>) -> Profile {
    let dynamic = tables.number(entry, "dynamic_th", -8, 8);
    let fixed = tables.bytes(entry, "static_th");
    if let (Some(_), Some(fixed)) = (&dynamic, &fixed) {
        let message = "dynamic_th and static_th are both there".to_owned();
        tables.error(
            "bad-value",
            &fixed.spot,
            message,
            "keep the one of the pool's mode",
        );
    }
    let dynamic = dynamic.map(|given| Given {
        value: Threshold::Dynamic(given.value),
        spot: given.spot,
    });
    let fixed = fixed.map(|given| Given {
        value: Threshold::Static(given.value),
        spot: given.spot,
    });
    let headroom = one_of(tables, entry, "headroom_type", &["dynamic", "static"]);
    if !entry.has("pool") && headroom.as_ref().is_none_or(|it| it.value != "dynamic") {
        let message = "the profile names no pool".to_owned();
        tables.error(
            "bad-value",
            &entry.spot(),
            message,
            "add \"pool\": SONiC does not make a profile without one",
        );
    }
    let xoff = tables.bytes(entry, "xoff");
    Profile {
        spot: entry.spot(),
        pool: tables.reference(entry, "pool", "BUFFER_POOL"),
        size: tables.bytes(entry, "size"),
        xon: tables.bytes(entry, "xon"),
        xon_offset: tables.bytes(entry, "xon_offset"),
        is_unread: xoff.is_none() && entry.has("xoff"),
        xoff,
        threshold: dynamic.or(fixed),
        has_threshold: entry.has("dynamic_th") || entry.has("static_th"),
        is_dynamic_headroom: headroom.is_some_and(|it| it.value == "dynamic"),
    }
}

/// An entry of `BUFFER_PG` or `BUFFER_QUEUE`.
fn bindings(tables: &mut Tables<'_>, db: &mut ConfigDb, entry: &Entry<'_>, last: u8) {
    let of_groups = entry.table == "BUFFER_PG";
    let Some((ports, range)) = tables.ports_and_range(entry, last) else {
        return;
    };
    let spot = entry.spot_of("profile");
    let value = match tables.text(entry, "profile") {
        Some(given) if given.value == "NULL" && of_groups => Buffer::Computed,
        Some(given) => match tables.resolve(&given, "BUFFER_PROFILE") {
            Some(name) => Buffer::Profile(name.value),
            None => Buffer::Unknown,
        },
        None => {
            if !entry.has("profile") {
                let message = "the entry names no profile".to_owned();
                tables.error("bad-value", &entry.spot(), message, "add \"profile\"");
            }
            Buffer::Unknown
        }
    };
    let all = if of_groups {
        &mut db.groups
    } else {
        &mut db.queue_buffers
    };
    for port in ports {
        for number in &range {
            let given = Given {
                value: value.clone(),
                spot: spot.clone(),
            };
            if let Some(before) = all.insert((port.to_owned(), *number), given) {
                let what = if of_groups { "priority group" } else { "queue" };
                let message = format!("{what} {number} of the port is in another entry, too");
                let fix =
                    "let ranges of a port not overlap: which of them counts depends on their order";
                let finding = Finding::new(
                    Severity::Error,
                    "overlapping-ranges",
                    &entry.spot(),
                    message,
                    fix,
                );
                tables.say(finding.because([format!("the other is {}", before.spot.path)]));
            }
        }
    }
}
