//! Where the mail of shards goes.

use unpause_protocols::units::Time;

use crate::Error;
use crate::engine::mail::Mail;

/// Carries the mail of the shards that one thread drives. Before a window each of them sends, the thread
/// meets the others, and each shard is handed what came for it.
pub trait Post {
    /// Takes what `shard` has for each shard, and leaves it empty; of its own, the shard next has something
    /// to do at `own`.
    fn send(&mut self, shard: usize, own: Time, outboxes: &mut [Mail]);

    /// Waits until all shards have sent; answers when the first of them has something to do, what is in the
    /// mail included.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`] after [`Post::interrupt`], [`Error::Post`] if mail cannot be carried any more.
    fn meet(&mut self) -> Result<Time, Error>;

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
    earliest: Time,
    interrupted: bool,
}

impl InTurn {
    /// Between so many shards.
    pub fn new(shards: usize) -> Self {
        Self {
            inboxes: (0..shards).map(|_| Mail::default()).collect(),
            earliest: Time::NEVER,
            interrupted: false,
        }
    }
}

impl Post for InTurn {
    fn send(&mut self, _shard: usize, own: Time, outboxes: &mut [Mail]) {
        self.earliest = self.earliest.min(own);
        for (mail, inbox) in outboxes.iter_mut().zip(&mut self.inboxes) {
            if !mail.is_empty() {
                self.earliest = self.earliest.min(mail.earliest());
                inbox.append(mail);
            }
        }
    }

    fn meet(&mut self) -> Result<Time, Error> {
        match self.interrupted {
            true => Err(Error::Interrupted),
            false => Ok(std::mem::replace(&mut self.earliest, Time::NEVER)),
        }
    }

    fn deliver(&mut self, shard: usize, mut hand_over: impl FnMut(&mut Mail)) {
        hand_over(&mut self.inboxes[shard]);
    }

    fn interrupt(&mut self) {
        self.interrupted = true;
    }
}
