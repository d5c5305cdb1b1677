//! The receivers of a host's RoCE and UDP flows.

use slab::Slab;
use unpause_protocols::loss_recovery::Reception;
use unpause_protocols::notification::Notification;
use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::Time;

use super::flow::grants::{Credits, entropy};
use super::flow::receiver::Receiver;
use super::flow::selective::{self, Reassemblies, if_selective};
use super::machine::Machine;
use super::slabs::{reserve_first, show_all};
use super::timer::Timer;
use crate::config::AckPriority;
use crate::engine::heap::Heap;
use crate::engine::log::Log;
use crate::engine::window::Window;
use crate::fabric::packet::{ACK_REQUEST, CE, ECE, INT, Kind, MEASURE, Packet};
use crate::fabric::ports::GlobalPort;
use crate::plan::Plan;
use crate::traffic::{Ending, FlowSpec, Transport};

/// The timer of the pacer belongs to no flow, so it comes last.
const NOBODY: u32 = u32::MAX;

/// The receivers of a host's RoCE and UDP flows, and what it keeps beside them.
///
/// The host [expects](Self::expect) a flow before its first packet can arrive. Packets ([`Self::on_data`] and others) and
/// [timers](Self::on_timer) are answered by the NIC at hand. When all packets of a flow or of a message have arrived
/// ([`Completion`]), the host decides whether the receiver [ends](Self::end) or stays for the next message.
#[derive(Debug, Show)]
#[repr(C)]
pub struct Receivers {
    #[show(by = show_all(flows, visitor, Receiver::show))]
    pub flows: Slab<Receiver>,
    /// The state of selective repeat, if that is used.
    #[show(refuse_if = selective.is_some())]
    pub selective: Option<Box<Reassemblies>>,
    /// Credits for the flows that come here, if receivers grant credits.
    #[show(skip)]
    credits: Option<Box<Credits>>,
}

/// The last packet of a flow or of a message has arrived, and is to be [acknowledged](Receivers::acknowledge_completion).
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Completion {
    /// The number of the next packet.
    expected: u32,
    /// A notification of the notification point, which is sent if the receiver stays.
    notification: Option<Notification>,
}

/// Sets the timer of the flow in `slot`, if it is due earlier than the one that is set.
#[inline(always)]
fn arm(timers: &mut Heap, receiver: &mut Receiver, slot: u32) {
    let due = receiver.notification_point.next_timer();
    if due < receiver.timer_at {
        receiver.timer_at = due;
        timers.push(Timer::Receiver(slot).entry(due, receiver.flow));
    }
}

impl Receivers {
    /// No flows, at a host with this first port.
    pub fn new(port: GlobalPort, plan: &Plan<'_>) -> Self {
        let rate = plan.ports.transmitters[port as usize].speed.rate();
        Self {
            flows: Slab::new(),
            selective: if_selective(plan),
            credits: Credits::of(rate, plan),
        }
    }

    /// The receiver in `slot`, if it is that of the flow.
    pub fn get(&self, slot: u32, flow: u32) -> Option<&Receiver> {
        let receiver = self.flows.get(slot as usize)?;
        (receiver.flow == flow).then_some(receiver)
    }

    /// True if receivers grant credits.
    pub fn grant_credits(&self) -> bool {
        self.credits.is_some()
    }

    /// Makes place for a flow to be received; answers its slot.
    pub fn expect(
        &mut self,
        flow: u32,
        spec: &FlowSpec,
        machine: &mut Machine,
        plan: &Plan<'_>,
    ) -> u32 {
        reserve_first(&mut self.flows);
        let slot = self.flows.insert(Receiver::new(flow, spec, plan));
        if spec.transport == Transport::Roce {
            if let Some(selective) = &mut self.selective {
                selective.receive_at(slot, spec.src, plan);
            }
            if let Some(credits) = &mut self.credits {
                credits.receive_at(slot as u32, spec, plan, &mut machine.rng);
            }
        }
        slot as u32
    }

