//! Prefetching of what hosts will touch in a window, before they run, in rounds: what a round reads, the round before has
//! prefetched.

use std::mem::offset_of;

use super::Host;
use super::nic::item::{Handle, Item};
use crate::engine::window::Window;
use crate::fabric::packet::Kind;
use crate::prefetch::{prefetch, prefetch_first, prefetch_front};

/// A round of prefetching.
pub type Round = fn(&Host, &Window<'_, '_>);

/// All of them, in order.
pub const ROUNDS: [Round; 4] = [
    |host, _| host.prefetch(),
    Host::prefetch_link,
    Host::prefetch_packets,
    Host::prefetch_flows,
];

impl Host {
    /// Prefetches what packets touch of it.
    pub fn prefetch(&self) {
        prefetch_front::<{ offset_of!(Self, nic.acks) }, _>(self);
    }

    /// Prefetches its link, and what is first in its heaps and queues.
    fn prefetch_link(&self, window: &Window<'_, '_>) {
        window.inboxes.prefetch(self.id);
        window.inboxes.prefetch(self.nic.end.transmitter.peer);
        window.calendar.prefetch(self.nic.end.transmitter.peer);
        self.timers.prefetch();
        self.nic.pacing.prefetch();
        prefetch_first(&self.nic.classes);
    }

    /// Prefetches what arrives, where it will put what it sends, and who sends next.
    fn prefetch_packets(&self, window: &Window<'_, '_>) {
        window.inboxes.prefetch_packets(self.id);
        window.inboxes.prefetch_push(self.nic.end.transmitter.peer);
        if let Some(entry) = self.nic.pacing.peek()
            && let Item::Roce(slot) = Handle::of(entry).item()
        {
            self.prefetch_sender(slot);
        }
        for class in &self.nic.classes {
            prefetch_first(class.ready.as_slices().0);
        }
    }

    /// Prefetches the flow of the packet that arrives first.
    fn prefetch_flows(&self, window: &Window<'_, '_>) {
        let Some(packet) = window.inboxes.first(self.id) else {
            return;
        };
        match packet.kind {
            Kind::Data => {
                if let Some(receiver) = self.receivers.get(packet.slot as usize) {
                    prefetch(receiver);
                }
            }
            Kind::Ack => self.prefetch_sender(packet.slot),
            _ => {}
        }
    }

    fn prefetch_sender(&self, slot: u32) {
        if let Some(sender) = self.senders.get(slot as usize) {
            prefetch(sender);
        }
    }
}
