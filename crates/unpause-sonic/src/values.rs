//! Parsing of the values of a `config_db.json`: ranges, lists, lengths, references.

use std::collections::BTreeSet;

/// Small numbers, as `3`, `3-4` or `3,4`.
pub(super) fn small_numbers(text: &str, most: u8) -> Result<BTreeSet<u8>, String> {
    let mut found = BTreeSet::new();
    for part in text.split(',').map(str::trim) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first = small_number(first, most)?;
        let last = small_number(last, most)?;
        if first > last {
            return Err(format!("the range {part} ends before it begins"));
        }
        for number in first..=last {
            if !found.insert(number) {
                return Err(format!("{number} is there twice"));
            }
        }
    }
    Ok(found)
}

/// A number from 0 to `most`.
pub(super) fn small_number(text: &str, most: u8) -> Result<u8, String> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse::<u8>().ok().filter(|number| *number <= most);
    match number {
        Some(number) if is_plain => Ok(number),
        _ => Err(format!("`{}` is no number from 0 to {most}", short(text))),
    }
}

/// A whole number, with a sign or without. Blanks before it are passed over, as SONiC does (`std::stoul`): some of its own
/// templates have them.
pub(super) fn whole(text: &str) -> Result<i64, String> {
    let text = text.trim_start();
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number) if is_plain => Ok(number),
        _ if is_plain => Err(format!("`{}` is larger than any number here", short(text))),
        _ => Err(format!("`{}` is no whole number", short(text))),
    }
}

/// The metres of `40m`.
pub(super) fn metres(text: &str) -> Result<f64, String> {
    let wrong = || format!("`{}` is no length such as 40m", short(text));
    let digits = text.strip_suffix('m').ok_or_else(wrong)?;
    let is_plain = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let metres: f64 = digits.parse().map_err(|_| wrong())?;
    if is_plain && metres.is_finite() && metres <= 1e6 {
        Ok(metres)
    } else {
        Err(wrong())
    }
}

/// A reference: the name of an entry, and the table if it is one in brackets, as older files have them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reference<'a> {
    pub table: Option<&'a str>,
    pub name: &'a str,
}

/// Reads `name` or `[TABLE|name]`.
pub(super) fn reference(text: &str) -> Result<Reference<'_>, String> {
    let Some(inside) = text.strip_prefix('[') else {
        return if text.ends_with(']') {
            Err(format!("`{}` has only one of the brackets", short(text)))
        } else {
            Ok(Reference {
                table: None,
                name: text,
            })
        };
    };
    let Some(inside) = inside.strip_suffix(']') else {
        return Err(format!("`{}` has only one of the brackets", short(text)));
    };
    match inside.split_once('|') {
        Some((table, name)) => Ok(Reference {
            table: Some(table),
            name,
        }),
        None => Err(format!("`{}` does not say [TABLE|name]", short(text))),
    }
}

/// The part of a text that messages quote.
pub(super) fn short(text: &str) -> String {
    unpause_text::limits::shorten_to(60, text)
}

/// A few of many names.
pub(super) fn some_of(names: &[&str]) -> String {
    const MOST: usize = 8;
    let mut text = names[..names.len().min(MOST)].join(", ");
    if names.len() > MOST {
        text += &format!(" and {} more", names.len() - MOST);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_lists() {
        let of = |text: &str| small_numbers(text, 7).map(|set| set.into_iter().collect::<Vec<_>>());
        assert_eq!(of("3-4"), Ok(vec![3, 4]));
        assert_eq!(of("0,3, 5-6"), Ok(vec![0, 3, 5, 6]));
        for wrong in ["", "8", "4-3", "3-", "-3", "3;4", "+3", "3,3", "3-4-5", "a"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn lengths_and_references() {
        assert_eq!(metres("40m"), Ok(40.0));
        assert_eq!(metres("0.5m"), Ok(0.5));
        for wrong in ["40", "m", "-4m", "4km", "1e3m", "nanm", "40 m"] {
            assert!(metres(wrong).is_err(), "{wrong}");
        }
        assert_eq!(reference("AZURE").unwrap().name, "AZURE");
        let old = reference("[BUFFER_POOL|a]").unwrap();
        assert_eq!((old.table, old.name), (Some("BUFFER_POOL"), "a"));
        for wrong in ["[BUFFER_POOL|a", "BUFFER_POOL|a]", "[a]"] {
            assert!(reference(wrong).is_err(), "{wrong}");
        }
        assert_eq!(whole("-3"), Ok(-3));
        assert_eq!(whole(" 3"), Ok(3));
        for wrong in ["", "-", "+3", "3.5", "99999999999999999999", "0x10"] {
            assert!(whole(wrong).is_err(), "{wrong}");
        }
    }
}
