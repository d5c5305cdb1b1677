//! Messages over connections of their own, from one rank to another: which is which, and in which order they count.

use std::collections::BTreeMap;

use crate::engine::log::MessageEnd;
use crate::jobs::Job;
use crate::jobs::connections::{Connection, Expected, Messages};
use crate::jobs::step::Step;

/// The messages of a channel from one rank to another. They count in order, as bytes of a stream: what comes next is known then.
#[derive(Debug, Default)]
pub struct Order {
    messages: Messages,
    /// How many of them are known.
    known: u32,
    /// Those that nobody has asked for.
    unasked: BTreeMap<u32, Expected>,
    /// How many have counted.
    counted: u32,
    /// Those after them that have come: their slices, and what is recorded of them.
    early: BTreeMap<u32, (u32, Option<MessageEnd>)>,
}

impl Order {
    /// Message `number`.
    pub fn expect(
        &mut self,
        number: u32,
        (job, connection): (&Job, &Connection),
        room: &mut Step,
    ) -> Option<Expected> {
        while self.known <= number {
            let it = self.messages.next(job, connection, room)?;
            self.unasked.insert(self.known, it);
            self.known += 1;
        }
        self.unasked.remove(&number)
    }

    /// Message `number` has come.
    pub fn put(&mut self, number: u32, came: (u32, Option<MessageEnd>)) {
        self.early.insert(number, came);
    }

    /// The next message, if it has come: it counts now.
    pub fn take(&mut self) -> Option<(u32, Option<MessageEnd>)> {
        let next = self.early.remove(&self.counted)?;
        self.counted += 1;
        Some(next)
    }
}
