//! `[[override]]`: switches that are set otherwise than the others.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_spanned::Spanned;
use unpause_protocols::units::Fraction;
use unpause_sim::config::{
    HostConfig, PRIORITIES, PfcThreshold, RedThresholds, SwitchConfig, SwitchModel, SwitchOverride,
};

use super::pfc;
use super::switch::priorities;
use crate::names::Names;
use crate::text::document::{Table, read};
use crate::text::error::{Checked, Problem};
use crate::text::keys::{Keys, keys, kinds, refuse};
use crate::text::name_list::NameList;
use crate::text::quantity::{Ratio, Size};
use crate::text::setting::Setting;

type Priorities = Vec<Spanned<u8>>;

/// By priority of PAUSE the priority whose queue it stops.
type PfcMap = BTreeMap<String, Spanned<u8>>;

kinds! { PfcMap = "table of numbers" }

keys! {
    /// `[[override]]`
    pub(crate) OverrideKeys at "override" for () {
        ! switches: NameList "which switches: `\"S0\"`, `[\"S0\", \"S2..S5\"]`, or a pattern, `\"spine*\"`";
        lossless: Priorities = ["that of `[switch]`"]
            "priorities under PFC there, some of those of `[switch]`; the others are lossy: the switch neither sends nor obeys PAUSE for them";
        xoff: Size = ["that of `[pfc]`"] "PAUSE above this";
        xon: Size = ["two frames below `xoff`"] "resume at or below this"
            idle ("`xoff` is that of [pfc]", "add xoff, or remove it");
        alpha: Ratio = ["that of `[pfc]`"] "where the threshold is dynamic: the free shared buffer times this";
        buffer: Size = ["that of `[switch]`"] "packet memory, headroom included";
        lossy_queue: Size = ["that of `[switch]`"] "largest egress queue of a lossy priority";
        pfc_to_queue: PfcMap = ["each its own"]
            "which queue PAUSE of a priority stops there, as in SONiC's `MAP_PFC_PRIORITY_TO_QUEUE`: `{ 3 = 1 }`; a wrong map is a classic fault";
        kmin: Size = ["that of the scheme"]
            "with `kmax` and `pmax`, under schemes that mark by queue length (RED, DCQCN, WRED): no marks up to this";
        kmax: Size = ["that of the scheme"] "every packet is marked above this"
            idle ("`kmin` is that of the scheme", "write all of kmin, kmax and pmax");
        pmax: Ratio = ["that of the scheme"] "marking probability at `kmax`"
            idle ("`kmin` is that of the scheme", "write all of kmin, kmax and pmax");
    }
}

/// The overrides of a file, for switches and hosts that are set so.
pub(crate) fn overrides(
    tables: Vec<Table<'_>>,
    names: &Names,
    switch: &SwitchConfig,
    host: &HostConfig,
) -> Checked<Vec<SwitchOverride>> {
    let each = |table| one(table, names, switch, host);
    tables.into_iter().map(each).collect()
}

fn one(
    table: Table<'_>,
    names: &Names,
    switch: &SwitchConfig,
    host: &HostConfig,
) -> Checked<SwitchOverride> {
    let place = table.span();
    let keys: OverrideKeys = read(table, &[])?;
    check_model(switch, place.clone())?;
    let switches = names.switch_list(&keys.switches)?;
    let size = |key: Option<&Size>| key.map(|size| size.0);
    let found = SwitchOverride {
        switches,
        lossless: lossless(&keys, switch, host)?,
        fixed: fixed(&keys, switch, host)?,
        shift: shift(&keys, switch)?,
        buffer_bytes: size(keys.buffer.value()),
        lossy_queue_bytes: size(keys.lossy_queue.value()),
        pfc_to_queue: pfc_to_queue(&keys, switch)?,
        red: red(&keys, place.clone())?,
    };
    refuse(Keys::<()>::unread(&keys))?;
    let same = SwitchOverride {
        switches: found.switches.clone(),
        ..SwitchOverride::default()
    };
    if found == same {
        return Problem::new("this override sets nothing")
            .at(place, "only `switches` is written")
            .help("add what is different there, such as lossless = []")
            .err();
    }
    Ok(found)
}

fn check_model(switch: &SwitchConfig, place: Range<usize>) -> Checked<()> {
    if switch.model == SwitchModel::SharedBuffer {
        return Ok(());
    }
    Problem::new("switches of this model are all alike")
        .at(
            place,
            "only switches with a shared buffer can be set otherwise",
        )
        .help("choose model = \"shared-buffer\", or remove it")
        .err()
}

/// Priorities under PFC, of those of `[switch]`.
fn lossless(keys: &OverrideKeys, switch: &SwitchConfig, host: &HostConfig) -> Checked<Option<u8>> {
    let Some(written) = keys.lossless.get() else {
        return Ok(None);
    };
    let own = priorities(written, host)?;
    if own & !switch.lossless != 0 {
        let priority = (own & !switch.lossless).trailing_zeros();
        return Problem::new(format!("priority {priority} is lossless here alone"))
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
    pfc::shift_of(alpha).map(Some)
}

/// Which queues PAUSE stops.
fn pfc_to_queue(keys: &OverrideKeys, switch: &SwitchConfig) -> Checked<Option<[u8; PRIORITIES]>> {
    let Some(written) = keys.pfc_to_queue.get() else {
        return Ok(None);
    };
    let mut map = std::array::from_fn(|priority| priority as u8);
    for (key, queue) in written.get_ref() {
        let priority = key.parse().ok();
        let Some(priority) = priority.filter(|it: &usize| switch.lossless >> it & 1 == 1) else {
            return Problem::new(format!("priority `{key}` has no PFC"))
                .at(queue.span(), "nobody sends PAUSE of it")
                .help("priorities are those of `lossless` of [switch]: { 3 = 1 }")
                .err();
        };
        if usize::from(*queue.get_ref()) >= PRIORITIES {
            return Problem::new(format!("there is no queue {}", queue.get_ref()))
                .at(queue.span(), "queues are 0 to 7, by priority")
                .err();
        }
        map[priority] = *queue.get_ref();
    }
    Ok(Some(map))
}

/// Thresholds of marking.
fn red(keys: &OverrideKeys, place: Range<usize>) -> Checked<Option<RedThresholds>> {
    let Some(kmin) = keys.kmin.value() else {
        return Ok(None);
    };
    let (Some(kmax), Some(pmax)) = (keys.kmax.value(), keys.pmax.get()) else {
        return Problem::new("`kmin` without `kmax` and `pmax`")
            .at(place, "this override needs all three")
            .help("add those that are missing: kmax = \"400KB\", pmax = 0.2")
            .err();
    };
    let mut share = Fraction::ZERO;
    let store: Result<(), String> = pmax.get_ref().store(&mut share);
    if let Err(why) = store {
        return Problem::new("`pmax` is not a probability")
            .at(pmax.span(), why)
            .err();
    }
    if kmin.0 > kmax.0 {
        return Problem::new("`kmin` is above `kmax`")
            .at(place, "in this override")
            .err();
    }
    Ok(Some(RedThresholds {
        kmin: kmin.0,
        kmax: kmax.0,
        pmax: share,
    }))
}
