//! Messages that a connection of a job has to send, one after the other: a stream of packets.
//!
//! The flow of a connection ends, as its loss recovery sees it, with the message that is being sent; when the last packet
//! of that has left, it continues with the next. A NAK or a timeout takes it back to the message that has the missing packet.
//! Under selective repeat it is the message of the next packet, whenever another one may be next.

use std::collections::VecDeque;

use unpause_protocols::state_visitor::Show;

/// The messages of a connection that have been posted, and not acknowledged as a whole.
#[derive(Debug, Default, Show)]
#[show(pub fn show(flow: u32))]
pub struct Posted {
    #[show(same = messages.len())]
    #[show(by = messages.iter_mut().for_each(|message| message.show(flow, visitor)))]
    pub messages: VecDeque<Message>,
    /// The place of the one being sent: behind the last one, when all have been sent.
    #[show(same)]
    pub at: usize,
    /// Packets of all messages that have ever been posted.
    #[show(by = visitor.end(flow, packets))]
    pub packets: u32,
    /// Messages that have been acknowledged, and those that have been reported to the rank.
    #[show(total)]
    pub acknowledged: u32,
    #[show(total)]
    pub reported: u32,
}

/// A message that is cut into packets.
#[derive(Clone, Copy, Debug, Show)]
#[show(fn show(flow: u32))]
pub struct Message {
    /// One more than the number of its last packet.
    #[show(by = visitor.end(flow, end))]
    pub end: u32,
    /// Bytes of its last frame.
    #[show(same)]
    pub last_bytes: u16,
}

impl Posted {
    /// The place of the message that has packet `number`; behind the last one if that is not posted.
    pub fn place_of(&self, number: u32) -> usize {
        self.messages
            .partition_point(|message| message.end <= number)
    }

    /// The number on the connection of the message that is posted next.
    pub fn next(&self) -> u32 {
        self.acknowledged + self.messages.len() as u32
    }

    /// The number on the connection of the message that has packet `number`, and whether that is its last one.
    pub fn message_of(&self, number: u32) -> (u32, bool) {
        let place = self.place_of(number);
        let message = self.messages.get(place);
        let is_last = message.is_some_and(|message| message.end == number + 1);
        (self.acknowledged + place as u32, is_last)
    }

    /// Payload that the last packets of messages lack of full frames of `full_bytes`: of those that are before packet `sent` and
    /// `in_flight`.
    pub fn short_bytes(&self, sent: u32, full_bytes: u16, in_flight: impl Fn(u32) -> bool) -> u32 {
        self.messages
            .iter()
            .take_while(|message| message.end <= sent)
            .filter(|message| message.last_bytes < full_bytes && in_flight(message.end - 1))
            .map(|message| u32::from(full_bytes - message.last_bytes))
            .sum()
    }

    /// Forgets messages that have been acknowledged up to packet `number`; answers how many.
    pub fn forget(&mut self, number: u32) -> usize {
        let over = self
            .messages
            .partition_point(|message| message.end <= number);
        self.messages.drain(..over);
        self.at = self.at.saturating_sub(over);
        self.acknowledged += over as u32;
        over
    }
}
