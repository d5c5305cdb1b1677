//! WRED that drops lossless packets before PFC acts: they are not ECN-capable, and its curve begins below what ingress
//! ports hold at XOFF.
//!
//! RFC 3168, section 5: a switch marks a packet that is ECN-capable where it would drop any other.

use unpause_protocols::congestion_control::Config as Law;
use unpause_protocols::congestion_point::Config as Marking;
use unpause_protocols::congestion_point::wred::Params as Curve;
use unpause_sim::config::PfcThreshold;
use unpause_sim::traffic::Transport;

use crate::run::Run;
use crate::warnings::buffers;
use unpause_text::count::{size, size_at_least};

/// For programs, as in [`crate::warnings::Warning`].
pub const KIND: &str = "wred-below-xoff";

/// Why WRED drops lossless packets, and what to do about it.
pub struct Drops {
    pub why: String,
    pub help: String,
}

/// `None` if WRED marks all lossless packets, or begins above any queue; and where overrides set one of the two.
pub fn of(run: &Run) -> Option<Drops> {
    let (config, switch) = (&run.config, &run.config.switch);
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

/// The curves of WRED in a run.
fn curves(run: &Run) -> impl Iterator<Item = &Curve> {
    let scheme = &run.config.scheme;
    let of_rates = scheme.congestion_points.iter().map(|(_, it)| it);
    of_rates
        .chain([&scheme.congestion_point])
        .filter_map(|it| match it {
            Marking::Wred(curve) => Some(curve),
            _ => None,
        })
}

/// Bit p set: WRED drops packets of priority p, since they are not ECN-capable: those of UDP, and of TCP whose law does not use ECN.
pub fn unmarked(run: &Run) -> u8 {
    if curves(run).next().is_none() {
        return 0;
    }
    let config = &run.config;
    let all = (0..).zip(&config.traffic);
    let all = all.filter(|(entry, spec)| {
        let has_no_ecn = match config.scheme.tcp_law(*entry) {
            Law::NewReno(_) => true,
            Law::Cubic(law) => !law.ecn,
            _ => false,
        };
        spec.uses(Transport::Udp) || (has_no_ecn && spec.uses(Transport::Tcp))
    });
    all.fold(0, |priorities, (_, spec)| priorities | spec.priorities())
}
