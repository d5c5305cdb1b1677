//! The states of a TCP sender.

/// The state of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing unusual.
    Open,
    /// Duplicate ACKs have come, too few to tell a loss from reordering.
    Disorder,
    /// It has cut its window because of marks, and waits for the ACK of the segment that said so.
    Cwr,
    /// It repairs a loss told by duplicate ACKs.
    Recovery,
    /// It starts over after a timeout.
    Loss,
}

/// The phase of the sender; disorder follows from the duplicate ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Open,
    /// The window has been cut because of marks. The segment with CWR starts there, once it is sent.
    Cwr(Option<u64>),
    /// The window is counted here: the law's and what duplicate ACKs say has left the network. The first
    /// partial ACK is yet to come, or not.
    Recovery {
        window: u64,
        first_partial: bool,
    },
    Loss,
}
