//! What shapers do to a switch. A class that a shaper holds counts as one that may not send, as under PAUSE; each packet of such a
//! switch takes the path that comes here.

use unpause_protocols::units::Time;

use super::chassis::{Chassis, Model, Way};
use crate::engine::window::Window;

impl<M: Model> Chassis<M> {
    /// A frame has started to leave: its shapers may hold what is behind it.
    #[cold]
    #[inline(never)]
    pub(super) fn shape(&mut self, now: Time, wire_bytes: u64, way: Way) {
        let place = (self.index(way.to, way.class), way.to, way.class);
        let Some(shapers) = &mut self.shapers else {
            return;
        };
        let end = &mut self.ports[usize::from(way.to)].end;
        for timer in shapers.on_leave((now, end.busy_until), wire_bytes, place) {
            self.timers.push(timer);
        }
        end.paused |= shapers.held(way.to);
    }

    /// A shaper lets its class or its port go on.
    #[cold]
    #[inline(never)]
    pub(super) fn let_go(&mut self, now: Time, bucket: usize, window: &mut Window<'_, '_>) {
        let Some(shapers) = &mut self.shapers else {
            return;
        };
        let port = shapers.let_go(bucket);
        let held = shapers.held(port);
        let first = usize::from(port) * self.classes;
        let of_port = &self.egress[first..first + self.classes];
        let paused = of_port.iter().enumerate();
        let paused = paused.filter(|(_, it)| it.pause.is_paused());
        let end = &mut self.ports[usize::from(port)].end;
        end.paused = paused.fold(held, |all, (class, _)| all | 1 << class);
        self.send_if_free(now, port, window);
    }
}
