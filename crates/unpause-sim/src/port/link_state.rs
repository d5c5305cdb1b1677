//! A port whose link fails or returns, between two windows.
//!
//! What waits for a dead port is lost, and so is what routes still send there: its queues let nothing join, which
//! costs a port that works nothing. PFC restarts at both ends of a link of which either direction fails or
//! returns: an XOFF that no XON would follow is forgotten, and who can still send repeats the XOFF that it means.

use unpause_protocols::flow_control::pfc::Action;
use unpause_protocols::units::{LinkSpeed, Time};

use super::chassis::{Chassis, Model, Way};
use super::ingress::PauseSource;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::fabric::packet::Packet;
use crate::link::pause::PendingPause;
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
}
