//! `[switch]` and `[pfc]`: lossless priorities, thresholds, headroom, memory.

use std::collections::{BTreeMap, BTreeSet};

use super::fabric_ports::{Ports, Use};
use super::places::{At, differing, most};
use super::same::{Of, common, one};
use super::writer::{Scope, Writer};
use crate::chips;
use crate::finding::{Given, Spot};
use crate::model::{Buffer, ConfigDb, Pool, Profile, Threshold};
use crate::values::some_of;
use unpause_import::FileError;

/// Lossless priorities of all ports: those with PFC and a lossless group at some port. Switches and ports without some of them
/// get overrides.
pub(super) fn lossless(ports: &Ports<'_>, writer: &mut Writer) -> BTreeSet<u8> {
    for it in ports.all() {
        let pfc = it.db.qos.get(it.port).map(|qos| qos.pfc.clone());
        let is_lossy = |priority: &u8| it.db.lossless(it.port, *priority).is_none();
        for priority in pfc.unwrap_or_default().into_iter().filter(is_lossy) {
            writer.leave_out(format!(
                "{}: pfc_enable of priority {priority}: it has no lossless group in BUFFER_PG, and is lossy here",
                it.whose()
            ));
        }
    }
    let whole: BTreeSet<u8> = ports.all().flat_map(|it| own_lossless(&it)).collect();
    for (index, db) in ports.switches().enumerate() {
        let of_switch: BTreeSet<u8> = ports.of(index).flat_map(|it| own_lossless(&it)).collect();
        if ports.of(index).next().is_some() && of_switch != whole {
            let from = "PORT_QOS_MAP pfc_enable of this switch";
            writer.own(&db.name(), "lossless", list(&of_switch), from);
        }
        without(ports, index, &of_switch, writer);
    }
    whole
}

/// `[3, 4]`
fn list(priorities: &BTreeSet<u8>) -> String {
    let all: Vec<String> = priorities.iter().map(u8::to_string).collect();
    format!("[{}]", all.join(", "))
}

/// The ports of a switch that lack PFC of some of its lossless priorities.
fn without(ports: &Ports<'_>, index: usize, of_switch: &BTreeSet<u8>, writer: &mut Writer) {
    // Of ports to the same neighbour, which a scenario cannot tell apart, one with PFC counts.
    let mut names: BTreeMap<String, BTreeSet<u8>> = BTreeMap::new();
    for it in ports.of(index) {
        names
            .entry(it.name())
            .or_default()
            .extend(own_lossless(&it));
    }
    for it in ports.of(index) {
        let of_name = &names[&it.name()];
        let own = own_lossless(&it);
        if own != *of_name {
            writer.leave_out(format!(
                "{}: pfc_enable {}: another port to the same neighbour has {}, which counts for both: a scenario names ports by \
                 their neighbours",
                it.whose(),
                list(&own),
                list(of_name)
            ));
        }
    }
    for (name, own) in names {
        let priorities: BTreeSet<u8> = of_switch.difference(&own).copied().collect();
        if !priorities.is_empty() {
            let scope = Scope {
                port: Some(name),
                switch: None,
                priorities,
            };
            let from = "PORT_QOS_MAP pfc_enable of this port";
            writer.of(&scope, "pfc", "false", from);
        }
    }
}

/// The priorities with PFC and a lossless group of a port.
pub(super) fn own_lossless(at: &Use<'_>) -> BTreeSet<u8> {
    let pfc = at.db.qos.get(at.port).map(|qos| qos.pfc.clone());
    let pfc = pfc.unwrap_or_default().into_iter();
    pfc.filter(|priority| at.db.lossless(at.port, *priority).is_some())
        .collect()
}

/// A lossless group of a port, with its profile.
struct Group<'a> {
    at: Use<'a>,
    number: u8,
    profile: &'a Profile,
}

impl Group<'_> {
    /// Of its port, Mb/s.
    fn speed(&self) -> u64 {
        let speed = self.at.db.ports[self.at.port].speed.as_ref();
        speed.map_or(0, |speed| speed.value)
    }

    /// Bytes.
    fn headroom(&self) -> u64 {
        self.profile.xoff.as_ref().map_or(0, |xoff| xoff.value)
    }
}

/// Bytes that are reserved beside the headroom: some switches count it as reserved.
fn reserve(profile: &Profile) -> u64 {
    let size = profile.size.as_ref().map_or(0, |size| size.value);
    let xoff = profile.xoff.as_ref().map_or(0, |xoff| xoff.value);
    if size < xoff { size } else { size - xoff }
}

