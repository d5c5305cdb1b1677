//! What of a state moves on with time, and what stays.
//!
//! A run that repeats itself need not be run: if everything is as it was a while ago, but for times that have all
//! moved on by that while and numbers that have grown, then the same follows again, moved on once more. Who wants to
//! know that of a state has it [shown](Ledger): each value once, in an order that depends on nothing but other values
//! shown. The ledger may move them on. A state that is not shown completely refuses.

use crate::units::Time;

/// Takes down the values of a state one by one, or moves them on.
pub trait Ledger {
    /// A value that has to be what it was.
    fn same(&mut self, value: u64);
    /// A time. It moves on with the run, or stays: then, if it is still to come, nothing is known of what follows it. All
    /// that is ever asked is which of two times is earlier.
    fn time(&mut self, time: &mut Time);
    /// The earliest of times, of which some may move on and others stay: one that moves on does not pass one that stays.
    fn earliest(&mut self, time: &mut Time);
    /// When a timer is due that has not run out in the meantime.
    fn deadline(&mut self, time: Time);
    /// How often something has happened. It grows, and decides nothing.
    fn total(&mut self, total: &mut u64);
    /// The number of a packet of a flow. All of a flow grow alike, and decide nothing but by how far they are apart, or how
    /// far from the [end](Self::before_end) of the flow.
    fn number(&mut self, flow: u32, number: &mut u32);
    /// The number of a packet of a flow is below this one: what happens when it is reached is not known.
    fn before_end(&mut self, flow: u32, number: u32, end: u32);
    /// The number of the first packet after a flow, or after the current message of a connection. It stays the same, or grows
    /// like the numbers of the flow. The caller next shows how far these are [before](Self::before_end) it.
    fn end(&mut self, flow: u32, end: &mut u32);
    /// The number of a step. It grows; all steps up to number `last` are alike.
    fn step(&mut self, step: &mut u32, last: u32);
    /// This state cannot be extrapolated, so nothing is skipped.
    fn refuse(&mut self);
}

/// Shows a count of events, as [`Ledger::total`].
pub fn show_count<L: Ledger>(count: &mut u32, ledger: &mut L) {
    let mut total = u64::from(*count);
    ledger.total(&mut total);
    *count = total as u32;
}

/// Shows a time that is there or not.
pub fn show_option<L: Ledger>(time: &mut Option<Time>, ledger: &mut L) {
    ledger.same(u64::from(time.is_some()));
    if let Some(time) = time {
        ledger.time(time);
    }
}