    /// A data packet has arrived. Answers that it was the last one of a flow or of a message.
    #[inline(always)]
    pub fn on_data(
        &mut self,
        now: Time,
        packet: &Packet,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) -> Option<Completion> {
        window.log.counts.delivered_packets += 1;
        let slot = packet.slot;
        let receiver = match self.flows.get_mut(slot as usize) {
            Some(receiver) if receiver.flow == packet.flow => receiver,
            _ => {
                self.acknowledge_all_before(now, packet.seq + 1, packet, machine, window);
                return None;
            }
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
                return Some(Completion {
                    expected,
                    notification,
                });
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
        arm(&mut machine.timers, receiver, slot);
        if let Some(notification) = notification {
            self.notify(now, packet, &notification, machine, window);
        }
        match answer {
            Some(kind) => self.acknowledge(now, kind, expected, packet, machine, window),
            None => drop(window.telemetry.take(packet)),
        }
        None
    }

    /// A datagram has arrived. True if it was the last one of its flow.
    #[cold]
    pub fn on_datagram(&mut self, packet: &Packet, window: &mut Window<'_, '_>) -> bool {
        window.log.counts.delivered_packets += 1;
        let receiver = self.flows.get_mut(packet.slot as usize);
        receiver.is_some_and(|receiver| {
            receiver.flow == packet.flow && receiver.take_datagram(packet.seq)
        })
    }

    /// Acknowledges the last packet of a flow or of a message. If the receiver `stays`, for the messages of a connection, its
    /// notification point goes on.
    #[cold]
    pub fn acknowledge_completion(
        &mut self,
        now: Time,
        packet: &Packet,
        (completion, stays): (Completion, bool),
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        if stays {
            let slot = packet.slot;
            arm(&mut machine.timers, &mut self.flows[slot as usize], slot);
            if let Some(notification) = completion.notification {
                self.notify(now, packet, &notification, machine, window);
            }
        }
        self.acknowledge_all_before(now, completion.expected, packet, machine, window);
    }

    /// The header of a packet has arrived that a switch has trimmed: asks for the packet.
    #[cold]
    pub fn on_trimmed(
        &mut self,
        now: Time,
        packet: &Packet,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let receiver = match self.flows.get_mut(packet.slot as usize) {
            Some(receiver) if receiver.flow == packet.flow => receiver,
            _ => return self.acknowledge_all_before(now, packet.seq + 1, packet, machine, window),
        };
        receiver.sender_slot = packet.aux;
        let expected = receiver.recovery.expected();
        let kind = if packet.seq >= expected {
            Kind::TrimNak
        } else {
            Kind::Ack
        };
        self.acknowledge(now, kind, expected, packet, machine, window);
    }

    /// True if the flow of `packet` may end when that arrives, with this many `packets` that arrive at about the same time.
    pub fn may_end(&self, packet: &Packet, packets: u64) -> bool {
        let packet = packet.untraced();
        let Some(receiver) = self.get(packet.slot, packet.flow) else {
            return false;
        };
        match &self.selective {
            None => receiver.recovery.ends_with(packet.seq),
            Some(selective) => selective
                .missing(packet.slot as usize, &receiver.recovery)
                .is_some_and(|missing| u64::from(missing) <= packets),
        }
    }

    /// Removes the receiver in `slot`, and records its end: that of a flow if it `completes` one. The record of a message has its
    /// own times.
    #[cold]
    pub fn end(
        &mut self,
        now: Time,
        slot: u32,
        completes: bool,
        machine: &mut Machine,
        log: &mut Log,
    ) {
        let receiver = self.flows.remove(slot as usize);
        log.flows.push(receiver.end(completes.then_some(now)));
        if let Some(credits) = &mut self.credits {
            credits.end(slot);
        }
        if receiver.recorded() {
            let delivered = receiver.delivered_bytes();
            log.receiver_series.push((now, receiver.flow, delivered));
        }
        machine.end_flow(now, receiver.flow, Ending::Delivered, log);
    }

    /// Acknowledges a flow that has arrived completely, or all packets before `number`.
    #[cold]
    fn acknowledge_all_before(
        &mut self,
        now: Time,
        number: u32,
        packet: &Packet,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        self.acknowledge(now, Kind::Ack, number, packet, machine, window);
    }

    #[inline(always)]
    fn acknowledge(
        &self,
        now: Time,
        kind: Kind,
        seq: u32,
        data: &Packet,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let host = &window.plan.config.host;
        // In a trimmed packet, the bit of INT marks where that was. An ACK of one does not repeat it.
        let mut flags = (data.bits & (MEASURE | INT)) | (ECE * u8::from(data.is(CE)));
        if data.kind == Kind::Trimmed && kind == Kind::Ack {
            flags = 0;
        }
        let of_flow = host.ack_priority == AckPriority::Flow;
        let priority = if of_flow {
            data.priority()
        } else {
            host.control_priority
        };
        // The distance from the missing packet, if the packet is kept.
        let ahead = if matches!(kind, Kind::Nak | Kind::TrimNak) && self.selective.is_some() {
            data.seq.wrapping_sub(seq)
        } else {
            0
        };
        // Made in each branch: an argument of a function would be written to memory before the wire.
        let ack = || Packet {
            stamp: data.stamp,
            flow: data.flow,
            seq,
            src: machine.id,
            dst: data.src,
            slot: data.aux,
            aux: u32::from(data.bytes) | ahead << 16,
            source_port: data.source_port,
            ..Packet::new(kind, priority, flags, host.ack_bytes)
        };
        let nic = machine.nics.nic_mut();
        if of_flow && host.pause_acks {
            nic.send_ack(now, ack(), window);
        } else {
            nic.send_control(now, ack(), window);
        }
    }

    #[inline(never)]
    fn notify(
        &self,
        now: Time,
        data: &Packet,
        notification: &Notification,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        window.log.counts.notifications += 1;
        let priority = window.plan.config.host.control_priority;
        let packet = Packet {
            flow: data.flow,
            src: machine.id,
            dst: data.src,
            slot: data.aux,
            source_port: data.source_port,
            ..Packet::from_notification(notification, priority)
        };
        machine.nics.nic_mut().send_control(now, packet, window);
    }

    /// A timer of the flow in `slot` is due, if it is still that of `flow`.
    pub fn on_timer(
        &mut self,
        now: Time,
        slot: u32,
        flow: u32,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let Some(receiver) = self.flows.get_mut(slot as usize) else {
            return;
        };
        if receiver.flow != flow || receiver.timer_at != now {
            return;
        }
        receiver.timer_at = Time::NEVER;
        let mut notification = None;
        let mut to = Packet::new(Kind::Data, 0, 0, 0);
        if receiver.notification_point.next_timer() <= now {
            notification = receiver.notification_point.on_timer(now);
            (to.flow, to.src, to.aux) = (flow, receiver.src(), receiver.sender_slot);
            to.source_port = receiver.source_port();
        }
        arm(&mut machine.timers, receiver, slot);
        if let Some(notification) = notification {
            self.notify(now, &to, &notification, machine, window);
        }
    }

    /// Takes the pull target off a packet that has arrived, and gives it to the pacer.
    pub fn take_target(&mut self, now: Time, packet: &mut Packet, machine: &mut Machine) {
        let Some(credits) = &mut self.credits else {
            return;
        };
        credits.note(packet);
        let receiver = self.flows.get_mut(packet.slot as usize);
        let Some(receiver) = receiver.filter(|receiver| receiver.flow == packet.flow) else {
            packet.take_target(0);
            return;
        };
        receiver.sender_slot = packet.aux;
        let is_missing = packet.seq >= receiver.recovery.expected();
        let asks = packet.kind == Kind::Request || packet.kind == Kind::Trimmed && is_missing;
        credits.take_target(now, packet.slot, packet, asks);
        self.arm_pulls(now, machine);
    }

    /// Sets the timer of the pacer, if it is due earlier than the one that is set.
    fn arm_pulls(&mut self, now: Time, machine: &mut Machine) {
        let Some(credits) = &mut self.credits else {
            return;
        };
        let due = credits.next_timer().max(now);
        if due < credits.timer_at {
            credits.timer_at = due;
            machine.timers.push(Timer::Pull.entry(due, NOBODY));
        }
    }

    /// The timer of the pacer is due.
    #[cold]
    pub fn on_pull_timer(&mut self, now: Time, machine: &mut Machine, window: &mut Window<'_, '_>) {
        let credits = self.credits.as_mut();
        let Some(credits) = credits.filter(|credits| credits.timer_at == now) else {
            return;
        };
        credits.timer_at = Time::NEVER;
        let pull = credits.on_timer(now, &mut machine.rng);
        let count = credits.pulls;
        self.arm_pulls(now, machine);
        let Some((slot, pull)) = pull else {
            return;
        };
        let receiver = &self.flows[slot as usize];
        let host = &window.plan.config.host;
        let packet = Packet {
            stamp: pull.granted,
            flow: receiver.flow,
            // For recorded packets.
            seq: pull.granted as u32,
            src: machine.id,
            dst: receiver.src(),
            slot: receiver.sender_slot,
            source_port: receiver.source_port() ^ entropy(count, window.plan),
            ..Packet::new(Kind::Pull, host.control_priority, 0, host.ack_bytes)
        };
        machine.nics.nic_mut().send_control(now, packet, window);
    }

    /// A request to send has arrived: after its pull target, its flow gets a pull. The answer measures nothing, since a packet so
    /// small is faster than any other.
    #[cold]
    pub fn on_request(
        &mut self,
        now: Time,
        packet: &Packet,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let mut packet = *packet;
        self.take_target(now, &mut packet, machine);
        let expected = match self.get(packet.slot, packet.flow) {
            Some(receiver) => receiver.recovery.expected(),
            None => packet.seq + 1,
        };
        self.acknowledge(now, Kind::Ack, expected, &packet, machine, window);
    }

    /// Samples recorded flows.
    pub fn sample(&self, now: Time, log: &mut Log) {
        for (_, receiver) in &self.flows {
            if receiver.recorded() && receiver.start() <= now {
                log.receiver_series
                    .push((now, receiver.flow, receiver.delivered_bytes()));
            }
        }
    }

    /// Records the receivers that are left at the end of the run.
    pub fn finish(&self, now: Time, log: &mut Log) {
        let open = self.flows.iter().map(|(_, receiver)| receiver);
        let open = open.filter(|receiver| receiver.start() < now);
        log.flows.extend(open.map(|receiver| receiver.end(None)));
    }
}
