//! Senders: feedback on flows, notifications, pulls and timers.

use unpause_protocols::congestion_control::Hop;
use unpause_protocols::loss_recovery::Feedback;
use unpause_protocols::units::{LinkSpeed, Time};

use super::super::flow::ack_info::{AckInfo, Trim};
use super::super::flow::delays::Delays;
use super::super::flow::grants::entropy;
use super::super::flow::selective::{self, recovery};
use super::super::flow::sender::Carries;
use super::super::flow::sprayed::trimmed_number;
use super::super::machine::Machine;
use super::super::timer::Timer;
use super::{Senders, arm, demand, flows_in_turn};
use crate::engine::log::Log;
use crate::engine::window::Window;
use crate::fabric::packet::{ECE, INT, Kind, LAST_HOP, MEASURE, Packet};
use crate::outcome::delays::Hold;

/// The consequence of feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum After {
    /// Nothing more.
    Nothing,
    /// The flow's rate, its window or its packets may have changed: [`Senders::after_change`], and the NIC wakes.
    Change,
    /// Packets of a connection have been acknowledged, and its rank may have to know. Then as [`Self::Change`] if it `changes`.
    Messages { changes: bool },
}

/// The content of a NAK. Under go-back-N the receiver keeps nothing.
fn feedback_of(nak: &Packet) -> Feedback {
    let ahead = nak.aux >> 16;
    Feedback {
        number: nak.seq,
        kept: (ahead > 0).then(|| nak.seq.wrapping_add(ahead)),
    }
}

/// The next change that lets a flow send again has this cause.
fn note(delays: &mut Option<Box<Delays>>, cause: Hold) {
    if let Some(delays) = delays {
        delays.cause = Some(cause);
    }
}

