//! The sender of a connection of a job: message after message.

use unpause_protocols::loss_recovery::Repair as _;

use super::layout::Layout;
use super::posted::{Message, Posted};
use super::selective::Recovery;
use super::sender::{Carries, Sender};

impl Sender {
    /// Becomes the sender of a connection, which has nothing to send yet. If it `tells`, each ACK is examined: an acknowledged message
    /// is reported to its rank, or selective repeat continues with another message.
    pub fn open_for_messages(&mut self, tells: bool) {
        self.carries = Carries::Messages;
        self.tells = tells;
        self.recovery.end_at(0);
    }

    /// The message for which it was made has been acknowledged.
    pub fn close(&mut self) {
        (self.carries, self.tells) = (Carries::Flow, false);
    }

    /// True if it sends the messages of a connection.
    #[inline]
    pub fn is_connection(&self) -> bool {
        self.carries == Carries::Messages
    }

    /// True when nothing can come any more: a connection stays.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.is_done() && !self.is_connection()
    }

    /// One more message, cut into frames like this.
    pub fn post(&mut self, posted: &mut Posted, layout: &Layout, recovery: Recovery<'_>) {
        posted.forget(self.recovery.unacknowledged());
        posted.packets += layout.packets;
        posted.messages.push_back(Message {
            end: posted.packets,
            last_bytes: layout.last_bytes as u16,
        });
        self.turn_to_message(posted, recovery);
    }

    /// Packets have been acknowledged. Answers how many messages that ends.
    pub fn note_acknowledged(&mut self, posted: &mut Posted, recovery: Recovery<'_>) -> usize {
        let over = posted.forget(self.recovery.unacknowledged());
        self.turn_to_message(posted, recovery);
        over
    }

    /// Counts what packets in flight lack of full ones, if a window limits them.
    fn count_short(&mut self, posted: &Posted, recovery: &Recovery<'_>) {
        if !self.windowed {
            return;
        }
        let flow = &self.recovery;
        let first = flow.unacknowledged();
        self.short_bytes = match recovery {
            Recovery::GoBackN(_) => {
                posted.short_bytes(flow.next(), self.full_bytes, |number| number >= first)
            }
            Recovery::SelectiveRepeat(repair) => {
                let in_flight = |number| repair.is_in_flight(flow, number);
                posted.short_bytes(flow.highest(), self.full_bytes, in_flight)
            }
        };
    }

    /// Packets have been acknowledged while messages in flight had short ones: the window may let more go.
    pub fn recount_window(&mut self, posted: &Posted, mut recovery: Recovery<'_>) {
        self.count_short(posted, &recovery);
        self.open_window(&mut recovery);
    }

    /// Loss recovery ends with the message being sent, if one is. Of selective repeat, that is the one which the next packet
    /// is of, new or sent again.
    pub fn turn_to_message(&mut self, posted: &mut Posted, mut recovery: Recovery<'_>) {
        self.count_short(posted, &recovery);
        let is_selective = matches!(recovery, Recovery::SelectiveRepeat(_));
        if is_selective {
            posted.at = posted.place_of(self.recovery.next());
        }
        match posted.messages.get(posted.at) {
            Some(&Message { end, last_bytes }) => {
                self.recovery.end_at(end);
                self.last_bytes = last_bytes;
            }
            None if is_selective => self.recovery.end_at(posted.packets),
            None => return,
        }
        if is_selective && !self.windowed {
            recovery.open_window(&mut self.recovery, u32::MAX)
        } else {
            self.open_window(&mut recovery)
        }
    }
}
