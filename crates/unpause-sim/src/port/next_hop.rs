//! The port by which a packet continues.

use unpause_protocols::units::Time;

use super::chassis::{Chassis, Model};
use super::egress::balance::Balance;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::fabric::packet::Packet;

impl<M: Model> Chassis<M> {
    /// The port by which a packet continues that comes now, if there is a path.
    #[inline(always)]
    pub fn next_hop(
        &mut self,
        now: Time,
        packet: &Packet,
        window: &Window<'_, '_>,
    ) -> Option<PortId> {
        match self.balance {
            None => window.routing.way(self.id, packet),
            Some(_) => self.balanced(now, packet, window),
        }
    }

    #[inline(never)]
    fn balanced(&mut self, now: Time, packet: &Packet, window: &Window<'_, '_>) -> Option<PortId> {
        let Balance::Packets(balance) = &mut **self.balance.as_mut()? else {
            return window.routing.next_hop(self.id, packet);
        };
        let choices = window.routing.choices(self.id, packet.dst);
        let class = window.plan.classes.of(packet.priority());
        balance.choose(now, choices, (packet, class), &self.queues, &mut self.rng)
    }
}
