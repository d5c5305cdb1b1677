//! What a host makes of TCP's packets that arrive.

use unpause_protocols::units::Time;

use super::state::Host;
use crate::engine::window::Window;
use crate::fabric::packet::{ALL, FORWARD, Kind, Packet};
use crate::traffic::Ending;

impl Host {
    /// A packet of TCP has arrived.
    pub(super) fn on_tcp(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        match packet.kind {
            Kind::Segment => self.on_segment(now, packet, window),
            Kind::Syn => self.on_syn(now, packet, window),
            Kind::SynAck => self.on_syn_ack(now, packet, window),
            Kind::Fin => self.acknowledge_receiver(now, packet, window),
            _ => self.on_ack(now, packet, window),
        }
    }

    fn on_syn(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        // A SYN that comes after all is over is answered just the same: its sender may need it.
        if let Some(receiver) = self.tcp.receiver(packet.slot, packet.flow) {
            receiver.on_syn(now, packet, &window.plan.config.host.tcp);
            self.arm_tcp_receiver(packet.slot);
        }
        let answer = self.answer(Kind::SynAck, packet, window.plan);
        self.reply(now, answer, window);
    }

    fn on_syn_ack(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        let slot = packet.slot;
        let established = match self.tcp.sender(slot, packet.flow) {
            Some(sender) => {
                let rtt = now.saturating_sub(Time::from_ps(packet.stamp));
                if !sender.on_syn_ack(rtt) {
                    return;
                }
                !sender.is_done()
            }
            None => false,
        };
        if established {
            // The first segment bears the ACK of the handshake.
            self.enqueue_tcp(now, slot, window);
            self.arm_tcp_sender(slot);
        } else {
            self.acknowledge_receiver(now, packet, window);
            if self.tcp.sender(slot, packet.flow).is_some() {
                self.tcp_ended(now, slot, window.log);
                self.forget_tcp(now, slot, window.log);
            }
        }
    }

    /// An ACK to the receiver, of its SYN-ACK or FIN.
    fn acknowledge_receiver(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        let mut ack = self.answer(Kind::TcpAck, packet, window.plan);
        ack.bits |= FORWARD;
        self.reply(now, ack, window);
    }

    fn on_segment(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        window.log.counts.delivered_packets += 1;
        let slot = packet.slot;
        let Some(receiver) = self.tcp.receiver(slot, packet.flow) else {
            // The flow is complete: whatever comes again has arrived before.
            let mut ack = self.answer(Kind::TcpAck, packet, window.plan);
            ack.bits |= ALL;
            return self.reply(now, ack, window);
        };
        receiver.sender_slot = packet.aux;
        receiver.meet(packet, window.plan.config);
        let (before, ack) = receiver.on_segment(now, packet, window.plan);
        for reply in [before, ack].into_iter().flatten() {
            self.acknowledge_tcp(now, slot, reply, window);
        }
        if self.tcp.receivers[slot as usize].is_complete() {
            self.complete(now, slot, window);
        } else {
            self.arm_tcp_receiver(slot);
        }
    }

    /// An ACK: of data at a sender, of a SYN-ACK at the receiver of a flow without bytes.
    fn on_ack(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        let slot = packet.slot;
        if let Some(sender) = self.tcp.sender(slot, packet.flow) {
            sender.on_ack(now, packet);
            self.after_tcp_change(now, slot, window);
        } else if let Some(receiver) = self.tcp.receiver(slot, packet.flow)
            && receiver.is_complete()
        {
            self.complete(now, slot, window);
        }
    }

    /// All bytes of a flow have arrived.
    fn complete(&mut self, now: Time, slot: u32, window: &mut Window<'_, '_>) {
        let receiver = &self.tcp.receivers[slot as usize];
        if window.plan.config.host.tcp.fin && !receiver.spec.is_pooled() {
            let fin = self.receiver_packet(Kind::Fin, slot, receiver.reply(), window.plan);
            self.reply(now, fin, window);
        }
        let log = &mut *window.log;
        let receiver = self.tcp.receivers.remove(slot as usize);
        log.flows.push(receiver.end(Some(now)));
        if receiver.spec.recorded {
            let delivered = receiver.delivered_bytes();
            log.receiver_series.push((now, receiver.flow, delivered));
        }
        self.ended(now, receiver.flow, Ending::Delivered, log);
    }
}
