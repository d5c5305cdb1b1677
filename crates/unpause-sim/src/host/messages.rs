//! The sender of a connection of a job: message after message.

use super::layout::Layout;
use super::posted::Message;
use super::sender::Sender;

impl Sender {
    /// It becomes the sender of a connection, which has nothing to send yet.
    pub fn open_for_messages(&mut self) {
        self.posted = Some(Box::default());
        self.recovery.end_at(0);
    }

    /// True if it sends the messages of a connection.
    #[inline]
    pub fn is_connection(&self) -> bool {
        self.posted.is_some()
    }

    /// True when nothing can come any more: a connection stays.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.is_done() && !self.is_connection()
    }

    /// One more message, cut into frames like this.
    pub fn post(&mut self, layout: &Layout) {
        let acknowledged = self.recovery.unacknowledged();
        let Some(posted) = &mut self.posted else {
            return;
        };
        posted.forget(acknowledged);
        posted.packets += layout.packets;
        posted.messages.push_back(Message {
            end: posted.packets,
            last_bytes: layout.last_bytes as u16,
        });
        if posted.at + 1 == posted.messages.len() {
            self.turn_to_message();
        }
    }

    /// The last packet of a message has left: the next one follows.
    #[cold]
    pub(super) fn end_message(&mut self) {
        if let Some(posted) = &mut self.posted {
            posted.at += 1;
            self.turn_to_message();
        }
    }

    /// It has gone back: what was lost may be of an earlier message.
    pub(super) fn rewind(&mut self) {
        let first = self.recovery.unacknowledged();
        if let Some(posted) = &mut self.posted {
            posted.forget(first);
            posted.at = 0;
            self.turn_to_message();
        }
    }

    /// All packets up to the end of the message being sent have been acknowledged. Answers how many messages that ends.
    pub(super) fn note_acknowledged(&mut self) -> usize {
        let acknowledged = self.recovery.unacknowledged();
        let Some(posted) = &mut self.posted else {
            return 0;
        };
        let over = posted.forget(acknowledged);
        self.turn_to_message();
        over
    }

    /// Loss recovery ends with the message being sent, if one is.
    fn turn_to_message(&mut self) {
        let message = self.posted.as_ref().and_then(|it| it.messages.get(it.at));
        if let Some(&Message { end, last_bytes }) = message {
            self.recovery.end_at(end);
            self.last_bytes = last_bytes;
            self.open_window();
        }
    }
}
