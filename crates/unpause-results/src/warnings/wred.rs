//! WRED that drops lossless packets before PFC acts: they are not ECN-capable, and its curve begins below what ingress
//! ports hold at XOFF.
//!
//! RFC 3168, section 5: a switch marks a packet that is ECN-capable where it would drop any other.

use unpause_sim::config::PfcThreshold;

use crate::run::Run;
use crate::warnings::buffers;
use crate::warnings::ecn::{curves, unmarked};
use unpause_text::count::{size, size_at_least};

/// For programs, as in [`crate::warnings::Warning`].
pub const KIND: &str = "wred-below-xoff";

/// Why WRED drops lossless packets, and what to do about it.
pub struct Drops {
    pub why: String,
    pub help: String,
}

/// Path of the key that decides it.
pub fn key(run: &Run) -> Vec<String> {
    let path = ["scheme", &run.scheme, "wred", "kmin"];
    path.map(str::to_owned).to_vec()
}

/// `None` if WRED marks all lossless packets, or begins above any queue; and where overrides set one of the two.
pub fn of(run: &Run) -> Option<Drops> {
    let switch = &run.config.switch;
    let PfcThreshold::Static { xoff_bytes, .. } = switch.pfc.threshold else {
        return None;
    };
    let mut overrides = switch.overrides.iter();
    if overrides.any(|it| it.marking.is_some() || it.fixed.is_some()) || switch.cbfc.is_some() {
        return None;
    }
    let curve = curves(run).min_by_key(|curve| curve.kmin)?;
    let priority = (0..8).find(|it| (switch.lossless & unmarked(run)) >> it & 1 == 1)?;
    let longest = buffers::longest_queue(run).filter(|longest| curve.kmin < *longest)?;
    let (kmin, kmax, xoff) = (size(curve.kmin), size(curve.kmax), size(xoff_bytes));
    let what =
        format!("WRED drops packets of lossless priority {priority} that are not ECN-capable");
    let why = match curve.kmax < xoff_bytes {
        true => format!(
            "{what}, from a queue of {kmin} on and all above {kmax}: one ingress never reaches XOFF, {xoff}, and PAUSE \
             comes too late"
        ),
        false => format!(
            "{what}, from a queue of {kmin} on: with all ingress ports at XOFF, {xoff} each, it holds up to {}",
            size_at_least(longest)
        ),
    };
    Some(Drops {
        why,
        help: format!(
            "set kmin of [scheme.wred] to {} or more, or let these flows be ECN-capable: transport = \"roce\", or \
             tcp = \"dctcp\"",
            size_at_least(longest)
        ),
    })
}
