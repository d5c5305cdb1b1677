//! How the NIC of HPCC's simulator ([`NicModel::Hpcc`](crate::config::NicModel::Hpcc)) chooses among its flows: a list that is
//! served in turn, and one timer.

use slab::Slab;
use unpause_protocols::units::Time;

use crate::host::flow::sender::Sender;
use crate::link::end::End;

/// The flows of such a NIC.
///
/// The host [adds](Self::add) a flow when it starts. When the port is free and nothing more urgent waits, it asks for the
/// [next](Self::next) flow, sends a packet of it, and forgets the flows that are over. If there is none, the NIC sleeps until
/// [`wake`](Self::wake), or until something happens to a flow.
#[derive(Debug, Default)]
pub struct FlowList {
    /// Slots of senders in the order of their starts.
    slots: Vec<u32>,
    /// The place of the last one served.
    served: usize,
    /// When the timer runs out, or ran out.
    timer_at: Time,
}

impl FlowList {
    /// A flow starts, and comes last.
    pub fn add(&mut self, slot: u32) {
        self.slots.push(slot);
    }

    /// The next flow, after the one served last, that may send, and flows that are over. These stay in the list, and count as
    /// places, until a search comes by one of them; then all from there on go, and the flow that was found keeps its turn at its
    /// new place.
    #[cold]
    pub fn next(
        &mut self,
        now: Time,
        senders: &mut Slab<Sender>,
        end: &End,
    ) -> (Option<u32>, Vec<u32>) {
        let count = self.slots.len();
        let mut first_over = None;
        let mut found = None;
        for step in 1..=count {
            let place = (self.served + step) % count;
            let sender = &mut senders[self.slots[place] as usize];
            if !end.is_paused(sender.class) && sender.has_packet(now) {
                if sender.next_start <= now {
                    found = Some(place);
                    break;
                }
            } else if sender.is_over() {
                first_over = Some(first_over.unwrap_or(place).min(place));
            }
        }
        let slot = found.map(|place| self.slots[place]);
        let over = match first_over {
            None => Vec::new(),
            Some(first) => {
                let over = self.clear(first, senders);
                found = slot.and_then(|slot| self.slots.iter().position(|it| *it == slot));
                over
            }
        };
        self.served = found.unwrap_or(self.served);
        (slot, over)
    }

    /// Removes the flows from place `first` on that are over.
    fn clear(&mut self, first: usize, senders: &Slab<Sender>) -> Vec<u32> {
        let rest = self.slots.split_off(first);
        let (over, active) = rest
            .into_iter()
            .partition(|slot| senders[*slot as usize].is_over());
        self.slots.extend::<Vec<u32>>(active);
        over
    }

    /// Removes flows that leave by another NIC from now on.
    pub fn remove(&mut self, is_gone: impl Fn(u32) -> bool) {
        let places = self.slots.iter().zip(0..);
        let before = places.filter(|(slot, place)| *place <= self.served && is_gone(**slot));
        self.served = self.served.saturating_sub(before.count());
        self.slots.retain(|slot| !is_gone(*slot));
    }

    /// When a NIC looks again whose port is free and whose flows may not send. The timer, if it does not run, is set to the first
    /// flow that has packets left. It does not wake the NIC for a flow that could send already: that one waits for its window, or for
    /// the end of a PAUSE.
    pub fn wake(&mut self, now: Time, senders: &Slab<Sender>) -> Time {
        if self.timer_at <= now {
            let listed = self.slots.iter().map(|slot| &senders[*slot as usize]);
            let left = listed.filter(|sender| sender.has_left());
            let first = left.map(|sender| sender.next_start).min();
            self.timer_at = first.unwrap_or(now);
        }
        if self.timer_at > now {
            self.timer_at
        } else {
            Time::NEVER
        }
    }

    /// A rate has changed so that a flow may send at `at`: a timer that runs is set to that if it is earlier. Answers when it
    /// runs out then.
    pub fn advance_timer(&mut self, now: Time, at: Time) -> Option<Time> {
        if self.timer_at <= now || at >= self.timer_at {
            return None;
        }
        self.timer_at = at.max(now);
        Some(self.timer_at)
    }
}
