//! A connection between two ranks.

/// A connection: all messages of a channel from one rank to another go over it, as one stream of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Connection {
    /// The rank that sends.
    pub from: u32,
    /// The rank that receives.
    pub to: u32,
    /// Which of those between the two.
    pub channel: u32,
}
