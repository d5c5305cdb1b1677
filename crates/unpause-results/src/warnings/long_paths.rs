//! Packets that crossed more switches than their telemetry has room for.

use unpause_protocols::congestion_control::hpcc::MOST_HOPS;

use crate::run::measured::Measured;
use crate::warnings::foreseen::Foreseen;

/// A warning, if there were any.
pub fn of(measured: &Measured) -> Option<Foreseen> {
    if measured.results.totals.unrecorded_hops == 0 {
        return None;
    }
    Some(Foreseen {
        kind: "long-paths",
        message: format!(
            "packets crossed more than {MOST_HOPS} switches: a packet carries the telemetry of the first {MOST_HOPS}, \
             and its sender does not see queues behind them"
        ),
        help: "choose a congestion control without telemetry from each switch (DCQCN, PCN, Swift, or HPCC with PINT), \
               or shorter paths"
            .to_owned(),
        key: Vec::new(),
    })
}
