//! `[[override]]`: switches, ports and queues that are set otherwise than the others.

mod egress;
mod keys;
mod maps;

use std::ops::Range;
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::Size;

use serde_spanned::Spanned;
use unpause_sim::config::{
    HostConfig, NodeId, PfcThreshold, SwitchConfig, SwitchModel, SwitchOverride,
};

pub(crate) use keys::OverrideKeys;
use keys::Priorities;

use super::pfc;
use super::switch::{data_priorities, own_watchdog, priorities};
use crate::text::document::{Table, read};
use crate::text::keys::{Keys, Unread, refuse};
use unpause_import::fabric::names::Names;

/// The overrides of a file, for switches and hosts that are set so, and their keys that were not read.
pub(crate) fn overrides(
    tables: Vec<Table<'_>>,
    names: &Names,
    switch: &SwitchConfig,
    host: &HostConfig,
) -> Checked<(Vec<SwitchOverride>, Vec<Unread>)> {
    let mut unread = Vec::new();
    let each = |table| one(table, names, (switch, host), &mut unread);
    let found = tables.into_iter().map(each).collect::<Checked<_>>()?;
    Ok((found, unread))
}

fn one(
    table: Table<'_>,
    names: &Names,
    (switch, host): (&SwitchConfig, &HostConfig),
    unread: &mut Vec<Unread>,
) -> Checked<SwitchOverride> {
    let place = table.span();
    let keys: OverrideKeys = read(table, &[])?;
    check_model(switch, place.clone())?;
    let places = places(&keys, names)?;
    let written = keys.priorities.get();
    let size = |key: Option<&Size>| key.map(|size| size.0);
    let found = SwitchOverride {
        priorities: written.map(|it| own_priorities(it, host)).transpose()?,
        lossless: lossless(&keys, switch, host)?,
        fixed: fixed(&keys, switch, host)?,
        shift: shift(&keys, switch)?,
        headroom_bytes: headroom(&keys, switch)?,
        pfc: keys.pfc.get().map(|it| *it.get_ref()),
        watchdog: own_watchdog(&keys.watchdog)?,
        buffer_bytes: size(keys.buffer.value()),
        lossy_queue_bytes: size(keys.lossy_queue.value()),
        pfc_to_queue: maps::pfc_to_queue(&keys.pfc_to_queue, switch)?,
        to_queue: maps::of_packets(&keys.tc_to_queue, "queue", host)?,
        to_group: maps::of_packets(&keys.tc_to_pg, "group", host)?,
        queue_limit: egress::limit(&keys)?,
        shaper: egress::shaper(&keys, host)?,
        marking: egress::marking(&keys, place.clone())?,
        ..places
    };
    let sets_nothing = !found.of_switch() && !found.of_places();
    if sets_nothing {
        refuse(keys.unread())?;
    }
    unread.extend(keys.unread());
    if sets_nothing {
        return Problem::new("this override sets nothing")
            .at(place, "it says only where")
            .help("add the settings that differ, such as lossless = []")
            .err();
    }
    check_scope(&keys, &found)?;
    check_pfc(&keys, &found, switch)?;
    Ok(found)
}

/// An override of the switches that it names, and of their ports if these are named.
fn places(keys: &OverrideKeys, names: &Names) -> Checked<SwitchOverride> {
    let of = |switches| SwitchOverride {
        switches,
        ..SwitchOverride::default()
    };
    match (keys.switches.get(), keys.ports.get()) {
        (None, None) => Ok(of(names.switches())),
        (Some(switches), None) => Ok(of(names.switch_list(switches)?)),
        (None, Some(ports)) => {
            let ports = names.switch_ports(ports)?;
            let mut switches: Vec<NodeId> = ports.iter().map(|it| it.0).collect();
            switches.dedup();
            Ok(SwitchOverride {
                ports: Some(ports),
                ..of(switches)
            })
        }
        (Some(switches), Some(ports)) => Problem::new("`switches` beside `ports`")
            .at(switches.span(), "these switches")
            .at(ports.span(), "ports, each with its switch")
            .help("remove `switches`: \"leaf0->spine*\" says that the ports are those of leaf0")
            .err(),
    }
}

/// The priorities that it applies to.
fn own_priorities(written: &Spanned<Priorities>, host: &HostConfig) -> Checked<u8> {
    let own = data_priorities(written, host, "their queue is the same everywhere")?;
    match own {
        0 => Problem::new("no priorities")
            .at(written.span(), "this list is empty")
            .help("write some, such as [3], or remove it: then it applies to all")
            .err(),
        own => Ok(own),
    }
}

