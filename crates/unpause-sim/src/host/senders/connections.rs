//! Connections of jobs at their senders: the messages that they have to send.

use unpause_protocols::units::Time;

use super::super::flow::layout::Layout;
use super::super::flow::posted::Posted;
use super::super::flow::selective::{Recovery, recovery};
use super::super::flow::sender::Sender;
use super::super::machine::Machine;
use super::Senders;
use crate::engine::window::Window;

impl Senders {
    /// The flow in `slot` becomes a connection of a rank. If it `tells`, the rank learns of each acknowledgement.
    pub fn open_connection(&mut self, slot: u32, tells: bool) {
        let sender = &mut self.flows[slot as usize];
        sender.open_for_messages(tells || self.selective.is_some());
        self.posted.insert(sender.flow, Posted::default());
    }

    /// Posts a message over the connection in `slot`, which leaves by the NIC at hand.
    pub fn post(&mut self, now: Time, slot: u32, layout: &Layout, machine: &mut Machine) {
        // Messages of one instant take their places in the order in which they are posted.
        machine.nics.wait_until(now);
        let (sender, posted, recovery) = self.connection(slot);
        sender.post(posted, layout, recovery);
        self.after_change(now, slot, machine);
        machine.nics.nic_mut().wake(now);
    }

    /// Packets of the connection in `slot` have been acknowledged. Answers how many messages that ends, and all messages of it.
    pub fn note_acknowledged(&mut self, slot: u32) -> (usize, &mut Posted) {
        let (sender, posted, recovery) = self.connection(slot);
        (sender.note_acknowledged(posted, recovery), posted)
    }

    /// The only message of the connection in `slot` has been acknowledged: the flow is over. True if its sender is forgotten.
    pub fn close_connection(
        &mut self,
        now: Time,
        slot: u32,
        machine: &mut Machine,
        window: &mut Window<'_, '_>,
    ) -> bool {
        let sender = &mut self.flows[slot as usize];
        self.posted.remove(&sender.flow);
        sender.close();
        self.end(now, slot, machine, window)
    }

    /// The last packet of a message has left, or a packet of selective repeat: the connection in `slot` continues with another
    /// packet, perhaps of another message.
    #[cold]
    pub(super) fn end_message(&mut self, slot: u32) {
        let (sender, posted, recovery) = self.connection(slot);
        posted.at += 1;
        sender.turn_to_message(posted, recovery);
    }

    /// The sender in `slot`, some of whose packets have been acknowledged: if packets in flight are short, its window is counted anew.
    #[inline]
    pub(super) fn recounted(&mut self, slot: u32) -> &mut Sender {
        if self.flows[slot as usize].short_bytes > 0 {
            let (sender, posted, recovery) = self.connection(slot);
            sender.recount_window(posted, recovery);
        }
        &mut self.flows[slot as usize]
    }

    /// The connection in `slot` has gone back: the lost packet may be one of an earlier message.
    #[cold]
    pub(super) fn rewind(&mut self, slot: u32) {
        let (sender, posted, recovery) = self.connection(slot);
        posted.forget(sender.recovery.unacknowledged());
        posted.at = 0;
        sender.turn_to_message(posted, recovery);
    }

    /// The sender of a connection, its messages, and its loss recovery, in which nothing times out here.
    pub(super) fn connection(&mut self, slot: u32) -> (&mut Sender, &mut Posted, Recovery<'_>) {
        let sender = &mut self.flows[slot as usize];
        let posted = self.posted.get_mut(&sender.flow);
        let posted = posted.expect("it is a connection of a rank");
        let recovery = recovery(&mut self.selective, slot, Time::NEVER);
        (sender, posted, recovery)
    }
}
