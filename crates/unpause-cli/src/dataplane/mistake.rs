//! Answers to what cannot be done.

use unpause_scenario::Error;

/// A mistake that has no place in a file; `help` may be empty.
pub fn wrong(message: String, help: &str) -> Error {
    Error::Other {
        message,
        help: (!help.is_empty()).then(|| help.into()),
    }
}
