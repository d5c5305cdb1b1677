//! Curves of WRED, and the packets that they drop because these are not ECN-capable.

use unpause_protocols::congestion_control::Config as Law;
use unpause_protocols::congestion_point::Config as Marking;
use unpause_protocols::congestion_point::wred::Params as Curve;
use unpause_sim::traffic::{TrafficSpec, Transport};

use crate::run::Run;

/// The curves of WRED in a run.
pub fn curves(run: &Run) -> impl Iterator<Item = &Curve> {
    let scheme = &run.config.scheme;
    let of_rates = scheme.congestion_points.iter().map(|(_, it)| it);
    of_rates
        .chain([&scheme.congestion_point])
        .filter_map(|it| match it {
            Marking::Wred(curve) => Some(curve),
            _ => None,
        })
}

/// Bit p set: some packets of priority p are not ECN-capable: those of UDP, and of TCP whose law does not use ECN.
fn incapable(run: &Run) -> u8 {
    of_entries(run, |spec, has_ecn| {
        spec.uses(Transport::Udp) || (!has_ecn && spec.uses(Transport::Tcp))
    })
}

/// Bit p set: some packets of priority p are ECN-capable.
pub fn capable(run: &Run) -> u8 {
    of_entries(run, |spec, has_ecn| {
        spec.uses(Transport::Roce) || (has_ecn && spec.uses(Transport::Tcp))
    })
}

/// The priorities of entries of the traffic that are `asked` for; the second argument: its TCP law uses ECN.
fn of_entries(run: &Run, asked: impl Fn(&TrafficSpec, bool) -> bool) -> u8 {
    let config = &run.config;
    let all = (0..).zip(&config.traffic);
    let all = all.filter(|(entry, spec)| {
        let has_ecn = match config.scheme.tcp_law(*entry) {
            Law::NewReno(_) => false,
            Law::Cubic(law) => law.ecn,
            _ => true,
        };
        asked(spec, has_ecn)
    });
    all.fold(0, |priorities, (_, spec)| priorities | spec.priorities())
}

/// Bit p set: WRED drops packets of priority p, since they are not ECN-capable.
pub fn unmarked(run: &Run) -> u8 {
    match curves(run).next() {
        Some(_) => incapable(run),
        None => 0,
    }
}

/// Bit p set: congestion points act on packets of priority p: they mark them, and WRED drops those that it cannot mark.
pub fn marked(run: &Run) -> u8 {
    capable(run) | unmarked(run)
}
