//! Admission where ports, priorities or classes differ. A switch without such settings takes none of these paths.

use unpause_protocols::units::Time;

use super::SharedBuffer;
use super::own_settings::Terms;
use crate::chassis::{Chassis, Way};
use crate::engine::window::Window;
use crate::fabric::packet::Packet;

impl SharedBuffer {
    /// The most that the lossy egress queue with this index among all may hold, bytes.
    pub(super) fn most(&self, index: usize) -> u64 {
        let own = self.own_settings.as_ref();
        let own = own.and_then(|it| it.most(index, &self.pool));
        own.unwrap_or_else(|| self.lossy.of(&self.pool))
    }
}

impl SharedBuffer {
    /// [`Chassis::take_in`] where places differ.
    #[cold]
    #[inline(never)]
    pub(super) fn take_in_by_own_settings(
        switch: &mut Chassis<Self>,
        now: Time,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        let Some(own) = &switch.model.own_settings else {
            return;
        };
        let (class, group) = own.of(window.plan.classes.of(packet.priority()));
        let way = Way { class, ..way };
        let index = switch.index(way.to, way.class);
        let terms = Terms {
            group,
            threshold: own.threshold(switch.index(way.from, group)),
            most: own.most(index, &switch.model.pool),
        };
        let fits = |most| switch.outputs.queues[index].bytes + u64::from(packet.bytes) <= most;
        if switch.outputs.is_closed(way.to, way.class) {
            switch.lose_at_port(packet, way, window);
        } else if terms.most.is_none_or(fits)
            && Self::admit(switch, now, packet, way, terms, window)
        {
            if switch.inputs.are_watched() {
                Self::accuse_at_input(switch, now, packet, way, window);
            }
            switch.join(now, packet, way, window);
        } else {
            Self::refuse(switch, now, packet, way, window);
        }
    }

    /// [`SharedBuffer::left`] where places differ.
    #[cold]
    #[inline(never)]
    pub(super) fn left_by_own_settings(
        switch: &mut Chassis<Self>,
        now: Time,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        let bytes = u32::from(packet.bytes);
        let model = &mut switch.model;
        let Some(own) = &model.own_settings else {
            return;
        };
        let (_, group) = own.of(window.plan.classes.of(packet.priority()));
        if model.lossless >> group & 1 == 0 {
            return model.pool.give(u64::from(bytes));
        }
        let index = usize::from(way.from) * switch.outputs.classes + usize::from(group);
        let threshold = own.threshold(index);
        let account = &mut switch.inputs.ingress[index].source;
        let action = account.release(now, bytes, &mut model.pool, &threshold);
        switch.request_pfc(now, way.from, group, action, window);
    }
}
