//! What hosts make of feedback: ACKs, NAKs and notifications at the senders of flows.

use unpause_protocols::congestion_control::Hop;
use unpause_protocols::loss_recovery::Feedback;
use unpause_protocols::units::Time;

use super::flow::ack_info::{AckInfo, Trim};
use super::flow::selective::{self, recovery};
use super::flow::sender::Carries;
use super::flow::sprayed::trimmed_number;
use super::state::Host;
use super::timer::Timer;
use crate::engine::log::{Log, SenderEnd};
use crate::engine::window::Window;
use crate::fabric::packet::{ECE, INT, Kind, LAST_HOP, MEASURE, Packet};
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
                let counts = window.plan.config.host.nic.times_naks() || self.selective.is_some();
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
                let heard = sender.hears_acks;
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
        self.wake(now);
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
        let flow = sender.flow;
        let is_over = !self.is_in_line(slot);
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
