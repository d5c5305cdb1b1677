//! Credits of receivers (RCCC): what a host grants, and how its own flows spend theirs.
//!
//! A flow's credit is beside its repair ([`super::selective`]), which holds it back when there is none. At the receiver one
//! pacer a host grants pulls to the flows that come to it. Pull targets come in data packets, whole or trimmed, and in
//! requests to send.

use unpause_protocols::congestion_control::Mechanism as _;
use unpause_protocols::congestion_control::receiver_credits::sender::Demand;
use unpause_protocols::units::Time;

use super::flow::grants::most_credit;
use super::flow::sender::Sender;
use super::state::Host;
use super::timer::Timer;
use crate::engine::window::Window;
use crate::fabric::packet::{ACK_REQUEST, Kind, MEASURE, Packet};
use crate::plan::Plan;

/// The pacer's timer is of no flow, so it comes last.
const NOBODY: u32 = u32::MAX;

/// What a flow has to send but for what was lost, at a port with this many flows in turn.
fn demand(sender: &Sender, flows: usize) -> Demand {
    let packet = u64::from(sender.packet_bytes);
    let unsent = sender.recovery.unsent();
    let short = match unsent {
        0 => 0,
        _ => u64::from(sender.full_bytes - sender.last_bytes),
    };
    Demand {
        backlog: (u64::from(unsent) * packet).saturating_sub(short),
        repairs: 0,
        window: sender.law.window(),
        flows: flows as u64,
    }
}

impl Host {
    /// The flow in `slot` begins, and speculates.
    #[cold]
    pub(super) fn begin_on_credit(&mut self, slot: u32, plan: &Plan<'_>) {
        let sender = &self.senders[slot as usize];
        let way = (self.id, sender.dst, sender.source_port);
        if let Some(selective) = &mut self.selective
            && let Some(most) = most_credit(way, plan)
        {
            selective.credit(slot as usize, sender.packet_bytes, most);
        }
    }

    /// A data packet has arrived, whole or trimmed, where receivers grant credits.
    #[inline(never)]
    pub(super) fn take_credited(
        &mut self,
        now: Time,
        packet: &Packet,
        window: &mut Window<'_, '_>,
    ) {
        let mut packet = *packet;
        self.take_target(now, &mut packet);
        match packet.kind {
            Kind::Trimmed => self.on_trimmed(now, &packet, window),
            _ => self.take_in(now, &packet, window),
        }
    }

    /// Takes the pull target off a packet that has arrived, and tells the pacer.
    fn take_target(&mut self, now: Time, packet: &mut Packet) {
        let Some(credits) = &mut self.credits else {
            return;
        };
        credits.note(packet);
        let receiver = self.receivers.get_mut(packet.slot as usize);
        let Some(receiver) = receiver.filter(|it| it.flow == packet.flow) else {
            packet.take_target(0);
            return;
        };
        receiver.sender_slot = packet.aux;
        let is_missing = packet.seq >= receiver.recovery.expected();
        let asks = packet.kind == Kind::Request || packet.kind == Kind::Trimmed && is_missing;
        credits.take_target(now, packet.slot, packet, asks);
        self.arm_pulls(now);
    }

    /// Has the pacer's timer run out when it is due.
    fn arm_pulls(&mut self, now: Time) {
        let Some(credits) = &mut self.credits else {
            return;
        };
        let due = credits.next_timer().max(now);
        if due < credits.timer_at {
            credits.timer_at = due;
            self.timers.push(Timer::Pull.entry(due, NOBODY));
        }
    }

