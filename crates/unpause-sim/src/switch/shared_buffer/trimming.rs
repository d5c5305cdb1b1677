//! What becomes of a packet for which a shared buffer has no room.

use rand_core::Rng;
use unpause_protocols::units::Time;

use super::SharedBuffer;
use crate::config::Cut;
use crate::engine::window::Window;
use crate::fabric::packet::{Kind, Packet};
use crate::port::{Chassis, Model, Way};

impl Chassis<SharedBuffer> {
    /// There is no room for a packet: drops or trims it, or the newest one in its queue.
    #[cold]
    #[inline(never)]
    pub(super) fn refuse(
        &mut self,
        now: Time,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        if self.cuts_newest(packet, way, window) {
            return self.replace_newest(now, packet, way, window);
        }
        match self.trim(packet, way, window) {
            Some((header, way)) => self.take_in(now, &header, way, window),
            None => self.discard(self.index(way.to, way.class), packet, window),
        }
    }

    /// True if the newest packet in the queue is to be trimmed instead of the one that arrives, for which there is room then.
    fn cuts_newest(&mut self, packet: &Packet, way: Way, window: &Window<'_, '_>) -> bool {
        let Some(trimming) = &window.plan.config.switch.trimming else {
            return false;
        };
        let lossless = self.lossless >> way.class & 1 == 1;
        if trimming.cut == Cut::Arriving || packet.kind != Kind::Data || lossless {
            return false;
        }
        let heads = self.rng.next_u32() & 1 == 1;
        let index = self.index(way.to, way.class);
        let queue = &self.queues[index];
        let (size, model) = (u64::from(packet.bytes), &self.model);
        heads
            && queue.packets.newest().is_some_and(|newest| {
                let freed = u64::from(newest.bytes);
                let (bytes, used) = (queue.bytes - freed, model.pool.used - freed);
                let fits = bytes + size <= model.most(index) && used + size <= model.pool.size;
                fits && newest.kind == Kind::Data && newest.bytes > trimming.bytes
            })
    }

    /// Trims the newest packet in a queue, and takes in the one that arrives.
    fn replace_newest(
        &mut self,
        now: Time,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        let index = self.index(way.to, way.class);
        let queue = &mut self.queues[index];
        let newest = queue.packets.pop_newest().expect("the queue has a packet");
        queue.bytes -= u64::from(newest.bytes);
        let from = Way {
            from: newest.ingress,
            ..way
        };
        SharedBuffer::left(self, now, &newest, from, window);
        self.take_in(now, packet, way, window);
        if let Some((header, way)) = self.trim(&newest, from, window) {
            self.take_in(now, &header, way, window);
        }
    }
}
