//! What a host makes of packets that arrive: data at receivers, feedback at senders.

use unpause_protocols::loss_recovery::go_back_n::Reception;
use unpause_protocols::notification::Notification;
use unpause_protocols::units::Time;

use super::sender::Pace;
use super::state::{Host, KIND_SHIFT, NOTIFICATION};
use crate::engine::heap::Entry;
use crate::engine::window::Window;
use crate::log::Log;
use crate::packet::{ACK_REQUEST, CE, Kind, MEASURE, Packet};

impl Host {
    pub(super) fn on_data(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        window.log.counts.delivered_packets += 1;
        let slot = packet.slot;
        let receiver = match self.receivers.get_mut(slot as usize) {
            Some(receiver) if receiver.flow == packet.flow => receiver,
            // The flow is complete: whatever comes again has arrived before.
            _ => return self.acknowledge(now, Kind::Ack, packet.seq + 1, packet, window),
        };
        let bytes = window.ports.wire_bytes(packet) as u32;
        receiver.sender_slot = packet.aux;
        let notification = receiver
            .notification_point
            .on_data(now, bytes, packet.is(CE));
        let reception = receiver.recovery.on_data(packet.seq);
        let expected = receiver.recovery.expected();
        if reception == Reception::Complete {
            window.log.flows.push(receiver.end(Some(now)));
            if receiver.recorded() {
                let delivered = receiver.delivered_bytes();
                window
                    .log
                    .receiver_series
                    .push((now, packet.flow, delivered));
            }
            self.receivers.remove(slot as usize);
        } else {
            if let Some(notification) = notification {
                self.notify(now, packet, &notification, window);
            }
            self.arm_receiver(slot);
        }
        match reception {
            Reception::Complete | Reception::Duplicate => {
                self.acknowledge(now, Kind::Ack, expected, packet, window);
            }
            Reception::InOrder if packet.is(ACK_REQUEST) => {
                self.acknowledge(now, Kind::Ack, expected, packet, window);
            }
            Reception::InOrder => {}
            Reception::Gap => {
                window.log.counts.sequence_errors += 1;
                self.acknowledge(now, Kind::Nak, expected, packet, window);
            }
            Reception::KnownGap => window.log.counts.sequence_errors += 1,
        }
    }

    fn acknowledge(
        &mut self,
        now: Time,
        kind: Kind,
        seq: u32,
        data: &Packet,
        window: &mut Window<'_, '_>,
    ) {
        let flags = if data.is(MEASURE) { MEASURE } else { 0 };
        let priority = window.plan.config.host.control_priority;
        let ack = Packet {
            stamp: data.stamp,
            flow: data.flow,
            seq,
            src: self.id,
            dst: data.src,
            slot: data.aux,
            aux: u32::from(data.bytes),
            source_port: data.source_port,
            ..Packet::new(kind, priority, flags, kind.control_bytes())
        };
        self.send_control(now, ack, window);
    }

    pub(super) fn notify(
        &mut self,
        now: Time,
        data: &Packet,
        notification: &Notification,
        window: &mut Window<'_, '_>,
    ) {
        window.log.counts.notifications += 1;
        let priority = window.plan.config.host.control_priority;
        let packet = Packet {
            flow: data.flow,
            src: self.id,
            dst: data.src,
            slot: data.aux,
            source_port: data.source_port,
            ..Packet::from_notification(notification, priority)
        };
        self.send_control(now, packet, window);
    }

    pub(super) fn on_feedback(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        let slot = packet.slot;
        let Some(sender) = self.senders.get_mut(slot as usize) else {
            return;
        };
        if sender.flow != packet.flow {
            return;
        }
        let timeout = window.plan.config.host.retransmit_timeout;
        match packet.kind {
            Kind::Nak => sender.on_nak(now, packet.seq, timeout),
            Kind::Ack => {
                let own = (u64::from(packet.aux) + window.ports.framing_bytes) * self.ps_per_byte;
                let departed = Time::from_ps(packet.stamp + own);
                let rtt = packet.is(MEASURE).then(|| now.saturating_sub(departed));
                sender.on_ack(now, packet.seq, rtt, timeout);
                // In the round-robin, it is forgotten when its turn comes.
                if sender.is_done() && sender.pace != Pace::Ready {
                    return self.forget(slot, window.log);
                }
            }
            _ => return self.hear(now, packet, window.plan.config.host.notification_reaction),
        }
        self.after_change(now, slot);
    }

    /// A CNP or CNM has arrived, to take effect after `reaction`.
    fn hear(&mut self, now: Time, packet: &Packet, reaction: Time) {
        if reaction == Time::ZERO {
            return self.on_notification(now, packet);
        }
        self.notified.push_back(*packet);
        let payload = NOTIFICATION << KIND_SHIFT;
        self.timers
            .push(Entry::new(now + reaction, packet.flow, payload));
    }

    pub(super) fn on_notification(&mut self, now: Time, packet: &Packet) {
        let slot = packet.slot;
        let Some(sender) = self.senders.get_mut(slot as usize) else {
            return;
        };
        if sender.flow == packet.flow
            && let Some(notification) = packet.notification()
        {
            sender.on_notification(now, &notification, &mut self.rng);
            self.after_change(now, slot);
        }
    }

    /// A flow's rate, window of packets or timers may have changed.
    pub(super) fn after_change(&mut self, now: Time, slot: u32) {
        let sender = &mut self.senders[slot as usize];
        sender.repace(now);
        let pace = sender.pace;
        match pace {
            Pace::Idle if sender.has_packet(now) => self.enqueue(slot),
            Pace::Until(at) if sender.next_start < at => {
                sender.pace = Pace::Until(sender.next_start);
                let entry = Entry::new(sender.next_start, sender.flow, slot);
                self.pacing.push(entry);
                self.nic_at = self.nic_at.min(entry.time().max(self.busy_until));
            }
            _ => {}
        }
        self.arm_sender(slot);
    }

    pub(super) fn forget(&mut self, slot: u32, log: &mut Log) {
        let sender = self.senders.remove(slot as usize);
        log.senders.extend(sender.end());
    }
}
