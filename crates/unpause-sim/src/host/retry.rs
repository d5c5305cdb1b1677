//! Link-level retry at a host: timers for NICs that may have to resend.

use unpause_protocols::units::Time;

use super::state::Host;
use super::timer::Timer;
use crate::engine::window::Window;
use crate::fabric::PortId;

impl Host {
    /// Sets timers for NICs that may have to resend.
    #[cold]
    #[inline(never)]
    pub(super) fn take_wakes(&mut self, window: &mut Window<'_, '_>) {
        for (due, nic) in window.take_wakes() {
            let entry = Timer::Retry { nic }.entry(due, nic.into());
            self.timers.push(entry);
        }
    }

    /// The timer of a NIC that may have to resend is due.
    #[cold]
    pub(super) fn send_again(&mut self, now: Time, nic: PortId, window: &mut Window<'_, '_>) {
        debug_assert_eq!(nic, self.number);
        let busy_until = window.send_again(now, (self.id, nic));
        if busy_until > self.nic.end.busy_until {
            self.nic.end.busy_until = busy_until;
            self.nic.at = self.nic.at.max(busy_until);
        }
        if !window.link_credits.are_unused() {
            for class in 0..self.nic.classes.len() as u8 {
                if window.plan.classes.is_lossless(class) {
                    self.go_on(now, class, window);
                }
            }
        }
    }
}