/// Writes `[switch] buffer` and `[pfc]`.
pub(super) fn write(
    ports: &Ports<'_>,
    lossless: &BTreeSet<u8>,
    writer: &mut Writer,
) -> Result<(), FileError> {
    let mut groups = Vec::new();
    let mut computed = Vec::new();
    for at in ports.all() {
        for priority in lossless.intersection(&own_lossless(&at)) {
            match at.db.lossless(at.port, *priority) {
                Some((_, Some(profile))) => groups.push(Group {
                    at,
                    number: *priority,
                    profile,
                }),
                _ => computed.push(at.whose()),
            }
        }
    }
    if !computed.is_empty() {
        writer.leave_out(format!(
            "{}: the profile is SONiC's own (dynamic buffer model): headroom is the least that a link needs here, and the \
             memory is the scenario's default",
            computed[0]
        ));
    }
    let whole = computed.is_empty() && !groups.is_empty();
    if whole {
        let headrooms = headrooms(&groups, lossless, writer);
        let pool = headroom_pool(ports, &groups, writer);
        memory(ports, &groups, lossless, (&headrooms, pool), writer);
        writer.line("");
        writer.line("[pfc]");
        thresholds(&groups, lossless, writer)?;
        let headrooms = headrooms.by_speed;
        let each: Vec<String> = headrooms
            .iter()
            .map(|(mbps, bytes)| format!("\"{}\" = \"{bytes}B\"", super::writer::rate(*mbps)))
            .collect();
        let value = match headrooms.values().collect::<BTreeSet<_>>().len() {
            1 => format!("\"{}B\"", headrooms.values().next().unwrap_or(&0)),
            _ => format!("{{ {} }}", each.join(", ")),
        };
        writer.key("headroom", value, "BUFFER_PROFILE xoff");
        if let Some(pool) = pool {
            writer.key("headroom_pool", format!("\"{pool}B\""), "BUFFER_POOL xoff");
        }
    }
    writer.line("");
    Ok(())
}

/// The shared headroom pool of all switches, if they have one.
fn headroom_pool(ports: &Ports<'_>, groups: &[Group<'_>], writer: &mut Writer) -> Option<u64> {
    let mut all = Vec::new();
    for (index, db) in ports.switches().enumerate() {
        let own = groups.iter().find(|it| it.at.switch == index);
        let Some((name, pool)) = own.and_then(|it| db.pool_of(it.profile)) else {
            continue;
        };
        let spot = pool.xoff.as_ref().map_or(&pool.spot, |xoff| &xoff.spot);
        all.push(Of {
            value: pool.xoff.as_ref().map_or(0, |xoff| xoff.value),
            db,
            whose: format!("{} {name}", db.name()),
            spot: spot.clone(),
        });
    }
    common("the shared headroom pool (xoff)", &all, writer).filter(|bytes| *bytes > 0)
}

/// Headroom in bytes.
struct Headrooms {
    /// By speed, Mb/s: what most groups have.
    by_speed: BTreeMap<u64, u64>,
    /// By name of a port, and group.
    by_port: BTreeMap<(String, u8), u64>,
}

