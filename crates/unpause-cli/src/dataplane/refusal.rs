//! What cannot be done, and what to do about it.

use unpause_scenario::Error;

pub(super) fn wrong(message: String, help: &str) -> Error {
    Error::Other {
        message,
        help: (!help.is_empty()).then(|| help.into()),
    }
}
