//! PFC at a host: classes that the switch stops.

use unpause_protocols::flow_control::pfc::Change;
use unpause_protocols::units::Time;

use super::state::{Host, KIND_SHIFT, PAUSE};
use crate::engine::heap::Entry;
use crate::engine::window::Window;
use crate::plan::Plan;
use crate::port::paused::{PendingPause, Place};

impl Host {
    pub(super) fn obey(&mut self, now: Time, reaction: PendingPause, window: &mut Window<'_, '_>) {
        if window.plan.config.host.ignores_pause.contains(&self.id) {
            return;
        }
        for class in 0..self.classes.len() as u8 {
            if reaction.priorities >> window.plan.classes.priority(class) & 1 == 1 {
                let place = self.place(class, window.plan);
                let busy = self.busy_until;
                let transmitter = &mut self.classes[class as usize].transmitter;
                let since = transmitter.held_since();
                transmitter.on_frame(now, reaction.pause, busy, place, window.log);
                if !self.stopped_by.is_empty() {
                    self.note_frame(now, class, reaction.pause, since, window.plan);
                }
                self.after_pause_change(now, class);
            }
        }
    }

    /// The time of a PAUSE of `class` may have run out.
    pub(super) fn on_pause_expiry(&mut self, now: Time, class: u8, window: &mut Window<'_, '_>) {
        let place = self.place(class, window.plan);
        let transmitter = &mut self.classes[class as usize].transmitter;
        if !transmitter.takes_timer(now) {
            return;
        }
        let since = transmitter.held_since();
        match transmitter.on_timer(now, place, window.log) {
            Change::Resumed => {
                if !self.stopped_by.is_empty() {
                    self.note_expiry(now, class, window.plan);
                    self.note_go(now, class, since);
                }
                self.after_pause_change(now, class);
            }
            Change::None | Change::Paused => self.arm_expiry(class),
        }
    }

    pub(super) fn after_pause_change(&mut self, now: Time, class: u8) {
        if self.classes[class as usize].transmitter.is_paused() {
            self.paused_mask |= 1 << class;
            return self.arm_expiry(class);
        }
        self.paused_mask &= !(1 << class);
        if self.hpcc_nic || self.ready_mask & !(self.paused_mask as u8) != 0 {
            self.nic_at = self.nic_at.min(self.busy_until.max(now));
        }
    }

    /// Sets the timer for the end of a PAUSE of `class`.
    fn arm_expiry(&mut self, class: u8) {
        if let Some(due) = self.classes[class as usize].transmitter.arm() {
            let payload = PAUSE << KIND_SHIFT | u32::from(self.number) << 3 | u32::from(class);
            self.timers.push(Entry::new(due, class.into(), payload));
        }
    }

    pub(super) fn place(&self, class: u8, plan: &Plan<'_>) -> Place {
        let record = plan.config.probes.pauses && plan.config.switch.cbfc.is_none();
        Place {
            node: self.id,
            port: self.number,
            priority: plan.classes.priority(class),
            record,
        }
    }
}
