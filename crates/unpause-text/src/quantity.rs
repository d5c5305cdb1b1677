//! Quantities as people write them: `"40Gbps"`, `"40 Gb/s"`, `"5us"`, `"5µs"`, `"512KB"`,
//! `"64KiB"`, `"1/128"`, `"1%"`.
//!
//! Numbers are read as exact decimals, never through floating point: `"0.1us"` is 100000 ps. KB is
//! 1000 bytes and KiB 1024; b is a bit and B a byte.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use unpause_protocols::units::{Rate, Time};

pub use super::ratio::Ratio;
use crate::limits::shorten;

/// Separates a message from its help inside an error that has to travel through serde.
pub const HELP_MARK: char = '\u{1f}';

/// Why a text is not the quantity asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct QuantityError {
    /// The mistake, with the text that has it.
    pub message: String,
    /// How to write it.
    pub help: String,
}

impl QuantityError {
    fn new(message: String, help: impl Into<String>) -> Self {
        Self {
            message,
            help: help.into(),
        }
    }
}

/// A kind of quantity: its name, its units and how many base units each is.
struct Kind {
    name: &'static str,
    example: &'static str,
    /// (unit, base units in it); the first spelling is the one proposed.
    units: &'static [(&'static str, u64)],
}

const DURATION: Kind = Kind {
    name: "a time",
    example: "\"50us\" (ps, ns, us, ms, s)",
    units: &[
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("µs", 1_000_000),
        ("μs", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", 1_000_000_000_000),
    ],
};

const RATE: Kind = Kind {
    name: "a data rate",
    example: "\"40Gbps\" or \"40 Gb/s\" (bps, kbps, Mbps, Gbps, Tbps)",
    units: &[
        ("bps", 1),
        ("b/s", 1),
        ("bit/s", 1),
        ("kbps", 1_000),
        ("Kbps", 1_000),
        ("kb/s", 1_000),
        ("kbit/s", 1_000),
        ("Mbps", 1_000_000),
        ("Mb/s", 1_000_000),
        ("Mbit/s", 1_000_000),
        ("Gbps", 1_000_000_000),
        ("Gb/s", 1_000_000_000),
        ("Gbit/s", 1_000_000_000),
        ("Tbps", 1_000_000_000_000),
        ("Tb/s", 1_000_000_000_000),
        ("Tbit/s", 1_000_000_000_000),
    ],
};

const SIZE: Kind = Kind {
    name: "a size",
    example: "\"512KB\" (B, KB, MB, GB of 1000; KiB, MiB, GiB of 1024)",
    units: &[
        ("B", 1),
        ("KB", 1_000),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
    ],
};

/// A time such as `"5us"`.
pub fn parse_duration(text: &str) -> Result<Time, QuantityError> {
    parse(text, &DURATION).map(Time::from_ps)
}

/// A data rate such as `"40Gbps"`.
pub fn parse_rate(text: &str) -> Result<Rate, QuantityError> {
    parse(text, &RATE).map(Rate::from_bps)
}

/// A size in bytes such as `"512KB"`.
pub fn parse_size(text: &str) -> Result<u64, QuantityError> {
    parse(text, &SIZE)
}

/// The regular expression of the texts of a kind of keys: `time`, `rate` or `size`.
pub fn pattern(kind: &str) -> String {
    let kind = match kind {
        "time" => &DURATION,
        "rate" => &RATE,
        _ => &SIZE,
    };
    let units: Vec<&str> = kind.units.iter().map(|(name, _)| *name).collect();
    format!(r"^\s*[0-9][0-9_]*(\.[0-9_]+)?\s*({})\s*$", units.join("|"))
}

/// A ratio such as `"1/128"`, `"1%"`, `"100ppm"` or `"0.05"`.
pub fn parse_ratio(text: &str) -> Result<Ratio, QuantityError> {
    let bad = |why: &str| {
        QuantityError::new(
            format!("`{}` is not a ratio: {why}", shorten(text)),
            "write a ratio as \"1/128\", \"1%\" or 0.01",
        )
    };
    let text = text.trim();
    if let Some((num, den)) = text.split_once('/') {
        let num = num
            .trim()
            .parse()
            .map_err(|_| bad("its numerator is not a whole number"))?;
        let den = den
            .trim()
            .parse()
            .map_err(|_| bad("its denominator is not a whole number"))?;
        if den == 0 {
            return Err(bad("its denominator is zero"));
        }
        return Ok(Ratio { num, den });
    }
    let units = [("%", 100), ("ppm", 1_000_000)].into_iter();
    let mut in_unit = units.filter_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)));
    let (number, scale) = in_unit.next().unwrap_or((text, 1));
    let number = number.trim_end();
    if number.starts_with('-') {
        return Err(bad("it is negative"));
    }
    let (mantissa, decimals) = decimal(number).ok_or_else(|| bad("it is not a number"))?;
    let den = 10_u64
        .checked_pow(decimals)
        .and_then(|p| p.checked_mul(scale));
    match (u64::try_from(mantissa), den) {
        (Ok(num), Some(den)) => Ok(Ratio { num, den }),
        _ => Err(bad("it has too many digits")),
    }
}

