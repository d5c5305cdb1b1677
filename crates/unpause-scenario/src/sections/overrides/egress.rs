//! Queues at egress: marking, limits, shapers.

use std::ops::Range;
use unpause_text::error::{Checked, Problem};

use unpause_protocols::units::{Fraction, Rate};
use unpause_sim::config::{HostConfig, QueueLimit, QueueMarking, RedThresholds, Shaper};

use super::keys::OverrideKeys;
use crate::sections::pfc;
use crate::text::setting::Setting as _;

/// Whether queues mark, and their thresholds.
pub(super) fn marking(keys: &OverrideKeys, place: Range<usize>) -> Checked<Option<QueueMarking>> {
    let Some(off) = keys.marking.get() else {
        return curve(keys, place);
    };
    match keys.kmin.peek() {
        None => Ok(Some(QueueMarking::Off)),
        Some(kmin) => Problem::new("`kmin` in queues that mark nothing")
            .at(kmin.span(), "thresholds of marking")
            .at(off.span(), "no marks here")
            .help("remove one of them")
            .err(),
    }
}

fn curve(keys: &OverrideKeys, place: Range<usize>) -> Checked<Option<QueueMarking>> {
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
    Ok(Some(QueueMarking::Curve(RedThresholds {
        kmin: kmin.0,
        kmax: kmax.0,
        pmax: share,
    })))
}

/// The most that a queue holds.
pub(super) fn limit(keys: &OverrideKeys) -> Checked<Option<QueueLimit>> {
    match (keys.queue_limit.get(), keys.queue_alpha.get()) {
        (None, None) => Ok(None),
        (Some(bytes), None) => Ok(Some(QueueLimit::Bytes(bytes.get_ref().0))),
        (None, Some(alpha)) => Ok(Some(QueueLimit::Shift(pfc::shift_of(
            "queue_alpha",
            alpha,
        )?))),
        (Some(bytes), Some(alpha)) => {
            Problem::new("`queue_limit` and `queue_alpha` for the same queues")
                .at(bytes.span(), "this many bytes")
                .at(alpha.span(), "a share of what is free")
                .help("remove one of them")
                .err()
        }
    }
}

/// The highest rate of a port or a queue.
pub(super) fn shaper(keys: &OverrideKeys, host: &HostConfig) -> Checked<Option<Shaper>> {
    let Some(rate) = keys.max_rate.get() else {
        return Ok(None);
    };
    if rate.get_ref().0 == Rate::ZERO {
        return Problem::new("`max_rate` is zero")
            .at(rate.span(), "nothing would ever leave")
            .help("write a rate such as \"10Gbps\"")
            .err();
    }
    Ok(Some(Shaper {
        rate: rate.get_ref().0,
        burst_bytes: keys.burst.value().map_or(pfc::two_frames(host), |it| it.0),
    }))
}
