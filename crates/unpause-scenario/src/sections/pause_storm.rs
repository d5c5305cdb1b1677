//! `kind = "pause-storm"` of `[[event]]`: a NIC that sends PAUSE.

use std::ops::Range;

use unpause_protocols::units::Time;
use unpause_sim::config::PauseStorm;

use crate::names::Names;
use crate::text::error::{Checked, Problem};
use crate::text::keys::Written;
use crate::text::quantity::Duration;

/// The keys of an event that are looked at.
pub(super) struct StormKeys<'k> {
    pub link: &'k Written<String>,
    pub node: &'k Written<String>,
    pub at: &'k Written<Duration>,
    pub every: &'k Written<Duration>,
    pub until: &'k Written<Duration>,
}

/// A NIC that sends PAUSE.
pub(super) fn storm(
    keys: &StormKeys<'_>,
    place: Range<usize>,
    names: &Names,
) -> Checked<PauseStorm> {
    if let Some(link) = keys.link.get() {
        return Problem::new("a PAUSE storm of a link")
            .at(link.span(), "PAUSE storms are of the NIC of a host")
            .help("write node = \"H0\"; a host that takes data too slowly is [slow_receiver]")
            .err();
    }
    let Some(node) = keys.node.get() else {
        return Problem::new("a PAUSE storm of no host")
            .at(place, "this table needs `node`")
            .help("write node = \"H0\": the host whose NIC sends PAUSE")
            .err();
    };
    let host = names.host(node.get_ref(), &node.span())?;
    let start = once(keys, place)?;
    let end = keys.until.get().map_or(Time::NEVER, |it| it.get_ref().0);
    if let Some(until) = keys.until.get().filter(|_| end <= start) {
        return Problem::new("the PAUSE storm ends before it begins")
            .at(until.span(), format!("it begins at {start}"))
            .err();
    }
    Ok(PauseStorm {
        host,
        start,
        stop: end,
    })
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
