//! Prefetching of what the packets of a window will touch, before they are taken: in a large fabric none of it is in the cache, and
//! misses that overlap cost little more than one.

use super::chassis::{Chassis, Model};
use super::egress::Queue;
use crate::engine::arrivals::NO_WAY;
use crate::engine::window::Window;
use crate::fabric::packet::Kind;
use crate::prefetch::prefetch;

/// Packets that are prefetched together.
const BLOCK: usize = 16;

impl<M: Model> Chassis<M> {
    /// Prefetches what ports need that become free in the window, and the first packets.
    #[inline(never)]
    pub(super) fn prefetch_first_block(&mut self, window: &mut Window<'_, '_>) {
        let free = || self.ready.before(window.end).map(usize::from);
        free().for_each(|port| prefetch(&self.ports[port]));
        free().for_each(|port| self.prefetch_queue(port, window));
        for port in free() {
            if let Some(queue) = self.next_queue(port) {
                queue.packets.prefetch();
            }
            window
                .inboxes
                .prefetch_push(self.ports[port].end.transmitter.peer);
        }
        self.prefetch_from(0, window);
    }

    /// Before packet `at` is taken: when a block begins, prefetches what the next one needs.
    #[inline(always)]
    pub(super) fn prefetch_block(&mut self, at: usize, window: &mut Window<'_, '_>) {
        if at.is_multiple_of(BLOCK) {
            self.prefetch_from(at + BLOCK, window);
        }
    }

    /// Looks up the ways of a block of packets and prefetches what is there, in rounds: what a round reads, the round before has
    /// prefetched.
    #[inline(never)]
    fn prefetch_from(&mut self, first: usize, window: &mut Window<'_, '_>) {
        let plan = window.plan;
        for (place, _) in window.arrivals.block(first, BLOCK) {
            let packet = window.inboxes.at(place);
            window.routing.prefetch(packet);
            let class = plan.classes.of(packet.priority());
            prefetch(&self.ingress[self.index(packet.ingress, class)]);
        }
        let way_on = window.routing.from(self.id);
        for (place, way) in window.arrivals.block(first, BLOCK) {
            let packet = window.inboxes.at(place);
            *way = NO_WAY;
            if let Some(to) = way_on.of(packet).filter(|_| packet.kind != Kind::Pfc) {
                let class = plan.classes.of(packet.priority());
                prefetch(&self.ports[usize::from(to)]);
                prefetch(&self.queues[self.index(to, class)]);
                *way = to;
            }
        }
        for (_, way) in window.arrivals.block(first, BLOCK) {
            if let Some(port) = self.ports.get(usize::from(*way)) {
                window.inboxes.prefetch(port.end.transmitter.peer);
                window.calendar.prefetch(port.end.transmitter.peer);
            }
        }
        for (_, way) in window.arrivals.block(first, BLOCK) {
            if let Some(port) = self.ports.get(usize::from(*way)) {
                window.inboxes.prefetch_push(port.end.transmitter.peer);
            }
        }
    }

    /// The queue that a port sends from next, if the most urgent is first.
    fn next_queue(&self, port: usize) -> Option<&Queue> {
        let eligible = self.ports[port].end.eligible();
        let class = 7_u32.checked_sub(eligible.leading_zeros())?;
        self.queues.get(port * self.classes + class as usize)
    }

    fn prefetch_queue(&self, port: usize, window: &Window<'_, '_>) {
        if let Some(queue) = self.next_queue(port) {
            prefetch(queue);
        }
        window
            .inboxes
            .prefetch(self.ports[port].end.transmitter.peer);
    }
}