/// The headroom of each speed: what most groups have, and overrides for ports with another one, whose cable differs.
fn headrooms(groups: &[Group<'_>], lossless: &BTreeSet<u8>, writer: &mut Writer) -> Headrooms {
    let mut by_speed: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for it in groups {
        by_speed.entry(it.speed()).or_default().push(it.headroom());
    }
    let same: BTreeMap<u64, u64> = by_speed
        .into_iter()
        .map(|(mbps, all)| (mbps, most(&all.iter().collect::<Vec<_>>())))
        .collect();
    // Of ports to the same neighbour, which a scenario cannot tell apart, the largest counts.
    let mut names: BTreeMap<(String, u8), u64> = BTreeMap::new();
    for it in groups {
        let bytes = names.entry((it.at.name(), it.number)).or_default();
        *bytes = it.headroom().max(*bytes);
    }
    let mut own: BTreeMap<(String, u64), BTreeSet<u8>> = BTreeMap::new();
    for it in groups {
        let name = it.at.name();
        let bytes = names[&(name.clone(), it.number)];
        if bytes != it.headroom() {
            writer.leave_out(format!(
                "{}: BUFFER_PROFILE xoff {} of group {}: another port to the same neighbour has {bytes}, which counts for \
                 both: a scenario names ports by their neighbours",
                it.at.whose(),
                it.headroom(),
                it.number,
            ));
        }
        if bytes != same[&it.speed()] {
            own.entry((name, bytes)).or_default().insert(it.number);
        }
    }
    for ((name, bytes), priorities) in own {
        let scope = Scope {
            port: Some(name),
            switch: None,
            priorities: if priorities == *lossless {
                BTreeSet::new()
            } else {
                priorities
            },
        };
        let from = "BUFFER_PROFILE xoff of this port";
        writer.of(&scope, "headroom", format!("\"{bytes}B\""), from);
    }
    Headrooms {
        by_speed: same,
        by_port: names,
    }
}

/// The pool, with headroom and reserve of the ports of a switch on top.
fn memory(
    ports: &Ports<'_>,
    groups: &[Group<'_>],
    lossless: &BTreeSet<u8>,
    (headrooms, shared): (&Headrooms, Option<u64>),
    writer: &mut Writer,
) {
    let threshold = groups.first().and_then(|it| it.profile.threshold.as_ref());
    let is_dynamic = threshold.is_some_and(|it| matches!(it.value, Threshold::Dynamic(_)));
    let mut sizes: Vec<(u64, String)> = Vec::new();
    for (index, db) in ports.switches().enumerate() {
        let own = groups.iter().find(|it| it.at.switch == index);
        let Some((name, pool)) = own.and_then(|it| db.pool_of(it.profile)) else {
            continue;
        };
        let Some(size) = &pool.size else {
            writer.leave_out(format!(
                "{}: {name} has no size (dynamic buffer model): the memory is the scenario's default",
                db.name()
            ));
            return;
        };
        let reserve = own.map_or(0, |it| reserve(it.profile));
        // Dynamic thresholds count as in HPCC's simulator: headroom and reserve of one class for each port.
        let mut by_port: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for it in groups.iter().filter(|it| it.at.switch == index) {
            let bytes = headrooms.by_port[&(it.at.name(), it.number)];
            by_port.entry(it.at.port).or_default().push(bytes);
        }
        let of_port = |all: &Vec<u64>| {
            if is_dynamic {
                all.iter().copied().max().unwrap_or(0)
            } else {
                all.iter().sum()
            }
        };
        let headroom: u64 = by_port.values().map(of_port).sum();
        let classes = if is_dynamic { 1 } else { lossless.len() as u64 };
        let reserves = ports.of(index).count() as u64 * reserve * classes;
        let apart = headroom.min(shared.unwrap_or(u64::MAX)) + reserves;
        let included = included(db, (name, pool), apart, writer);
        sizes.push((size.value.saturating_sub(included) + apart, db.name()));
    }
    let Some(buffer) = sizes.iter().map(|it| it.0).min() else {
        return;
    };
    let of = if is_dynamic {
        "BUFFER_POOL size, with size and xoff of one lossless group a port"
    } else {
        "BUFFER_POOL size, with size and xoff of each lossless group"
    };
    writer.key("buffer", format!("\"{buffer}B\""), of);
    for (bytes, switch) in sizes.iter().filter(|(own, _)| *own != buffer) {
        writer.own(
            switch,
            "buffer",
            format!("\"{bytes}B\""),
            "BUFFER_POOL size of this switch",
        );
    }
}

/// The bytes of a pool's size that are its shared headroom, and a note with the answer if it is not in there.
fn included(db: &ConfigDb, (name, pool): (&str, &Pool), apart: u64, writer: &mut Writer) -> u64 {
    let xoff = pool.xoff.as_ref().map_or(0, |xoff| xoff.value);
    if xoff == 0 || chips::adds_headroom(db) {
        return 0;
    }
    let size = pool.size.as_ref().map_or(0, |size| size.value);
    writer.notes.push(format!(
        "{}: {name}: its size of {size} B includes its xoff of {xoff} B, as SAI says; if the switch adds xoff to it, as \
         Spectrum does, buffer is \"{}B\"",
        db.name(),
        size + apart
    ));
    xoff
}

/// A value of a lossless group.
fn of<'a>(value: String, it: &Group<'a>, spot: Option<&Spot>) -> Of<'a, String> {
    Of {
        value,
        db: it.at.db,
        whose: it.at.whose(),
        spot: spot.unwrap_or(&it.profile.spot).clone(),
    }
}

