//! PFC of a switch: PAUSE that its ingress sends and its egress obeys, timers, and what it does in a storm.

use unpause_protocols::flow_control::pfc::{Action, Change};
use unpause_protocols::flow_control::watchdog::Event;
use unpause_protocols::units::Time;

use super::causes::{Counted, Inspection};
use super::ingress::PauseSource;
use super::state::{Chassis, Model, Way};
use super::timer::Timer;
use crate::config::WatchdogAction;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::fabric::packet::{Kind, Packet};
use crate::link::end::{Effect, End};
use crate::link::pause::{PauseState, PendingPause, Place};
use crate::plan::Plan;

impl<M: Model> Chassis<M> {
    /// Sends, or has sent as soon as the port is free, a PFC frame to the peer at `port_id`, unless the switch never does.
    pub fn request_pfc(
        &mut self,
        now: Time,
        port_id: PortId,
        class: u8,
        action: Action,
        window: &mut Window<'_, '_>,
    ) {
        if self.pfc.never_sends || self.pfc.is_masked(self.index(port_id, class)) {
            return;
        }
        if action == Action::None {
            return;
        }
        let index = self.index(port_id, class);
        if let Some(causes) = &mut self.causes
            && action == Action::Xon
        {
            causes.on_xon(index, now, self.inputs.totals[index].dropped_packets);
        }
        let port = &mut self.outputs.ports[port_id as usize];
        if port.down {
            (port.end.xoff, port.end.xon) = (0, 0);
        } else {
            port.end.request_pfc(class, action);
            if port.end.is_free(now) && !port.ready {
                self.send_pfc(now, port_id, window);
            } else {
                port.schedule(port_id, &mut self.outputs.ready);
            }
        }
        self.inputs.arm_refresh(index, &mut self.timers);
    }

