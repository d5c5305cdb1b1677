//! TCP: connections that a host opens, and connections that it accepts.

mod number;
mod pool;
mod ranges;
pub mod receiver;
pub mod sender;
mod sending;

use slab::Slab;
use unpause_protocols::units::Time;

use crate::config::Qdisc;
use crate::engine::log::{Log, SenderSample};
use crate::engine::window::Window;
use crate::fabric::NodeId;
use crate::fabric::packet::{ALL, ECE, FORWARD, Kind, Packet};
use crate::plan::Plan;
use crate::traffic::{Ending, FlowSpec};

use super::flow::delays::Delays;
use super::line::line;
use super::machine::Machine;
use crate::outcome::delays::Hold;
use pool::Pool;
use receiver::{Receiver, Reply};
use sender::Sender;

/// The TCP connections of a host, at their senders and receivers.
///
/// The host [expects](Self::expect) a flow before its SYN can arrive, and [starts](Self::start) it. The NIC at hand gives connections
/// their turn: they are asked whether they [may send](Self::may_send), and then [send](Self::send_segment). [`Self::on_packet`] and
/// the timers answer by the NIC at hand.
#[derive(Debug)]
pub struct Tcp {
    pub senders: Slab<Sender>,
    pub receivers: Slab<Receiver>,
    /// Connections of its senders that outlive flows.
    pub pool: Pool,
    /// Where segments wait.
    pub qdisc: Qdisc,
    /// Where the time of flows goes, if causes are recorded.
    delays: Option<Box<Delays>>,
}

impl Tcp {
    /// True if it has no flows.
    pub fn is_idle(&self) -> bool {
        let Self {
            senders,
            receivers,
            pool,
            qdisc: _,
            delays: _,
        } = self;
        senders.is_empty() && receivers.is_empty() && pool.is_empty()
    }

    /// No connections.
    pub fn new(plan: &Plan<'_>) -> Self {
        Self {
            senders: Slab::new(),
            receivers: Slab::new(),
            pool: Pool::default(),
            qdisc: plan.config.host.tcp.qdisc,
            delays: plan.config.probes.causes.then(Box::default),
        }
    }

    /// Makes place for a flow to be received.
    pub fn expect(&mut self, flow: u32, spec: &FlowSpec, plan: &Plan<'_>) -> u32 {
        self.receivers.insert(Receiver::new(flow, spec, plan)) as u32
    }

