//! Credit-based flow control of a switch. A lossless class counts as paused while the packet at the head of its queue has no
//! credits; its congestion point is always asked, and that path comes here.

use unpause_protocols::flow_control::pfc::Change;
use unpause_protocols::units::Time;

use super::chassis::{Chassis, Model, Way};
use super::pause::{UPDATE, place};
use crate::engine::heap::Entry;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::fabric::packet::Packet;

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
        let stopped = self.ports[usize::from(from)].paused >> class & 1 == 1;
        let head = self.queues[index].packets.head_bytes();
        if !stopped || !window.may_send(at, class, 0, head) {
            return;
        }
        let place = place(self.id, from, class, window.plan);
        let state = self.queues[index].state(0);
        let egress = &mut self.egress[index];
        egress
            .transmitter
            .on_frame(now, Time::ZERO, now, place, window.log);
        egress.congestion_point.on_resume(now, state);
        let port = &mut self.ports[usize::from(from)];
        port.paused &= !(1 << class);
        if port.ready {
            return;
        }
        match port.busy_until <= now {
            true => self.send_next(now, from, window),
            false => port.schedule(from, &mut self.ready),
        }
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
        let port = &mut self.ports[usize::from(to)];
        if bytes == 0 || port.paused >> class & 1 == 1 {
            return;
        }
        if window.may_send((self.id, to), class, before, bytes) {
            return;
        }
        let busy = match before {
            0 => port.busy_until,
            _ => {
                let wire = u64::from(before) + window.ports.framing_bytes;
                now + port.transmitter.speed.time_for(wire)
            }
        };
        port.paused |= 1 << class;
        let place = place(self.id, to, class, window.plan);
        let index = self.index(to, class);
        let egress = &mut self.egress[index];
        let change = egress
            .transmitter
            .on_frame(now, Time::NEVER, busy, place, window.log);
        debug_assert!(change == Change::Paused, "it was not stopped");
        egress.congestion_point.on_pause(now);
    }
}
