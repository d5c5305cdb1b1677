//! A sentence about a setting or an outcome, before it is a warning of a run.

/// A setting to look at.
#[derive(Clone)]
pub struct Foreseen {
    /// For programs, as in [`crate::warnings::Warning`].
    pub kind: &'static str,
    pub message: String,
    pub help: String,
    /// Path of the key in the file; the entry of an array of tables by its name.
    pub key: Vec<String>,
}
