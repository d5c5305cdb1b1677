//! What the link of a NIC does to its host: it fails and returns, its peer retries, and its credits hold packets back.

use unpause_protocols::units::{LinkSpeed, Time};

use super::state::Host;
use super::timer::Timer;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::fabric::packet::Packet;
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
        self.wake(now);
    }

    /// The wire behind a NIC has another speed from the next frame on.
    pub fn set_speed(&mut self, nic: PortId, speed: LinkSpeed) {
        self.nic_at_mut(nic).end.transmitter.speed = speed;
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
        self.repeat_xoff(now, window);
        self.obey(now, PendingPause::resume_all(now, nic), window);
        if self.nic.end.busy_until.is_never() {
            for class in 0..self.nic.classes.len() as u8 {
                self.leave_stopped(now, class, window.plan);
            }
        }
    }

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

    /// A data packet has come in.
    #[cold]
    pub(super) fn take_credits(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        let class = window.plan.classes.of(packet.priority());
        if window.link_credits.lets_pass(class) {
            return;
        }
        let at = (self.id, packet.ingress);
        window.take_credits(at, class, packet);
        let due = window.free_credits(now, at, class, packet);
        self.arm_update(due, packet.ingress);
    }

    /// Sets the timer for the next update of a NIC, if there is to be one.
    fn arm_update(&mut self, due: Option<Time>, nic: PortId) {
        if let Some(due) = due {
            let entry = Timer::CreditUpdate { nic }.entry(due, nic.into());
            self.timers.push(entry);
        }
    }

    /// The timer for an update of a NIC is due.
    #[cold]
    pub(super) fn send_update(&mut self, now: Time, nic: PortId, window: &mut Window<'_, '_>) {
        let due = window.send_update(now, (self.id, nic));
        self.arm_update(due, nic);
    }

    /// An update has come in.
    #[cold]
    pub(super) fn on_update(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        let class = window.plan.classes.of(packet.priority());
        window.on_update((self.id, packet.ingress), class, packet);
        self.go_on(now, class, window);
    }

    /// There may be credits again for a class of the NIC that the host works with.
    #[cold]
    pub(super) fn go_on(&mut self, now: Time, class: u8, window: &mut Window<'_, '_>) {
        let stopped = self.nic.end.is_paused(class);
        if !stopped || !window.link_credits.may_send_any(self.nic.port, class) {
            return;
        }
        let place = self.place(class, window.plan);
        let pause = &mut self.nic.classes[usize::from(class)].pause;
        let xon = (class, Time::ZERO);
        self.nic.end.obey(now, xon, pause, place, window.log);
        if self.nic.end.backlog >> class & 1 == 1 {
            self.nic.at = self.nic.at.min(self.nic.end.busy_until.max(now));
        }
    }

    /// The NIC is about to choose a class: those without credits are stopped.
    #[cold]
    #[inline(never)]
    pub(super) fn look_at_credits(&mut self, now: Time, window: &mut Window<'_, '_>) {
        for class in 0..self.nic.classes.len() as u8 {
            let waits = self.nic.end.backlog >> class & 1 == 1;
            let stopped = self.nic.end.is_paused(class);
            if !waits || stopped || window.link_credits.lets_pass(class) {
                continue;
            }
            if !window.link_credits.may_send_any(self.nic.port, class) {
                let place = self.place(class, window.plan);
                let pause = &mut self.nic.classes[usize::from(class)].pause;
                let from = (class, self.nic.end.busy_until);
                self.nic
                    .end
                    .wait_for_credits(now, from, pause, place, window.log);
            }
        }
    }
}
