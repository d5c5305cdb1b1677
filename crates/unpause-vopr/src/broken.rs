//! A violation that a check found.

/// A violation that a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which check: it stays the same while a scenario is shrunk.
    pub check: String,
    /// The violation, in one line.
    pub what: String,
}

impl Broken {
    /// A violation that a check found.
    pub fn new(check: &str, what: impl Into<String>) -> Self {
        Self {
            check: check.to_owned(),
            what: what.into().replace('\n', " "),
        }
    }
}

/// Judges a refusal with these words: every refusal must have a place in the file.
pub fn refused(why: String, has_place: bool) -> Result<String, Broken> {
    if has_place {
        Ok(why)
    } else {
        Err(Broken::new(
            "place",
            format!("refused without a place: {why}"),
        ))
    }
}
