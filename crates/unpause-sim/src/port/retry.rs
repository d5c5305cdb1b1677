//! Link-level retry at a switch: timers for ports that may have to resend.

use unpause_protocols::units::Time;

use super::chassis::{Chassis, Model};
use super::pause::RETRY;
use crate::engine::heap::Entry;
use crate::engine::window::Window;
use crate::fabric::PortId;

impl<M: Model> Chassis<M> {
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
}
