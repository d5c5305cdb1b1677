//! Which queue of an egress port sends next.
//!
//! One state machine per egress port. [`Mechanism`] says what its owner reports, and when it asks.

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
    /// [`Mechanism::on_backlog`].
    #[inline]
    pub fn on_backlog(&mut self, queue: u8) {
        dispatch!(self, it => it.on_backlog(queue))
    }
    /// [`Mechanism::on_dequeue`].
    #[inline]
    pub fn on_dequeue(&mut self, queue: u8, bytes: u32, more: bool) {
        dispatch!(self, it => it.on_dequeue(queue, bytes, more))
    }
    /// [`Mechanism::next`].
    #[inline]
    pub fn next(&mut self, eligible: u8, head: impl Fn(u8) -> u32) -> Option<u8> {
        dispatch!(self, it => it.next(eligible, head))
    }
}
