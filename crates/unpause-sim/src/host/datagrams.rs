//! UDP flows: their senders look back at nothing, and their receivers count what arrives.

use unpause_protocols::loss_recovery::go_back_n::GoBack;
use unpause_protocols::units::Time;

use super::receiver::Receiver;
use super::selective::Recovery;
use super::sender::{Carries, Sender};
use super::state::Host;
use crate::engine::log::Log;
use crate::engine::window::Window;
use crate::fabric::packet::{Kind, PRIORITY, Packet};
use crate::traffic::Ending;

/// Sends the packets of a flow in order.
#[inline]
pub(super) fn no_repair() -> Recovery<'static> {
    // No timer runs: what is sent is over at once.
    let timeout = Time::ZERO;
    Recovery::GoBackN(GoBack { timeout })
}

impl Sender {
    /// A packet of it is a datagram, which nobody answers or marks.
    #[cold]
    pub(super) fn turn_to_datagram(&mut self, packet: &mut Packet) {
        self.recovery.let_go();
        packet.kind = Kind::Datagram;
        packet.bits &= PRIORITY;
    }
}

impl Receiver {
    /// Datagram `number` has arrived; true if all of the flow has.
    fn take_datagram(&mut self, number: u32) -> bool {
        if let Some(size) = self.spec.size_bytes
            && number + 1 == self.recovery.packets()
        {
            let full = u64::from(number + 1) * u64::from(self.payload_bytes);
            self.short_bytes = full - size;
        }
        self.recovery.count()
    }
}

impl Host {
    /// A datagram has arrived.
    #[cold]
    pub(super) fn on_datagram(&mut self, now: Time, packet: &Packet, window: &mut Window<'_, '_>) {
        window.log.counts.delivered_packets += 1;
        let slot = packet.slot;
        let Some(receiver) = self.receivers.get_mut(slot as usize) else {
            return;
        };
        if receiver.flow == packet.flow && receiver.take_datagram(packet.seq) {
            self.ends_message(now, slot, window);
        }
    }

    /// The sender in `slot` has nothing to send at present. One of datagrams is done with them.
    #[inline]
    pub(super) fn end_datagrams(&mut self, now: Time, slot: u32, log: &mut Log) {
        let sender = &self.senders[slot as usize];
        if sender.carries == Carries::Datagrams && sender.is_done() {
            self.ended(now, sender.flow, Ending::Acknowledged, log);
            self.forget(slot, log);
        }
    }
}
