//! Rates as the two simulators write them.

use unpause_protocols::units::Rate;

/// A rate as the scenario file has it, without blanks.
pub(super) fn written(rate: Rate) -> String {
    let bps = rate.as_bps();
    for (unit, scale) in [
        ("Gbps", 1_000_000_000),
        ("Mbps", 1_000_000),
        ("Kbps", 1_000),
    ] {
        if bps >= scale && bps.is_multiple_of(scale) {
            return format!("{}{unit}", bps / scale);
        }
    }
    format!("{bps}bps")
}
