//! The interface of schedulers.

/// Queues of a port, at most; they are numbered from 0.
pub const QUEUES: usize = 8;

/// A scheduler: everything but its construction and its choice has a default that does nothing.
///
/// Its owner is an egress port. Of packets that wait, it reports:
///
/// 1. [`on_backlog`](Self::on_backlog) when a packet has been stored in a queue. Others may have been waiting there: then the
///    call must change nothing.
/// 2. [`next`](Self::next) when the port is free and a queue may send. Every queue with packets has been reported.
/// 3. [`on_dequeue`](Self::on_dequeue) when the first packet of the queue that `next` named has been taken, before `next` is
///    called again. It is also called for packets that are taken out otherwise, as when their link fails.
///
/// A packet that finds the port free and may be sent does not wait: it is sent without any call, and costs its queue nothing.
///
/// `next` names a queue whenever one of the eligible ones has a packet, and never another (`tests/properties/scheduling.rs`).
/// It may be asked several times: as long as neither the queues nor `eligible` change, the answer is the same. In the
/// simulator queues are numbered by class, and strict priority has no scheduler.
pub trait Mechanism {
    /// A packet waits in `queue`.
    #[inline]
    fn on_backlog(&mut self, _queue: u8) {}
    /// A packet of `bytes` has been taken from `queue`; `more` when others are waiting there.
    #[inline]
    fn on_dequeue(&mut self, _queue: u8, _bytes: u32, _more: bool) {}
    /// The queue to send from, out of the `eligible` (bit n: queue n has packets and may send); `head`
    /// tells the size of a queue's first packet.
    fn next(&mut self, eligible: u8, head: impl Fn(u8) -> u32) -> Option<u8>;
}
