//! Credit-based flow control at a host. It receives at line rate, so what has come is free at once. It starts a packet of a
//! class if there are credits for the largest one: which packet comes next is only known when it is made.

use unpause_protocols::units::Time;

use super::state::{Host, KIND_SHIFT, PAUSE};
use crate::engine::heap::Entry;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::fabric::packet::Packet;

/// What tells a timer for an update from one for the end of a PAUSE.
const UPDATE: u32 = 1 << (KIND_SHIFT - 1);

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
            let payload = PAUSE << KIND_SHIFT | UPDATE | u32::from(nic) << 3;
            self.timers.push(Entry::new(due, nic.into(), payload));
        }
    }

    /// True if a timer of this slot was for an update, which goes out.
    #[cold]
    pub(super) fn sends_update(
        &mut self,
        now: Time,
        slot: u32,
        window: &mut Window<'_, '_>,
    ) -> bool {
        let is_update = slot & UPDATE != 0;
        if is_update {
            let nic = ((slot & !UPDATE) >> 3) as PortId;
            let due = window.send_update(now, (self.id, nic));
            self.arm_update(due, nic);
        }
        is_update
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
