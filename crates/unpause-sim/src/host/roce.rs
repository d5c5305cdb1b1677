//! What a host makes of packets that arrive: data at receivers, feedback at senders.

use unpause_protocols::congestion_control::Hop;
use unpause_protocols::loss_recovery::{Feedback, Reception};
use unpause_protocols::notification::Notification;
use unpause_protocols::units::Time;

use super::ack_info::{AckInfo, Trim};
use super::connections::Was;
use super::item::Item;
use super::selective::{self, recovery};
use super::sender::{Carries, Pace};
use super::sprayed::trimmed_number;
use super::state::{Host, arm_receiver, arm_sender};
use super::timer::Timer;
use crate::config::AckPriority;
use crate::engine::log::{Log, SenderEnd};
use crate::engine::window::Window;
use crate::fabric::packet::{ACK_REQUEST, CE, ECE, INT, Kind, LAST_HOP, MEASURE, Packet};
use crate::traffic::Ending;

/// What a NAK says. Under go-back-N nothing is kept of what it answers.
fn feedback_of(nak: &Packet) -> Feedback {
    let ahead = nak.aux >> 16;
    Feedback {
        number: nak.seq,
        kept: (ahead > 0).then(|| nak.seq.wrapping_add(ahead)),
    }
}

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
            // There, a host answers only what it has not seen. After a timeout, of which there is none there, the sender
            // would never hear that it has all.
            Reception::Duplicate => (!self.hpcc_nic || packet.is_retry()).then_some(Kind::Ack),
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

    pub(super) fn on_feedback(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        match packet.has_telemetry() {
            false => self.take_feedback(now, packet, &[], None, window),
            true => self.on_telemetry(now, packet, window),
        }
    }

    #[inline(never)]
    fn on_telemetry(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        let record = window.telemetry.take(packet);
        let hops = record.as_ref().map_or(&[][..], |record| record.hops());
        // Of a law that reads records, nobody asks for a code.
        let digest = Some(packet.stamp as u16);
        self.take_feedback(now, packet, hops, digest, window);
    }

    /// `hops`, `digest`: what switches have written into the packet that it answers.
    #[inline(always)]
    pub(super) fn take_feedback(
        &mut self,
        now: Time,
        packet: &Packet,
        hops: &[Hop],
        digest: Option<u16>,
        window: &mut Window<'_, '_>,
    ) {
        let slot = packet.slot;
        let Some(sender) = self.senders.get_mut(slot as usize) else {
            return;
        };
        if sender.flow != packet.flow {
            return;
        }
        let timeout = window.plan.config.host.retransmit_timeout;
        let info = |rtt| AckInfo {
            rtt,
            ce: packet.is(ECE),
            hops,
            digest,
        };
        let measures = packet.bits & (MEASURE | INT) == MEASURE;
        let framing = window.ports.framing_bytes;
        let speed = self.nic.end.transmitter.speed;
        let rtt = || {
            let own = speed.time_for(u64::from(packet.aux as u16) + framing);
            now.saturating_sub(Time::from_ps(packet.stamp) + own)
        };
        match packet.kind {
            Kind::Nak => {
                // With lost ACKs it may be what ends a round trip there; with selective repeat it is an ACK, too.
                let counts = self.hpcc_nic || self.selective.is_some();
                let rtt = (counts && measures).then(rtt);
                let recovery =
                    selective::on_feedback(&mut self.selective, slot, timeout, (now, packet));
                let tells = sender.tells;
                let lost = sender.on_nak(now, feedback_of(packet), &info(rtt), recovery);
                if lost && sender.is_connection() {
                    self.rewind(slot);
                }
                if tells && self.on_sends_acknowledged(now, slot, window) {
                    return;
                }
            }
            Kind::TrimNak => {
                if self.take_trim(now, packet, window) {
                    return;
                }
            }
            Kind::Ack => {
                let heard = sender.hears_acks || self.hpcc_nic;
                let rtt = (heard && measures).then(rtt);
                let recovery =
                    selective::on_feedback(&mut self.selective, slot, timeout, (now, packet));
                match heard {
                    true => sender.on_ack(now, packet.seq, &info(rtt), recovery),
                    false => sender.on_silent_ack(now, packet.seq, recovery),
                }
                if self.on_acknowledged(now, slot, window) || !heard {
                    return;
                }
            }
            _ => return self.delay_notification(now, packet, window),
        }
        self.after_change(now, slot);
        if self.hpcc_nic {
            self.look(now);
        }
    }

    /// A NAK says that a packet was trimmed. True if the sender is forgotten.
    #[cold]
    fn take_trim(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) -> bool {
        let slot = packet.slot;
        let timeout = window.plan.config.host.retransmit_timeout;
        let recovery = selective::on_feedback(&mut self.selective, slot, timeout, (now, packet));
        let sender = &mut self.senders[slot as usize];
        // What was sent was a whole packet.
        let speed = self.nic.end.transmitter.speed;
        let own = speed.time_for(u64::from(sender.packet_bytes));
        let sent = Time::from_ps(packet.stamp);
        let info = AckInfo {
            rtt: packet.is(MEASURE).then(|| now.saturating_sub(sent + own)),
            ce: packet.is(ECE),
            hops: &[],
            digest: None,
        };
        let trim = Trim {
            before: packet.seq,
            number: trimmed_number(packet),
            last_hop: packet.is(LAST_HOP),
        };
        sender.on_trim(now, trim, &info, recovery);
        sender.tells && self.on_sends_acknowledged(now, slot, window)
    }

    /// More of a sender's data has been acknowledged; true if the sender is forgotten.
    #[inline(always)]
    fn on_acknowledged(&mut self, now: Time, slot: u32, window: &mut Window<'_, '_>) -> bool {
        let sender = &self.senders[slot as usize];
        if sender.tells {
            return self.on_sends_acknowledged(now, slot, window);
        } else if sender.is_done() {
            return match sender.is_connection() {
                true => self.on_messages_acknowledged(now, slot, window),
                false => self.end_sender(now, slot, window),
            };
        }
        false
    }

    /// All of a flow has been acknowledged; true if its sender is forgotten.
    #[inline(always)]
    pub(super) fn end_sender(&mut self, now: Time, slot: u32, window: &mut Window<'_, '_>) -> bool {
        let sender = &mut self.senders[slot as usize];
        if window.plan.config.probes.acknowledged {
            sender.note_end(now);
        }
        // In the round-robin or a list, it is forgotten when its turn comes.
        let is_over = sender.pace != Pace::Ready && !self.hpcc_nic;
        let flow = sender.flow;
        self.ended(now, flow, Ending::Acknowledged, window.log);
        if is_over {
            self.forget(slot, window.log);
        }
        is_over
    }

    /// A CNP or CNM has arrived, to take effect after a while.
    fn delay_notification(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        let reaction = window.plan.config.host.notification_reaction;
        if reaction == Time::ZERO {
            return self.on_notification(now, packet, window);
        }
        self.notified.push_back(*packet);
        let entry = Timer::Notification.entry(now + reaction, packet.flow);
        self.timers.push(entry);
    }

    pub(super) fn on_notification(
        &mut self,
        now: Time,
        packet: &Packet,
        window: &mut Window<'_, '_>,
    ) {
        let slot = packet.slot;
        let Some(sender) = self.senders.get_mut(slot as usize) else {
            return;
        };
        // A switch may tell the source of a datagram, too, which obeys nobody.
        if sender.flow == packet.flow
            && sender.carries != Carries::Datagrams
            && let Some(notification) = packet.notification()
        {
            let timeout = window.plan.config.host.retransmit_timeout;
            let recovery = recovery(&mut self.selective, slot, timeout);
            sender.on_notification(now, &notification, recovery, &mut self.rng);
            self.after_change(now, slot);
        }
    }

    /// The same with HPCC's NIC.
    #[inline(never)]
    fn after_change_in_list(&mut self, now: Time, slot: u32) {
        let sender = &mut self.senders[slot as usize];
        sender.after_change(now);
        // Another rate sets the timer anew only if it counts at once.
        if sender.repaces() {
            let at = sender.next_start;
            self.advance_timer(now, at);
        }
        arm_sender(&mut self.timers, &mut self.senders[slot as usize], slot);
    }

    /// A flow's rate, window of packets or timers may have changed.
    pub(super) fn after_change(&mut self, now: Time, slot: u32) {
        if self.hpcc_nic {
            return self.after_change_in_list(now, slot);
        }
        let sender = &mut self.senders[slot as usize];
        sender.after_change(now);
        arm_sender(&mut self.timers, sender, slot);
        let pace = sender.pace;
        match pace {
            Pace::Idle if sender.has_packet(now) => self.enqueue(slot),
            Pace::Until(at) if sender.next_start < at => {
                sender.pace = Pace::Until(sender.next_start);
                let entry = Item::Roce(slot).entry(sender.next_start, sender.flow);
                self.nic.pacing.push(entry);
                self.nic.at = self.nic.at.min(entry.time().max(self.nic.end.busy_until));
            }
            _ => {}
        }
    }

    pub(super) fn forget(&mut self, slot: u32, log: &mut Log) {
        let sender = self.senders.remove(slot as usize);
        self.record_end(slot, sender.end(None), log);
    }

    /// Records what is to be info of the sender in `slot`, if anything.
    pub(super) fn record_end(&mut self, slot: u32, end: Option<SenderEnd>, log: &mut Log) {
        let Some(mut end) = end else {
            return;
        };
        if let Some(retries) = &mut self.retries {
            retries.tell(slot, &mut end);
        }
        log.senders.push(end);
    }
}
