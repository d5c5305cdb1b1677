//! The NIC: which packet a host sends next, and when.

use unpause_protocols::units::Time;

use super::flow::no_repair;
use super::flow::selective::recovery;
use super::flow::sender::{Carries, Pace};
use super::nic::item::Item;
use super::state::{Host, arm_sender};
use crate::engine::log::Log;
use crate::engine::window::Window;
use crate::fabric::packet::{INT, Packet};
use crate::outcome::results::Queued;
use crate::traffic::Ending;

impl Host {
    #[inline(always)]
    pub(super) fn send_control(&mut self, now: Time, packet: Packet, window: &mut Window<'_, '_>) {
        if self.nic.end.is_free(now) && self.nic.control.is_empty() {
            let class = window.plan.classes.of(packet.priority());
            self.transmit(now, class, &packet, window);
            self.set_nic(now);
        } else {
            self.nic.control.push(&packet);
            self.nic.at = self.nic.at.min(self.nic.end.busy_until.max(now));
        }
    }

    /// Sends an ACK or a NAK first in the class of its flow.
    #[inline(never)]
    pub(super) fn send_ack(&mut self, now: Time, packet: Packet, window: &mut Window<'_, '_>) {
        let class = window.plan.classes.of(packet.priority());
        if class == window.plan.classes.control {
            return self.send_control(now, packet, window);
        }
        let waiting = &mut self.nic.acks[class as usize];
        let first = waiting.is_empty();
        let paused = self.nic.end.is_paused(class);
        if first && !paused && self.nic.end.is_free(now) && self.nic.control.is_empty() {
            self.transmit(now, class, &packet, window);
            return self.set_nic(now);
        }
        waiting.push(&packet);
        if first {
            self.nic.classes[class as usize]
                .ready
                .push_front(Item::Acks(class).handle());
            self.nic.end.backlog |= 1 << class;
            if !paused {
                self.nic.at = self.nic.at.min(self.nic.end.busy_until.max(now));
            }
        }
    }

    /// Sends the first ACK or NAK that waits in `class`.
    #[cold]
    fn send_waiting_ack(&mut self, now: Time, class: u8, window: &mut Window<'_, '_>) {
        let packet = self.nic.acks[class as usize].pop();
        if !self.nic.acks[class as usize].is_empty() {
            self.nic.classes[class as usize]
                .ready
                .push_front(Item::Acks(class).handle());
            self.nic.end.backlog |= 1 << class;
        }
        self.transmit(now, class, &packet, window);
    }

    /// Puts a packet onto the wire.
    // Always: what has been made field by field is to be written there so, and never be read in larger pieces.
    #[inline(always)]
    pub(super) fn transmit(
        &mut self,
        now: Time,
        class: u8,
        packet: &Packet,
        window: &mut Window<'_, '_>,
    ) {
        let counters = &mut self.nic.classes[class as usize].counters;
        counters.tx_packets += 1;
        counters.tx_bytes += window.ports.wire_bytes(packet);
        self.nic
            .end
            .transmit(now, packet, 0, Queued::default(), window);
    }

    pub(super) fn on_nic(&mut self, now: Time, window: &mut Window<'_, '_>) {
        self.nic.end.busy_until = self.nic.end.busy_until.max(now);
        let alone = match self.nic.pacing.next_time() <= now {
            true => self.release_paced(now, window),
            false => None,
        };
        if !self.nic.control.is_empty() {
            let packet = self.nic.control.pop();
            let class = window.plan.classes.of(packet.priority());
            self.transmit(now, class, &packet, window);
        } else if let Some(handle) = alone.or_else(|| self.next_to_send(now, window)) {
            let slot = match handle.item() {
                Item::Roce(slot) => slot,
                Item::Tcp(slot) => {
                    self.send_tcp(now, slot, window);
                    return self.set_nic(now);
                }
                Item::Replies(class) => {
                    self.send_reply(now, class, window);
                    return self.set_nic(now);
                }
                Item::Acks(class) => {
                    self.send_waiting_ack(now, class, window);
                    return self.set_nic(now);
                }
            };
            let mut sender = &mut self.senders[slot as usize];
            let class = sender.class;
            let timeout = window.plan.config.host.retransmit_timeout;
            let recovery = match sender.carries {
                Carries::Datagrams => no_repair(),
                _ => recovery(&mut self.selective, slot, timeout),
            };
            let mut packet = sender.send(now, self.id, slot, window.plan, recovery, &mut self.rng);
            if sender.carries == Carries::Datagrams {
                sender.turn_to_datagram(&mut packet);
            } else if let Some(selective) = &mut self.selective {
                let by = (slot, self.number, sender.timeouts);
                selective.spray(now, by, &mut packet, &mut self.rng);
                if self.credits.is_some() {
                    self.spend_credit(slot, &mut packet, window.plan);
                    sender = &mut self.senders[slot as usize];
                }
            }
            if packet.is(INT) {
                (packet.stamp, packet.bits) =
                    sender.ask((packet.stamp, packet.bits), window.telemetry, &mut self.rng);
            }
            if sender.is_connection() && (!sender.has_left() || self.selective.is_some()) {
                self.end_message(slot);
                sender = &mut self.senders[slot as usize];
            }
            sender.pace = Pace::Idle;
            let more = sender.has_packet(now);
            arm_sender(&mut self.timers, sender, slot);
            window.log.counts.data_packets += 1;
            self.transmit(now, class, &packet, window);
            if more && self.selective.is_some() {
                self.enqueue_next(now, slot, window.plan);
            } else if more {
                self.enqueue(slot);
            } else {
                self.end_datagrams(now, slot, window.log);
            }
        }
        self.set_nic(now);
    }

    /// The sender in `slot` has nothing to send at present. One of datagrams is done with them.
    #[inline]
    pub(super) fn end_datagrams(&mut self, now: Time, slot: u32, log: &mut Log) {
        let sender = &self.senders[slot as usize];
        if sender.carries == Carries::Datagrams && sender.is_done() {
            self.ended(now, sender.flow, Ending::Acknowledged, log);
            self.forget(slot, log);
        }
    }
}