impl Senders {
    /// Takes feedback on a flow: `hops` and `digest` are what switches have written into the packet that it answers.
    #[inline(always)]
    pub fn on_feedback(
        &mut self,
        now: Time,
        packet: &Packet,
        (hops, digest): (&[Hop], Option<u16>),
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) -> After {
        let slot = packet.slot;
        let Some(sender) = self.flows.get_mut(slot as usize) else {
            return After::Nothing;
        };
        if sender.flow != packet.flow {
            return After::Nothing;
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
        let speed = machine.nics.nic().end.transmitter.speed;
        let rtt = || {
            let own = speed.time_for(u64::from(packet.aux as u16) + framing);
            now.saturating_sub(Time::from_ps(packet.stamp) + own)
        };
        match packet.kind {
            Kind::Nak => {
                // With lost ACKs a NAK may be what ends a round trip; with selective repeat it is an ACK, too.
                let counts = window.plan.config.host.nic.times_naks() || self.selective.is_some();
                let info = info((counts && measures).then(rtt));
                return self.on_nak(now, packet, &info, timeout);
            }
            Kind::TrimNak => return self.on_trim(now, packet, speed, window),
            Kind::Ack => {
                let heard = sender.hears_acks;
                let rtt = (heard && measures).then(rtt);
                let recovery =
                    selective::on_feedback(&mut self.selective, slot, timeout, (now, packet));
                let sender = if heard {
                    sender.on_ack(now, packet.seq, &info(rtt), recovery);
                    self.recounted(slot)
                } else {
                    sender.on_silent_ack(now, packet.seq, recovery);
                    sender
                };
                if sender.tells || (sender.is_done() && sender.is_connection()) {
                    return After::Messages { changes: heard };
                }
                if (sender.is_done() && self.end(now, slot, machine, window)) || !heard {
                    return After::Nothing;
                }
            }
            _ => {
                self.delay_notification(now, packet, machine, window);
                return After::Nothing;
            }
        }
        After::Change
    }

    /// A NAK says that packets are missing.
    fn on_nak(&mut self, now: Time, packet: &Packet, info: &AckInfo<'_>, timeout: Time) -> After {
        let slot = packet.slot;
        note(&mut self.delays, Hold::Nack);
        let recovery = selective::on_feedback(&mut self.selective, slot, timeout, (now, packet));
        let sender = &mut self.flows[slot as usize];
        let tells = sender.tells;
        let lost = sender.on_nak(now, feedback_of(packet), info, recovery);
        if lost && sender.is_connection() {
            self.rewind(slot);
        } else {
            self.recounted(slot);
        }
        if tells {
            return After::Messages { changes: true };
        }
        After::Change
    }

    /// A NAK says that a packet was trimmed.
    #[cold]
    fn on_trim(
        &mut self,
        now: Time,
        packet: &Packet,
        speed: LinkSpeed,
        window: &mut Window<'_, '_>,
    ) -> After {
        let slot = packet.slot;
        note(&mut self.delays, Hold::Trim);
        let timeout = window.plan.config.host.retransmit_timeout;
        let recovery = selective::on_feedback(&mut self.selective, slot, timeout, (now, packet));
        let sender = &mut self.flows[slot as usize];
        // The packet was sent whole.
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
        if sender.tells {
            After::Messages { changes: true }
        } else {
            After::Change
        }
    }

    /// A CNP or CNM has arrived, and takes effect after a while.
    fn delay_notification(
        &mut self,
        now: Time,
        packet: &Packet,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let reaction = window.plan.config.host.notification_reaction;
        if reaction == Time::ZERO {
            return self.on_notification(now, packet, machine, window);
        }
        self.notified.push_back(*packet);
        let entry = Timer::Notification.entry(now + reaction, packet.flow);
        machine.timers.push(entry);
    }

    /// The first notification that has arrived takes effect.
    pub fn on_notification_timer(
        &mut self,
        now: Time,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        if let Some(packet) = self.notified.pop_front() {
            self.on_notification(now, &packet, machine, window);
        }
    }

    fn on_notification(
        &mut self,
        now: Time,
        packet: &Packet,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let slot = packet.slot;
        let Some(sender) = self.flows.get_mut(slot as usize) else {
            return;
        };
        // A switch may also notify the source of a datagram, which obeys nobody.
        if sender.flow == packet.flow
            && sender.carries != Carries::Datagrams
            && let Some(notification) = packet.notification()
        {
            let timeout = window.plan.config.host.retransmit_timeout;
            let recovery = recovery(&mut self.selective, slot, timeout);
            sender.on_notification(now, &notification, recovery, &mut machine.rng);
            self.after_change(now, slot, machine);
        }
    }

    /// A timer of the flow in `slot` is due, if it is still that of `flow`. True if the flow gives up.
    pub fn on_timer(
        &mut self,
        now: Time,
        slot: u32,
        flow: u32,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) -> bool {
        let Some(sender) = self.flows.get_mut(slot as usize) else {
            return false;
        };
        if sender.flow != flow || sender.timer_at != now {
            return false;
        }
        sender.timer_at = Time::NEVER;
        if sender.next_timer() > now {
            arm(&mut machine.timers, sender, slot);
            return false;
        }
        let timeout = window.plan.config.host.retransmit_timeout;
        let recovery = recovery(&mut self.selective, slot, timeout);
        let timeouts = sender.timeouts;
        sender.on_timer(now, recovery, &mut machine.rng);
        let goes_back = sender.timeouts > timeouts;
        if goes_back {
            note(&mut self.delays, Hold::Timeout);
            if self.gives_up(now, slot, machine, window.log) {
                return true;
            }
        }
        if window.plan.config.scheme.credits.is_some() {
            self.ask_for_credit(now, slot, machine, window);
        }
        self.after_change(now, slot, machine);
        if goes_back {
            machine.nics.nic_mut().wake(now);
        }
        false
    }

    /// The flow in `slot` has timed out and goes back. True if it gives up instead.
    #[cold]
    fn gives_up(&mut self, now: Time, slot: u32, machine: &mut Machine, log: &mut Log) -> bool {
        let sender = &self.flows[slot as usize];
        let is_connection = sender.is_connection();
        let (flow, acknowledged) = (sender.flow, sender.recovery.unacknowledged());
        let retries = self.retries.as_mut();
        if retries.is_some_and(|retries| retries.count(flow, acknowledged)) {
            self.abandon((now, slot), Some(now), machine, log);
            return true;
        }
        if is_connection {
            log.message_timeouts.push((flow, now));
            self.rewind(slot);
        }
        false
    }

    /// A timer of the flow in `slot` was due: if it has no credit, it asks for some.
    #[cold]
    fn ask_for_credit(
        &mut self,
        now: Time,
        slot: u32,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) {
        let sender = &self.flows[slot as usize];
        let Some(selective) = &mut self.selective else {
            return;
        };
        let demand = demand(sender, flows_in_turn(sender, &machine.nics));
        let Some(target) = selective.ask(now, (slot, &sender.recovery), demand) else {
            return;
        };
        let host = &window.plan.config.host;
        let mut packet = Packet {
            stamp: now.as_ps(),
            flow: sender.flow,
            // The last one that it has sent.
            seq: sender.recovery.highest().saturating_sub(1),
            src: machine.id,
            dst: sender.dst,
            slot: sender.receiver_slot,
            aux: slot,
            source_port: sender.source_port ^ entropy(sender.timeouts as u32, window.plan),
            ..Packet::new(Kind::Request, host.control_priority, 0, host.ack_bytes)
        };
        packet.set_target(target);
        machine.nics.nic_mut().send_control(now, packet, window);
    }

    /// A pull has arrived.
    #[inline(never)]
    pub fn on_pull(&mut self, now: Time, packet: &Packet, machine: &mut Machine) {
        let slot = packet.slot;
        let sender = self.flows.get_mut(slot as usize);
        let Some(sender) = sender.filter(|sender| sender.flow == packet.flow) else {
            return;
        };
        if let Some(selective) = &mut self.selective {
            selective.on_pull(slot, &mut sender.recovery, packet.stamp);
            note(&mut self.delays, Hold::Credit);
            self.after_change(now, slot, machine);
        }
    }
}
