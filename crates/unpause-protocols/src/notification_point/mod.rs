//! Notification points: feedback from the receiver of a flow to its sender.
//!
//! One state machine per flow.

use crate::dispatch::mechanisms;
use crate::notification::Notification;
use crate::parameters::named;
use crate::state_visitor::{Show, StateVisitor};
use crate::units::Time;

pub mod dcqcn;
mod mechanism;
pub mod pcn;

pub use mechanism::{Mechanism, Silent};

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

// For C and the test vectors.
named! {
    notification_point:
    c"pcn" Pcn of pcn { period, congested_above_percent, rec_rate_unit },
    c"dcqcn" Dcqcn of dcqcn { cnp_interval, np_poll },
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

impl Show for NotificationPoint {
    fn show<L: StateVisitor>(&mut self, visitor: &mut L) {
        dispatch!(self, it => it.show(visitor));
    }
}
