//! Names, one or several, and ranges of them.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

use super::quantity::HELP_MARK;

/// How a range is written.
pub(crate) const HELP: &str = "write the first and the last name: \"H2..H15\"";

/// One name or several, as a string or an array of strings.
#[derive(Clone)]
pub(crate) struct NameList(pub Vec<String>);

struct NameListVisitor;

impl<'de> Visitor<'de> for NameListVisitor {
    type Value = NameList;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name or an array of names")
    }
    fn visit_str<E: de::Error>(self, name: &str) -> Result<NameList, E> {
        Ok(NameList(vec![name.to_owned()]))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<NameList, A::Error> {
        let mut names = Vec::new();
        while let Some(name) = sequence.next_element()? {
            names.push(name);
        }
        Ok(NameList(names))
    }
}

impl<'de> Deserialize<'de> for NameList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NameListVisitor)
    }
}

/// Names, with what ranges of them stand for.
pub(crate) struct Expanded(pub Vec<String>);

impl<'de> Deserialize<'de> for Expanded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = NameList::deserialize(deserializer)?.0;
        let expanded: Result<Vec<_>, _> = names.iter().map(|name| expand(name)).collect();
        match expanded {
            Ok(names) => Ok(Self(names.concat())),
            Err(why) => Err(de::Error::custom(format!("{why}{HELP_MARK}{HELP}"))),
        }
    }
}

/// For `deserialize_with`: [`Expanded`].
pub(crate) fn expanded<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<String>, D::Error> {
    Expanded::deserialize(deserializer).map(|names| names.0)
}

/// `"H2..H15"` is H2, H3, … H15; anything else is itself.
pub(crate) fn expand(text: &str) -> Result<Vec<String>, String> {
    let Some((first, last)) = text.split_once("..") else {
        return Ok(vec![text.to_owned()]);
    };
    let bad = |why: &str| Err(format!("`{text}` is not a range of names: {why}"));
    let number_at =
        |name: &str| name.len() - name.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (first_stem, first_number) = first.trim().split_at(number_at(first.trim()));
    let last = last.trim();
    let (last_stem, last_number) = last.split_at(number_at(last));
    if first_stem != last_stem && !last_stem.is_empty() {
        return bad("its ends have different stems");
    }
    let (Ok(low), Ok(high)) = (first_number.parse::<u32>(), last_number.parse::<u32>()) else {
        return bad("its ends must be numbered");
    };
    if low > high {
        return bad("it runs backwards");
    }
    if high - low >= 1 << 20 {
        return bad("it is longer than a million names");
    }
    Ok((low..=high)
        .map(|number| format!("{first_stem}{number}"))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expands_ranges() {
        assert_eq!(expand("H2..H4").unwrap(), ["H2", "H3", "H4"]);
        assert_eq!(expand("pod1-h9..10").unwrap(), ["pod1-h9", "pod1-h10"]);
        assert_eq!(expand("H2").unwrap(), ["H2"]);
        for bad in ["H4..H2", "H..H2", "A1..B2", "..", "H0..H99999999"] {
            assert!(expand(bad).is_err(), "{bad}");
        }
    }
}
