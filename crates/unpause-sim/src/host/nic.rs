//! The NIC: which packet a host sends next, and when.

use unpause_protocols::units::Time;

use super::sender::Pace;
use super::state::Host;
use super::tcp::TCP;
use crate::engine::heap::Entry;
use crate::engine::window::Window;
use crate::packet::Packet;
use crate::results::Queued;

impl Host {
    /// Puts a flow with a packet to send into the round-robin, or behind its rate limiter if that
    /// allows it only after the port is free again.
    pub(super) fn enqueue(&mut self, slot: u32) {
        let sender = &mut self.senders[slot as usize];
        let start = sender.next_start;
        if start <= self.busy_until {
            sender.pace = Pace::Ready;
            self.ready[sender.class as usize].push_back(slot);
            self.ready_mask |= 1 << sender.class;
            self.nic_at = self.nic_at.min(self.busy_until);
        } else {
            sender.pace = Pace::Until(start);
            self.pacing.push(Entry::new(start, sender.flow, slot));
            self.nic_at = self.nic_at.min(start);
        }
    }

    #[inline]
    pub(super) fn send_control(&mut self, now: Time, packet: Packet, window: &mut Window<'_, '_>) {
        if self.busy_until <= now && self.control.is_empty() {
            let class = window.plan.classes.control;
            self.transmit(now, class, &packet, window);
            self.set_nic();
        } else {
            self.control.push(&packet);
            self.nic_at = self.nic_at.min(self.busy_until.max(now));
        }
    }

    #[inline]
    pub(super) fn transmit(
        &mut self,
        now: Time,
        class: u8,
        packet: &Packet,
        window: &mut Window<'_, '_>,
    ) {
        let counters = &mut self.counters[class as usize];
        counters.tx_packets += 1;
        counters.tx_bytes += window.ports.wire_bytes(packet);
        self.busy_until = window.transmit(self.port, now, packet, 0, Queued::default());
    }

    /// When to look again for something to send.
    #[inline]
    pub(super) fn set_nic(&mut self) {
        let sendable = !self.control.is_empty() || self.ready_mask & !self.paused_mask != 0;
        self.nic_at = if sendable {
            self.busy_until
        } else {
            self.pacing.next_time().max(self.busy_until)
        };
    }

    pub(super) fn on_nic(&mut self, now: Time, window: &mut Window<'_, '_>) {
        self.busy_until = self.busy_until.max(now);
        self.release_paced(now, window);
        if !self.control.is_empty() {
            let packet = self.control.pop();
            let class = window.plan.classes.control;
            self.transmit(now, class, &packet, window);
        } else if let Some(slot) = self.next_ready(now, window) {
            if slot & TCP != 0 {
                self.send_tcp(now, slot, window);
                return self.set_nic();
            }
            let sender = &mut self.senders[slot as usize];
            let class = sender.class;
            let packet = sender.send(now, self.id, slot, window.plan, &mut self.rng);
            sender.pace = Pace::Idle;
            let more = sender.has_packet(now);
            window.log.counts.data_packets += 1;
            self.transmit(now, class, &packet, window);
            if more {
                self.enqueue(slot);
            }
            self.arm_sender(slot);
        }
        self.set_nic();
    }

    /// Moves flows whose rate limiters have come to allow a packet into the round-robin.
    fn release_paced(&mut self, now: Time, window: &Window<'_, '_>) {
        while let Some(entry) = self.pacing.peek() {
            if entry.time() > now {
                break;
            }
            self.pacing.pop();
            let slot = entry.payload();
            if slot & TCP != 0 {
                self.release_tcp(now, slot, window.plan);
                continue;
            }
            let Some(sender) = self.senders.get_mut(slot as usize) else {
                continue;
            };
            if sender.flow == entry.key() && sender.pace == Pace::Until(entry.time()) {
                self.enqueue(slot);
            }
        }
    }

    /// The flow whose turn it is, out of the round-robin.
    fn next_ready(&mut self, now: Time, window: &mut Window<'_, '_>) -> Option<u32> {
        loop {
            let eligible = self.ready_mask & !self.paused_mask;
            if eligible == 0 {
                return None;
            }
            let class = 7 - eligible.leading_zeros() as usize;
            let slot = self.ready[class].pop_front()?;
            if self.ready[class].is_empty() {
                self.ready_mask &= !(1 << class);
            }
            if slot & TCP != 0 {
                if self.tcp_may_send(now, slot, class as u8, window) {
                    return Some(slot);
                }
                continue;
            }
            let sender = &mut self.senders[slot as usize];
            debug_assert_eq!(sender.pace, Pace::Ready);
            sender.pace = Pace::Idle;
            if !sender.has_packet(now) {
                if sender.is_done() {
                    self.forget(slot, window.log);
                }
                continue;
            }
            if sender.next_start > now {
                self.enqueue(slot);
                continue;
            }
            return Some(slot);
        }
    }
}