/// Settings of a whole switch cannot be overridden for some of its ports or priorities.
fn check_scope(keys: &OverrideKeys, found: &SwitchOverride) -> Checked<()> {
    if !found.is_of_some() || !found.of_switch() {
        return Ok(());
    }
    const WHOLE: [&str; 6] = [
        "lossless",
        "buffer",
        "lossy_queue",
        "pfc_to_queue",
        "tc_to_queue",
        "tc_to_pg",
    ];
    let mut written = keys.written().into_iter();
    let (what, scope) = match keys.ports.peek() {
        Some(ports) => ("ports", ports.span()),
        None => (
            "priorities",
            keys.priorities.peek().map_or(0..0, Spanned::span),
        ),
    };
    let Some((name, place)) = written.find(|(name, _)| WHOLE.contains(name)) else {
        return Ok(());
    };
    let help = match name {
        "lossy_queue" => "write queue_limit for some queues".to_owned(),
        _ => format!("write an override for the switch that has only `{name}`"),
    };
    Problem::new(format!("`{name}` is the same for a whole switch"))
        .at(place, "of the switch")
        .at(scope, format!("this override is for some {what}"))
        .help(help)
        .err()
}

/// Thresholds of PFC are of priorities that have it.
fn check_pfc(keys: &OverrideKeys, found: &SwitchOverride, switch: &SwitchConfig) -> Checked<()> {
    let sets = found.fixed.is_some() || found.shift.is_some() || found.headroom_bytes.is_some();
    if let (true, Some(0), Some(lossless)) = (sets, found.lossless, keys.lossless.peek()) {
        return Problem::new("thresholds of PFC where no priority has it")
            .at(
                lossless.span(),
                "`xoff`, `alpha` and `headroom` have no effect beside this",
            )
            .help("remove them from this override, or list a priority here")
            .err();
    }
    let Some(priorities) = found
        .priorities
        .filter(|it| it & switch.lossless == 0 && sets)
    else {
        return Ok(());
    };
    let place = keys.priorities.peek().map_or(0..0, Spanned::span);
    Problem::new(format!(
        "priority {} has no PFC",
        priorities.trailing_zeros()
    ))
    .at(place, "thresholds and headroom of PFC have no effect on it")
    .help("name priorities of `lossless` of [switch]")
    .err()
}

fn check_model(switch: &SwitchConfig, place: Range<usize>) -> Checked<()> {
    if switch.model == SwitchModel::SharedBuffer {
        return Ok(());
    }
    Problem::new("switches of this model cannot differ")
        .at(place, "only shared-buffer switches can have overrides")
        .help("choose model = \"shared-buffer\", or remove it")
        .err()
}

/// The priorities of `[switch]` that PFC protects here.
fn lossless(keys: &OverrideKeys, switch: &SwitchConfig, host: &HostConfig) -> Checked<Option<u8>> {
    let Some(written) = keys.lossless.get() else {
        return Ok(None);
    };
    let own = priorities(written, host)?;
    if own & !switch.lossless != 0 {
        let priority = (own & !switch.lossless).trailing_zeros();
        return Problem::new(format!("priority {priority} is lossless only here"))
            .at(written.span(), "`lossless` of [switch] does not have it")
            .help("add it there, and write an override for the switches without it")
            .err();
    }
    Ok(Some(own))
}

fn fixed(
    keys: &OverrideKeys,
    switch: &SwitchConfig,
    host: &HostConfig,
) -> Checked<Option<(u64, u64)>> {
    let Some(xoff) = keys.xoff.get() else {
        return Ok(None);
    };
    if !matches!(switch.pfc.threshold, PfcThreshold::Static { .. }) {
        return Problem::new("`xoff` where thresholds are dynamic")
            .at(xoff.span(), "[pfc] has `alpha` or `dynamic_shift`")
            .help("write `alpha` here")
            .err();
    }
    let xoff_bytes = xoff.get_ref().0;
    let below = xoff_bytes.saturating_sub(pfc::two_frames(host));
    let xon_bytes = keys.xon.value().map_or(below, |it| it.0);
    if xon_bytes > xoff_bytes {
        return Problem::new("`xon` is above `xoff`")
            .at(xoff.span(), "PAUSE above this")
            .err();
    }
    Ok(Some((xoff_bytes, xon_bytes)))
}

fn shift(keys: &OverrideKeys, switch: &SwitchConfig) -> Checked<Option<i32>> {
    let Some(alpha) = keys.alpha.get() else {
        return Ok(None);
    };
    if matches!(switch.pfc.threshold, PfcThreshold::Static { .. }) {
        return Problem::new("`alpha` where thresholds are fixed")
            .at(alpha.span(), "[pfc] has no `alpha`")
            .help("write alpha in [pfc] for the other switches, or xoff here")
            .err();
    }
    pfc::shift_of("alpha", alpha).map(Some)
}

/// Headroom of its lossless priorities.
fn headroom(keys: &OverrideKeys, switch: &SwitchConfig) -> Checked<Option<u64>> {
    let Some(headroom) = keys.headroom.get() else {
        return Ok(None);
    };
    let (what, help) = match (switch.lossless, &switch.cbfc) {
        (_, Some(_)) => (
            "credits wait for room, and need no headroom",
            "remove it, or flow_control = \"cbfc\" of [link]",
        ),
        (0, None) => (
            "no priority has PFC",
            "set lossless = [3] in [switch], or remove it",
        ),
        _ => return Ok(Some(headroom.get_ref().0)),
    };
    Problem::new("`headroom` without PFC")
        .at(headroom.span(), what)
        .help(help)
        .err()
}
