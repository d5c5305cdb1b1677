//! How shards exchange what they send one another between windows.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::engine::batch::Batch;
use crate::plan::schedule::NextEvents;

/// The state of a shard that the others need before a window, or of all shards together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// When there is something to do, what is sent included.
    pub due: NextEvents,
    /// Packets that have gone over links.
    pub packet_hops: u64,
    /// Values in snapshots that were taken to find what repeats itself.
    pub values: u64,
    /// A rough digest of the work that comes next: another number means other work.
    pub pattern: u64,
    /// The last step begun, of those after which windows are cut; a new number means a new step.
    pub step: u64,
}

impl Status {
    /// Of a shard that has nothing to do.
    pub const IDLE: Self = Self::due(NextEvents::NEVER);

    /// Of a shard that has something to do when it is `due`, and has done nothing yet.
    pub const fn due(due: NextEvents) -> Self {
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

/// The exchange between the shards that one thread drives and all others. Before a window each of them sends, the thread
/// synchronizes with the others, and each shard receives what has come for it.
pub trait Exchange {
    /// Takes the batches that `shard`, which has this status, has for each shard, and leaves them empty.
    fn send(&mut self, shard: usize, status: Status, outboxes: &mut [Batch]);

    /// Waits until all shards have sent; returns their status together.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`] after [`Exchange::interrupt`], [`Error::Exchange`] if batches cannot be carried any more.
    fn synchronize(&mut self) -> Result<Status, Error>;

    /// Has `take` empty the batches that have come for `shard`.
    fn deliver(&mut self, shard: usize, take: impl FnMut(&mut Batch));

    /// Ends the run for all threads when they next synchronize.
    fn interrupt(&mut self);

    /// Data packets that were sent and will never be handed over.
    fn lost_data_packets(&self) -> u64 {
        0
    }
}

/// The exchange between shards that one thread drives one after the other.
#[derive(Debug)]
pub struct Sequential {
    inboxes: Vec<Batch>,
    status: Status,
    interrupted: bool,
}

impl Sequential {
    /// Between this many shards.
    pub fn new(shards: usize) -> Self {
        Self {
            inboxes: (0..shards).map(|_| Batch::default()).collect(),
            status: Status::IDLE,
            interrupted: false,
        }
    }
}

impl Exchange for Sequential {
    fn send(&mut self, _shard: usize, status: Status, outboxes: &mut [Batch]) {
        self.status = self.status.with(status);
        for (batch, inbox) in outboxes.iter_mut().zip(&mut self.inboxes) {
            inbox.append(batch);
        }
    }

    fn synchronize(&mut self) -> Result<Status, Error> {
        if self.interrupted {
            Err(Error::Interrupted)
        } else {
            Ok(std::mem::replace(&mut self.status, Status::IDLE))
        }
    }

    fn deliver(&mut self, shard: usize, mut take: impl FnMut(&mut Batch)) {
        take(&mut self.inboxes[shard]);
    }

    fn interrupt(&mut self) {
        self.interrupted = true;
    }
}
