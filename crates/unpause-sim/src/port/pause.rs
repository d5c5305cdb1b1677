//! PFC of a switch: sending PAUSE for its ingress, obeying it at its egress.

use unpause_protocols::flow_control::pfc::{Action, Change};
use unpause_protocols::units::Time;

use super::chassis::{Chassis, Model};
use super::egress::shaper::SHAPER;
use super::egress::watchdog::LOOK;
use super::ingress::PauseSource;
use crate::engine::heap::Entry;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::fabric::packet::{Kind, Packet};
use crate::link::end::{Effect, End};
use crate::link::pause::{PauseState, PendingPause, Place};
use crate::plan::Plan;

// Payloads of timers, beside that of watchdogs. The key of PFC's is the index of a (port, class), that of the model's its own number.
const MODEL: u32 = 0;
const REFRESH: u32 = 1;
const EXPIRY: u32 = 2;
/// Of the timer for the next update of a port with credits.
pub(super) const UPDATE: u32 = 4;
/// Of the timer for a port that may have to send again.
pub(super) const RETRY: u32 = 5;

impl<M: Model> Chassis<M> {
    /// Has [`Model::on_timer`] called at `at`; of simultaneous timers those with smaller numbers come first,
    /// among them those of PFC by the place of their (port, class).
    pub fn set_timer(&mut self, at: Time, number: u32) {
        self.timers.push(Entry::new(at, number, MODEL));
    }

    /// Sends, or has sent as soon as the port is free, a PFC frame to the peer at `port_id`, unless the switch never does.
    pub fn request_pfc(
        &mut self,
        now: Time,
        port_id: PortId,
        class: u8,
        action: Action,
        window: &mut Window<'_, '_>,
    ) {
        if self.never_pauses || self.is_masked(self.index(port_id, class)) {
            return;
        }
        if action == Action::None {
            return;
        }
        if action == Action::Xon && self.causes.is_some() {
            self.note_xon(now, port_id, class);
        }
        let port = &mut self.ports[port_id as usize];
        if port.down {
            (port.end.xoff, port.end.xon) = (0, 0);
        } else {
            port.end.request_pfc(class, action);
            if port.end.is_free(now) && !port.ready {
                self.send_pfc(now, port_id, window);
            } else {
                port.schedule(port_id, &mut self.ready);
            }
        }
        self.arm_refresh(self.index(port_id, class));
    }

    /// Sets the timer for the next PAUSE of ingress `index`, if one is to be repeated.
    fn arm_refresh(&mut self, index: usize) {
        let due = self.ingress[index].source.next_timer();
        let totals = &mut self.ingress_totals[index];
        if !due.is_never() && totals.timer_at.is_none_or(|at| due < at) {
            totals.timer_at = Some(due);
            self.timers.push(Entry::new(due, index as u32, REFRESH));
        }
    }

    /// Sends the PFC frames that a free port has been asked for.
    pub(super) fn send_pfc(&mut self, now: Time, port_id: PortId, window: &mut Window<'_, '_>) {
        let port = &mut self.ports[port_id as usize];
        let first = port_id as usize * self.classes;
        let count = |class: u8| {
            let index = first + usize::from(class);
            self.ingress_totals[index].pause_frames += 1;
            self.ingress[index].pause
        };
        port.end.send_pfc(now, count, window);
        if port.end.eligible() != 0 || port.end.has_pfc() {
            port.schedule(port_id, &mut self.ready);
        }
    }

    /// A PFC frame, or an update of credits, has arrived at port `from`.
    pub(super) fn on_pfc(
        &mut self,
        now: Time,
        from: PortId,
        packet: &Packet,
        window: &mut Window<'_, '_>,
    ) {
        if packet.kind == Kind::Credit {
            return self.on_update(now, from, packet, window);
        }
        let reaction = PendingPause::new(now, from, packet, window.plan);
        if let Some(reaction) = self.pending_pauses.delay(now, reaction) {
            self.obey(now, reaction, window);
        }
    }

    /// The priorities whose queues a PFC frame of these priorities stops: those that have PFC here, by the map.
    fn stopped_by(&self, priorities: u8, plan: &Plan<'_>) -> u8 {
        let classes = (0..self.classes as u8).filter(|class| self.lossless >> class & 1 == 1);
        let own = classes.map(|class| plan.classes.priority(class));
        let asked = own.filter(|priority| priorities >> priority & 1 == 1);
        let stopped = |priority: u8| match &self.pfc_to_queue {
            Some(map) => map[usize::from(priority)],
            None => priority,
        };
        asked.fold(0, |all, priority| all | 1 << stopped(priority))
    }

