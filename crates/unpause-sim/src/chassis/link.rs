//! Events of a port's link: it fails and returns between two windows, its peer retries, and credits hold
//! packets back.
//!
//! Packets that wait for a dead port are lost, and so are those that routes still send there: its queues let nothing join, which costs a port
//! that works nothing. PFC restarts at both ends of a link of which either direction fails or returns: an XOFF that no XON would
//! follow is forgotten, and who can still send repeats the XOFF that it means.
//!
//! With credits, a lossless class counts as paused while the packet at the head of its queue has none; its congestion point is
//! always asked, and that path comes here.

use unpause_protocols::flow_control::pfc::Action;
use unpause_protocols::units::Time;

use super::ingress::PauseSource;
use super::state::{Chassis, Model, Way};
use super::timer::Timer;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::fabric::packet::Packet;
use crate::link::pause::{PendingPause, Place};
use crate::outcome::results::LossPlace;

impl<M: Model> Chassis<M> {
    /// Counts a packet that was to join a queue which is closed.
    #[cold]
    pub fn lose_at_port(&mut self, packet: &Packet, way: Way, window: &mut Window<'_, '_>) {
        if self.outputs.ports[usize::from(way.to)].down {
            window.lose((self.id, way.to), LossPlace::Port, packet)
        } else {
            self.discard_in_storm(self.index(way.to, way.class), packet, false, window)
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
        for class in 0..self.outputs.classes as u8 {
            while let Some(packet) = self.outputs.take(port, class) {
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

    /// PFC restarts at a port: a direction of its link has failed or returned.
    fn restart_pfc(&mut self, now: Time, port: PortId, window: &mut Window<'_, '_>) {
        self.pfc.pending.forget(port);
        let own = &mut self.outputs.ports[usize::from(port)];
        if own.down {
            (own.end.xoff, own.end.xon) = (0, 0);
        }
        for class in 0..self.outputs.classes as u8 {
            let stops = self.inputs.ingress[self.index(port, class)]
                .source
                .is_xoff();
            if stops && window.plan.classes.is_lossless(class) {
                self.request_pfc(now, port, class, Action::Xoff, window);
            }
        }
        self.obey(now, PendingPause::resume_all(now, port), window);
    }

    /// Sets timers for ports that may have to resend.
    pub(super) fn take_wakes(&mut self, window: &mut Window<'_, '_>) {
        for (due, port) in window.take_wakes() {
            self.timers.push(Timer::Retry.entry(due, port.into()));
        }
    }

    /// A port may have to resend.
    #[cold]
    pub(super) fn send_again(&mut self, now: Time, port: PortId, window: &mut Window<'_, '_>) {
        let busy_until = window.send_again(now, (self.id, port));
        let end = &mut self.outputs.ports[usize::from(port)].end;
        end.busy_until = end.busy_until.max(busy_until);
        if self.outputs.has_link_credits {
            for class in 0..self.outputs.classes as u8 {
                if window.plan.classes.is_lossless(class) {
                    self.go_on(now, port, class, window);
                }
            }
        }
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
            self.timers.push(Timer::Update.entry(due, way.from.into()));
        }
    }

    /// An update is due.
    #[cold]
    #[inline(never)]
    pub(super) fn send_update(&mut self, now: Time, port: PortId, window: &mut Window<'_, '_>) {
        if let Some(due) = window.send_update(now, (self.id, port)) {
            self.timers.push(Timer::Update.entry(due, port.into()));
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
        let stopped = self.outputs.ports[usize::from(from)].end.is_paused(class);
        let head = self.outputs.queues[index].packets.head_bytes();
        if !stopped || !window.may_send(at, class, 0, head) {
            return;
        }
        let place = Place::of(at, class, window.plan);
        let state = self.outputs.queues[index].state(0);
        let egress = &mut self.outputs.egress[index];
        let port = &mut self.outputs.ports[usize::from(from)];
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
        let queue = &self.outputs.queues[self.index(way.to, way.class)];
        let next = (packet.bytes.into(), queue.packets.head_bytes());
        self.stop_without_credits(now, way, next, window);
    }

    /// [`Outputs::stop_without_credits`](super::outputs::Outputs::stop_without_credits) of this switch.
    #[inline]
    pub(super) fn stop_without_credits(
        &mut self,
        now: Time,
        Way { to, class, .. }: Way,
        bytes: (u32, u32),
        window: &mut Window<'_, '_>,
    ) {
        let place = (self.id, to, class);
        self.outputs.stop_without_credits(now, place, bytes, window);
    }
}
