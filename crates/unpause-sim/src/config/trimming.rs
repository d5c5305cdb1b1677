//! Switches that trim packets.

use unpause_protocols::names::Names;

/// How switches trim a lossy RoCE data packet for which they have no room: they cut off its payload and forward the
/// header in the control priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trimming {
    /// The size of a trimmed frame, bytes without framing.
    pub bytes: u16,
    /// Largest control queue of a port, bytes: trimmed packets wait there, with ACKs. What exceeds it is dropped.
    pub control_queue_bytes: u64,
    /// Which packet is trimmed.
    pub cut: Cut,
}

/// Which packet is trimmed where an egress queue has no room for one more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Names)]
pub enum Cut {
    /// The one that arrives.
    #[default]
    Arriving,
    /// That, or the newest one in the queue: each with a probability of one half.
    Either,
}