    /// The pacer's timer has run out.
    #[cold]
    pub(super) fn on_pull_timer(&mut self, now: Time, window: &mut Window<'_, '_>) {
        let Some(credits) = self.credits.as_mut().filter(|it| it.timer_at == now) else {
            return;
        };
        credits.timer_at = Time::NEVER;
        let pull = credits.on_timer(now, &mut self.rng);
        let count = credits.pulls;
        self.arm_pulls(now);
        let Some((slot, pull)) = pull else {
            return;
        };
        let receiver = &self.receivers[slot as usize];
        let host = &window.plan.config.host;
        let packet = Packet {
            stamp: pull.granted,
            flow: receiver.flow,
            // Shown where packets are recorded.
            seq: pull.granted as u32,
            src: self.id,
            dst: receiver.src(),
            slot: receiver.sender_slot,
            source_port: receiver.source_port() ^ entropy(count, window.plan),
            ..Packet::new(Kind::Pull, host.control_priority, 0, host.ack_bytes)
        };
        self.send_control(now, packet, window);
    }

    /// A request to send has come: after its pull target, its flow gets a pull. The answer measures nothing: a packet so
    /// small is faster than any other.
    #[cold]
    pub(super) fn on_request(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        let mut packet = *packet;
        self.take_target(now, &mut packet);
        let receiver = self.receivers.get(packet.slot as usize);
        let expected = match receiver.filter(|it| it.flow == packet.flow) {
            Some(receiver) => receiver.recovery.expected(),
            None => packet.seq + 1,
        };
        self.acknowledge(now, Kind::Ack, expected, &packet, window);
    }

    /// A pull has come.
    #[inline(never)]
    pub(super) fn on_pull(&mut self, now: Time, packet: &Packet) {
        let slot = packet.slot;
        let sender = self.senders.get_mut(slot as usize);
        let Some(sender) = sender.filter(|it| it.flow == packet.flow) else {
            return;
        };
        if let Some(selective) = &mut self.selective {
            selective.on_pull(slot, &mut sender.recovery, packet.stamp);
            self.after_change(now, slot);
        }
    }

    /// The flow in `slot` has sent a packet: it has spent credit, and the packet tells how much it wants.
    #[inline(never)]
    pub(super) fn spend_credit(&mut self, slot: u32, packet: &mut Packet, plan: &Plan<'_>) {
        let flows = self.flows_of(slot) + 1;
        let sender = &mut self.senders[slot as usize];
        let bytes = plan.ports.wire_bytes(packet) as u32;
        let Some(selective) = &mut self.selective else {
            return;
        };
        let demand = demand(sender, flows);
        if let Some(target) = selective.spend((slot, &mut sender.recovery), bytes, demand) {
            packet.set_target(target);
            if !sender.recovery.has_packet() {
                // It waits for what comes back.
                packet.bits |= ACK_REQUEST | MEASURE;
            }
        }
    }

    /// Flows in turn in the class of that in `slot`.
    fn flows_of(&self, slot: u32) -> usize {
        let class = self.senders[slot as usize].class;
        self.nic.classes[usize::from(class)].ready.len()
    }

    /// The flow in `slot` has timed out: if it has no credit, it asks for some.
    #[cold]
    pub(super) fn ask_for_credit(&mut self, now: Time, slot: u32, window: &mut Window<'_, '_>) {
        let flows = self.flows_of(slot) + 1;
        let sender = &self.senders[slot as usize];
        let Some(selective) = &mut self.selective else {
            return;
        };
        let demand = demand(sender, flows);
        let Some(target) = selective.ask(now, (slot, &sender.recovery), demand) else {
            return;
        };
        let host = &window.plan.config.host;
        let mut packet = Packet {
            stamp: now.as_ps(),
            flow: sender.flow,
            // The last that it has sent.
            seq: sender.recovery.highest().saturating_sub(1),
            src: self.id,
            dst: sender.dst,
            slot: sender.receiver_slot,
            aux: slot,
            source_port: sender.source_port ^ entropy(sender.timeouts as u32, window.plan),
            ..Packet::new(Kind::Request, host.control_priority, 0, host.ack_bytes)
        };
        packet.set_target(target);
        self.send_control(now, packet, window);
    }
}

/// The entropy value of a pull or a request, if flows are sprayed: all in turn.
fn entropy(count: u32, plan: &Plan<'_>) -> u16 {
    (count % plan.config.host.spraying.paths()) as u16
}
