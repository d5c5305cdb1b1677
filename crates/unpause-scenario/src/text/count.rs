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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_stand_before_groups_of_three() {
        let of = [0, 999, 1_000, 1_234_567].map(count);
        assert_eq!(of, ["0", "999", "1,000", "1,234,567"]);
    }
}
