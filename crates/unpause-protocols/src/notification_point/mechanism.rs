//! What every notification point is: what it is told, and what it answers.

use crate::ledger::Show;
use crate::notification::Notification;
use crate::units::Time;

/// A notification point: everything but its construction has a default that does nothing.
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
