//! The headroom that a cable needs, as computed by the caller of the check.

/// A port's cable, of which the headroom is asked.
#[derive(Clone, Copy, Debug)]
pub struct Cable {
    /// Of the port, Mb/s.
    pub mbps: u64,
    /// Its length.
    pub metres: f64,
    /// Largest frame of the port, bytes.
    pub mtu: u64,
}

/// The headroom of a cable by some calculation.
#[derive(Clone, Debug)]
pub struct Need {
    /// Name of the headroom calculation.
    pub profile: String,
    /// Headroom of a priority, bytes.
    pub bytes: u64,
    /// Its terms, a line each.
    pub terms: Vec<String>,
}