    /// The extra delay of a packet, if its flow is being received.
    pub fn extra_delay(&mut self, packet: &Packet, plan: &Plan<'_>) -> Option<Time> {
        let receiver = self.receiver(packet.slot, packet.flow)?;
        receiver.meet(packet, plan.config);
        Some(receiver.spec.extra_delay.time())
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
    pub fn finish(&mut self, now: Time, machine: &mut Machine, plan: &Plan<'_>, log: &mut Log) {
        if let Some(delays) = &mut self.delays {
            for (_, sender) in &self.senders {
                let way = (sender.flow, sender.spec.source_port);
                let nic = machine.nics.towards(sender.spec.dst, way, false, plan);
                if !sender.is_open() {
                    delays.wait(sender.flow, Hold::Timeout);
                }
                machine.at(nic, |machine| {
                    let line = line(machine.nics.nic(), sender.class, Time::ZERO);
                    delays.finish(now, sender.flow, &line, &mut log.delays);
                });
            }
            delays.finish_others(now, &mut log.delays);
        }
        let open = self.receivers.iter().filter(|(_, it)| it.spec.start < now);
        log.flows
            .extend(open.map(|(_, receiver)| receiver.end(None)));
        let senders = self.senders.iter();
        log.senders
            .extend(senders.filter_map(|(_, sender)| sender.end(sender.wait())));
    }

    /// The sender at a slot, if it is that of the flow.
    pub fn sender(&mut self, slot: u32, flow: u32) -> Option<&mut Sender> {
        self.senders
            .get_mut(slot as usize)
            .filter(|sender| sender.flow == flow)
    }

    /// The receiver at a slot, if it is that of the flow.
    pub fn receiver(&mut self, slot: u32, flow: u32) -> Option<&mut Receiver> {
        self.receivers
            .get_mut(slot as usize)
            .filter(|receiver| receiver.flow == flow)
    }

    /// A packet back to where `packet` came from.
    fn answer(kind: Kind, packet: &Packet, host: NodeId, plan: &Plan<'_>) -> Packet {
        let priority = match packet.kind {
            Kind::Segment => plan.tcp.first_priority(packet.priority()),
            _ => packet.priority(),
        };
        Packet {
            stamp: packet.stamp,
            flow: packet.flow,
            src: host,
            dst: packet.src,
            slot: packet.aux,
            aux: packet.slot,
            source_port: packet.source_port,
            ..Packet::new(kind, priority, 0, plan.tcp.control_bytes)
        }
    }

    /// A packet from the receiver at `slot` to its sender.
    pub fn receiver_packet(
        &self,
        kind: Kind,
        slot: u32,
        reply: Reply,
        host: NodeId,
        plan: &Plan<'_>,
    ) -> Packet {
        let receiver = &self.receivers[slot as usize];
        let flags = if reply.ece { ECE } else { 0 };
        Packet {
            stamp: reply.stamp,
            flow: receiver.flow,
            seq: reply.number as u32,
            src: host,
            dst: receiver.spec.src,
            slot: receiver.sender_slot,
            aux: slot,
            source_port: receiver.spec.source_port,
            ..Packet::new(kind, receiver.spec.priority, flags, plan.tcp.control_bytes)
        }
    }

    fn acknowledge(
        &mut self,
        now: Time,
        slot: u32,
        reply: Reply,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let ack = self.receiver_packet(Kind::TcpAck, slot, reply, machine.id, window.plan);
        self.reply(now, ack, machine, window);
    }

    /// A packet of TCP has arrived.
    pub fn on_packet(
        &mut self,
        now: Time,
        packet: &Packet,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        match packet.kind {
            Kind::Segment => self.on_segment(now, packet, machine, window),
            Kind::Syn => self.on_syn(now, packet, machine, window),
            Kind::SynAck => self.on_syn_ack(now, packet, machine, window),
            Kind::Fin => self.acknowledge_receiver(now, packet, machine, window),
            _ => self.on_ack(now, packet, machine, window),
        }
    }

    fn on_syn(
        &mut self,
        now: Time,
        packet: &Packet,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        // A SYN that comes after all is over is answered just the same: its sender may need it.
        if let Some(receiver) = self.receiver(packet.slot, packet.flow) {
            receiver.on_syn(now, packet, &window.plan.config.host.tcp);
            self.arm_receiver(packet.slot, machine);
        }
        let answer = Self::answer(Kind::SynAck, packet, machine.id, window.plan);
        self.reply(now, answer, machine, window);
    }

    fn on_syn_ack(
        &mut self,
        now: Time,
        packet: &Packet,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let slot = packet.slot;
        let established = match self.sender(slot, packet.flow) {
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
            self.enqueue(now, slot, machine, window);
            self.arm_sender(slot, machine);
        } else {
            self.acknowledge_receiver(now, packet, machine, window);
            if self.sender(slot, packet.flow).is_some() {
                self.note_end(now, slot, machine, window.log);
                self.forget(now, slot, window.log);
            }
        }
    }

    /// An ACK to the receiver, of its SYN-ACK or FIN.
    fn acknowledge_receiver(
        &mut self,
        now: Time,
        packet: &Packet,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let mut ack = Self::answer(Kind::TcpAck, packet, machine.id, window.plan);
        ack.bits |= FORWARD;
        self.reply(now, ack, machine, window);
    }

    fn on_segment(
        &mut self,
        now: Time,
        packet: &Packet,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        window.log.counts.delivered_packets += 1;
        let slot = packet.slot;
        let Some(receiver) = self.receiver(slot, packet.flow) else {
            // The flow is complete: whatever comes again has arrived before.
            let mut ack = Self::answer(Kind::TcpAck, packet, machine.id, window.plan);
            ack.bits |= ALL;
            return self.reply(now, ack, machine, window);
        };
        receiver.sender_slot = packet.aux;
        receiver.meet(packet, window.plan.config);
        let (before, ack) = receiver.on_segment(now, packet, window.plan);
        for reply in [before, ack].into_iter().flatten() {
            self.acknowledge(now, slot, reply, machine, window);
        }
        if self.receivers[slot as usize].is_complete() {
            self.complete(now, slot, machine, window);
        } else {
            self.arm_receiver(slot, machine);
        }
    }

    /// An ACK: of data at a sender, of a SYN-ACK at the receiver of a flow without bytes.
    fn on_ack(
        &mut self,
        now: Time,
        packet: &Packet,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let slot = packet.slot;
        if let Some(sender) = self.sender(slot, packet.flow) {
            sender.on_ack(now, packet);
            self.after_change(now, slot, machine, window);
        } else if let Some(receiver) = self.receiver(slot, packet.flow)
            && receiver.is_complete()
        {
            self.complete(now, slot, machine, window);
        }
    }

    /// All bytes of a flow have arrived.
    fn complete(
        &mut self,
        now: Time,
        slot: u32,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let receiver = &self.receivers[slot as usize];
        if window.plan.config.host.tcp.fin && !receiver.spec.is_pooled() {
            let fin =
                self.receiver_packet(Kind::Fin, slot, receiver.reply(), machine.id, window.plan);
            self.reply(now, fin, machine, window);
        }
        let log = &mut *window.log;
        let receiver = self.receivers.remove(slot as usize);
        log.flows.push(receiver.end(Some(now)));
        if receiver.spec.recorded {
            let delivered = receiver.delivered_bytes();
            log.receiver_series.push((now, receiver.flow, delivered));
        }
        machine.end_flow(now, receiver.flow, Ending::Delivered, log);
    }
}