    /// Sends the PFC frames that a free port has been asked for.
    pub(super) fn send_pfc(&mut self, now: Time, port_id: PortId, window: &mut Window<'_, '_>) {
        let port = &mut self.outputs.ports[port_id as usize];
        let first = port_id as usize * self.outputs.classes;
        let count = |class: u8| {
            let index = first + usize::from(class);
            self.inputs.totals[index].pause_frames += 1;
            self.inputs.ingress[index].pause
        };
        port.end.send_pfc(now, count, window);
        if port.end.eligible() != 0 || port.end.has_pfc() {
            port.schedule(port_id, &mut self.outputs.ready);
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
        if let Some(reaction) = self.pfc.pending.delay(now, reaction) {
            self.obey(now, reaction, window);
        }
    }

    /// A PFC frame takes effect.
    pub(super) fn obey(&mut self, now: Time, reaction: PendingPause, window: &mut Window<'_, '_>) {
        let classes = self.outputs.classes;
        let priorities = self.pfc.stopped_by(reaction.priorities, window.plan);
        for class in 0..classes as u8 {
            let says = priorities >> window.plan.classes.priority(class) & 1 == 1;
            if !says {
                continue;
            }
            let index = reaction.port as usize * classes + class as usize;
            if let Some(watchdogs) = &mut self.pfc.watchdogs {
                watchdogs.note_frame(index);
            }
            if !self.pfc.is_masked(index) {
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
        if let Some(causes) = &mut self.causes
            && reaction.pause > Time::ZERO
        {
            let sent = window.plan.pause_sent(now, self.id, reaction.port);
            let from = self.outputs.egress[index].pause.held_since();
            causes.on_stop(index, from.unwrap_or(now), sent);
        }
        self.after_pause_change(now, reaction.port, class, effect, window);
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
        let index = port_id as usize * self.outputs.classes + class as usize;
        if let Some(due) = due {
            self.timers.push(Timer::Expiry.entry(due, index as u32));
        }
        if let Some(causes) = &mut self.causes
            && change == Change::Resumed
        {
            let speed = self.outputs.ports[usize::from(port_id)]
                .end
                .transmitter
                .speed;
            causes.on_resume(now, index, &self.outputs.queues[index], speed, window.plan);
        }
        match change {
            Change::None => {}
            Change::Paused => self.outputs.egress[index].congestion_point.on_pause(now),
            Change::Resumed => {
                if let Some(watchdogs) = &mut self.pfc.watchdogs {
                    watchdogs.note_resumed(index);
                }
                let held = self
                    .outputs
                    .shapers
                    .as_ref()
                    .map_or(0, |shapers| shapers.held(port_id));
                self.outputs.ports[port_id as usize].end.paused |= held;
                let state = self.outputs.queues[index].state(0);
                let egress = &mut self.outputs.egress[index];
                egress.congestion_point.on_resume(now, state);
                self.send_if_free(now, port_id, window);
            }
        }
    }

    /// Something at a port may be sent again: it leaves now, or as soon as the port is free.
    pub(super) fn send_if_free(&mut self, now: Time, port_id: PortId, window: &mut Window<'_, '_>) {
        let port = &mut self.outputs.ports[port_id as usize];
        if port.end.eligible() == 0 || port.ready {
            return;
        }
        if port.end.is_free(now) {
            self.send_next(now, port_id, window)
        } else {
            port.schedule(port_id, &mut self.outputs.ready)
        }
    }

    /// The end of the link of egress queue `index`, and PAUSE that the queue obeys.
    fn end(&mut self, index: usize) -> (&mut End, &mut PauseState) {
        let end = &mut self.outputs.ports[index / self.outputs.classes].end;
        (end, &mut self.outputs.egress[index].pause)
    }

    /// A timer is due.
    pub(super) fn on_timer(&mut self, now: Time, window: &mut Window<'_, '_>) {
        let entry = self.timers.pop().expect("a timer is due");
        let key = entry.key();
        match Timer::of(entry) {
            Timer::Model => M::on_timer(self, now, key, window),
            Timer::Refresh => self.on_refresh(now, key as usize, window),
            Timer::Expiry => self.on_expiry(now, key as usize, window),
            Timer::Poll => self.poll_watchdogs(now, window),
            Timer::Update => self.send_update(now, key as PortId, window),
            Timer::Retry => self.send_again(now, key as PortId, window),
            Timer::Shaper => {
                if let Some(port) = self.outputs.release_shaper(key as usize) {
                    self.send_if_free(now, port, window);
                }
            }
        }
    }

    /// The XOFF of ingress `index` may have to be repeated.
    fn on_refresh(&mut self, now: Time, index: usize, window: &mut Window<'_, '_>) {
        let totals = &mut self.inputs.totals[index];
        if totals.timer_at != Some(now) {
            return;
        }
        totals.timer_at = None;
        let ingress = &mut self.inputs.ingress[index];
        let params = &window.plan.config.switch.pfc.params;
        match ingress.source.on_timer(now, ingress.pause, params) {
            Action::None => self.inputs.arm_refresh(index, &mut self.timers),
            action => {
                let (port, class) = self.outputs.place(index);
                self.request_pfc(now, port, class, action, window);
            }
        }
    }

    /// The time of the PAUSE that stops egress `index` may be over.
    fn on_expiry(&mut self, now: Time, index: usize, window: &mut Window<'_, '_>) {
        let (port, class) = self.outputs.place(index);
        let place = Place::of((self.id, port), class, window.plan);
        let (end, pause) = self.end(index);
        if let Some(effect) = end.on_expiry(now, class, pause, place, window.log) {
            if let Some(causes) = &mut self.causes
                && effect.change == Change::Resumed
            {
                causes.on_expiry(now, index, (self.id, port, place.priority));
            }
            self.after_pause_change(now, port, class, effect, window);
        }
    }

    /// The ingress (`from`, `class`) has gone to XOFF, or has repeated it: records why, if that is asked for.
    #[cold]
    #[inline(never)]
    pub fn note_xoff(
        &mut self,
        now: Time,
        from: PortId,
        class: u8,
        counted: Counted<'_>,
        plan: &Plan<'_>,
    ) {
        let index = self.index(from, class);
        let Some(mut causes) = self.causes.take_if(|causes| !causes.is_open(index)) else {
            return;
        };
        let cause = Inspection::new(self, &mut causes, now, plan).cause((from, class), counted);
        causes.on_xoff(index, cause, self.inputs.totals[index].dropped_packets);
        self.causes = Some(causes);
    }

    /// Polls the watchdog of every (port, lossless class).
    #[cold]
    fn poll_watchdogs(&mut self, now: Time, window: &mut Window<'_, '_>) {
        if let Some(watchdogs) = &self.pfc.watchdogs {
            self.timers.push(watchdogs.next(now));
        }
        for index in 0..self.outputs.queues.len() {
            let Some(watchdogs) = &mut self.pfc.watchdogs else {
                return;
            };
            let queue = &self.outputs.queues[index];
            let pause = &self.outputs.egress[index].pause;
            match watchdogs.poll(now, index, queue, pause) {
                Event::None => {}
                Event::Storm => self.on_storm(now, index, window),
                Event::Restored => self.on_restored(now, index, window),
            }
        }
    }

    fn on_storm(&mut self, now: Time, index: usize, window: &mut Window<'_, '_>) {
        let (port, class) = self.outputs.place(index);
        let priority = window.plan.classes.priority(class);
        let began = self.outputs.egress[index].pause.obeyed_since();
        let Some(watchdogs) = &mut self.pfc.watchdogs else {
            return;
        };
        let span = (began.unwrap_or(now), now);
        watchdogs.begin(span, index, (self.id, port, priority));
        let action = watchdogs.action(index);
        if action == WatchdogAction::Drop {
            self.outputs.set_shut(port, class, true);
            while let Some(packet) = self.outputs.take(port, class) {
                self.discard_in_storm(index, &packet, false, window);
                let way = Way {
                    from: packet.ingress,
                    to: port,
                    class,
                };
                M::left(self, now, &packet, way, window);
            }
        }
        if action != WatchdogAction::Alert {
            self.outputs.ports[usize::from(port)].end.xoff &= !(1 << class);
            // The egress continues whatever its peer says.
            let xon = PendingPause {
                time: now,
                port,
                priorities: 1 << priority,
                pause: Time::ZERO,
            };
            self.take_effect(now, xon, class, window);
        }
    }

    fn on_restored(&mut self, now: Time, index: usize, window: &mut Window<'_, '_>) {
        let (port, class) = self.outputs.place(index);
        let Some(watchdogs) = &mut self.pfc.watchdogs else {
            return;
        };
        let action = watchdogs.action(index);
        window.log.storms.extend(watchdogs.end(now, index));
        if action == WatchdogAction::Drop {
            self.outputs.set_shut(port, class, false);
        }
        let stops = self.inputs.ingress[index].source.is_xoff();
        if action != WatchdogAction::Alert && stops {
            self.request_pfc(now, port, class, Action::Xoff, window);
        }
    }

    /// Drops a packet in a storm at (port, class) `index`; it has come in by that port, or was to leave by it.
    #[cold]
    pub(super) fn discard_in_storm(
        &mut self,
        index: usize,
        packet: &Packet,
        at_input: bool,
        window: &mut Window<'_, '_>,
    ) {
        window.telemetry.take(packet);
        window.log.counts.dropped_packets += u64::from(packet.kind.is_data());
        if let Some(watchdogs) = &mut self.pfc.watchdogs {
            watchdogs.count_drop(index, packet, at_input);
        }
    }
}
