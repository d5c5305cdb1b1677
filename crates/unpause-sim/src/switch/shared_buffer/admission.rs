//! Admission where ports, priorities or classes differ. A switch without such settings takes none of these paths.

use unpause_protocols::units::Time;

use super::SharedBuffer;
use super::own_settings::Terms;
use crate::engine::window::Window;
use crate::fabric::packet::Packet;
use crate::port::{Chassis, Way};

impl SharedBuffer {
    /// The most that the lossy egress queue with this index among all may hold, bytes.
    pub(super) fn most(&self, index: usize) -> u64 {
        let own = self.own_settings.as_ref();
        let own = own.and_then(|it| it.most(index, &self.pool));
        own.unwrap_or_else(|| self.lossy.of(&self.pool))
    }
}

impl Chassis<SharedBuffer> {
    /// [`Chassis::take_in`] where places differ.
    #[cold]
    #[inline(never)]
    pub(super) fn take_in_by_own_settings(
        &mut self,
        now: Time,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        let Some(own) = &self.model.own_settings else {
            return;
        };
        let (class, group) = own.of(window.plan.classes.of(packet.priority()));
        let way = Way { class, ..way };
        let index = self.index(way.to, way.class);
        let terms = Terms {
            group,
            threshold: own.threshold(self.index(way.from, group)),
            most: own.most(index, &self.model.pool),
        };
        let fits = |most| self.queues[index].bytes + u64::from(packet.bytes) <= most;
        if self.is_closed(way.to, way.class) {
            self.lose_at_port(packet, way, window);
        } else if terms.most.is_none_or(fits) && self.admit(now, packet, way, terms, window) {
            if self.watches_inputs() {
                self.accuse_at_input(now, packet, way, window);
            }
            self.join(now, packet, way, window);
        } else {
            self.refuse(now, packet, way, window);
        }
    }

    /// [`SharedBuffer::left`] where places differ.
    #[cold]
    #[inline(never)]
    pub(super) fn left_by_own_settings(
        &mut self,
        now: Time,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        let bytes = u32::from(packet.bytes);
        let model = &mut self.model;
        let Some(own) = &model.own_settings else {
            return;
        };
        let (_, group) = own.of(window.plan.classes.of(packet.priority()));
        if model.lossless >> group & 1 == 0 {
            return model.pool.give(u64::from(bytes));
        }
        let index = usize::from(way.from) * self.classes + usize::from(group);
        let threshold = own.threshold(index);
        let account = &mut self.ingress[index].source;
        let action = account.release(now, bytes, &mut model.pool, &threshold);
        self.request_pfc(now, way.from, group, action, window);
    }
}
