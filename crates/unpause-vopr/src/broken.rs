//! What a check found wrong with a scenario.

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which check: it stays the same while a scenario is shrunk.
    pub check: String,
    /// What broke, in one line.
    pub what: String,
}

impl Broken {
    /// What a check found.
    pub fn new(check: &str, what: impl Into<String>) -> Self {
        Self {
            check: check.to_owned(),
            what: what.into().replace('\n', " "),
        }
    }
}

/// Refusals that may come without a place in the file: those that the simulator makes of numbers which
/// several keys have a part in. Any other that does is a failure of the check `place`.
pub const PLACELESS: [&str; 3] = [
    "is above the largest egress queue",
    "is above the pool",
    "overflows before its XOFF",
];

/// What comes of a scenario that is refused with these words.
pub fn refused(why: String, has_place: bool) -> Result<String, Broken> {
    let is_known = || PLACELESS.iter().any(|known| why.contains(known));
    match has_place || is_known() {
        true => Ok(why),
        false => Err(Broken::new(
            "place",
            format!("refused without a place: {why}"),
        )),
    }
}
