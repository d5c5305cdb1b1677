//! PFC of a switch: sending PAUSE for its ingress, obeying it at its egress.

use unpause_protocols::flow_control::pfc::{Action, Change};
use unpause_protocols::units::Time;

use super::chassis::{Chassis, Model};
use super::ingress::PauseSource;
use super::shaper::SHAPER;
use super::watchdog::LOOK;
use crate::engine::heap::Entry;
use crate::engine::window::Window;
use crate::fabric::packet::{Kind, Packet};
use crate::fabric::{NodeId, PortId};
use crate::outcome::results::Queued;
use crate::plan::Plan;
use crate::port::paused::{PendingPause, Place};

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
        let port = &mut self.ports[port_id as usize];
        match action {
            Action::None => return,
            Action::Xoff => {
                port.xoff |= 1 << class;
                port.xon &= !(1 << class);
            }
            Action::Xon => {
                port.xon |= 1 << class;
                port.xoff &= !(1 << class);
                if self.causes.is_some() {
                    self.note_xon(now, port_id, class);
                }
            }
        }
        let port = &mut self.ports[port_id as usize];
        if port.down {
            (port.xoff, port.xon) = (0, 0);
        } else if port.busy_until <= now && !port.ready {
            self.send_pfc(now, port_id, window);
        } else {
            self.ports[port_id as usize].schedule(port_id, &mut self.ready);
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

    /// Sets the timer for the end of a PAUSE of egress queue `index`.
    fn arm_expiry(&mut self, index: usize) {
        if let Some(due) = self.egress[index].transmitter.arm() {
            self.timers.push(Entry::new(due, index as u32, EXPIRY));
        }
    }

    /// Sends the PFC frames that a free port has been asked for.
    pub(super) fn send_pfc(&mut self, now: Time, port_id: PortId, window: &mut Window<'_, '_>) {
        let port = &mut self.ports[port_id as usize];
        let pausing = port.xoff != 0;
        let classes = std::mem::take(if pausing {
            &mut port.xoff
        } else {
            &mut port.xon
        });
        let mut priorities = 0;
        let mut pause = Time::ZERO;
        for class in 0..self.classes as u8 {
            if classes >> class & 1 == 0 {
                continue;
            }
            priorities |= 1 << window.plan.classes.priority(class);
            if pausing {
                let index = port_id as usize * self.classes + class as usize;
                self.ingress_totals[index].pause_frames += 1;
                pause = self.ingress[index].pause;
            }
        }
        let frame = Packet {
            aux: priorities,
            stamp: pause.as_ps(),
            ..Packet::new(Kind::Pfc, 7, 0, Kind::Pfc.control_bytes())
        };
        let free = window.transmit(&port.transmitter, now, &frame, 0, Queued::default());
        port.busy_until = free;
        if port.eligible() != 0 || port.xoff | port.xon != 0 {
            self.ports[port_id as usize].schedule(port_id, &mut self.ready);
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
        let reaction = PendingPause {
            time: now + window.plan.config.switch.pfc.reaction,
            port: from,
            priorities: packet.aux as u8,
            pause: Time::from_ps(packet.stamp),
        };
        if reaction.time == now {
            self.obey(now, reaction, window);
        } else {
            self.pending_pauses.push(reaction);
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
        let place = place(self.id, reaction.port, class, window.plan);
        let index = self.index(reaction.port, class);
        let busy = self.ports[reaction.port as usize].busy_until;
        let transmitter = &mut self.egress[index].transmitter;
        let change = transmitter.on_frame(now, reaction.pause, busy, place, window.log);
        self.arm_expiry(index);
        if self.causes.is_some() && reaction.pause > Time::ZERO {
            self.note_stop(now, reaction.port, class, window.plan);
        }
        self.after_pause_change(now, reaction.port, class, change, window);
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
        change: Change,
        window: &mut Window<'_, '_>,
    ) {
        let index = port_id as usize * self.classes + class as usize;
        if change == Change::Resumed && self.causes.is_some() {
            self.note_go(now, port_id, class, window.plan);
        }
        let port = &mut self.ports[port_id as usize];
        match change {
            Change::None => {}
            Change::Paused => {
                port.paused |= 1 << class;
                self.egress[index].congestion_point.on_pause(now);
            }
            Change::Resumed => {
                if let Some(watchdogs) = &mut self.watchdogs {
                    watchdogs.note_resumed(index);
                }
                let held = self.shapers.as_ref().map_or(0, |it| it.held(port_id));
                port.paused = port.paused & !(1 << class) | held;
                let state = self.queues[index].state(0);
                let egress = &mut self.egress[index];
                egress.congestion_point.on_resume(now, state);
                if port.eligible() == 0 || port.ready {
                    return;
                }
                if port.busy_until <= now {
                    self.send_next(now, port_id, window);
                } else {
                    self.ports[port_id as usize].schedule(port_id, &mut self.ready);
                }
            }
        }
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
            let place = place(self.id, port, class, window.plan);
            let transmitter = &mut self.egress[index].transmitter;
            if transmitter.takes_timer(now) {
                let change = transmitter.on_timer(now, place, window.log);
                self.arm_expiry(index);
                if change == Change::Resumed && self.causes.is_some() {
                    self.note_expiry(now, port, class, window.plan);
                }
                self.after_pause_change(now, port, class, change, window);
            }
        }
    }
}

/// Where the egress queue of `class` at `port` of switch `node` is.
pub(super) fn place(node: NodeId, port: PortId, class: u8, plan: &Plan<'_>) -> Place {
    Place {
        node,
        port,
        priority: plan.classes.priority(class),
        // What waits for credits is not paused.
        record: plan.config.probes.pauses && plan.config.switch.cbfc.is_none(),
    }
}
