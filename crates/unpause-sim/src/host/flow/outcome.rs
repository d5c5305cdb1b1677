//! Records of senders at their end, and what those wait for that are left at the end of the run.

use unpause_protocols::units::Time;

use super::sender::Sender;
use crate::engine::log::SenderEnd;
use crate::outcome::results::Stuck;

impl Sender {
    /// Its record at the end, if it has any.
    pub fn end(&self, stuck: Option<Stuck>) -> Option<SenderEnd> {
        let happened = self.retransmitted + self.timeouts + self.notifications > 0;
        let acknowledged = Some(self.acknowledged_at).filter(|at| !at.is_never());
        (happened || acknowledged.is_some() || stuck.is_some()).then_some(SenderEnd {
            flow: self.flow,
            retransmitted: self.retransmitted,
            timeouts: self.timeouts,
            gave_up: false,
            gave_up_at: None,
            notifications: self.notifications,
            acknowledged,
            stuck,
        })
    }

    /// When it will time out, if it has sent all that it may.
    pub fn awaits_ack(&mut self, now: Time) -> Option<Time> {
        let timer = self.recovery.next_timer();
        let waits = !timer.is_never() && !self.has_packet(now);
        waits.then_some(timer)
    }
}
