//! Where the mail of shards goes.

use crate::Error;
use crate::engine::mail::Mail;
use crate::turns::Due;

/// Carries the mail of the shards that one thread drives. Before a window each of them sends, the thread
/// meets the others, and each shard is handed what came for it.
pub trait Post {
    /// Takes what `shard` has for each shard, and leaves it empty; there is something to do when it is `due`, what it
    /// sends included.
    fn send(&mut self, shard: usize, due: Due, outboxes: &mut [Mail]);

    /// Waits until all shards have sent; answers when the first of them has something to do.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`] after [`Post::interrupt`], [`Error::Post`] if mail cannot be carried any more.
    fn meet(&mut self) -> Result<Due, Error>;

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
    due: Due,
    interrupted: bool,
}

impl InTurn {
    /// Between so many shards.
    pub fn new(shards: usize) -> Self {
        Self {
            inboxes: (0..shards).map(|_| Mail::default()).collect(),
            due: Due::NEVER,
            interrupted: false,
        }
    }
}

impl Post for InTurn {
    fn send(&mut self, _shard: usize, due: Due, outboxes: &mut [Mail]) {
        self.due = self.due.min(due);
        for (mail, inbox) in outboxes.iter_mut().zip(&mut self.inboxes) {
            inbox.append(mail);
        }
    }

    fn meet(&mut self) -> Result<Due, Error> {
        match self.interrupted {
            true => Err(Error::Interrupted),
            false => Ok(std::mem::replace(&mut self.due, Due::NEVER)),
        }
    }

    fn deliver(&mut self, shard: usize, mut hand_over: impl FnMut(&mut Mail)) {
        hand_over(&mut self.inboxes[shard]);
    }

    fn interrupt(&mut self) {
        self.interrupted = true;
    }
}
