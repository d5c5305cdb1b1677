//! The interface of notification points.

use crate::notification::Notification;
use crate::state_visitor::Show;
use crate::units::Time;

/// A notification point: everything but its construction has a default that does nothing.
///
/// Its owner is the receiver of one flow, which calls:
///
/// 1. [`on_data`](Self::on_data) for each data packet that arrives, also one that comes again or out of order, before the receiver
///    takes it. Headers of trimmed packets are not reported. `bytes` are those on the wire, with framing.
/// 2. [`on_timer`](Self::on_timer) when [`next_timer`](Self::next_timer) is due, before it reports anything else of that instant or
///    later. It asks `next_timer` again after each call.
///
/// `on_timer` moves `next_timer` to a later time or stops it, and stops it by the second call without data in between
/// (`tests/properties/notifications.rs`).
///
/// A notification that is answered is sent to the flow's sender at once, before the ACK of the packet. With the last packet of a
/// flow both are forgotten: what is answered then is not sent.
pub trait Mechanism: Show {
    /// A data packet of the flow has arrived, marked Congestion Experienced or not.
    #[inline]
    fn on_data(&mut self, _now: Time, _bytes: u32, _ce: bool) -> Option<Notification> {
        None
    }
    /// The timer is due.
    fn on_timer(&mut self, _now: Time) -> Option<Notification> {
        None
    }
    /// When to call [`Mechanism::on_timer`]; [`Time::NEVER`] when it is off.
    #[inline]
    fn next_timer(&self) -> Time {
        Time::NEVER
    }
}

/// A receiver that says nothing.
#[derive(Clone, Copy, Debug, Default, Show)]
pub struct Silent;

impl Mechanism for Silent {}
