//! How flows of a host get their turn at the NIC: in the round-robin of their class, or behind their rate limiter until that
//! allows a packet; at the NIC of HPCC's simulator, by its [list](super::nic::flow_list::FlowList).

use unpause_protocols::units::Time;

use super::flow::sender::Pace;
use super::nic::item::{Handle, Item};
use super::state::{Host, arm_sender};
use crate::engine::window::Window;

impl Host {
    /// The flow in `slot` begins and takes its place among those of the NIC at hand. A connection has nothing to send yet: in a
    /// round-robin it takes its place when a message is posted.
    #[inline(always)]
    pub(super) fn line_up(&mut self, now: Time, slot: u32, has_data: bool) {
        self.nic.end.busy_until = self.nic.end.busy_until.max(now);
        if self.in_list {
            self.nic.list.add(slot);
            self.look(now);
        } else if has_data {
            self.enqueue(slot);
        }
        arm_sender(&mut self.timers, &mut self.senders[slot as usize], slot);
    }

    /// A flow that waited at another NIC waits at this one.
    pub(super) fn line_up_again(&mut self, slot: u32) {
        if self.in_list {
            return self.nic.list.add(slot);
        }
        let sender = &mut self.senders[slot as usize];
        if sender.pace != Pace::Idle {
            sender.pace = Pace::Idle;
            self.enqueue(slot);
        }
    }

    /// True if the flow in `slot` has a place in line: when it is over, it is forgotten when its turn comes.
    pub(super) fn is_in_line(&self, slot: u32) -> bool {
        self.in_list || self.senders[slot as usize].pace == Pace::Ready
    }

    /// Puts a flow with a packet to send into the round-robin, or behind its rate limiter if that
    /// allows it only after the port is free again. In a list it has its place.
    #[inline(always)]
    pub(super) fn enqueue(&mut self, slot: u32) {
        if self.in_list {
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

    /// A flow's rate, window of packets or timers may have changed.
    pub(super) fn after_change(&mut self, now: Time, slot: u32) {
        if self.in_list {
            return self.after_change_in_list(now, slot);
        }
        let sender = &mut self.senders[slot as usize];
        sender.after_change(now);
        arm_sender(&mut self.timers, sender, slot);
        let pace = sender.pace;
        match pace {
            Pace::Idle if sender.has_packet(now) => self.enqueue(slot),
            Pace::Until(at) if sender.next_start < at => {
                sender.pace = Pace::Until(sender.next_start);
                let entry = Item::Roce(slot).entry(sender.next_start, sender.flow);
                self.nic.pacing.push(entry);
                self.nic.at = self.nic.at.min(entry.time().max(self.nic.end.busy_until));
            }
            _ => {}
        }
    }

    #[inline(never)]
    fn after_change_in_list(&mut self, now: Time, slot: u32) {
        let sender = &mut self.senders[slot as usize];
        sender.after_change(now);
        // Another rate sets the timer anew only if it counts at once.
        if sender.repaces()
            && let Some(at) = self.nic.list.advance_timer(now, sender.next_start)
        {
            self.nic.at = self.nic.at.min(at.max(self.nic.end.busy_until));
        }
        arm_sender(&mut self.timers, &mut self.senders[slot as usize], slot);
    }

    /// Something has happened that wakes a NIC with a list: an ACK, a post, a timeout, or a link that returns. Another NIC knows
    /// when it has something to send.
    #[inline(always)]
    pub(super) fn wake(&mut self, now: Time) {
        if self.in_list {
            self.look(now);
        }
    }

    /// The NIC looks for something to send as soon as its port is free.
    pub(super) fn look(&mut self, now: Time) {
        self.nic.at = self.nic.at.min(self.nic.end.busy_until.max(now));
    }

    /// Sets when to look again for something to send.
    #[inline]
    pub(super) fn set_nic(&mut self, now: Time) {
        let sendable = !self.nic.control.is_empty() || self.nic.end.eligible() != 0;
        self.nic.at = if sendable {
            self.nic.end.busy_until
        } else if self.in_list {
            self.wake_of_list(now)
        } else {
            self.nic.pacing.next_time().max(self.nic.end.busy_until)
        };
    }

    #[cold]
    fn wake_of_list(&mut self, now: Time) -> Time {
        match self.nic.end.is_free(now) {
            true => self.nic.list.wake(now, &self.senders),
            false => self.nic.end.busy_until,
        }
    }

    /// What the free port sends next, but for control packets.
    #[inline]
    pub(super) fn next_to_send(
        &mut self,
        now: Time,
        window: &mut Window<'_, '_>,
    ) -> Option<Handle> {
        match self.next_ready(now, window) {
            None if self.in_list => self.next_in_list(now, window),
            found => found,
        }
    }

    #[cold]
    fn next_in_list(&mut self, now: Time, window: &mut Window<'_, '_>) -> Option<Handle> {
        let (found, over) = self.nic.list.next(now, &mut self.senders, &self.nic.end);
        for slot in over {
            self.forget(slot, window.log);
        }
        found.map(|slot| Item::Roce(slot).handle())
    }

    /// Moves flows whose rate limiters have come to allow a packet into the round-robin; answers the one that may
    /// send, if it is the only one, which spares it the way through.
    pub(super) fn release_paced(
        &mut self,
        now: Time,
        window: &mut Window<'_, '_>,
    ) -> Option<Handle> {
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