fn parse(text: &str, kind: &Kind) -> Result<u64, QuantityError> {
    let example = || format!("write {} as {}", kind.name, kind.example);
    let bad = |why: String| {
        let text = shorten(text);
        QuantityError::new(format!("`{text}` is not {}: {why}", kind.name), example())
    };
    let trimmed = text.trim();
    if trimmed.starts_with('-') {
        return Err(bad("it is negative".into()));
    }
    if trimmed.contains("..") {
        return Err(bad("it is a range, and this is one value".into()));
    }
    let end = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(trimmed.len());
    let (number, unit) = (&trimmed[..end], trimmed[end..].trim());
    let Some((mantissa, decimals)) = decimal(number) else {
        return Err(if number.len() > DIGITS {
            bad("it has too many digits".into())
        } else {
            bad("it does not start with a number".into())
        });
    };
    if unit.is_empty() {
        return Err(bad("it has no unit".into()));
    }
    let Some(scale) = unit_scale(unit, kind) else {
        let mut error = bad(format!("`{}` is not one of its units", shorten(unit)));
        if let Some(hint) = wrong_unit(unit, kind) {
            error.help = format!("{hint}; {}", error.help);
        }
        return Err(error);
    };
    let product = mantissa.checked_mul(u128::from(scale));
    let divisor = 10_u128.pow(decimals);
    match product {
        Some(product) if product % divisor != 0 => {
            let base = kind.units[0].0;
            Err(bad(format!("it is not a whole number of {base}")))
        }
        Some(product) => u64::try_from(product / divisor)
            .ok()
            .filter(|value| *value != u64::MAX)
            .ok_or_else(|| bad("it is too large".into())),
        None => Err(bad("it is too large".into())),
    }
}

fn unit_scale(unit: &str, kind: &Kind) -> Option<u64> {
    kind.units
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, scale)| *scale)
}

/// A unit of another kind, or of this kind in other letters.
fn wrong_unit(unit: &str, kind: &Kind) -> Option<String> {
    let bits = ["B/s", "Bps"].iter().find_map(|end| unit.strip_suffix(end));
    if let Some(bits) = bits.filter(|bits| bits.len() <= 1) {
        return Some(format!(
            "`{unit}` counts bytes and rates here count bits: `{bits}bps`"
        ));
    }
    if kind.name == SIZE.name && unit.ends_with('b') {
        let mut bytes = kind.units.iter().map(|(name, _)| name);
        if let Some(name) = bytes.find(|name| name.eq_ignore_ascii_case(unit)) {
            return Some(format!("b is a bit and B a byte: `{name}`"));
        }
    }
    for other in [&DURATION, &RATE, &SIZE] {
        if other.name != kind.name && unit_scale(unit, other).is_some() {
            return Some(format!("`{unit}` is a unit of {}", other.name));
        }
    }
    kind.units
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(unit))
        .map(|(name, _)| format!("did you mean `{name}`?"))
}

/// Digits of a number.
const DIGITS: usize = 30;

/// `"12.50"` is (1250, 2). `None` if it is not a plain decimal number of at most [`DIGITS`].
fn decimal(number: &str) -> Option<(u128, u32)> {
    let digits: String = number.chars().filter(|c| *c != '_').collect();
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let is_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    if digits.ends_with('.') || whole.len() + fraction.len() > DIGITS {
        return None;
    }
    let mantissa = format!("{whole}{fraction}").parse().ok()?;
    Some((mantissa, fraction.len() as u32))
}

/// A time in a scenario file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Duration(pub Time);
/// A data rate in a scenario file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataRate(pub Rate);
/// A size in bytes in a scenario file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Time::ZERO => f.write_str("0s"),
            time => time.fmt(f),
        }
    }
}

impl fmt::Display for DataRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |(scale, _): &(u64, &str)| self.0 > 0 && self.0.is_multiple_of(*scale);
        let unit = [(1_000_000, "MB"), (1_000, "KB")].into_iter().find(whole);
        let (scale, unit) = unit.unwrap_or((1, "B"));
        write!(f, "{}{unit}", self.0 / scale)
    }
}

struct QuantityVisitor<T> {
    kind: &'static Kind,
    parse: fn(&str) -> Result<T, QuantityError>,
}

impl<T> QuantityVisitor<T> {
    fn number<E: de::Error>(&self, number: impl fmt::Display) -> Result<T, E> {
        Err(E::custom(format!(
            "`{number}` is not {}: it has no unit{HELP_MARK}write {} as {}",
            self.kind.name, self.kind.name, self.kind.example
        )))
    }
}

impl<T> Visitor<'_> for QuantityVisitor<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} such as {}", self.kind.name, self.kind.example)
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).map_err(|e| E::custom(format!("{}{HELP_MARK}{}", e.message, e.help)))
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.number(number)
    }
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        self.number(number)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let visitor = QuantityVisitor {
            kind: &DURATION,
            parse: parse_duration,
        };
        deserializer.deserialize_any(visitor).map(Self)
    }
}

impl<'de> Deserialize<'de> for DataRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let visitor = QuantityVisitor {
            kind: &RATE,
            parse: parse_rate,
        };
        deserializer.deserialize_any(visitor).map(Self)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let visitor = QuantityVisitor {
            kind: &SIZE,
            parse: parse_size,
        };
        deserializer.deserialize_any(visitor).map(Self)
    }
}

struct RatioVisitor;

impl Visitor<'_> for RatioVisitor {
    type Value = Ratio;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a ratio such as \"1/128\", \"1%\" or 0.01")
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Ratio, E> {
        parse_ratio(text).map_err(|e| E::custom(format!("{}{HELP_MARK}{}", e.message, e.help)))
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Ratio, E> {
        self.visit_str(&number.to_string())
    }
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Ratio, E> {
        self.visit_str(&number.to_string())
    }
}

impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RatioVisitor)
    }
}

/// The Rust value of a value of the file that may also be left out.
macro_rules! stands_for {
    ($($Written:ty: $Value:ty;)+) => {
        $(
            impl From<$Written> for $Value {
                fn from(written: $Written) -> Self {
                    written.0
                }
            }

            impl From<$Written> for Option<$Value> {
                fn from(written: $Written) -> Self {
                    Some(written.0)
                }
            }
        )+
    };
}

stands_for! {
    Duration: Time;
    DataRate: Rate;
}

#[cfg(test)]
mod tests;
