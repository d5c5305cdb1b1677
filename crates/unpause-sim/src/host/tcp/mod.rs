//! TCP at a host: connections that it opens, connections that it accepts.
//!
//! Segments are made when the port is free, by the same round-robin as RoCE flows: what waits in a
//! network card counts as sent in no window. SYNs, SYN-ACKs and ACKs go ahead of the segments of their
//! class.

mod number;
mod ranges;
mod receiver;
mod send;
mod sender;

use slab::Slab;
use unpause_protocols::units::Time;

use super::Host;
use crate::engine::ring::Ring;
use crate::engine::window::Window;
use crate::log::{Log, SenderSample};
use crate::packet::{ALL, Kind, Packet};
use crate::plan::Plan;
use crate::traffic::FlowSpec;

use receiver::Receiver;
use sender::Sender;

/// In the round-robin and behind rate limiters: the slot below is one of TCP's.
pub const TCP: u32 = 1 << 31;
/// Together with [`TCP`]: not a slot, but the class whose replies have something to send.
const REPLIES: u32 = 1 << 30;

/// TCP's part of a host.
#[derive(Debug)]
pub struct Tcp {
    senders: Slab<Sender>,
    receivers: Slab<Receiver>,
    /// SYNs, SYN-ACKs and ACKs, by class.
    replies: Vec<Ring>,
}

impl Tcp {
    /// No connections.
    pub fn new(classes: usize) -> Self {
        Self {
            senders: Slab::new(),
            receivers: Slab::new(),
            replies: (0..classes).map(|_| Ring::default()).collect(),
        }
    }

    /// Makes place for a flow to be received.
    pub fn expect(&mut self, flow: u32, spec: &FlowSpec, plan: &Plan<'_>) -> u32 {
        self.receivers.insert(Receiver::new(flow, spec, plan)) as u32
    }

    /// The flow received at a slot, and its extra delay.
    pub fn extra_delay(&self, slot: usize) -> Option<(u32, Time)> {
        let receiver = self.receivers.get(slot)?;
        Some((receiver.flow, receiver.spec.extra_delay.time()))
    }

    /// Samples recorded flows.
    pub fn sample(&self, now: Time, log: &mut Log) {
        for (_, sender) in self.senders.iter().filter(|(_, it)| it.spec.recorded) {
            log.sender_series.push(SenderSample {
                time: now,
                flow: sender.flow,
                rate: None,
                cwnd_bytes: Some(sender.cwnd()),
                sent_bytes: sender.sent_bytes,
                notifications: 0,
            });
        }
        for (_, receiver) in self.receivers.iter().filter(|(_, it)| it.spec.recorded) {
            if receiver.spec.start <= now {
                let delivered = receiver.delivered_bytes();
                log.receiver_series.push((now, receiver.flow, delivered));
            }
        }
    }

    /// The run is over.
    pub fn finish(&self, now: Time, log: &mut Log) {
        let open = self.receivers.iter().filter(|(_, it)| it.spec.start < now);
        log.flows
            .extend(open.map(|(_, receiver)| receiver.end(None)));
        let senders = self.senders.iter();
        log.senders
            .extend(senders.filter_map(|(_, sender)| sender.end()));
    }

    fn sender(&mut self, slot: u32, flow: u32) -> Option<&mut Sender> {
        self.senders
            .get_mut(slot as usize)
            .filter(|it| it.flow == flow)
    }

    fn receiver(&mut self, slot: u32, flow: u32) -> Option<&mut Receiver> {
        self.receivers
            .get_mut(slot as usize)
            .filter(|it| it.flow == flow)
    }
}

/// What arrives.
impl Host {
    /// A packet of TCP has arrived.
    pub(super) fn on_tcp(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        match packet.kind {
            Kind::Segment => self.on_segment(now, packet, window),
            Kind::Syn => self.on_syn(now, packet, window),
            Kind::SynAck => self.on_syn_ack(now, packet, window),
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
            self.enqueue_tcp(now, slot, window.plan);
            self.arm_tcp_sender(slot);
        } else {
            let ack = self.answer(Kind::TcpAck, packet, window.plan);
            self.reply(now, ack, window);
            if self.tcp.sender(slot, packet.flow).is_some() {
                self.forget_tcp(slot, window.log);
            }
        }
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
        let (before, ack) = receiver.on_segment(now, packet, window.plan);
        for reply in [before, ack].into_iter().flatten() {
            self.acknowledge_tcp(now, slot, reply, window);
        }
        if self.tcp.receivers[slot as usize].is_complete() {
            self.complete(now, slot, window.log);
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
            self.complete(now, slot, window.log);
        }
    }

    /// All bytes of a flow have arrived.
    fn complete(&mut self, now: Time, slot: u32, log: &mut Log) {
        let receiver = self.tcp.receivers.remove(slot as usize);
        log.flows.push(receiver.end(Some(now)));
        if receiver.spec.recorded {
            let delivered = receiver.delivered_bytes();
            log.receiver_series.push((now, receiver.flow, delivered));
        }
    }
}
