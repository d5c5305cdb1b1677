//! Switches that trim packets.

/// What becomes of a data packet of RoCE that is lossy and for which there is no room: its payload is cut off, and what
/// is left goes on in the control priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trimming {
    /// What is left of a frame, bytes without framing.
    pub bytes: u16,
    /// Largest control queue of a port, bytes: trimmed packets wait there, with ACKs. What exceeds it is dropped.
    pub control_queue_bytes: u64,
    /// Which packet is trimmed.
    pub cut: Cut,
}

/// Which packet is trimmed where an egress queue has no room for one more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cut {
    /// The one that arrives.
    #[default]
    Arriving,
    /// That, or the newest one in the queue: each with a probability of one half.
    Either,
}
