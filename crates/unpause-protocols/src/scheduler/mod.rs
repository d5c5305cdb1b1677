//! Which queue of an egress port sends next.
//!
//! One state machine per egress port. Its owner reports every queue that becomes non-empty and every
//! packet taken, and asks [`Scheduler::next`] when the port is free. Asking changes nothing that asking
//! again would undo: the same answer comes until a packet is taken or other queues are eligible.

use crate::dispatch::mechanisms;

pub mod dwrr;
mod mechanism;
pub mod strict;

pub use mechanism::{Mechanism, QUEUES};

mechanisms! {
    ($)
    /// The scheduler of one egress port.
    Scheduler: always,
    /// The highest queue first.
    Strict(strict::Strict),
    /// Deficit weighted round robin, in groups of strict priority.
    Dwrr(dwrr::Dwrr),
}

impl Default for Config {
    fn default() -> Self {
        Self::Strict(strict::Params)
    }
}

impl Scheduler {
    /// The scheduler of a port whose queues are empty.
    pub fn new(config: &Config) -> Self {
        build!(config)
    }
    /// `queue` has become non-empty.
    #[inline]
    pub fn on_backlog(&mut self, queue: u8) {
        dispatch!(self, it => it.on_backlog(queue))
    }
    /// A packet of `bytes` has been taken from `queue`, for transmission or otherwise; `more` when
    /// others are waiting there.
    #[inline]
    pub fn on_dequeue(&mut self, queue: u8, bytes: u32, more: bool) {
        dispatch!(self, it => it.on_dequeue(queue, bytes, more))
    }
    /// The queue to send from, out of the `eligible` (bit n: queue n has packets and may send); `head`
    /// tells the size of a queue's first packet.
    #[inline]
    pub fn next(&mut self, eligible: u8, head: impl Fn(u8) -> u32) -> Option<u8> {
        dispatch!(self, it => it.next(eligible, head))
    }
}
