//! Messages between ranks, over MPI.

use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use mpi::Threading;
use mpi::datatype::Equivalence;
use mpi::environment::Universe;
use mpi::point_to_point::{Message, Status};
use mpi::request::multiple_scope;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, MatchedReceiveVec, Source};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use unpause_sim::exchange::Ranks;

const MESSAGE_TAG: mpi::Tag = 1;
const ORDER: mpi::Tag = 2;

/// MPI counts in 32 bits: a longer message goes in pieces, and ends with a shorter one.
const PIECE: usize = 1 << 30;

/// How often who waits for an order looks for it. Rank 0 may be writing tables for minutes.
const LOOK: Duration = Duration::from_millis(2);

/// All ranks. There is one in a process; when it goes, all have to.
pub struct World {
    number: usize,
    count: usize,
    /// Where messages come to; the memory is kept.
    came: Mutex<Vec<Vec<u8>>>,
    _universe: Universe,
}

/// The first message of each rank to all others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Version of unpause.
    pub version: String,
    /// Its machine.
    pub host: String,
    /// The CPUs that it may use, as the system writes them.
    pub cpus: String,
    /// How many those are.
    pub cores: usize,
}

impl World {
    /// None if MPI has been started in this process before.
    pub fn new() -> Option<Self> {
        let (universe, _) = mpi::initialize_with_threading(Threading::Serialized)?;
        let world = universe.world();
        let count = world.size() as usize;
        Some(Self {
            number: world.rank() as usize,
            count,
            came: Mutex::new(vec![Vec::new(); count]),
            _universe: universe,
        })
    }

    /// Gathers the messages of all ranks, in their order.
    pub fn tell<T: Serialize + DeserializeOwned + Clone>(&self, own: &T) -> Vec<T> {
        let said = serde_json::to_vec(own).expect("it is plain data");
        let mut buffers = vec![said; self.count];
        self.exchange(&mut buffers);
        let read = |buffer: &Vec<u8>| serde_json::from_slice(buffer).expect("ranks say the same");
        buffers.iter().map(read).collect()
    }

    /// Rank 0 tells the others what to do.
    pub fn order(&self, order: &impl Serialize) {
        let order = serde_json::to_vec(order).expect("it is plain data");
        let world = SimpleCommunicator::world();
        for rank in 1..self.count {
            let to = world.process_at_rank(rank as mpi::Rank);
            to.send_with_tag(&order[..], ORDER);
        }
    }

    /// Another rank waits for that.
    pub fn await_order<T: DeserializeOwned>(&self) -> T {
        let world = SimpleCommunicator::world();
        let from = world.process_at_rank(0);
        loop {
            if let Some(came) = from.immediate_matched_probe_with_tag(ORDER) {
                let (order, _): (Vec<u8>, _) = came.matched_receive_vec();
                return serde_json::from_slice(&order).expect("all ranks are the same program");
            }
            thread::sleep(LOOK);
        }
    }

    fn others(&self) -> impl Iterator<Item = usize> {
        let own = self.number;
        (0..self.count).filter(move |rank| *rank != own)
    }
}

impl Drop for World {
    /// The others would wait for ever.
    fn drop(&mut self) {
        if thread::panicking() {
            SimpleCommunicator::world().abort(101);
        }
    }
}

impl Ranks for World {
    fn rank(&self) -> usize {
        self.number
    }

    fn count(&self) -> usize {
        self.count
    }

    fn exchange(&self, buffers: &mut [Vec<u8>]) {
        let world = SimpleCommunicator::world();
        let rank = |rank: usize| world.process_at_rank(rank as mpi::Rank);
        let mut came = self.came.lock().unwrap_or_else(PoisonError::into_inner);
        multiple_scope(self.count, |scope, sending| {
            for to in self.others() {
                for piece in pieces(&buffers[to]) {
                    let sent = rank(to).immediate_send_with_tag(scope, piece, MESSAGE_TAG);
                    sending.add(sent);
                }
            }
            for from in self.others() {
                receive(&mut came[from], || {
                    rank(from).matched_probe_with_tag(MESSAGE_TAG)
                });
            }
            sending.wait_all(&mut Vec::new());
        });
        for from in self.others() {
            std::mem::swap(&mut buffers[from], &mut came[from]);
        }
    }
}

/// A message as MPI can send it.
fn pieces(buffer: &[u8]) -> impl Iterator<Item = &[u8]> {
    let last = buffer.len() / PIECE;
    (0..=last).map(|at| &buffer[at * PIECE..buffer.len().min((at + 1) * PIECE)])
}

fn receive(buffer: &mut Vec<u8>, next: impl Fn() -> (Message, Status)) {
    buffer.clear();
    loop {
        let (message, status) = next();
        let length = status.count(u8::equivalent_datatype()) as usize;
        let at = buffer.len();
        buffer.resize(at + length, 0);
        message.matched_receive_into(&mut buffer[at..]);
        if length < PIECE {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_ends_with_a_piece_that_is_not_full() {
        let lengths =
            |length: usize| -> Vec<usize> { pieces(&vec![0; length]).map(<[u8]>::len).collect() };
        assert_eq!(lengths(0), [0]);
        assert_eq!(lengths(7), [7]);
        assert_eq!(lengths(PIECE), [PIECE, 0]);
        assert_eq!(lengths(PIECE + 1), [PIECE, 1]);
    }
}
