//! The interface of spraying.

use rand_core::Rng;

use crate::units::Time;

/// Most entropy values of a flow: the source ports that RoCEv2 uses, 0xC000 to 0xFFFF.
pub const MOST_PATHS: u32 = 1 << 14;

/// Entropy values of a flow, unless others are said.
pub const DEFAULT_PATHS: u32 = 64;

/// The echo of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// It arrived without a mark.
    Clear,
    /// It arrived, marked Congestion Experienced.
    Marked,
    /// Others show that it was lost.
    Lost,
    /// Nothing came back before the retransmission timeout.
    Timeout,
}

/// A way to choose the entropy value of each packet of a flow.
///
/// Its owner is the flow's sender, which calls:
///
/// 1. [`next`](Self::next) for each packet that it sends, new or again;
/// 2. [`on_echo`](Self::on_echo) for each ACK and NAK, with the value of the packet that it answers: [`Echo::Marked`] or
///    [`Echo::Clear`]. A trimmed packet is [`Echo::Lost`], or `Clear` if the switch before the receiver has trimmed it;
/// 3. `on_echo` for each packet that it sends again and has not reported as trimmed, with the value that it had, before `next`:
///    `Lost`, or for the first one after a timeout [`Echo::Timeout`].
pub trait Mechanism {
    /// The value of the next packet, below the number of paths.
    fn next<R: Rng>(&mut self, now: Time, rng: &mut R) -> u16;
    /// Reports the echo of a packet with this value.
    fn on_echo(&mut self, now: Time, value: u16, echo: Echo);
}

/// All packets of a flow take one path.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnePath;

impl Mechanism for OnePath {
    fn next<R: Rng>(&mut self, _now: Time, _rng: &mut R) -> u16 {
        0
    }
    fn on_echo(&mut self, _now: Time, _value: u16, _echo: Echo) {}
}
