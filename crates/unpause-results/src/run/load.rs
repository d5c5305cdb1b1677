//! The load that an entry of traffic asks for.

use unpause_protocols::units::Time;

/// The load that an entry of traffic asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Index of the entry.
    pub entry: u16,
    /// A share of what the links carry.
    pub asked: f64,
    /// Payload that a load of 1 would be.
    pub bits_per_second: f64,
    /// When arrivals begin.
    pub start: Time,
    /// When they end, at the latest.
    pub stop: Time,
    /// The most flows that it starts.
    pub most: Option<u64>,
}