    /// A PFC frame takes effect.
    pub(super) fn obey(&mut self, now: Time, reaction: PendingPause, window: &mut Window<'_, '_>) {
        let classes = self.classes;
        let priorities = self.stopped_by(reaction.priorities, window.plan);
        for class in 0..classes as u8 {
            let says = priorities >> window.plan.classes.priority(class) & 1 == 1;
            if !says {
                continue;
            }
            let index = reaction.port as usize * classes + class as usize;
            if let Some(watchdogs) = &mut self.watchdogs {
                watchdogs.note_frame(index);
            }
            if !self.is_masked(index) {
                self.take_effect(now, reaction, class, window);
            }
        }
    }

    /// A PFC frame takes effect on one of the classes that it speaks of.
    pub(super) fn take_effect(
        &mut self,
        now: Time,
        reaction: PendingPause,
        class: u8,
        window: &mut Window<'_, '_>,
    ) {
        let place = Place::of((self.id, reaction.port), class, window.plan);
        let index = self.index(reaction.port, class);
        let (end, pause) = self.end(index);
        let frame = (class, reaction.pause);
        let effect = end.obey(now, frame, pause, place, window.log);
        if self.causes.is_some() && reaction.pause > Time::ZERO {
            self.note_stop(now, reaction.port, class, window.plan);
        }
        self.after_pause_change(now, reaction.port, class, effect, window);
    }

    /// True if a watchdog has switched off PFC of (port, class) `index`.
    fn is_masked(&self, index: usize) -> bool {
        let watchdogs = self.watchdogs.as_ref();
        watchdogs.is_some_and(|it| it.masks(index))
    }

    /// A queue has been paused or resumed.
    fn after_pause_change(
        &mut self,
        now: Time,
        port_id: PortId,
        class: u8,
        Effect { change, due }: Effect,
        window: &mut Window<'_, '_>,
    ) {
        let index = port_id as usize * self.classes + class as usize;
        if let Some(due) = due {
            self.timers.push(Entry::new(due, index as u32, EXPIRY));
        }
        if change == Change::Resumed && self.causes.is_some() {
            self.note_go(now, port_id, class, window.plan);
        }
        match change {
            Change::None => {}
            Change::Paused => self.egress[index].congestion_point.on_pause(now),
            Change::Resumed => {
                if let Some(watchdogs) = &mut self.watchdogs {
                    watchdogs.note_resumed(index);
                }
                let held = self.shapers.as_ref().map_or(0, |it| it.held(port_id));
                self.ports[port_id as usize].end.paused |= held;
                let state = self.queues[index].state(0);
                let egress = &mut self.egress[index];
                egress.congestion_point.on_resume(now, state);
                self.send_if_free(now, port_id, window);
            }
        }
    }

    /// Something at a port may be sent again: it leaves now, or as soon as the port is free.
    pub(super) fn send_if_free(&mut self, now: Time, port_id: PortId, window: &mut Window<'_, '_>) {
        let port = &mut self.ports[port_id as usize];
        if port.end.eligible() == 0 || port.ready {
            return;
        }
        match port.end.is_free(now) {
            true => self.send_next(now, port_id, window),
            false => port.schedule(port_id, &mut self.ready),
        }
    }

    /// The end of the link of egress queue `index`, and PAUSE that the queue obeys.
    fn end(&mut self, index: usize) -> (&mut End, &mut PauseState) {
        let end = &mut self.ports[index / self.classes].end;
        (end, &mut self.egress[index].pause)
    }

    /// A timer is due.
    pub(super) fn on_timer(&mut self, now: Time, window: &mut Window<'_, '_>) {
        let entry = self.timers.pop().expect("a timer is due");
        if entry.payload() == MODEL {
            return M::on_timer(self, now, entry.key(), window);
        }
        if entry.payload() == LOOK {
            return self.poll_watchdogs(now, window);
        }
        if entry.payload() == UPDATE {
            return self.send_update(now, entry.key() as PortId, window);
        }
        if entry.payload() == SHAPER {
            return self.let_go(now, entry.key() as usize, window);
        }
        if entry.payload() == RETRY {
            return self.send_again(now, entry.key() as PortId, window);
        }
        let index = entry.key() as usize;
        let (port, class) = (
            (index / self.classes) as PortId,
            (index % self.classes) as u8,
        );
        if entry.payload() == REFRESH {
            let totals = &mut self.ingress_totals[index];
            if totals.timer_at != Some(now) {
                return;
            }
            totals.timer_at = None;
            let ingress = &mut self.ingress[index];
            let params = &window.plan.config.switch.pfc.params;
            match ingress.source.on_timer(now, ingress.pause, params) {
                Action::None => self.arm_refresh(index),
                action => self.request_pfc(now, port, class, action, window),
            }
        } else {
            let place = Place::of((self.id, port), class, window.plan);
            let (end, pause) = self.end(index);
            if let Some(effect) = end.on_expiry(now, class, pause, place, window.log) {
                if effect.change == Change::Resumed && self.causes.is_some() {
                    self.note_expiry(now, port, class, window.plan);
                }
                self.after_pause_change(now, port, class, effect, window);
            }
        }
    }
}
