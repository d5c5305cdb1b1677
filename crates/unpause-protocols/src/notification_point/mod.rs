//! What the receiver of a flow says back.
//!
//! One state machine per flow.

use crate::dispatch::mechanisms;
use crate::notification::Notification;
use crate::units::Time;

pub mod dcqcn;
pub mod pcn;

/// A notification point: everything but its construction has a default that does nothing.
pub trait Mechanism {
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
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Mechanism for Silent {}

mechanisms! {
    ($)
    /// The notification point of one flow.
    NotificationPoint:
    /// No notifications.
    None(Silent),
    /// PCN: a CNP per period, to decrease or to increase.
    Pcn(pcn::Pcn),
    /// DCQCN: a CNP per interval with marked packets.
    Dcqcn(dcqcn::Dcqcn),
}

impl NotificationPoint {
    /// A flow of which nothing has arrived yet.
    pub fn new(config: &Config) -> Self {
        build!(config, Silent)
    }
    /// A data packet of the flow has arrived, marked Congestion Experienced or not.
    #[inline]
    pub fn on_data(&mut self, now: Time, bytes: u32, ce: bool) -> Option<Notification> {
        dispatch!(self, it => it.on_data(now, bytes, ce))
    }
    /// Call when `now >= next_timer()`.
    pub fn on_timer(&mut self, now: Time) -> Option<Notification> {
        dispatch!(self, it => it.on_timer(now))
    }
    /// When to call [`Self::on_timer`]; [`Time::NEVER`] when it is off.
    #[inline]
    pub fn next_timer(&self) -> Time {
        dispatch!(self, it => it.next_timer())
    }
}

/// The shortest period a timer may have, so that it always moves on.
const SHORTEST_PERIOD: Time = Time::from_ns(1);

/// The first instant after `now` on the grid `epoch + k * period`.
fn next_on_grid(epoch: Time, period: Time, now: Time) -> Time {
    let periods = now.saturating_sub(epoch).as_ps() / period.as_ps() + 1;
    let offset = periods.saturating_mul(period.as_ps());
    epoch.saturating_add(Time::from_ps(offset))
}
