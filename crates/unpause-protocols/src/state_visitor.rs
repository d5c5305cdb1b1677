//! Which parts of a state advance with time, and which stay.
//!
//! A run that repeats itself need not be run: if everything is as it was a while ago, but for times that have all
//! moved on by that while and numbers that have grown, then the same follows again, moved on once more. Who wants to
//! know that of a state has it [shown](Show): each value once, in an order that depends on nothing but other values
//! shown. The visitor may move them on. A state that is not shown completely refuses.

pub use unpause_derive::Show;

use crate::units::{Rate, Time};

/// Records the values of a state one by one, or moves them on.
pub trait StateVisitor {
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

/// A state that shows its values to a visitor. Usually derived: a word at each field says what it is (see the
/// [derive macro](derive@Show)).
pub trait Show {
    /// Shows its state.
    fn show<L: StateVisitor>(&mut self, visitor: &mut L);
}

/// States side by side: how many, then each.
impl<T: Show> Show for [T] {
    fn show<L: StateVisitor>(&mut self, visitor: &mut L) {
        visitor.same(self.len() as u64);
        self.iter_mut().for_each(|it| it.show(visitor));
    }
}

/// A value that must be the same in both states.
pub trait Same {
    /// Shows it, as [`StateVisitor::same`].
    fn show_same<L: StateVisitor>(&self, visitor: &mut L);
}

macro_rules! same {
    ($($number:ty),*) => {$(
        impl Same for $number {
            #[inline]
            fn show_same<L: StateVisitor>(&self, visitor: &mut L) {
                visitor.same(u64::from(*self));
            }
        }
    )*};
}

same!(bool, u8, u16, u32, u64);

impl Same for usize {
    #[inline]
    fn show_same<L: StateVisitor>(&self, visitor: &mut L) {
        visitor.same(*self as u64);
    }
}

impl Same for Time {
    #[inline]
    fn show_same<L: StateVisitor>(&self, visitor: &mut L) {
        visitor.same(self.as_ps());
    }
}

impl Same for Rate {
    #[inline]
    fn show_same<L: StateVisitor>(&self, visitor: &mut L) {
        visitor.same(self.as_bps());
    }
}

/// A value that advances as time does.
pub trait Moment {
    /// Shows it, as [`StateVisitor::time`].
    fn show_time<L: StateVisitor>(&mut self, visitor: &mut L);
}

impl Moment for Time {
    #[inline]
    fn show_time<L: StateVisitor>(&mut self, visitor: &mut L) {
        visitor.time(self);
    }
}

/// A time that is there or not.
impl Moment for Option<Time> {
    #[inline]
    fn show_time<L: StateVisitor>(&mut self, visitor: &mut L) {
        visitor.same(u64::from(self.is_some()));
        if let Some(time) = self {
            visitor.time(time);
        }
    }
}

/// A value that grows by the same amount each period.
pub trait Total {
    /// Shows it, as [`StateVisitor::total`].
    fn show_total<L: StateVisitor>(&mut self, visitor: &mut L);
}

impl Total for u64 {
    #[inline]
    fn show_total<L: StateVisitor>(&mut self, visitor: &mut L) {
        visitor.total(self);
    }
}

/// It stays at its maximum.
impl Total for u32 {
    #[inline]
    fn show_total<L: StateVisitor>(&mut self, visitor: &mut L) {
        let mut total = u64::from(*self);
        visitor.total(&mut total);
        *self = Self::try_from(total).unwrap_or(Self::MAX);
    }
}

/// A sum of times.
impl Total for Time {
    #[inline]
    fn show_total<L: StateVisitor>(&mut self, visitor: &mut L) {
        let mut sum = self.as_ps();
        visitor.total(&mut sum);
        *self = Self::from_ps(sum);
    }
}
