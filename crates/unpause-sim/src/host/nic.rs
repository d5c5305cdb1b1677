//! The NIC: which packet a host sends next, and when.

use unpause_protocols::units::Time;

use super::datagrams::no_repair;
use super::item::{Handle, Item};
use super::selective::recovery;
use super::sender::{Carries, Pace};
use super::state::{Host, arm_sender};
use crate::engine::log::Log;
use crate::engine::window::Window;
use crate::fabric::packet::{INT, Packet};
use crate::outcome::results::Queued;

impl Host {
    /// Puts a flow with a packet to send into the round-robin, or behind its rate limiter if that
    /// allows it only after the port is free again.
    #[inline(always)]
    pub(super) fn enqueue(&mut self, slot: u32) {
        if self.hpcc_nic {
            return;
        }
        let sender = &mut self.senders[slot as usize];
        let start = sender.next_start;
        if start <= self.nic.end.busy_until {
            sender.pace = Pace::Ready;
            self.nic.classes[sender.class as usize]
                .ready
                .push_back(Item::Roce(slot).handle());
            self.nic.end.backlog |= 1 << sender.class;
            self.nic.at = self.nic.at.min(self.nic.end.busy_until);
        } else {
            sender.pace = Pace::Until(start);
            let entry = Item::Roce(slot).entry(start, sender.flow);
            self.nic.pacing.push(entry);
            self.nic.at = self.nic.at.min(start);
        }
    }

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

    /// When to look again for something to send.
    #[inline]
    pub(super) fn set_nic(&mut self, now: Time) {
        let sendable = !self.nic.control.is_empty() || self.nic.end.eligible() != 0;
        self.nic.at = if sendable {
            self.nic.end.busy_until
        } else if self.hpcc_nic {
            self.hpcc_wake(now)
        } else {
            self.nic.pacing.next_time().max(self.nic.end.busy_until)
        };
    }

    /// When the NIC looks again that has found nothing to send, and has one timer: as soon as its port is
    /// free, or when the timer runs out. That is set to the first flow that has something left, if it runs
    /// no more, and if that is not due already, as one is that its window or a PAUSE holds back.
    #[cold]
    fn hpcc_wake(&mut self, now: Time) -> Time {
        if !self.nic.end.is_free(now) {
            return self.nic.end.busy_until;
        }
        if self.nic.timer_at <= now {
            let listed = self
                .nic
                .list
                .iter()
                .map(|&slot| &self.senders[slot as usize]);
            let left = listed.filter(|sender| sender.has_left());
            let first = left.map(|sender| sender.next_start).min();
            self.nic.timer_at = first.unwrap_or(now);
        }
        match self.nic.timer_at > now {
            true => self.nic.timer_at,
            false => Time::NEVER,
        }
    }

    #[inline]
    fn next_to_send(&mut self, now: Time, window: &mut Window<'_, '_>) -> Option<Handle> {
        let found = self.next_ready(now, window);
        match found {
            None if self.hpcc_nic => self.next_in_list(now, window),
            found => found,
        }
    }

    /// The next flow in the list, after the one served last, that may send. Flows that are over stay in the list,
    /// and in the reckoning of turns, until a search comes by one of them; then they go, and that which was found
    /// keeps its turn at its new place.
    #[cold]
    fn next_in_list(&mut self, now: Time, window: &mut Window<'_, '_>) -> Option<Handle> {
        let count = self.nic.list.len();
        let mut first_over = None;
        let mut found = None;
        for step in 1..=count {
            let place = (self.nic.served + step) % count;
            let sender = &mut self.senders[self.nic.list[place] as usize];
            let paused = self.nic.end.is_paused(sender.class);
            if !paused && sender.has_packet(now) {
                if sender.next_start <= now {
                    found = Some(place);
                    break;
                }
            } else if sender.is_over() {
                first_over = Some(first_over.unwrap_or(place).min(place));
            }
        }
        if let Some(first) = first_over {
            found = self.clear_list(first, found, window.log);
        }
        self.nic.served = found.unwrap_or(self.nic.served);
        found.map(|place| Item::Roce(self.nic.list[place]).handle())
    }

