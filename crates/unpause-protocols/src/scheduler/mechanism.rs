//! What every scheduler is: what it is told, and what it answers.

/// Queues of a port, at most; they are numbered from 0.
pub const QUEUES: usize = 8;

/// A scheduler: everything but its construction and its choice has a default that does nothing.
pub trait Mechanism {
    /// `queue` has become non-empty.
    #[inline]
    fn on_backlog(&mut self, _queue: u8) {}
    /// A packet of `bytes` has been taken from `queue`, for transmission or otherwise; `more` when
    /// others are waiting there.
    #[inline]
    fn on_dequeue(&mut self, _queue: u8, _bytes: u32, _more: bool) {}
    /// The queue to send from, out of the `eligible` (bit n: queue n has packets and may send); `head`
    /// tells the size of a queue's first packet.
    fn next(&mut self, eligible: u8, head: impl Fn(u8) -> u32) -> Option<u8>;
}
