//! What hosts make of data of RoCE and UDP that arrive: the receivers of flows, and what they answer.

use unpause_protocols::loss_recovery::Reception;
use unpause_protocols::notification::Notification;
use unpause_protocols::units::Time;

use super::connections::Was;
use super::flow::selective::{self};
use super::state::{Host, arm_receiver};
use crate::config::AckPriority;
use crate::engine::window::Window;
use crate::fabric::packet::{ACK_REQUEST, CE, ECE, INT, Kind, MEASURE, Packet};
use crate::traffic::Ending;

impl Host {
    #[inline(always)]
    pub(super) fn on_data(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        window.log.counts.delivered_packets += 1;
        let slot = packet.slot;
        let receiver = match self.receivers.get_mut(slot as usize) {
            Some(receiver) if receiver.flow == packet.flow => receiver,
            _ => return self.acknowledge_whole(now, packet, window),
        };
        let bytes = window.ports.wire_bytes(packet) as u32;
        receiver.sender_slot = packet.aux;
        let notification = receiver
            .notification_point
            .on_data(now, bytes, packet.is(CE));
        let again = window.plan.config.host.nak_interval;
        let flow = (slot, &mut receiver.recovery);
        let reception = selective::on_data(&mut self.selective, flow, now, packet.seq, again);
        let expected = receiver.recovery.expected();
        let errors = &mut window.log.counts.sequence_errors;
        let answer = match reception {
            Reception::InOrder => packet.is(ACK_REQUEST | MEASURE).then_some(Kind::Ack),
            Reception::Complete => {
                if self.ends_message(now, slot, window) {
                    self.keep_notifying(now, slot, (packet, notification), window);
                }
                return self.acknowledge_all_before(now, expected, packet, window);
            }
            Reception::Filled => Some(Kind::Ack),
            Reception::Kept => {
                *errors += 1;
                Some(Kind::Nak)
            }
            Reception::Duplicate => {
                let nic = window.plan.config.host.nic;
                nic.answers_duplicate(packet.is_retry())
                    .then_some(Kind::Ack)
            }
            Reception::Gap => {
                *errors += 1;
                Some(Kind::Nak)
            }
            Reception::KnownGap => {
                *errors += 1;
                None
            }
        };
        arm_receiver(&mut self.timers, receiver, slot);
        if let Some(notification) = notification {
            self.notify(now, packet, &notification, window);
        }
        match answer {
            Some(kind) => self.acknowledge(now, kind, expected, packet, window),
            None => drop(window.telemetry.take(packet)),
        }
    }

    /// The header of a packet has arrived that a switch has trimmed: asks for the packet.
    #[cold]
    pub(super) fn on_trimmed(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        let slot = packet.slot;
        let receiver = match self.receivers.get_mut(slot as usize) {
            Some(receiver) if receiver.flow == packet.flow => receiver,
            _ => return self.acknowledge_whole(now, packet, window),
        };
        receiver.sender_slot = packet.aux;
        let expected = receiver.recovery.expected();
        let kind = match packet.seq >= expected {
            true => Kind::TrimNak,
            false => Kind::Ack,
        };
        self.acknowledge(now, kind, expected, packet, window);
    }

    /// The last packet of a flow or of a message has arrived. True for a message: its connection keeps the receiver.
    #[cold]
    pub(super) fn ends_message(
        &mut self,
        now: Time,
        slot: u32,
        window: &mut Window<'_, '_>,
    ) -> bool {
        let was = match self.ranks {
            Some(_) => self.on_message(now, slot, window),
            None => Was::Flow,
        };
        if was == Was::Connection {
            return true;
        }
        let log = &mut *window.log;
        let receiver = self.receivers.remove(slot as usize);
        // When a message was posted, its record says.
        log.flows
            .push(receiver.end((was == Was::Flow).then_some(now)));
        if let Some(credits) = &mut self.credits {
            credits.end(slot);
        }
        if receiver.recorded() {
            let delivered = receiver.delivered_bytes();
            log.receiver_series.push((now, receiver.flow, delivered));
        }
        self.ended(now, receiver.flow, Ending::Delivered, log);
        false
    }

    /// A connection's receiver stays after the last packet of a message: sends what its notification point asks for and arms
    /// its timer.
    #[cold]
    fn keep_notifying(
        &mut self,
        now: Time,
        slot: u32,
        (packet, notification): (&Packet, Option<Notification>),
        window: &mut Window<'_, '_>,
    ) {
        arm_receiver(&mut self.timers, &mut self.receivers[slot as usize], slot);
        if let Some(notification) = notification {
            self.notify(now, packet, &notification, window);
        }
    }

    /// A packet comes again of a flow that has arrived as a whole.
    #[cold]
    fn acknowledge_whole(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        self.acknowledge_all_before(now, packet.seq + 1, packet, window);
    }

    /// Answers a packet of a flow that has arrived as a whole.
    #[cold]
    fn acknowledge_all_before(
        &mut self,
        now: Time,
        number: u32,
        packet: &Packet,
        window: &mut Window<'_, '_>,
    ) {
        self.acknowledge(now, Kind::Ack, number, packet, window);
    }

    #[inline(always)]
    pub(super) fn acknowledge(
        &mut self,
        now: Time,
        kind: Kind,
        seq: u32,
        data: &Packet,
        window: &mut Window<'_, '_>,
    ) {
        let host = &window.plan.config.host;
        // Of a trimmed packet, the bit of INT says where that was; an ACK of one says nothing of it.
        let mut flags = (data.bits & (MEASURE | INT)) | (ECE * u8::from(data.is(CE)));
        if data.kind == Kind::Trimmed && kind == Kind::Ack {
            flags = 0;
        }
        let of_flow = host.ack_priority == AckPriority::Flow;
        let priority = match of_flow {
            false => host.control_priority,
            true => data.priority(),
        };
        // By how much it is ahead of the packet that is missing, if it is kept.
        let ahead = match matches!(kind, Kind::Nak | Kind::TrimNak) && self.selective.is_some() {
            true => data.seq.wrapping_sub(seq),
            false => 0,
        };
        // Made in each branch: what is handed to a function stands in memory before it is put onto the wire.
        let ack = || Packet {
            stamp: data.stamp,
            flow: data.flow,
            seq,
            src: self.id,
            dst: data.src,
            slot: data.aux,
            aux: u32::from(data.bytes) | ahead << 16,
            source_port: data.source_port,
            ..Packet::new(kind, priority, flags, host.ack_bytes)
        };
        match of_flow && host.pause_acks {
            false => self.send_control(now, ack(), window),
            true => self.send_ack(now, ack(), window),
        }
    }

    #[inline(never)]
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

    /// A datagram has arrived.
    #[cold]
    pub(super) fn on_datagram(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        window.log.counts.delivered_packets += 1;
        let slot = packet.slot;
        let Some(receiver) = self.receivers.get_mut(slot as usize) else {
            return;
        };
        if receiver.flow == packet.flow && receiver.take_datagram(packet.seq) {
            self.ends_message(now, slot, window);
        }
    }
}
