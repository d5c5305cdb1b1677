//! Credit-based flow control at a host. It receives at line rate, so what has come is free at once. It starts a packet of a
//! class if there are credits for the largest one: which packet comes next is only known when it is made.

use unpause_protocols::units::Time;

use super::state::Host;
use super::timer::Timer;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::fabric::packet::Packet;

impl Host {
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
