//! Rates and times as ns-3 writes them.

use unpause_protocols::units::{Rate, Time};

use unpause_text::quantity::{parse_duration, parse_rate};

/// A rate such as `100Gbps`, `12.5GB/s`; bit/s without a unit, also `25000000000.0`.
pub(crate) fn rate(text: &str) -> Option<Rate> {
    if let Ok(rate) = parse_rate(text) {
        return Some(rate);
    }
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let scale = match unit {
        "" | "bps" | "b/s" => 1.0,
        "Bps" | "B/s" => 8.0,
        "kbps" | "Kbps" | "kb/s" | "Kb/s" => 1e3,
        "kBps" | "KBps" | "kB/s" | "KB/s" => 8e3,
        "Kib/s" => 1024.0,
        "KiB/s" => 8192.0,
        "Mbps" | "Mb/s" => 1e6,
        "MBps" | "MB/s" => 8e6,
        "Mib/s" => 1_048_576.0,
        "MiB/s" => 8.0 * 1_048_576.0,
        "Gbps" | "Gb/s" => 1e9,
        "GBps" | "GB/s" => 8e9,
        "Gib/s" => 1_073_741_824.0,
        "GiB/s" => 8.0 * 1_073_741_824.0,
        _ => return None,
    };
    let number: f64 = number.parse().ok()?;
    Some(Rate::from_bps((number * scale) as u64))
}

/// A delay such as `0.001ms`; seconds without a unit.
pub(super) fn delay(text: &str) -> Option<Time> {
    if let Ok(time) = parse_duration(text) {
        return Some(time);
    }
    match text.strip_suffix("min") {
        Some(minutes) => Time::from_ps(seconds(minutes)?.as_ps().checked_mul(60)?).into(),
        None => seconds(text.strip_suffix('s').unwrap_or(text)),
    }
    .filter(|time| !time.is_never())
}

/// Seconds as a decimal number, as C++ reads one (`2`, `2.`, `.5`, `2e-05`), to the nearest picosecond, without floating
/// point.
pub(crate) fn seconds(text: &str) -> Option<Time> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    // Digits up to that of a picosecond, and the one after it.
    let point = i64::try_from(whole.len()).ok()? + i64::from(exponent);
    let mut digits = whole.bytes().chain(fraction.bytes());
    let mut ps = 0_u64;
    for _ in 0..(point + 12).max(0) {
        let digit = match digits.next() {
            Some(byte) => u64::from(byte - b'0'),
            None if ps == 0 => break,
            None => 0,
        };
        ps = ps.checked_mul(10)?.checked_add(digit)?;
    }
    let half_up = point + 12 >= 0 && digits.next().is_some_and(|byte| byte >= b'5');
    let ps = ps.checked_add(u64::from(half_up))?;
    Some(Time::from_ps(ps)).filter(|time| !time.is_never())
}
