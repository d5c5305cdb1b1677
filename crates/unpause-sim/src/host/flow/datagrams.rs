//! UDP flows: their senders look back at nothing, and their receivers count what arrives.

use unpause_protocols::loss_recovery::go_back_n::GoBack;
use unpause_protocols::units::Time;

use super::receiver::Receiver;
use super::selective::Recovery;
use super::sender::Sender;
use crate::fabric::packet::{Kind, PRIORITY, Packet};

/// Sends the packets of a flow in order.
#[inline]
pub fn no_repair() -> Recovery<'static> {
    // No timer runs: what is sent is over at once.
    let timeout = Time::ZERO;
    Recovery::GoBackN(GoBack { timeout })
}

impl Sender {
    /// A packet of it is a datagram, which nobody answers or marks.
    #[cold]
    pub fn turn_to_datagram(&mut self, packet: &mut Packet) {
        self.recovery.let_go();
        packet.kind = Kind::Datagram;
        packet.bits &= PRIORITY;
    }
}

impl Receiver {
    /// Datagram `number` has arrived; true if all of the flow has.
    pub fn take_datagram(&mut self, number: u32) -> bool {
        if let Some(size) = self.spec.size_bytes
            && number + 1 == self.recovery.packets()
        {
            let full = u64::from(number + 1) * u64::from(self.payload_bytes);
            self.short_bytes = full - size;
        }
        self.recovery.count()
    }
}
