//! The notification point of DCQCN.
//!
//! # What it does
//!
//! Answers a marked packet with a CNP, at most one per interval and flow. A flow without marked packets
//! gets none.
//!
//! # Source
//!
//! Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, notification
//! point.
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `cnp_interval` | time | 50 us | DCQCN paper |
//! | `np_poll` | - | false | paper: at once; true is ns3-rdma's polling |
//!
//! # Departures
//!
//! With `np_poll` the polls of a flow are counted from its first packet, and those that would find
//! nothing are skipped.

use super::{Mechanism, SHORTEST_PERIOD, next_on_grid};
use crate::notification::Notification;
use crate::units::Time;

/// Parameters of the notification point of DCQCN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Least time between two CNPs of a flow; with `np_poll`, between two polls.
    pub cnp_interval: Time,
    /// Look for marked packets at every interval's end instead of answering the first at once.
    pub np_poll: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            cnp_interval: Time::from_us(50),
            np_poll: false,
        }
    }
}

/// State of the notification point of DCQCN.
#[derive(Clone, Debug)]
pub struct Dcqcn {
    params: Params,
    /// First instant at which a marked packet is answered again.
    quiet_until: Time,
    /// Arrival of the flow's first packet, from which polls are counted.
    epoch: Time,
    /// The poll that will find a marked packet.
    poll: Time,
}

impl Dcqcn {
    /// A flow of which nothing has arrived yet.
    pub fn new(params: &Params) -> Self {
        let mut params = *params;
        params.cnp_interval = params.cnp_interval.max(SHORTEST_PERIOD);
        Self {
            params,
            quiet_until: Time::ZERO,
            epoch: Time::NEVER,
            poll: Time::NEVER,
        }
    }

    fn note_for_poll(&mut self, now: Time, ce: bool) {
        if self.epoch.is_never() {
            self.epoch = now;
        }
        if ce && self.poll.is_never() {
            self.poll = next_on_grid(self.epoch, self.params.cnp_interval, now);
        }
    }
}

impl Mechanism for Dcqcn {
    #[inline]
    fn on_data(&mut self, now: Time, _bytes: u32, ce: bool) -> Option<Notification> {
        if self.params.np_poll {
            self.note_for_poll(now, ce);
            return None;
        }
        if !ce || now < self.quiet_until {
            return None;
        }
        self.quiet_until = now.saturating_add(self.params.cnp_interval);
        Some(Notification::Cnp)
    }

    fn on_timer(&mut self, now: Time) -> Option<Notification> {
        if self.poll.is_never() || now < self.poll {
            return None;
        }
        self.poll = Time::NEVER;
        Some(Notification::Cnp)
    }

    #[inline]
    fn next_timer(&self) -> Time {
        self.poll
    }
}
