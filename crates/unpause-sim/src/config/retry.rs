//! Links that resend corrupted frames.

use unpause_protocols::units::Time;

/// Link-level retry (LLR) of Ultra Ethernet, in both directions of every link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetryConfig {
    /// Bytes that a transmitter keeps until they are acknowledged. `None`: what fills the link, by
    /// [`llr::Params::full_rate_bytes`](unpause_protocols::loss_recovery::llr::Params::full_rate_bytes).
    pub buffer_bytes: Option<u32>,
    /// A port without progress for this time resends all frames that it keeps. `None`: the source's 5 us, the round trip of
    /// the link, and the longest wait of an acknowledgement.
    pub replay_timer: Option<Time>,
    /// Largest number of such replays without progress; then the port gives up the frames that it keeps. `None`: the source's 3.
    pub max_replays: Option<u8>,
}
