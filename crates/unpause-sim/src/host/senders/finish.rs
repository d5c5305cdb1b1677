//! Senders: samples, flows that end early, and what is recorded at the end of the run.

use std::collections::BTreeSet;

use unpause_protocols::units::Time;

use super::super::flow::retries::NOBODY;
use super::super::flow::selective::recovery;
use super::super::line::line;
use super::super::machine::Machine;
use super::Senders;
use crate::engine::log::{Log, SenderSample};
use crate::engine::window::Window;
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

    /// The flow in `slot` sends nothing more, perhaps because it has given up. In the round-robin or a list, it is forgotten when its
    /// turn comes.
    #[cold]
    pub(super) fn abandon(
        &mut self,
        (now, slot): (Time, u32),
        gave_up_at: Option<Time>,
        machine: &mut Machine,
        log: &mut Log,
    ) {
        let sender = &mut self.flows[slot as usize];
        if let Some(retries) = &mut self.retries {
            retries.end(slot, sender.flow, gave_up_at);
        }
        self.posted.remove(&sender.flow);
        sender.close();
        sender.recovery.abandon();
        (sender.flow, sender.stop, sender.recorded) = (NOBODY, now, false);
        if self.is_in_line(slot, &machine.nics) {
            machine.nics.nic_mut().wake(now);
        } else {
            self.forget(slot, log);
        }
    }

    /// The rank of these connections has stopped.
    #[cold]
    pub fn stop_connections(
        &mut self,
        now: Time,
        connections: &BTreeSet<u32>,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let all = self.flows.iter();
        let own = all.filter(|(_, sender)| connections.contains(&sender.flow));
        let slots: Vec<u32> = own.map(|(slot, _)| slot as u32).collect();
        for slot in slots {
            let nic = self.nic_of(slot, &machine.nics, window.plan);
            machine.at(nic.unwrap_or(machine.nics.number()), |machine| {
                self.abandon((now, slot), None, machine, window.log);
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
            if let Some(delays) = &mut self.delays {
                let line = line(nic, sender.class, Time::ZERO);
                delays.finish(now, sender.flow, &line, &mut log.delays);
            }
            let end = sender.end(stuck);
            self.record_end(slot as u32, end, log);
        }
        if let Some(delays) = &mut self.delays {
            delays.finish_others(now, &mut log.delays);
        }
    }
}
