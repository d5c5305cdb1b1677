//! Curves of WRED, and the packets that they drop because these are not ECN-capable.

use unpause_protocols::congestion_control::Config as Law;
use unpause_protocols::congestion_point::Config as Marking;
use unpause_protocols::congestion_point::wred::Params as Curve;
use unpause_sim::traffic::Transport;

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
