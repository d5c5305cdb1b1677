//! A port whose link fails or returns, between two windows.
//!
//! What waits for a dead port is lost, and so is what routes still send there: its queues let nothing join, which
//! costs a port that works nothing. PFC begins anew at both ends of a link of which either direction fails or
//! returns: an XOFF that no XON would follow is forgotten, and who can still send repeats the XOFF that it means.

use unpause_protocols::flow_control::pfc::Action;
use unpause_protocols::units::Time;

use super::chassis::{Chassis, Model, Way};
use super::ingress::PauseSource;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::packet::Packet;
use crate::paused::PendingPause;
use crate::results::LossPlace;

impl<M: Model> Chassis<M> {
    /// True if the wire behind `port` has failed.
    #[inline]
    pub fn is_down(&self, port: PortId) -> bool {
        self.ports[usize::from(port)].down
    }

    /// The wire behind `port` fails or returns: nothing has been done about that yet, and nothing is sent.
    pub fn set_link(&mut self, port: PortId, up: bool) {
        self.ports[usize::from(port)].down = !up;
        let first = self.index(port, 0);
        for index in first..first + self.classes {
            let point = &self.egress[index].congestion_point;
            self.queues[index].let_join(up, point, !self.input_points.is_empty());
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
            let index = self.index(port, class);
            while !self.queues[index].packets.is_empty() {
                let queue = &mut self.queues[index];
                let packet = queue.packets.pop();
                queue.bytes -= u64::from(packet.bytes);
                let more = !queue.packets.is_empty();
                self.ports[usize::from(port)].backlog &= !(u8::from(!more) << class);
                if let Some(scheduler) = self.schedulers.get_mut(usize::from(port)) {
                    scheduler.on_dequeue(class, u32::from(packet.bytes), more);
                }
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

    /// PFC begins anew at a port: a direction of its link has failed or returned.
    fn restart_pfc(&mut self, now: Time, port: PortId, window: &mut Window<'_, '_>) {
        self.pending_pauses.forget(port);
        let end = &mut self.ports[usize::from(port)];
        if end.down {
            (end.xoff, end.xon) = (0, 0);
        }
        for class in 0..self.classes as u8 {
            let stops = self.ingress[self.index(port, class)].source.is_xoff();
            if stops && window.plan.classes.is_lossless(class) {
                self.request_pfc(now, port, class, Action::Xoff, window);
            }
        }
        let go_on = PendingPause {
            time: now,
            port,
            priorities: u8::MAX,
            pause: Time::ZERO,
        };
        self.obey(now, go_on, window);
    }

    /// A packet was to join a queue of a dead port.
    #[cold]
    pub(super) fn lose_at_port(
        &mut self,
        now: Time,
        packet: &Packet,
        way: Way,
        window: &mut Window<'_, '_>,
    ) {
        window.lose((self.id, way.to), LossPlace::Port, packet);
        M::refused(self, now, packet, way, window);
    }
}
