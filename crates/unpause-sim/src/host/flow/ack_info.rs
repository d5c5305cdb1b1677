//! The content of acknowledgements for the sender of their flow.

use unpause_protocols::congestion_control::Hop;
use unpause_protocols::units::Time;

/// The content of an acknowledgement, except its number.
#[derive(Clone, Copy, Debug)]
pub struct AckInfo<'a> {
    /// The round trip, if it measures one.
    pub rtt: Option<Time>,
    /// Its packet was marked.
    pub ce: bool,
    /// Records that switches have written into its packet.
    pub hops: &'a [Hop],
    /// PINT's code in its packet.
    pub digest: Option<u16>,
}

/// The content of the NAK of a trimmed packet.
#[derive(Clone, Copy, Debug)]
pub struct Trim {
    /// All packets before this one have arrived.
    pub before: u32,
    /// The packet that was trimmed.
    pub number: u32,
    /// The switch before the receiver has trimmed it.
    pub last_hop: bool,
}
