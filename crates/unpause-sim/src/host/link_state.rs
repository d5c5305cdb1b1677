//! A host of which a link fails or returns, between two windows. It keeps what it has to send there until the link is there
//! again: a port that is busy forever sends nothing.

use unpause_protocols::units::{LinkSpeed, Time};

use super::state::Host;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::link::pause::PendingPause;
use crate::plan::Plan;

impl Host {
    /// The wire behind a NIC fails or returns.
    pub fn set_link(&mut self, now: Time, nic: PortId, up: bool) {
        self.turn_to(nic);
        if !up {
            self.nic.end.busy_until = Time::NEVER;
            self.nic.at = Time::NEVER;
            return;
        }
        self.nic.end.busy_until = now;
        self.set_nic(now);
        if self.hpcc_nic {
            self.look(now);
        }
    }

    /// The wire behind a NIC has another speed from the next frame on.
    pub fn set_speed(&mut self, nic: PortId, speed: LinkSpeed) {
        match nic == self.number {
            true => self.nic.end.transmitter.speed = speed,
            false => self.others[usize::from(nic)].end.transmitter.speed = speed,
        }
    }

    /// The speed of the link by which the host works with, as the fabric has it, also while it is slower: what senders take
    /// for their line rate.
    pub(super) fn line_speed(&self, plan: &Plan<'_>) -> LinkSpeed {
        plan.ports.transmitters[self.nic.port as usize].speed
    }

    /// PFC restarts at a NIC: a direction of its link has failed or returned.
    pub fn restart_pfc(&mut self, now: Time, nic: PortId, window: &mut Window<'_, '_>) {
        self.turn_to(nic);
        self.pending_pauses.forget(nic);
        self.set_rare();
        self.obey(now, PendingPause::resume_all(now, nic), window);
        if self.nic.end.busy_until.is_never() {
            for class in 0..self.nic.classes.len() as u8 {
                self.leave_stopped(now, class, window.plan);
            }
        }
    }
}