fn thresholds(
    groups: &[Group<'_>],
    lossless: &BTreeSet<u8>,
    writer: &mut Writer,
) -> Result<(), FileError> {
    let (mut all, mut kinds) = (Vec::new(), Vec::new());
    let mut reserves = Vec::new();
    let mut gaps = Vec::new();
    for it in groups {
        let Some(threshold) = &it.profile.threshold else {
            let place = it.at.db.place(&it.profile.spot);
            return Err(place.error("neither dynamic_th nor static_th", "one of them"));
        };
        let (kind, value) = match threshold.value {
            Threshold::Dynamic(power) => ("dynamic_th", power),
            Threshold::Static(bytes) => ("static_th", bytes.min(1 << 62) as i64),
        };
        kinds.push(of(kind.to_owned(), it, Some(&threshold.spot)));
        let (at, number) = (it.at, it.number);
        all.push(At { at, number, value });
        reserves.push(of(
            format!("{}", reserve(it.profile)),
            it,
            it.profile.size.as_ref().map(|it| &it.spot),
        ));
        let gap = it.profile.xon_offset.as_ref();
        gaps.push(of(
            gap.map_or("-".into(), |gap| gap.value.to_string()),
            it,
            gap.map(|it| &it.spot),
        ));
    }
    let kind = one("the threshold", &kinds)?.unwrap_or_default();
    let reserve = common("size beside the headroom", &reserves, writer).unwrap_or_default();
    let gap = common("xon_offset", &gaps, writer).unwrap_or_default();
    let is_dynamic = kind == "dynamic_th";
    let key = |value: i64| {
        if is_dynamic {
            ("alpha", alpha(value), format!("dynamic_th {value}"))
        } else {
            ("xoff", format!("\"{value}B\""), "static_th".to_owned())
        }
    };
    let same = most(&all.iter().map(|it| &it.value).collect::<Vec<_>>());
    for (mut scope, value) in differing("the threshold", &all, most, writer) {
        if scope.port.is_none() && scope.switch.is_none() && value == same {
            continue;
        }
        if scope.priorities == *lossless {
            scope.priorities.clear();
        }
        let (name, text, from) = key(value);
        writer.of(&scope, name, text, &format!("BUFFER_PROFILE {from}"));
    }
    let (name, text, from) = key(same);
    if is_dynamic {
        writer.key(name, text, &format!("BUFFER_PROFILE {from}: 2^{same}"));
        writer.key("reserve", format!("\"{reserve}B\""), "BUFFER_PROFILE size");
    } else {
        writer.key(name, text, &format!("BUFFER_PROFILE {from}"));
        if reserve != "0" {
            writer.leave_out(format!(
                "BUFFER_PROFILE size {reserve} B: a fixed threshold has no reserve beside it"
            ));
        }
    }
    xon(&gap, groups, writer);
    Ok(())
}

/// 2 to this power, as a scenario has it.
pub(super) fn alpha(power: i64) -> String {
    let size = 1_u64 << power.unsigned_abs().min(63);
    if power < 0 {
        format!("\"1/{size}\"")
    } else {
        size.to_string()
    }
}

/// Where XON is sent, below XOFF.
fn xon(gap: &str, groups: &[Group<'_>], writer: &mut Writer) {
    if gap == "-" {
        let line = "BUFFER_PROFILE xon without xon_offset: XON is two frames below XOFF here, the scenario's default";
        return writer.leave_out(line.into());
    }
    let xons = groups.iter().filter_map(|it| it.profile.xon.as_ref());
    if let Some(xon) = xons.map(|xon| xon.value).max().filter(|xon| *xon > 0) {
        writer.leave_out(format!(
            "BUFFER_PROFILE xon {xon}: with xon_offset it counts only where the threshold has come down to them; XON is at the \
             threshold less xon_offset here"
        ));
    }
    writer.key(
        "xon_gap",
        format!("\"{gap}B\""),
        "BUFFER_PROFILE xon_offset",
    );
}

/// Notes the parts of buffers that have no counterpart.
pub(super) fn rest(db: &ConfigDb, writer: &mut Writer) {
    let name = db.name();
    let profile = |given: &Given<Buffer>| match &given.value {
        Buffer::Profile(profile) => Some((profile.clone(), db.profiles.get(profile)?)),
        _ => None,
    };
    let is_lossy = |(port, group): &(String, u8)| db.lossless(port, *group).is_none();
    let lossy = db.groups.iter().filter(|(of, _)| is_lossy(of));
    for (of, it) in lossy.filter_map(|(_, given)| profile(given)) {
        if it.has_threshold {
            writer.leave_out(format!(
                "{name}: BUFFER_PROFILE {of}: a limit of lossy groups: lossy frames have limits at egress alone"
            ));
        }
    }
    for (of, it) in db.queue_buffers.values().filter_map(profile) {
        if let Some(size) = it.size.as_ref().filter(|size| size.value > 0) {
            writer.leave_out(format!(
                "{name}: BUFFER_PROFILE {of}: size {} B: no memory is reserved for a queue in a scenario",
                size.value
            ));
        }
    }
    let asymmetric = db.ports.iter().filter(|(_, port)| port.is_asymmetric);
    let asymmetric: Vec<&str> = asymmetric.map(|(port, _)| port.as_str()).collect();
    if !asymmetric.is_empty() {
        writer.leave_out(format!(
            "{name}: PORT pfc_asym on of {}: a port obeys PAUSE of the lossless priorities alone here",
            some_of(&asymmetric)
        ));
    }
    if let Some(given) = &db.lossless_mtu {
        writer.leave_out(format!(
            "{name}: LOSSLESS_TRAFFIC_PATTERN mtu {}: of SONiC's headroom, which is taken as it is",
            given.value
        ));
    }
    if let Some(given) = &db.over_subscribe_ratio {
        writer.leave_out(format!(
            "{name}: over_subscribe_ratio {}: of a shared headroom pool",
            given.value
        ));
    }
}
