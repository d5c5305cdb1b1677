//! What senders have to say at their end, and which flows wait then for what will not come.

use unpause_protocols::units::Time;

use super::sender::Sender;
use super::state::Host;
use super::window::PathOf;
use crate::engine::log::{Log, SenderEnd};
use crate::outcome::results::{Awaits, Stuck};
use crate::plan::Plan;

/// Base RTTs that a flow has to hear nothing for: full buffers on its way add less. 12 MB of one at 100 Gb/s are 80 round
/// trips of 12 us.
const PATIENCE: u64 = 100;

impl Host {
    /// Records what senders that are left have to say at the end of the run.
    pub(super) fn end_senders(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        let slots: Vec<usize> = self.senders.iter().map(|(slot, _)| slot).collect();
        for slot in slots {
            if let Some(nic) = self.nic_of_sender(slot as u32, plan) {
                self.turn_to(nic);
            }
            let asleep = self.hpcc_nic && self.nic.at.is_never();
            let sender = &mut self.senders[slot];
            let paused = self.nic.end.is_paused(sender.class);
            let stuck = match asleep && !paused && sender.has_packet(now) {
                true => Some((sender.next_start, Awaits::Nic)),
                false => sender.awaits_ack(now, plan),
            };
            let stuck = stuck.filter(|&(since, _)| {
                let path = PathOf::between(self.id, sender.dst, sender.source_port, plan);
                path.is_some_and(|path| now.saturating_sub(since) > path.rtt * PATIENCE)
            });
            let stuck = stuck.map(|(since, awaits)| Stuck { since, awaits });
            let end = sender.end(stuck);
            self.record_end(slot as u32, end, log);
        }
    }
}

impl Sender {
    /// What is to be said of it at the end, if anything.
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

    /// Since when nothing has come back, if it has sent all that it may.
    fn awaits_ack(&mut self, now: Time, plan: &Plan<'_>) -> Option<(Time, Awaits)> {
        let timer = self.recovery.next_timer();
        if timer.is_never() || self.has_packet(now) {
            return None;
        }
        let since = timer.saturating_sub(plan.config.host.retransmit_timeout);
        Some((since, Awaits::Ack))
    }
}
