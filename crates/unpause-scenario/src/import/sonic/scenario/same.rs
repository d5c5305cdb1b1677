//! What a scenario has once must be the same at every port of every switch.

use std::fmt::Display;

use crate::import::FileError;
use crate::import::sonic::finding::Spot;
use crate::import::sonic::model::ConfigDb;

/// A value of a port, or of a switch.
#[derive(Clone, Debug)]
pub(super) struct Of<'a, T> {
    pub value: T,
    pub db: &'a ConfigDb,
    /// `leaf0 Ethernet4`.
    pub whose: String,
    pub spot: Spot,
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
            let expected = "the same everywhere: a scenario has it once for all switches, ports and priorities";
            Err(other.db.place(&other.spot).error(found, expected))
        }
    }
}
