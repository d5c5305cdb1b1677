//! Link-level retry at a host: timers for NICs that may have to resend.

use unpause_protocols::units::Time;

use super::state::{Host, KIND_SHIFT, PAUSE, PULLS};
use crate::engine::heap::Entry;
use crate::engine::window::Window;
use crate::fabric::PortId;

/// This bit distinguishes a timer of a NIC that may have to resend from one for the end of a PAUSE.
const RETRY: u32 = 1 << (KIND_SHIFT - 2);
/// That bit and the one for updates of credits.
const FLAGS: u32 = 0b11 << (KIND_SHIFT - 2);

impl Host {
    /// Sets timers for NICs that may have to resend.
    #[cold]
    #[inline(never)]
    pub(super) fn take_wakes(&mut self, window: &mut Window<'_, '_>) {
        for (due, nic) in window.take_wakes() {
            let payload = PAUSE << KIND_SHIFT | RETRY | u32::from(nic) << 3;
            self.timers.push(Entry::new(due, nic.into(), payload));
        }
    }

    /// Resends if the timer of this slot was for that. Returns whether it was.
    #[cold]
    pub(super) fn sends_again(
        &mut self,
        now: Time,
        slot: u32,
        window: &mut Window<'_, '_>,
    ) -> bool {
        if slot == PULLS || slot & FLAGS != RETRY {
            return false;
        }
        let nic = ((slot & !RETRY) >> 3) as PortId;
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
        true
    }
}
