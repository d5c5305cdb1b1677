//! How the sender of a flow sets its rate.
//!
//! One state machine per flow.

use rand_core::Rng;

use crate::dispatch::mechanisms;
use crate::notification::Notification;
use crate::units::{Rate, Time};

pub mod dcqcn;
pub mod pcn;
pub mod qcn;
pub mod timely;

/// A reaction point: everything but its construction and its rate has a default that does nothing.
pub trait Mechanism {
    /// The rate at which the flow may send now.
    fn rate(&self) -> Rate;
    /// A notification has arrived; those of other mechanisms are ignored.
    fn on_notification<R: Rng>(&mut self, _now: Time, _notification: &Notification, _rng: &mut R) {}
    /// A packet or segment was acknowledged, `rtt` after it was sent, its own serialisation removed.
    fn on_ack(&mut self, _now: Time, _rtt: Time) {}
    /// The flow has sent `bytes`; `backlogged` when it has more to send.
    #[inline]
    fn on_sent<R: Rng>(&mut self, _now: Time, _bytes: u32, _backlogged: bool, _rng: &mut R) {}
    /// Runs every timer due at or before `now`.
    fn on_timer<R: Rng>(&mut self, _now: Time, _rng: &mut R) {}
    /// When to call [`Mechanism::on_timer`]; [`Time::NEVER`] when no timer runs.
    #[inline]
    fn next_timer(&self) -> Time {
        Time::NEVER
    }
    /// `Some`: send bursts of so many bytes at link rate, pace and measure per burst; `None`: per packet.
    #[inline]
    fn segment_bytes(&self) -> Option<u32> {
        None
    }
}

/// A sender that always sends at line rate.
#[derive(Clone, Copy, Debug)]
pub struct LineRate(Rate);

impl Mechanism for LineRate {
    #[inline]
    fn rate(&self) -> Rate {
        self.0
    }
}

mechanisms! {
    ($)
    /// The reaction point of one flow.
    ReactionPoint:
    /// No reaction: always line rate.
    None(LineRate),
    /// PCN: down to the receive rate at once, up faster and faster.
    Pcn(pcn::Pcn),
    /// QCN: 802.1Qau's rate limiter.
    Qcn(qcn::Qcn),
    /// DCQCN: a cut by a running estimate of congestion, then QCN's recovery.
    Dcqcn(dcqcn::Dcqcn),
    /// TIMELY: the gradient of the round-trip time.
    Timely(timely::Timely),
}

impl ReactionPoint {
    /// A flow that starts at `line_rate`.
    pub fn new(config: &Config, line_rate: Rate, now: Time) -> Self {
        build!(config, LineRate(line_rate), line_rate, now)
    }
    /// The rate at which the flow may send now.
    #[inline]
    pub fn rate(&self) -> Rate {
        dispatch!(self, it => it.rate())
    }
    /// A notification has arrived; those of other mechanisms are ignored.
    pub fn on_notification<R: Rng>(&mut self, now: Time, notification: &Notification, rng: &mut R) {
        dispatch!(self, it => it.on_notification(now, notification, rng))
    }
    /// A packet or segment was acknowledged, `rtt` after it was sent, its own serialisation removed.
    pub fn on_ack(&mut self, now: Time, rtt: Time) {
        dispatch!(self, it => it.on_ack(now, rtt))
    }
    /// The flow has sent `bytes`; `backlogged` when it has more to send.
    #[inline]
    pub fn on_sent<R: Rng>(&mut self, now: Time, bytes: u32, backlogged: bool, rng: &mut R) {
        dispatch!(self, it => it.on_sent(now, bytes, backlogged, rng))
    }
    /// Runs every timer due at or before `now`.
    pub fn on_timer<R: Rng>(&mut self, now: Time, rng: &mut R) {
        dispatch!(self, it => it.on_timer(now, rng))
    }
    /// When to call [`Self::on_timer`]; [`Time::NEVER`] when no timer runs.
    #[inline]
    pub fn next_timer(&self) -> Time {
        dispatch!(self, it => it.next_timer())
    }
    /// `Some`: send bursts of so many bytes at link rate, pace and measure per burst; `None`: per packet.
    #[inline]
    pub fn segment_bytes(&self) -> Option<u32> {
        dispatch!(self, it => it.segment_bytes())
    }
}

/// The shortest period a timer may have, so that it always moves on.
const SHORTEST_PERIOD: Time = Time::from_ns(1);

/// A timer called later than so many periods makes up for this many only, and starts afresh.
const MOST_PERIODS_LATE: u32 = 1 << 20;

/// Half way from `current` up to `target`, rounded up so that the target is reached.
fn half_way(target: u64, current: u64) -> u64 {
    target.midpoint(current) + ((target ^ current) & 1)
}
