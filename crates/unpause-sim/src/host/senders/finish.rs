//! Senders: samples, and what is recorded at the end of the run.

use unpause_protocols::units::Time;

use super::super::flow::selective::recovery;
use super::super::machine::Machine;
use super::Senders;
use crate::engine::log::{Log, SenderSample};
use crate::outcome::results::{Awaits, Stuck};
use crate::plan::Plan;

impl Senders {
    /// Samples recorded flows.
    pub fn sample(&self, now: Time, log: &mut Log) {
        for (_, sender) in self.flows.iter().filter(|(_, sender)| sender.recorded) {
            log.sender_series.push(SenderSample {
                time: now,
                flow: sender.flow,
                rate: Some(sender.rate()),
                cwnd_bytes: sender.window(),
                sent_bytes: sender.sent_bytes,
                notifications: sender.notifications,
            });
        }
    }

    /// Records the senders that are left at the end of the run.
    pub fn finish(&mut self, now: Time, machine: &mut Machine, plan: &Plan<'_>, log: &mut Log) {
        let slots: Vec<usize> = self.flows.iter().map(|(slot, _)| slot).collect();
        for slot in slots {
            if let Some(nic) = self.nic_of(slot as u32, &machine.nics, plan) {
                machine.turn_to(nic);
            }
            let nic = machine.nics.nic();
            let asleep = nic.in_list && nic.at.is_never();
            let sender = &mut self.flows[slot];
            let paused = nic.end.is_paused(sender.class);
            let selective = self.selective.as_deref_mut();
            let credit = selective.and_then(|it| it.awaits_credit(slot as u32, &sender.recovery));
            let stuck = if let Some(since) = credit {
                Some((since, Awaits::Credit))
            } else if asleep && !paused && sender.has_packet(now) {
                Some((sender.next_start, Awaits::Nic))
            } else {
                sender.awaits_ack(now).map(|due| {
                    let timeout = plan.config.host.retransmit_timeout;
                    let timeout = recovery(&mut self.selective, slot as u32, timeout).timeout();
                    (due.saturating_sub(timeout), Awaits::Ack)
                })
            };
            let stuck = stuck.map(|(since, awaits)| Stuck { since, awaits });
            let end = sender.end(stuck);
            self.record_end(slot as u32, end, log);
        }
    }
}
