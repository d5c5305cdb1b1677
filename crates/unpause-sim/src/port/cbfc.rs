//! Credit-based flow control of a switch. A lossless class counts as paused while the packet at the head of its queue has no
//! credits; its congestion point is always asked, and that path comes here.

use unpause_protocols::units::Time;

use super::chassis::{Chassis, Model, Way};
use super::pause::UPDATE;
use crate::engine::heap::Entry;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::fabric::packet::Packet;
use crate::link::pause::Place;

impl<M: Model> Chassis<M> {
    /// A packet has been admitted that takes credits.
    #[cold]
    #[inline(never)]
    pub fn take_credits(&mut self, packet: &Packet, way: Way, window: &mut Window<'_, '_>) {
        window.take_credits((self.id, way.from), way.class, packet);
    }

    /// A packet that took credits starts to leave, or is dropped.
    #[cold]
    #[inline(never)]
    pub fn free_credits(
        &mut self,
        now: Time,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        let due = window.free_credits(now, (self.id, way.from), way.class, packet);
        if let Some(due) = due {
            self.timers.push(Entry::new(due, way.from.into(), UPDATE));
        }
    }

    /// An update is due.
    #[cold]
    #[inline(never)]
    pub(super) fn send_update(&mut self, now: Time, port: PortId, window: &mut Window<'_, '_>) {
        if let Some(due) = window.send_update(now, (self.id, port)) {
            self.timers.push(Entry::new(due, port.into(), UPDATE));
        }
    }

    /// An update has come in by port `from`.
    #[cold]
    #[inline(never)]
    pub(super) fn on_update(
        &mut self,
        now: Time,
        from: PortId,
        packet: &Packet,
        window: &mut Window<'_, '_>,
    ) {
        let class = window.plan.classes.of(packet.priority());
        window.on_update((self.id, from), class, packet);
        self.go_on(now, from, class, window);
    }

    /// There may be credits again for what is at the head of a queue.
    #[cold]
    pub(super) fn go_on(
        &mut self,
        now: Time,
        from: PortId,
        class: u8,
        window: &mut Window<'_, '_>,
    ) {
        let at = (self.id, from);
        let index = self.index(from, class);
        let stopped = self.ports[usize::from(from)].end.is_paused(class);
        let head = self.queues[index].packets.head_bytes();
        if !stopped || !window.may_send(at, class, 0, head) {
            return;
        }
        let place = Place::of(at, class, window.plan);
        let state = self.queues[index].state(0);
        let egress = &mut self.egress[index];
        let port = &mut self.ports[usize::from(from)];
        let xon = (class, Time::ZERO);
        port.end
            .obey(now, xon, &mut egress.pause, place, window.log);
        egress.congestion_point.on_resume(now, state);
        self.send_if_free(now, from, window);
    }

    /// A packet is about to leave: what is behind it may have no credits left.
    #[cold]
    #[inline(never)]
    pub(super) fn look_behind(
        &mut self,
        now: Time,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        let head = self.queues[self.index(way.to, way.class)]
            .packets
            .head_bytes();
        self.stop_without_credits(now, way, (packet.bytes.into(), head), window);
    }

    /// Stops a class if it has no credits for the packet of `bytes` that is to leave next, once one of `before` bytes has
    /// left, which has left the port at `busy`.
    #[cold]
    #[inline(never)]
    pub(super) fn stop_without_credits(
        &mut self,
        now: Time,
        way: Way,
        (before, bytes): (u32, u32),
        window: &mut Window<'_, '_>,
    ) {
        let Way { to, class, .. } = way;
        let end = &mut self.ports[usize::from(to)].end;
        if bytes == 0 || end.is_paused(class) {
            return;
        }
        if window.may_send((self.id, to), class, before, bytes) {
            return;
        }
        let free = match before {
            0 => end.busy_until,
            _ => {
                let wire = u64::from(before) + window.ports.framing_bytes;
                now + end.transmitter.speed.time_for(wire)
            }
        };
        let place = Place::of((self.id, to), class, window.plan);
        let egress = &mut self.egress[usize::from(to) * self.classes + usize::from(class)];
        end.wait_for_credits(now, (class, free), &mut egress.pause, place, window.log);
        egress.congestion_point.on_pause(now);
    }
}
