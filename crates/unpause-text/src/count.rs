//! Numbers for people.

/// A number with commas: `1234567` is `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things, with the name of one: `1 flow`, `1,234 flows`.
pub fn counted(number: impl TryInto<u64>, thing: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", count(number))
}

/// The verb after [`counted`]: one packet was lost, others were.
pub fn were(number: u64) -> &'static str {
    if number == 1 { "was" } else { "were" }
}

/// Bytes for people, not more than there are: for a limit that is to be followed. It has four digits or more.
pub fn size_at_most(bytes: u64) -> String {
    exact(bytes - bytes % step(bytes))
}

/// Bytes for people, not less than there are.
pub fn size_at_least(bytes: u64) -> String {
    exact(at_least(bytes))
}

/// The bytes that [`size_at_least`] writes.
pub fn at_least(bytes: u64) -> u64 {
    bytes.div_ceil(step(bytes)).saturating_mul(step(bytes))
}

/// The last digit that advice has.
fn step(bytes: u64) -> u64 {
    match bytes {
        0..1_000 => 1,
        1_000..1_000_000 => 100,
        1_000_000..1_000_000_000 => 1_000,
        _ => 1_000_000,
    }
}

/// Bytes with all their digits, in the largest unit of which there is one.
fn exact(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..1_000 => (1, "B"),
        1_000..1_000_000 => (1_000, "KB"),
        1_000_000..1_000_000_000 => (1_000_000, "MB"),
        _ => (1_000_000_000, "GB"),
    };
    let rest = format!("{:09}", bytes % unit * (1_000_000_000 / unit));
    let number = format!("{}.{rest}", bytes / unit);
    format!(
        "{} {name}",
        number.trim_end_matches('0').trim_end_matches('.')
    )
}

/// An estimate for people, to two digits: `123456` is `120000`.
pub fn rounded(number: u64) -> u64 {
    let unit = 10_u64.pow(number.max(1).ilog10().saturating_sub(1));
    (number.saturating_add(unit / 2) / unit).saturating_mul(unit)
}

/// Bytes for people.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} KB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
    .replace(".0", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_stand_before_groups_of_three() {
        let of = [0, 999, 1_000, 1_234_567].map(count);
        assert_eq!(of, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn estimates_have_two_digits() {
        let of = [0, 7, 99, 123_456, 125_000, u64::MAX].map(rounded);
        assert_eq!(of, [0, 7, 99, 120_000, 130_000, 18_000_000_000_000_000_000]);
    }

    #[test]
    fn a_limit_is_not_rounded_up() {
        let of = [999, 241_050, 241_100, 999_999, 1_999_999].map(size_at_most);
        assert_eq!(of, ["999 B", "241 KB", "241.1 KB", "999.9 KB", "1.999 MB"]);
        let of = [999, 241_050, 241_100, 999_950, 1_910_001, 2_000_000_001].map(size_at_least);
        let safe = [
            "999 B", "241.1 KB", "241.1 KB", "1 MB", "1.911 MB", "2.001 GB",
        ];
        assert_eq!(of, safe);
    }

    #[test]
    fn one_thing_is_named_in_the_singular() {
        let of = [0, 1, 2, 1_234].map(|number: u64| counted(number, "flow"));
        assert_eq!(of, ["0 flows", "1 flow", "2 flows", "1,234 flows"]);
        assert_eq!([0, 1, 2].map(were), ["were", "was", "were"]);
    }
}
