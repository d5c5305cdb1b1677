//! The sender of a connection of a job: message after message.

use super::layout::Layout;
use super::posted::{Message, Posted};
use super::selective::NO_TIMEOUT;
use super::sender::Sender;
use super::state::Host;

impl Sender {
    /// It becomes the sender of a connection, which has nothing to send yet; if it `tells` of messages, its rank is told
    /// of each that has been acknowledged.
    pub fn open_for_messages(&mut self, tells: bool) {
        self.is_connection = true;
        self.tells = tells;
        self.recovery.end_at(0);
    }

    /// True if it sends the messages of a connection.
    #[inline]
    pub fn is_connection(&self) -> bool {
        self.is_connection
    }

    /// True when nothing can come any more: a connection stays.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.is_done() && !self.is_connection()
    }

    /// One more message, cut into frames like this.
    pub(super) fn post(&mut self, posted: &mut Posted, layout: &Layout) {
        posted.forget(self.recovery.unacknowledged());
        posted.packets += layout.packets;
        posted.messages.push_back(Message {
            end: posted.packets,
            last_bytes: layout.last_bytes as u16,
        });
        if posted.at + 1 == posted.messages.len() {
            self.turn_to_message(posted);
        }
    }

    /// All packets up to the end of the message being sent have been acknowledged. Answers how many messages that ends.
    pub(super) fn note_acknowledged(&mut self, posted: &mut Posted) -> usize {
        let over = posted.forget(self.recovery.unacknowledged());
        self.turn_to_message(posted);
        over
    }

    /// Loss recovery ends with the message being sent, if one is.
    fn turn_to_message(&mut self, posted: &Posted) {
        if let Some(&Message { end, last_bytes }) = posted.messages.get(posted.at) {
            self.recovery.end_at(end);
            self.last_bytes = last_bytes;
            self.open_window(&mut { NO_TIMEOUT });
        }
    }
}

impl Host {
    /// The last packet of a message has left: the next one of the connection in `slot` follows.
    #[cold]
    pub(super) fn end_message(&mut self, slot: u32) {
        let (sender, posted) = self.connection(slot);
        posted.at += 1;
        sender.turn_to_message(posted);
    }

    /// The connection in `slot` has gone back: what was lost may be of an earlier message.
    #[cold]
    pub(super) fn rewind(&mut self, slot: u32) {
        let (sender, posted) = self.connection(slot);
        posted.forget(sender.recovery.unacknowledged());
        posted.at = 0;
        sender.turn_to_message(posted);
    }

    /// The sender of a connection, and its messages.
    pub(super) fn connection(&mut self, slot: u32) -> (&mut Sender, &mut Posted) {
        let sender = &mut self.senders[slot as usize];
        let ranks = self.ranks.as_mut();
        let outgoing = ranks.and_then(|it| it.outgoing.get_mut(&sender.flow));
        (sender, &mut outgoing.expect("it is of a rank").posted)
    }
}
