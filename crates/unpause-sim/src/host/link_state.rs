//! A host whose link fails or returns, between two windows. It keeps what it has to send until the link is there again:
//! a port that is busy for ever sends nothing.

use unpause_protocols::units::Time;

use super::state::Host;
use crate::engine::window::Window;
use crate::paused::PendingPause;

impl Host {
    /// The wire behind the host fails or returns.
    pub fn set_link(&mut self, now: Time, up: bool) {
        if !up {
            self.busy_until = Time::NEVER;
            self.nic_at = Time::NEVER;
            return;
        }
        self.busy_until = now;
        self.set_nic(now);
        if self.hpcc_nic {
            self.look(now);
        }
    }

    /// PFC begins anew: a direction of the link has failed or returned.
    pub fn restart_pfc(&mut self, now: Time, window: &mut Window<'_, '_>) {
        self.pending_pauses.forget(0);
        self.set_rare();
        let go_on = PendingPause {
            time: now,
            port: 0,
            priorities: u8::MAX,
            pause: Time::ZERO,
        };
        self.obey(now, go_on, window);
    }
}