    /// Forgets the flows in the list, from place `first` on, that are over; answers where what was at `found` is.
    #[cold]
    fn clear_list(&mut self, first: usize, found: Option<usize>, log: &mut Log) -> Option<usize> {
        let mut kept = first;
        let mut now_at = found;
        for place in first..self.nic.list.len() {
            let slot = self.nic.list[place];
            if self.senders[slot as usize].is_over() {
                self.forget(slot, log);
                continue;
            }
            if found == Some(place) {
                now_at = Some(kept);
            }
            self.nic.list[kept] = slot;
            kept += 1;
        }
        self.nic.list.truncate(kept);
        now_at
    }

    /// Something has happened at which a NIC with one timer looks for something to send.
    pub(super) fn look(&mut self, now: Time) {
        self.nic.at = self.nic.at.min(self.nic.end.busy_until.max(now));
    }

    /// A rate has changed so that a flow may send at `at`: a timer that runs is set to that.
    pub(super) fn advance_timer(&mut self, now: Time, at: Time) {
        if self.nic.timer_at > now && at < self.nic.timer_at {
            self.nic.timer_at = at.max(now);
            self.nic.at = self
                .nic
                .at
                .min(self.nic.timer_at.max(self.nic.end.busy_until));
        }
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

    /// Moves flows whose rate limiters have come to allow a packet into the round-robin; answers the one that may
    /// send, if it is the only one, which spares it the way through.
    fn release_paced(&mut self, now: Time, window: &mut Window<'_, '_>) -> Option<Handle> {
        while self.nic.pacing.next_time() <= now
            && let Some(entry) = self.nic.pacing.pop()
        {
            let handle = Handle::of(entry);
            let slot = match handle.item() {
                Item::Roce(slot) => slot,
                Item::Tcp(slot) => {
                    self.release_tcp(now, slot, window);
                    continue;
                }
                Item::Replies(_) | Item::Acks(_) => unreachable!("no rate limiter holds them back"),
            };
            let Some(sender) = self.senders.get_mut(slot as usize) else {
                continue;
            };
            if sender.flow != entry.key() || sender.pace != Pace::Until(entry.time()) {
                continue;
            }
            let others = self.nic.end.backlog != 0 || self.nic.pacing.next_time() <= now;
            let paused = self.nic.end.paused != 0 || self.has_link_credits;
            let waits = paused || !self.nic.control.is_empty();
            if !others && !waits && sender.next_start <= now && sender.has_packet(now) {
                return Some(handle);
            }
            self.enqueue(slot);
        }
        None
    }

    /// The class whose turn it is, out of several `eligible` that share the port.
    #[cold]
    fn by_share(&mut self, eligible: u8) -> usize {
        let shares = self.nic.shares.as_mut().expect("the NIC has shares");
        shares.pick(eligible, |class| {
            let class = self.nic.classes.get(class);
            class.map_or(0, |class| class.counters.tx_bytes)
        })
    }

    /// The flow whose turn it is, out of the round-robin.
    fn next_ready(&mut self, now: Time, window: &mut Window<'_, '_>) -> Option<Handle> {
        loop {
            if self.has_link_credits {
                self.look_at_credits(now, window);
            }
            let eligible = self.nic.end.eligible();
            if eligible == 0 {
                return None;
            }
            let class = match self.has_shares {
                false => 7 - eligible.leading_zeros() as usize,
                true => self.by_share(eligible),
            };
            let handle = self.nic.classes[class].ready.pop_front()?;
            if self.nic.classes[class].ready.is_empty() {
                self.nic.end.backlog &= !(1 << class);
            }
            let slot = match handle.item() {
                Item::Roce(slot) => slot,
                Item::Tcp(slot) => {
                    if self.tcp_may_send(now, slot, class as u8, window) {
                        return Some(handle);
                    }
                    continue;
                }
                Item::Replies(_) | Item::Acks(_) => return Some(handle),
            };
            let sender = &mut self.senders[slot as usize];
            debug_assert_eq!(sender.pace, Pace::Ready);
            sender.pace = Pace::Idle;
            if !sender.has_packet(now) {
                if sender.is_over() {
                    self.forget(slot, window.log);
                }
                continue;
            }
            if sender.next_start > now {
                self.enqueue(slot);
                continue;
            }
            return Some(handle);
        }
    }
}
