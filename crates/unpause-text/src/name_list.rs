//! Names, one or several, and ranges of them.

use std::fmt;
use std::num::IntErrorKind;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

use super::quantity::HELP_MARK;
use crate::limits;

/// How a range is written.
pub const HELP: &str = "write the first and the last name: \"H2..H15\"";

/// One name or several, as a string or an array of strings.
#[derive(Clone)]
pub struct NameList(pub Vec<String>);

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
pub struct Expanded(pub Vec<String>);

impl<'de> Deserialize<'de> for Expanded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut names = Vec::new();
        for text in NameList::deserialize(deserializer)?.0 {
            let more = expand(&text)
                .map_err(|why| de::Error::custom(format!("{why}{HELP_MARK}{HELP}")))?;
            names.extend(more);
            if names.len() as u64 > limits::NODES {
                return Err(de::Error::custom(format!(
                    "{} names, and perhaps more: at most {} are possible",
                    names.len(),
                    limits::NODES
                )));
            }
        }
        Ok(Self(names))
    }
}

impl From<Expanded> for Vec<String> {
    fn from(names: Expanded) -> Self {
        names.0
    }
}

/// A name without the digits at its end.
pub fn stem(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}

/// `"H2..H15"` is H2, H3, … H15; anything else is itself.
pub fn expand(text: &str) -> Result<Vec<String>, String> {
    let Some((first, last)) = text.split_once("..") else {
        return Ok(vec![text.to_owned()]);
    };
    let bad = |why: &str| Err(format!("`{text}` is not a range of names: {why}"));
    let (first, last) = (first.trim(), last.trim());
    let (first_stem, last_stem) = (stem(first), stem(last));
    if first_stem != last_stem && !last_stem.is_empty() {
        return bad("its ends have different stems");
    }
    let number = |name: &str, stem: &str| name[stem.len()..].parse::<u64>();
    let (low, high) = match (number(first, first_stem), number(last, last_stem)) {
        (Ok(low), Ok(high)) => (low, high),
        (Err(error), _) | (_, Err(error)) if *error.kind() == IntErrorKind::PosOverflow => {
            return bad("its numbers are too large");
        }
        _ => return bad("its ends must be numbered"),
    };
    if low > high {
        return bad("it is descending");
    }
    let count = (high - low).saturating_add(1);
    if count > limits::NODES {
        let most = limits::NODES;
        return bad(&format!(
            "it has {count} names, at most {most} are possible"
        ));
    }
    Ok((low..=high)
        .map(|number| format!("{first_stem}{number}"))
        .collect())
}

/// Names as [`expand`] reads them: those with numbers in a row as a range.
pub fn shorten<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut runs: Vec<(&str, &str)> = Vec::new();
    for name in names {
        match runs.last_mut() {
            Some((_, last)) if follows(last, name) => *last = name,
            _ => runs.push((name, name)),
        }
    }
    let text = runs.into_iter().map(|(first, last)| {
        if first == last {
            first.to_owned()
        } else {
            format!("{first}..{last}")
        }
    });
    text.collect::<Vec<_>>().join(", ")
}

fn follows(name: &str, next: &str) -> bool {
    let stem = stem(name);
    let number = name[stem.len()..].parse::<u64>().ok();
    // No leading zeros, which `expand` would lose.
    let number = number.filter(|it| format!("{stem}{it}") == name);
    let after = number.and_then(|it| it.checked_add(1));
    after.is_some_and(|it| format!("{stem}{it}") == next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_row_become_ranges() {
        let of = |names: &[&str]| shorten(names.iter().copied());
        assert_eq!(
            of(&["H9", "H10", "H11", "H3", "A1", "A2"]),
            "H9..H11, H3, A1..A2"
        );
        assert_eq!(
            of(&["gpu", "gpu", "H01", "H2", "H1"]),
            "gpu, gpu, H01, H2, H1"
        );
        assert_eq!(of(&[]), "");
    }

    #[test]
    fn expands_ranges() {
        assert_eq!(expand("H2..H4").unwrap(), ["H2", "H3", "H4"]);
        assert_eq!(expand("pod1-h9..10").unwrap(), ["pod1-h9", "pod1-h10"]);
        assert_eq!(expand("H2").unwrap(), ["H2"]);
        for bad in ["H4..H2", "H..H2", "A1..B2", "..", "A..4"] {
            assert!(expand(bad).is_err(), "{bad}");
        }
        let why = |text: &str| expand(text).unwrap_err();
        assert_eq!(
            why("H0..H9999999999"),
            "`H0..H9999999999` is not a range of names: it has 10000000000 names, at most 1048576 \
             are possible"
        );
        let beyond = why(&format!("H0..H{}", u128::MAX));
        assert!(beyond.ends_with("its numbers are too large"), "{beyond}");
        assert!(why(&format!("H0..H{}", u64::MAX)).contains("at most"));
    }
}
