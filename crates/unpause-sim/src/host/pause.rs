//! PFC at a host: classes that the switch stops.

use unpause_protocols::flow_control::pfc::Change;
use unpause_protocols::units::Time;

use super::state::Host;
use super::timer::Timer;
use crate::engine::window::Window;
use crate::link::pause::{PendingPause, Place};
use crate::plan::Plan;

impl Host {
    pub(super) fn obey(&mut self, now: Time, reaction: PendingPause, window: &mut Window<'_, '_>) {
        if window.plan.config.host.ignores_pause.contains(&self.id) {
            return;
        }
        for class in 0..self.nic.classes.len() as u8 {
            if reaction.priorities >> window.plan.classes.priority(class) & 1 == 1 {
                let place = self.place(class, window.plan);
                let pause = &mut self.nic.classes[class as usize].pause;
                let since = pause.held_since();
                let frame = (class, reaction.pause);
                let effect = self.nic.end.obey(now, frame, pause, place, window.log);
                if !self.nic.stopped_by.is_empty() {
                    self.note_frame(now, class, reaction.pause, since, window.plan);
                }
                self.arm_expiry(class, effect.due);
                self.after_pause_change(now, class);
                if self.nic.end.is_paused(class) {
                    self.leave_stopped(now, class, window.plan);
                }
            }
        }
    }

    /// The time of a PAUSE of `class` may have run out.
    pub(super) fn on_pause_expiry(&mut self, now: Time, class: u8, window: &mut Window<'_, '_>) {
        let place = self.place(class, window.plan);
        let pause = &mut self.nic.classes[class as usize].pause;
        let since = pause.held_since();
        let effect = self.nic.end.on_expiry(now, class, pause, place, window.log);
        let Some(effect) = effect else { return };
        self.arm_expiry(class, effect.due);
        if effect.change == Change::Resumed {
            if !self.nic.stopped_by.is_empty() {
                self.note_expiry(now, class, window.plan);
                self.note_go(now, class, since, window.plan);
            }
            self.after_pause_change(now, class);
        }
    }

    /// Sets a timer for the end of a PAUSE of `class`, if there is to be one.
    fn arm_expiry(&mut self, class: u8, due: Option<Time>) {
        if let Some(due) = due {
            let nic = self.number;
            let entry = Timer::Pause { nic, class }.entry(due, class.into());
            self.timers.push(entry);
        }
    }

    fn after_pause_change(&mut self, now: Time, class: u8) {
        let may_send = self.in_list || self.nic.end.eligible() != 0;
        if may_send && !self.nic.end.is_paused(class) {
            self.nic.at = self.nic.at.min(self.nic.end.busy_until.max(now));
        }
    }

    pub(super) fn place(&self, class: u8, plan: &Plan<'_>) -> Place {
        Place::of((self.id, self.number), class, plan)
    }
}
