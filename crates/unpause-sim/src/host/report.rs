//! What is recorded of a host: samples during the run, and what is open at its end.

use unpause_protocols::units::Time;

use super::flow::selective::recovery;
use super::flow::window::PathOf;
use super::nic::Counters;
use super::state::Host;
use crate::engine::log::{Log, SenderSample};
use crate::outcome::results::{Awaits, PortRecord, PortSample, Stuck};
use crate::plan::Plan;

/// Base RTTs that a flow has to hear nothing for: full buffers on its way add less. 12 MB of one at 100 Gb/s are 80 round
/// trips of 12 us.
const PATIENCE: u64 = 100;

impl Host {
    pub(super) fn on_sample(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        if now.as_ps().is_multiple_of(self.flow_interval.as_ps()) {
            self.sample_flows(now, log);
        }
        if self.sampling.port {
            for nic in 0..self.nics() {
                if plan.config.probes.ports.contains(&(self.id, nic)) {
                    self.turn_to(nic);
                    self.sample_port(now, plan, log);
                }
            }
        }
    }

    fn sample_flows(&self, now: Time, log: &mut Log) {
        for (_, sender) in &self.senders {
            if sender.recorded {
                let (flow, sent_bytes) = (sender.flow, sender.sent_bytes);
                log.sender_series.push(SenderSample {
                    time: now,
                    flow,
                    rate: Some(sender.rate()),
                    cwnd_bytes: sender.window(),
                    sent_bytes,
                    notifications: sender.notifications,
                });
            }
        }
        for (_, receiver) in &self.receivers {
            if receiver.recorded() && receiver.start() <= now {
                log.receiver_series
                    .push((now, receiver.flow, receiver.delivered_bytes()));
            }
        }
        self.tcp.sample(now, log);
    }

    fn sample_port(&self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        for class in 0..self.nic.classes.len() {
            let buffer = self.nic.buffer.as_ref();
            let held = buffer.map(|buffer| buffer.sample(class as u8));
            let (ingress_bytes, pause_frames) = held.unwrap_or_default();
            let (packets, bytes) = self.tcp.queued(self.nic.replies.get(class));
            log.port_series.push(PortSample {
                time: now,
                node: self.id,
                port: self.number,
                priority: plan.classes.priority(class as u8),
                queue_bytes: bytes,
                queue_packets: packets,
                ingress_bytes,
                tx_bytes: self.nic.classes[class].counters.tx_bytes,
                dropped_packets: 0,
                pause_frames,
                paused: plan.waited(self.nic.classes[class].pause.total(now)).0,
            });
        }
    }

    /// Closes and reports what is open at the NIC at hand.
    pub(super) fn finish_nic(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        for class in 0..self.nic.classes.len() as u8 {
            let place = self.place(class, plan);
            let pause = &mut self.nic.classes[class as usize].pause;
            let (paused, credit_wait) = plan.waited(pause.total(now));
            let since = pause.held_since();
            pause.finish(now, place, log);
            if !self.nic.stopped_by.is_empty() {
                self.note_go(now, class, since, plan);
            }
            let Counters {
                tx_packets,
                tx_bytes,
            } = self.nic.classes[class as usize].counters;
            let identity = PortRecord {
                node: self.id,
                port: self.number,
                priority: place.priority,
                ..PortRecord::default()
            };
            let mut record = PortRecord {
                tx_packets,
                tx_bytes,
                paused,
                credit_wait,
                ..identity
            };
            if let Some(buffer) = &self.nic.buffer {
                buffer.record(class, plan, &mut record);
            }
            if record != identity {
                log.ports.push(record);
            }
        }
        log.waits.extend(self.take_waits(plan));
        if let Some(buffer) = &mut self.nic.buffer {
            buffer.record_causes(now, log);
        }
    }

    /// Records what senders that are left have to say at the end of the run.
    pub(super) fn end_senders(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        let slots: Vec<usize> = self.senders.iter().map(|(slot, _)| slot).collect();
        for slot in slots {
            if let Some(nic) = self.nic_of_sender(slot as u32, plan) {
                self.turn_to(nic);
            }
            let asleep = self.in_list && self.nic.at.is_never();
            let sender = &mut self.senders[slot];
            let paused = self.nic.end.is_paused(sender.class);
            let stuck = match asleep && !paused && sender.has_packet(now) {
                true => Some((sender.next_start, Awaits::Nic)),
                false => sender.awaits_ack(now).map(|due| {
                    let timeout = plan.config.host.retransmit_timeout;
                    let timeout = recovery(&mut self.selective, slot as u32, timeout).timeout();
                    (due.saturating_sub(timeout), Awaits::Ack)
                }),
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
