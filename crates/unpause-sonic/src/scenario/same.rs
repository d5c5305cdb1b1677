//! Settings that a scenario has once: they must be the same at every port of every switch, or of one switch if switches may differ.

use std::fmt::Display;

use super::places::most;
use super::writer::Writer;
use crate::finding::Spot;
use crate::model::ConfigDb;
use unpause_import::FileError;

/// A value of a port, or of a switch.
#[derive(Clone, Debug)]
pub(super) struct Of<'a, T> {
    pub value: T,
    pub db: &'a ConfigDb,
    /// `leaf0 Ethernet4`.
    pub whose: String,
    pub spot: Spot,
}

/// A value, and those of the switches that have another one, by name.
pub(super) type BySwitch<T> = (T, Vec<(String, T)>);

/// The value of each switch, which has one: that of the first, and the others that have another, by name. None if there are none.
pub(super) fn by_switch<T: PartialEq + Clone + Display>(
    what: &str,
    all: &[Of<'_, T>],
) -> Result<Option<BySwitch<T>>, FileError> {
    let mut each: Vec<(String, T)> = Vec::new();
    for it in all {
        let name = it.db.name();
        if each.iter().any(|(other, _)| *other == name) {
            continue;
        }
        let own: Vec<Of<'_, T>> = all
            .iter()
            .filter(|other| other.db.name() == name)
            .cloned()
            .collect();
        if let Some(value) = one(what, &own)? {
            each.push((name, value));
        }
    }
    let Some((_, first)) = each.first().cloned() else {
        return Ok(None);
    };
    each.retain(|(_, value)| *value != first);
    Ok(Some((first, each)))
}

/// The one value of all of them; none if there are none.
pub(super) fn one<T: PartialEq + Clone + Display>(
    what: &str,
    all: &[Of<'_, T>],
) -> Result<Option<T>, FileError> {
    let Some(first) = all.first() else {
        return Ok(None);
    };
    match all.iter().find(|it| it.value != first.value) {
        None => Ok(Some(first.value.clone())),
        Some(other) => {
            let found = format!(
                "{what} {} at {}, {} at {}",
                other.value, other.whose, first.value, first.whose
            );
            let same = other.db.name() == first.db.name();
            let expected = if same {
                "the same at all ports of the switch: a scenario has it once for them"
            } else {
                "the same everywhere: a scenario has it once for all switches, ports and priorities"
            };
            Err(other.db.place(&other.spot).error(found, expected))
        }
    }
}

/// The value that most of them have, of several the smallest; none if there are none. The others are listed: a scenario has the
/// setting once.
pub(super) fn common<T: Ord + Clone + Display>(
    what: &str,
    all: &[Of<'_, T>],
    writer: &mut Writer,
) -> Option<T> {
    if all.is_empty() {
        return None;
    }
    let most = most(&all.iter().map(|it| &it.value).collect::<Vec<_>>());
    for it in all.iter().filter(|it| it.value != most) {
        let (line, _) = it.db.line_column(&it.spot);
        writer.leave_out(format!(
            "{}: {what} {} ({}, line {line}): most have {most}, which counts everywhere: a scenario has it once",
            it.whose,
            it.value,
            it.db.path.display(),
        ));
    }
    Some(most)
}
