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

/// A rate as ns-3 writes it: `50Mb/s`, `2.5Gbps`, bits per second without a unit.
pub(super) fn ns3_rate(text: &str) -> Option<Rate> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number: f64 = number.parse().ok()?;
    let scale = match unit {
        "" | "bps" | "b/s" => 1.0,
        "Bps" | "B/s" => 8.0,
        "kbps" | "Kbps" | "kb/s" | "Kb/s" => 1e3,
        "KBps" | "kB/s" | "KB/s" => 8e3,
        "Mbps" | "Mb/s" => 1e6,
        "MBps" | "MB/s" => 8e6,
        "Gbps" | "Gb/s" => 1e9,
        "GBps" | "GB/s" => 8e9,
        _ => return None,
    };
    Some(Rate::from_bps((number * scale) as u64))
}
