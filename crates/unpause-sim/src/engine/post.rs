//! Where the mail of shards goes.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::engine::mail::Mail;
use crate::plan::turns::Due;

/// What a shard tells all others before a window, or all of them together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// When there is something to do, what is sent included.
    pub due: Due,
    /// Packets that have gone over links.
    pub packet_hops: u64,
    /// Values that have been taken down to find what repeats itself.
    pub values: u64,
    /// What there is to do next, roughly: another number says that it is otherwise.
    pub pattern: u64,
    /// The last step begun, of those after which windows are cut; a new number means a new step.
    pub step: u64,
}

impl Status {
    /// Of a shard that has nothing to do.
    pub const IDLE: Self = Self::due(Due::NEVER);

    /// Of a shard that has something to do when it is `due`, and has done nothing yet.
    pub const fn due(due: Due) -> Self {
        Self {
            due,
            packet_hops: 0,
            values: 0,
            pattern: 0,
            step: 0,
        }
    }

    /// Of this one and another together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            due: self.due.min(other.due),
            packet_hops: self.packet_hops + other.packet_hops,
            values: self.values + other.values,
            pattern: self.pattern.wrapping_add(other.pattern),
            step: self.step.max(other.step),
        }
    }
}

/// Carries the mail of the shards that one thread drives. Before a window each of them sends, the thread
/// meets the others, and each shard is handed what came for it.
pub trait Post {
    /// Takes what `shard`, which is in this state, has for each shard, and leaves it empty.
    fn send(&mut self, shard: usize, status: Status, outboxes: &mut [Mail]);

    /// Waits until all shards have sent; answers what they tell together.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`] after [`Post::interrupt`], [`Error::Post`] if mail cannot be carried any more.
    fn meet(&mut self) -> Result<Status, Error>;

    /// Hands over what came for `shard`, which is left empty.
    fn deliver(&mut self, shard: usize, hand_over: impl FnMut(&mut Mail));

    /// Ends the run for all threads at their next meeting.
    fn interrupt(&mut self);

    /// Data packets that were sent and will never be handed over.
    fn lost_data_packets(&self) -> u64 {
        0
    }
}

/// Carries mail between shards that one thread drives in turn.
#[derive(Debug)]
pub struct InTurn {
    inboxes: Vec<Mail>,
    status: Status,
    interrupted: bool,
}

impl InTurn {
    /// Between this many shards.
    pub fn new(shards: usize) -> Self {
        Self {
            inboxes: (0..shards).map(|_| Mail::default()).collect(),
            status: Status::IDLE,
            interrupted: false,
        }
    }
}

impl Post for InTurn {
    fn send(&mut self, _shard: usize, status: Status, outboxes: &mut [Mail]) {
        self.status = self.status.with(status);
        for (mail, inbox) in outboxes.iter_mut().zip(&mut self.inboxes) {
            inbox.append(mail);
        }
    }

    fn meet(&mut self) -> Result<Status, Error> {
        match self.interrupted {
            true => Err(Error::Interrupted),
            false => Ok(std::mem::replace(&mut self.status, Status::IDLE)),
        }
    }

    fn deliver(&mut self, shard: usize, mut hand_over: impl FnMut(&mut Mail)) {
        hand_over(&mut self.inboxes[shard]);
    }

    fn interrupt(&mut self) {
        self.interrupted = true;
    }
}
