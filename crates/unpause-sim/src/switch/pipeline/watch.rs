//! CaPFC: egress queues mark the inputs that fill them.

use unpause_protocols::units::Time;

use super::Pipeline;
use crate::chassis::{Chassis, Counted, Way};
use crate::config::FullQueue;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::fabric::packet::Packet;

/// A change of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Enqueue,
    Dequeue,
}

impl Pipeline {
    /// A packet has joined the egress queue of `way`: inputs may be marked.
    #[inline]
    pub(super) fn watch_joined(
        switch: &mut Chassis<Self>,
        now: Time,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        Self::watch(switch, now, packet, way, Change::Enqueue, window);
    }

    /// A packet has left the egress queue of `way`: marks may be cleared.
    #[inline]
    pub(super) fn watch_left(
        switch: &mut Chassis<Self>,
        now: Time,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        Self::watch(switch, now, packet, way, Change::Dequeue, window);
    }

    #[inline]
    fn watch(
        switch: &mut Chassis<Self>,
        now: Time,
        packet: &Packet,
        way: Way,
        change: Change,
        window: &mut Window<'_, '_>,
    ) {
        let index = switch.index(way.to, way.class);
        let FullQueue::Capfc(params) = &switch.model.full_queue else {
            return;
        };
        let watcher = &mut switch.model.watchers[index];
        let bytes = u32::from(packet.bytes);
        let mut touched = std::mem::take(&mut switch.model.touched);
        let touch = |input: usize| touched.push(input as PortId);
        match change {
            Change::Enqueue => watcher.on_enqueue(usize::from(way.from), bytes, params, touch),
            Change::Dequeue => watcher.on_dequeue(bytes, params, touch),
        }
        let frames = &window.plan.config.switch.pfc.params;
        // A packet that goes back where it came from says nothing of the others.
        for input in touched.drain(..).filter(|&it| it != way.to) {
            let at = switch.index(input, way.class);
            let ingress = &mut switch.inputs.ingress[at];
            let action = match change {
                Change::Enqueue => ingress.source.on_mark(now, ingress.pause, frames),
                Change::Dequeue => ingress.source.on_clear(now, ingress.pause, frames),
            };
            let joining = (change == Change::Enqueue).then_some((packet, way.from));
            let counted = Counted::Queue(way.to, joining);
            Self::decided(switch, now, input, way.class, action, counted, window);
        }
        switch.model.touched = touched;
    }
}
