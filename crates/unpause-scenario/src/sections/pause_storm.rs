//! `kind = "pause-storm"` of `[[event]]`: NICs that send PAUSE.

use std::ops::Range;
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::Duration;

use serde_spanned::Spanned;
use unpause_protocols::units::Time;
use unpause_sim::config::{Fabric, NodeId, PauseStorm, PortId};

use super::event_links::{ends, links_of};
use crate::text::keys::Written;
use unpause_import::fabric::names::Names;

/// The keys of an event that are looked at.
pub(super) struct StormKeys<'k> {
    pub link: &'k Written<String>,
    pub node: &'k Written<String>,
    pub at: &'k Written<Duration>,
    pub every: &'k Written<Duration>,
    pub until: &'k Written<Duration>,
}

/// The NICs that send PAUSE.
pub(super) fn storms(
    keys: &StormKeys<'_>,
    place: Range<usize>,
    (names, fabric): (&Names, &Fabric),
) -> Checked<Vec<PauseStorm>> {
    let (host, nics) = match (keys.link.get(), keys.node.get()) {
        (None, Some(node)) => (names.host(node.get_ref(), &node.span())?, vec![None]),
        (Some(link), None) => nics(link, names, fabric)?,
        (Some(link), Some(node)) => {
            return Problem::new("both `link` and `node` are set")
                .at(link.span(), "either this NIC")
                .at(node.span(), "or all of this host")
                .err();
        }
        (None, None) => {
            return Problem::new("a PAUSE storm of no host")
                .at(place, "this table needs `node` or `link`")
                .help("write node = \"H0\": the host whose NICs send PAUSE")
                .err();
        }
    };
    let start = once(keys, place)?;
    let end = keys.until.get().map_or(Time::NEVER, |it| it.get_ref().0);
    if let Some(until) = keys.until.get().filter(|_| end <= start) {
        return Problem::new("the PAUSE storm ends before it begins")
            .at(until.span(), format!("it begins at {start}"))
            .err();
    }
    let storm = |nic| PauseStorm {
        host,
        nic,
        start,
        stop: end,
    };
    Ok(nics.into_iter().map(storm).collect())
}

/// The NICs of a host at a link, which has parallel ones or not.
fn nics(
    link: &Spanned<String>,
    names: &Names,
    fabric: &Fabric,
) -> Checked<(NodeId, Vec<Option<PortId>>)> {
    links_of(link, names, fabric)?;
    let (host, switch, one_way) = ends(link, names)?;
    if !one_way {
        let (host, switch) = if names.is_host(host) {
            (host, switch)
        } else {
            (switch, host)
        };
        let (host, switch) = (names.name(host), names.name(switch));
        return Problem::new("a PAUSE storm of a link")
            .at(link.span(), "PAUSE storms are of the NIC of a host")
            .help(format!(
                "write link = \"{host}->{switch}\", or node = \"{host}\" for all its NICs; a host that takes data too slowly \
                 is [slow_receiver]"
            ))
            .err();
    }
    names.host(names.name(host), &link.span())?;
    let ports = (0..).zip(&names.peers[host as usize]);
    let there = ports.filter(|(_, peer)| **peer == switch);
    Ok((host, there.map(|(nic, _)| Some(nic)).collect()))
}

/// The time of an event that happens once.
fn once(keys: &StormKeys<'_>, place: Range<usize>) -> Checked<Time> {
    if let Some(every) = keys.every.get() {
        return Problem::new("a PAUSE storm cannot repeat")
            .at(every.span(), "`every` is for links that flap")
            .help("write an event for each time, with `at` and `until`")
            .err();
    }
    let Some(at) = keys.at.get() else {
        return Problem::new("missing field `at`")
            .at(place, "an event needs a time")
            .help("add at = \"1ms\"")
            .err();
    };
    Ok(at.get_ref().0)
}
