//! PFC at a host: classes that its peers stop, and the end of a run at its NICs.

use unpause_protocols::flow_control::pfc::Change;
use unpause_protocols::units::Time;

use super::nic::Counters;
use super::state::Host;
use super::timer::Timer;
use super::waits::{note_go, take_waits};
use crate::engine::heap::Heap;
use crate::engine::log::Log;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::link::pause::{PendingPause, Place};
use crate::outcome::causes::Expiry;
use crate::outcome::results::PortRecord;
use crate::plan::Plan;

/// Sets a timer for the end of a PAUSE of `class`, if it has one.
fn arm_expiry(timers: &mut Heap, (nic, class): (PortId, u8), due: Option<Time>) {
    if let Some(due) = due {
        timers.push(Timer::Pause { nic, class }.entry(due, class.into()));
    }
}

impl Host {
    /// A PFC frame takes effect at the NIC at hand.
    pub(super) fn obey(&mut self, now: Time, reaction: PendingPause, window: &mut Window<'_, '_>) {
        let plan = window.plan;
        if plan.config.host.ignores_pause.contains(&self.machine.id) {
            return;
        }
        for class in 0..self.machine.nics.nic().classes.len() as u8 {
            if reaction.priorities >> plan.classes.priority(class) & 1 == 1 {
                let machine = &mut self.machine;
                let number = machine.nics.number();
                let nic = machine.nics.nic_mut();
                let place = Place::of((machine.id, number), class, plan);
                let pause = &mut nic.classes[class as usize].pause;
                let since = pause.held_since();
                let frame = (class, reaction.pause);
                let effect = nic.end.obey(now, frame, pause, place, window.log);
                if !nic.stopped_by.is_empty() {
                    self.note_frame(now, class, reaction.pause, since, plan);
                }
                let machine = &mut self.machine;
                arm_expiry(&mut machine.timers, (number, class), effect.due);
                let nic = machine.nics.nic_mut();
                nic.after_pause_change(now, class);
                if nic.end.is_paused(class) {
                    self.senders.leave_stopped(now, class, machine, plan);
                }
            }
        }
    }

    /// The time of a PAUSE of `class` may have run out at the NIC at hand.
    pub(super) fn on_pause_expiry(&mut self, now: Time, class: u8, window: &mut Window<'_, '_>) {
        let plan = window.plan;
        let machine = &mut self.machine;
        let number = machine.nics.number();
        let nic = machine.nics.nic_mut();
        let place = Place::of((machine.id, number), class, plan);
        let pause = &mut nic.classes[class as usize].pause;
        let since = pause.held_since();
        let effect = nic.end.on_expiry(now, class, pause, place, window.log);
        let Some(effect) = effect else { return };
        arm_expiry(&mut machine.timers, (number, class), effect.due);
        if effect.change == Change::Resumed {
            if !nic.stopped_by.is_empty() {
                let sent = nic.stopped_by[usize::from(class)];
                machine.nics.expiries.push(Expiry {
                    time: now,
                    node: machine.id,
                    port: number,
                    priority: plan.classes.priority(class),
                    sent,
                    next_sent: None,
                });
                self.note_go(now, class, since, plan);
            }
            self.machine.nics.nic_mut().after_pause_change(now, class);
        }
    }

    /// A PFC frame for `class` has taken effect, which had been paused since `since` if it had. Runs only where causes are recorded.
    #[cold]
    #[inline(never)]
    fn note_frame(
        &mut self,
        now: Time,
        class: u8,
        pause: Time,
        since: Option<Time>,
        plan: &Plan<'_>,
    ) {
        if pause == Time::ZERO {
            return self.note_go(now, class, since, plan);
        }
        let nics = &mut self.machine.nics;
        let number = nics.number();
        let sent = plan.pause_sent(now, self.machine.id, number);
        nics.nic_mut().stopped_by[usize::from(class)] = sent;
        let place = (number, plan.classes.priority(class));
        let mut expiries = nics.expiries.iter_mut();
        let last = expiries.rfind(|expiry| (expiry.port, expiry.priority) == place);
        if let Some(last) = last {
            last.next_sent.get_or_insert(sent);
        }
    }

    /// `class` has been paused since `since`, and resumes. Runs only where causes are recorded.
    #[cold]
    #[inline(never)]
    fn note_go(&mut self, now: Time, class: u8, since: Option<Time>, plan: &Plan<'_>) {
        if let Some(since) = since.filter(|since| *since < now) {
            let nic = self.machine.nics.nic_mut();
            let flows = (&self.senders.flows, &self.tcp.senders);
            note_go(nic, class, (since, now), flows, plan);
        }
    }

    /// PFC restarts at a NIC: a direction of its link has failed or returned.
    pub fn restart_pfc(&mut self, now: Time, nic: PortId, window: &mut Window<'_, '_>) {
        let machine = &mut self.machine;
        machine.turn_to(nic);
        machine.agenda.pauses.forget(nic);
        machine.set_rare();
        let at_hand = machine.nics.nic_mut();
        if let Some((buffer, mut line)) = at_hand.buffer(&mut machine.timers) {
            buffer.repeat_xoff(now, &mut line, window);
        }
        self.obey(now, PendingPause::resume_all(now, nic), window);
        let machine = &mut self.machine;
        if machine.nics.nic().end.busy_until.is_never() {
            for class in 0..window.plan.classes.count() as u8 {
                self.senders.leave_stopped(now, class, machine, window.plan);
            }
        }
    }

    /// Records what is open at the NIC at hand at the end of the run.
    pub(super) fn finish_nic(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log) {
        for class in 0..plan.classes.count() as u8 {
            let nic = self.machine.nics.nic_mut();
            let place = nic.place(class, plan);
            let pause = &mut nic.classes[class as usize].pause;
            let (paused, credit_wait) = plan.waited(pause.total(now));
            let since = pause.held_since();
            pause.finish(now, place, log);
            if !nic.stopped_by.is_empty() {
                self.note_go(now, class, since, plan);
            }
            let nic = self.machine.nics.nic();
            let Counters {
                tx_packets,
                tx_bytes,
            } = nic.classes[class as usize].counters;
            let identity = PortRecord {
                node: place.node,
                port: place.port,
                priority: place.priority,
                ..PortRecord::default()
            };
            let mut record = PortRecord {
                tx_packets,
                tx_bytes,
                paused,
                credit_wait,
                ..identity
            };
            if let Some(buffer) = &nic.buffer {
                buffer.record(class, plan, &mut record);
            }
            if record != identity {
                log.ports.push(record);
            }
        }
        let nic = self.machine.nics.nic_mut();
        log.waits.extend(take_waits(nic, plan));
        if let Some(buffer) = &mut nic.buffer {
            buffer.record_causes(now, log);
        }
    }
}
