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
//! With `np_poll` the polls of a flow are counted from its first packet, with which the first of them is, as in
//! ns3-rdma; those that would find nothing are skipped.

use super::Mechanism;
use crate::notification::Notification;
use crate::state_visitor::Show;
use crate::timer::{SHORTEST_PERIOD, next_on_grid};
use crate::units::Time;

/// Parameters of the notification point of DCQCN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Least time between two CNPs of a flow; with `np_poll`, between two polls.
    pub cnp_interval: Time,
    /// Look for marked packets at a flow's first packet and at every interval's end, instead of answering
    /// the first at once.
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
#[derive(Clone, Debug, Show)]
pub struct Dcqcn {
    #[show(skip)]
    params: Params,
    /// First instant at which a marked packet is answered again.
    #[show(time)]
    quiet_until: Time,
    /// Arrival of the flow's first packet, from which polls are counted.
    #[show(time)]
    epoch: Time,
    /// The poll that will find a marked packet.
    #[show(deadline)]
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

    /// Answers the flow's first packet; of later ones, only notes that the next poll will find one.
    fn note_for_poll(&mut self, now: Time, ce: bool) -> Option<Notification> {
        if self.epoch.is_never() {
            self.epoch = now;
            return ce.then_some(Notification::Cnp);
        }
        if ce && self.poll.is_never() {
            self.poll = next_on_grid(self.epoch, self.params.cnp_interval, now);
        }
        None
    }
}

impl Mechanism for Dcqcn {
    #[inline]
    fn on_data(&mut self, now: Time, _bytes: u32, ce: bool) -> Option<Notification> {
        if self.params.np_poll {
            return self.note_for_poll(now, ce);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at_us(us: u64) -> Time {
        Time::from_us(us)
    }

    #[test]
    fn marked_packets_are_answered_at_once_but_not_within_the_interval() {
        let mut np = Dcqcn::new(&Params::default());
        assert_eq!(np.on_data(at_us(0), 1000, false), None);
        assert_eq!(np.on_data(at_us(1), 1000, true), Some(Notification::Cnp));
        assert_eq!(np.on_data(at_us(2), 1000, true), None);
        assert_eq!(np.on_data(at_us(50), 1000, true), None);
        assert_eq!(np.on_data(at_us(51), 1000, false), None);
        assert_eq!(np.on_data(at_us(51), 1000, true), Some(Notification::Cnp));
        assert_eq!(np.next_timer(), Time::NEVER);
        assert_eq!(np.on_timer(at_us(200)), None);
    }

    #[test]
    fn polling_answers_at_the_end_of_the_interval() {
        let mut np = Dcqcn::new(&Params {
            np_poll: true,
            ..Params::default()
        });
        np.on_data(at_us(10), 1000, false);
        assert_eq!(np.next_timer(), Time::NEVER);
        assert_eq!(np.on_data(at_us(130), 1000, true), None);
        assert_eq!(np.on_data(at_us(140), 1000, true), None);
        assert_eq!(np.next_timer(), at_us(160));
        assert_eq!(np.on_timer(at_us(159)), None);
        assert_eq!(np.on_timer(at_us(160)), Some(Notification::Cnp));
        assert_eq!(np.next_timer(), Time::NEVER);
    }

    /// ns3-rdma polls for the first time when it learns of the flow, and then every interval.
    #[test]
    fn polling_answers_a_marked_first_packet_at_once() {
        let mut np = Dcqcn::new(&Params {
            np_poll: true,
            ..Params::default()
        });
        assert_eq!(np.on_data(at_us(10), 1000, true), Some(Notification::Cnp));
        assert_eq!(np.next_timer(), Time::NEVER);
        assert_eq!(np.on_data(at_us(11), 1000, true), None);
        assert_eq!(np.next_timer(), at_us(60));
        assert_eq!(np.on_timer(at_us(60)), Some(Notification::Cnp));
    }
}
