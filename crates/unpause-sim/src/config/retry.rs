//! Links that send corrupted frames again.

use unpause_protocols::units::Time;

/// Link-level retry (LLR) of Ultra Ethernet, in both directions of every link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetryConfig {
    /// Bytes that a transmitter keeps until they are acknowledged. `None`: what fills the link, by
    /// [`llr::Params::full_rate_bytes`](unpause_protocols::loss_recovery::llr::Params::full_rate_bytes).
    pub buffer_bytes: Option<u32>,
    /// After so long without progress all that is kept is sent again. `None`: the source's 5 us, and the round trip of the
    /// link with what an acknowledgement waits for.
    pub replay_timer: Option<Time>,
    /// Such replays without progress, at most; then what is kept is given up. `None`: the source's 3.
    pub max_replays: Option<u8>,
}
