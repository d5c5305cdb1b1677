//! What the link of a port does to its switch: it fails and returns between two windows, its peer retries, and credits hold
//! packets back.
//!
//! What waits for a dead port is lost, and so is what routes still send there: its queues let nothing join, which costs a port
//! that works nothing. PFC restarts at both ends of a link of which either direction fails or returns: an XOFF that no XON would
//! follow is forgotten, and who can still send repeats the XOFF that it means.
//!
//! With credits, a lossless class counts as paused while the packet at the head of its queue has none; its congestion point is
//! always asked, and that path comes here.

use unpause_protocols::flow_control::pfc::Action;
use unpause_protocols::units::{LinkSpeed, Time};

use super::chassis::{Chassis, Model, Way};
use super::ingress::PauseSource;
use super::pause::{RETRY, UPDATE};
use crate::engine::heap::Entry;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::fabric::packet::Packet;
use crate::link::pause::{PendingPause, Place};
use crate::outcome::results::LossPlace;

impl<M: Model> Chassis<M> {
    /// The wire behind `port` fails or returns: nothing has been done about that yet, and nothing is sent.
    pub fn set_link(&mut self, port: PortId, up: bool) {
        self.ports[usize::from(port)].down = !up;
        for class in 0..self.classes as u8 {
            self.let_join(port, class);
        }
    }

    /// The wire behind `port` has another speed from the next frame on.
    pub fn set_speed(&mut self, port: PortId, speed: LinkSpeed) {
        self.ports[usize::from(port)].end.transmitter.speed = speed;
        if let Some(meter) = self.meters.get_mut(usize::from(port)) {
            meter.set_link_rate(speed.rate());
        }
    }

    /// Lets packets join a queue, or none: the wire has failed, or the PFC watchdog drops them.
    pub(super) fn let_join(&mut self, port: PortId, class: u8) {
        let it = &mut self.ports[usize::from(port)];
        it.closed = if it.down { u8::MAX } else { it.shut };
        let open = it.closed >> class & 1 == 0;
        let index = self.index(port, class);
        let point = &self.egress[index].congestion_point;
        let watches_inputs = !self.input_points.is_empty();
        let looks = self.looked_at >> class & 1 == 1;
        self.queues[index].let_join(open, point, watches_inputs, looks);
    }

    /// True if no packet may join a queue.
    #[inline]
    pub fn is_closed(&self, port: PortId, class: u8) -> bool {
        self.ports[usize::from(port)].closed >> class & 1 == 1
    }

    /// Counts a packet that was to join a queue which is closed.
    #[cold]
    pub fn lose_at_port(&mut self, packet: &Packet, way: Way, window: &mut Window<'_, '_>) {
        match self.ports[usize::from(way.to)].down {
            true => window.lose((self.id, way.to), LossPlace::Port, packet),
            false => self.discard_in_storm(self.index(way.to, way.class), packet, false, window),
        }
    }

    /// Does what follows from a change of a link, `wire` being the new state of the direction in which the port sends if
    /// that is another.
    pub fn on_link(
        &mut self,
        now: Time,
        port: PortId,
        wire: Option<bool>,
        window: &mut Window<'_, '_>,
    ) {
        if wire == Some(false) {
            self.lose_queues(now, port, window);
        }
        self.restart_pfc(now, port, window);
    }

    /// Loses what waits for a port whose wire has failed.
    fn lose_queues(&mut self, now: Time, port: PortId, window: &mut Window<'_, '_>) {
        for class in 0..self.classes as u8 {
            while let Some(packet) = self.take_from_queue(port, class) {
                let way = Way {
                    from: packet.ingress,
                    to: port,
                    class,
                };
                window.lose((self.id, port), LossPlace::Queue, &packet);
                M::left(self, now, &packet, way, window);
            }
        }
    }

    /// Takes the next packet out of a queue, not to send it.
    pub(super) fn take_from_queue(&mut self, port: PortId, class: u8) -> Option<Packet> {
        let index = self.index(port, class);
        let queue = &mut self.queues[index];
        if queue.packets.is_empty() {
            return None;
        }
        let packet = queue.packets.pop();
        queue.bytes -= u64::from(packet.bytes);
        let more = !queue.packets.is_empty();
        self.ports[usize::from(port)].end.backlog &= !(u8::from(!more) << class);
        if let Some(scheduler) = self.schedulers.get_mut(usize::from(port)) {
            scheduler.on_dequeue(class, u32::from(packet.bytes), more);
        }
        Some(packet)
    }

    /// PFC restarts at a port: a direction of its link has failed or returned.
    fn restart_pfc(&mut self, now: Time, port: PortId, window: &mut Window<'_, '_>) {
        self.pending_pauses.forget(port);
        let it = &mut self.ports[usize::from(port)];
        if it.down {
            (it.end.xoff, it.end.xon) = (0, 0);
        }
        for class in 0..self.classes as u8 {
            let stops = self.ingress[self.index(port, class)].source.is_xoff();
            if stops && window.plan.classes.is_lossless(class) {
                self.request_pfc(now, port, class, Action::Xoff, window);
            }
        }
        self.obey(now, PendingPause::resume_all(now, port), window);
    }

    /// Sets timers for ports that may have to resend.
    pub(super) fn take_wakes(&mut self, window: &mut Window<'_, '_>) {
        for (due, port) in window.take_wakes() {
            self.timers.push(Entry::new(due, port.into(), RETRY));
        }
    }

    /// A port may have to resend.
    #[cold]
    pub(super) fn send_again(&mut self, now: Time, port: PortId, window: &mut Window<'_, '_>) {
        let busy_until = window.send_again(now, (self.id, port));
        let end = &mut self.ports[usize::from(port)].end;
        end.busy_until = end.busy_until.max(busy_until);
        if self.has_link_credits {
            for class in 0..self.classes as u8 {
                if window.plan.classes.is_lossless(class) {
                    self.go_on(now, port, class, window);
                }
            }
        }
    }

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
