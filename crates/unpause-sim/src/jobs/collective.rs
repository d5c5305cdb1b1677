//! Collective operations: what each rank of a group sends and receives in each step.
//!
//! The buffer of an operation is split into *channels*, which run side by side, each over connections of its own. What is
//! of a channel is split into *blocks*, the first of which have a byte more where that does not come out even. A message
//! carries a range of blocks. It may be cut into *slices*, which follow one another through the steps as in a pipeline. A
//! rank runs the steps of each slice of each channel one after the other: it begins the next step when all that it
//! receives in this one has arrived, and, where the operation says so, all that it sends has been acknowledged.
//!
//! # Sources
//!
//! R. Thakur, R. Rabenseifner, W. Gropp: "Optimization of Collective Communication Operations in MPICH", IJHPCA 19, 2005,
//! sections 4.1 to 4.5 (ring, recursive halving and doubling, pairwise exchange); P. Sanders, J. Speck, J. L. Träff:
//! "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 35, 2009, with the trees of
//! NCCL. Sizes are counted as in nccl-tests.

use super::group::Group;
use super::pipeline::{Order, Pipeline};
use super::step::{Part, Step};
use super::{exchanges, reductions, relays, trees};

/// A collective operation of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Collective {
    /// The operation.
    pub operation: Operation,
    /// How.
    pub algorithm: Algorithm,
    /// Bytes, of a pipeline those of each message; of others as nccl-tests counts them: of an all-reduce, a broadcast and a send, the buffer of a rank; of an all-gather
    /// and a reduce-scatter, the whole result or input; of an all-to-all, all that a rank has for others and itself.
    pub bytes: u64,
    /// Independent copies of the algorithm, each with a share of the bytes and its own connections.
    pub channels: u32,
    /// Parts of a message that are sent on their own.
    pub slices: u32,
    /// Messages to other servers go by NVLink to the GPU on the receiver's rail first: only of exchanges, and without slices.
    pub pxn: bool,
}

/// The operation that a collective performs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Each rank gets the sum of all buffers.
    AllReduce,
    /// Each rank gets the buffers of all.
    AllGather,
    /// Each rank gets a part of the sum.
    ReduceScatter,
    /// Each rank gets the buffer of one.
    Broadcast {
        /// Place of that one in its group.
        root: u32,
    },
    /// Each rank has a block for each other.
    AllToAll,
    /// The same with blocks of different sizes: bytes from each to each, row by row.
    AllToAllV(Vec<u64>),
    /// Each rank sends its buffer to the next.
    SendReceive,
    /// Micro-batches go from rank to rank and back, and each computes for them.
    Pipeline(Pipeline),
}

/// How it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// From each to the next, around.
    Ring,
    /// Partners at half the distance in each step, and back.
    HalvingDoubling,
    /// All pairs at once.
    Direct,
    /// One partner after the other.
    Pairwise,
    /// Two binary trees, up and down, with half of the bytes each.
    DoubleBinaryTree,
    /// A pipeline: as many micro-batches forward as there are stages behind, then one forward and one back in turn.
    OneForwardOneBackward,
    /// A pipeline: all micro-batches forward, then all back.
    GPipe,
    /// A pipeline of ranks with several chunks of the model: as the first, chunks in turn.
    Interleaved,
    /// Inside of each server, then between servers over each rail, then inside again.
    Rails {
        /// Ranks of a server, consecutive in their group.
        per_server: u32,
    },
}

/// Part `at` of `parts` of this many bytes, of which the first have one more.
pub fn share(bytes: u64, parts: u32, at: u32) -> u64 {
    let parts = u64::from(parts);
    bytes / parts + u64::from(u64::from(at) < bytes % parts)
}

/// Bytes of parts from `first` on, `count` of them and around.
fn shares(bytes: u64, parts: u32, first: u32, count: u32) -> u64 {
    let more = bytes % u64::from(parts);
    let before = |end: u32| u64::from(end).min(more);
    let end = first + count;
    let longer = if end <= parts {
        before(end) - before(first)
    } else {
        more - before(first) + before(end - parts)
    };
    bytes / u64::from(parts) * u64::from(count) + longer
}

impl Collective {
    /// Channels, those included that the algorithm itself makes.
    pub fn lanes_of_channels(&self) -> u32 {
        self.channels * self.copies()
    }

    fn copies(&self) -> u32 {
        match self.algorithm {
            Algorithm::DoubleBinaryTree => 2,
            _ => 1,
        }
    }

    /// The number of lanes that run side by side at each rank: slices of channels.
    pub fn lanes(&self) -> u32 {
        self.lanes_of_channels() * self.slices
    }

    /// Into how many blocks the bytes of a channel are split, in a group of `n`.
    pub fn blocks(&self, n: u32) -> u32 {
        use {Algorithm as A, Operation as O};
        match (&self.operation, self.algorithm) {
            (O::Broadcast { .. } | O::SendReceive | O::AllToAllV(_) | O::Pipeline(_), _) => 1,
            (_, A::DoubleBinaryTree) => 1,
            (_, A::HalvingDoubling) => reductions::powers(n),
            _ => n,
        }
    }

    /// Steps of each lane, in a group of `n`.
    pub fn steps(&self, n: u32) -> u32 {
        use {Algorithm as A, Operation as O};
        if n < 2 {
            return 0;
        }
        let of_exchange = if self.pxn { relays::STEPS } else { 1 };
        match (&self.operation, self.algorithm) {
            (O::AllReduce, A::Ring) => 2 * (n - 1),
            (O::AllReduce, A::HalvingDoubling) => reductions::halving_doubling_steps(n),
            (O::AllReduce, A::Rails { per_server }) => reductions::rails_steps(n, per_server),
            (O::AllReduce, A::DoubleBinaryTree) => 3,
            (O::AllReduce, _) => 2,
            (O::AllGather | O::ReduceScatter, A::Ring) => n - 1,
            (O::AllToAll | O::AllToAllV(_), A::Pairwise) => (n - 1) * of_exchange,
            (O::AllToAll | O::AllToAllV(_) | O::SendReceive, _) => of_exchange,
            (O::Broadcast { .. }, _) => 2,
            (O::Pipeline(it), _) => it.steps(),
            _ => 1,
        }
    }

    /// Writes into `to` step `step` of the rank at place `me` of a group, over channel `channel`.
    pub fn step(&self, (me, group): (u32, &Group), channel: u32, step: u32, to: &mut Step) {
        to.clear();
        if !self.pxn {
            self.step_of_algorithm((me, group), channel, step, to);
        } else if group.shares_servers() {
            self.relayed((me, group), channel, step, to);
        } else if step.is_multiple_of(relays::STEPS) {
            self.step_of_algorithm((me, group), channel, step / relays::STEPS, to);
        }
    }

    fn step_of_algorithm(
        &self,
        (me, group): (u32, &Group),
        channel: u32,
        step: u32,
        to: &mut Step,
    ) {
        use {Algorithm as A, Operation as O};
        let n = group.count();
        match (&self.operation, self.algorithm) {
            (O::AllReduce | O::ReduceScatter | O::AllGather | O::Broadcast { .. }, A::Ring) => {
                self.around((me, group), channel, step, to);
            }
            (O::AllReduce, A::HalvingDoubling) => reductions::halving_doubling((me, n), step, to),
            (O::AllReduce, A::Rails { per_server }) => {
                reductions::rails((me, n), per_server, step, to);
            }
            (O::AllReduce, A::DoubleBinaryTree) => {
                trees::all_reduce((me, group), (channel % 2, channel / 2), step, to);
            }
            (O::AllReduce, _) => exchanges::direct_reduce((me, n), step, to),
            (O::ReduceScatter, _) => exchanges::direct_scatter((me, n), to),
            (O::AllGather, _) => exchanges::direct_gather((me, n), to),
            (O::AllToAll, A::Pairwise) => exchanges::pairwise((me, n), step, to),
            (O::AllToAll, _) => exchanges::direct((me, n), to),
            (O::AllToAllV(_), A::Pairwise) => exchanges::pairwise((me, n), step, to),
            (O::AllToAllV(_), _) => exchanges::direct((me, n), to),
            (O::SendReceive | O::Broadcast { .. }, _) => exchanges::neighbours((me, n), to),
            (O::Pipeline(it), algorithm) => {
                let order = match algorithm {
                    A::GPipe => Order::AllFirst,
                    A::Interleaved => Order::Interleaved,
                    _ => Order::InTurn,
                };
                it.step((me, n), order, step, to);
            }
        }
    }

    /// A step of an exchange over relays.
    fn relayed(&self, (me, group): (u32, &Group), channel: u32, step: u32, to: &mut Step) {
        let n = group.count();
        let peers = match (&self.operation, self.algorithm) {
            (Operation::SendReceive, _) => relays::Peers::After(1),
            (_, Algorithm::Pairwise) => relays::Peers::After(step / relays::STEPS + 1),
            _ => relays::Peers::All,
        };
        let block = |to: u32| to % self.blocks(n);
        let exchange = relays::Exchange {
            group,
            peers,
            bytes: &|from, to| self.of_blocks((from, to, n), channel, (block(to), 1)),
        };
        exchange.step(me, step % relays::STEPS, to);
        to.acknowledged = self.algorithm == Algorithm::Pairwise;
    }

    /// A step around the ring of a channel. Positions there are not places in the group.
    fn around(&self, (me, group): (u32, &Group), channel: u32, step: u32, to: &mut Step) {
        let at = (group.position(channel, me), group.count());
        match self.operation {
            Operation::ReduceScatter => reductions::ring_scatter(at, step, to),
            Operation::AllGather => reductions::ring_gather(at, step, to),
            Operation::Broadcast { root } => {
                exchanges::chain(at, group.position(channel, root), step, to);
            }
            _ => reductions::ring(at, step, to),
        }
        let blocks = self.blocks(group.count());
        for part in to.sends.iter_mut().chain(&mut to.receives) {
            part.peer = group.place(channel, part.peer);
            if blocks > 1 {
                part.first = group.place(channel, part.first);
            }
        }
    }

    /// Bytes of slice `slice` of a message from `from` to `to`, in a group of `n`.
    pub fn bytes(
        &self,
        (from, to, n): (u32, u32, u32),
        (channel, slice): (u32, u32),
        part: &Part,
    ) -> u64 {
        let message = part
            .bytes
            .unwrap_or_else(|| self.of_blocks((from, to, n), channel, (part.first, part.count)));
        share(message, self.slices, slice)
    }

    /// Bytes of a channel in some blocks, the first and their number, from one to another.
    fn of_blocks(
        &self,
        (from, to, n): (u32, u32, u32),
        channel: u32,
        (first, count): (u32, u32),
    ) -> u64 {
        let all = match &self.operation {
            Operation::AllToAllV(matrix) => matrix[(from * n + to) as usize],
            _ => self.bytes,
        };
        let of_channel = share(all, self.lanes_of_channels(), channel);
        shares(of_channel, self.blocks(n), first, count)
    }

    /// The last step of a lane of `channel`, in a group of `n`, up to which all steps from `step` on are alike at every rank: same
    /// peers, same bytes, and with `reduces` the same reductions, which then take time.
    pub fn last_alike(&self, n: u32, channel: u32, (step, reduces): (u32, bool)) -> u32 {
        let of_channel = share(self.bytes, self.lanes_of_channels(), channel);
        if step >= self.steps(n) || !of_channel.is_multiple_of(u64::from(self.blocks(n))) {
            return step;
        }
        let ends = self.ends_of_rings(n, reduces);
        let end = ends.into_iter().find(|end| step < *end);
        end.map_or(step, |end| end - 1)
    }

    /// Where steps of rings are not alike because some blocks have a byte more: the next larger [`Self::bytes`] with which they are.
    pub fn equal_blocks(&self, n: u32) -> Option<u64> {
        let blocks = u64::from(self.lanes_of_channels()) * u64::from(self.blocks(n));
        let is_equal = self.bytes.is_multiple_of(blocks) || self.ends_of_rings(n, false).is_empty();
        (!is_equal).then(|| self.bytes.next_multiple_of(blocks))
    }

    /// The steps at which one ring ends and another begins; empty if the algorithm is not made of rings.
    fn ends_of_rings(&self, n: u32, reduces: bool) -> Vec<u32> {
        use {Algorithm as A, Operation as O};
        let steps = self.steps(n);
        let (before, after) = match (&self.operation, self.algorithm) {
            (O::AllReduce, A::Ring) => (None, None),
            (O::AllGather | O::ReduceScatter, A::Ring) => return vec![steps],
            (O::AllReduce, A::Rails { per_server }) => {
                (Some(per_server - 1), Some(steps - (per_server - 1)))
            }
            _ => return Vec::new(),
        };
        let middle = reduces.then_some(steps / 2);
        let ends = [before, middle, after, Some(steps)];
        ends.into_iter().flatten().collect()
    }

    /// Bytes that a rank puts on the wire, divided by those that [`Self::bytes`] says: nccl-tests' factor from the
    /// algorithm's bandwidth to that of the bus, as a fraction (above, below). Of a matrix, what a rank sends to others is
    /// counted, all of which is on the wire.
    pub fn bus_factor(&self, n: u32) -> (u32, u32) {
        match self.operation {
            Operation::AllReduce => (2 * (n - 1), n),
            Operation::AllGather | Operation::ReduceScatter | Operation::AllToAll => (n - 1, n),
            Operation::AllToAllV(_)
            | Operation::Broadcast { .. }
            | Operation::SendReceive
            | Operation::Pipeline(_) => (1, 1),
        }
    }

    /// True if its messages may go over relays: ranks send to each other what no third one changes.
    pub fn may_relay(&self) -> bool {
        use Operation as O;
        matches!(
            self.operation,
            O::AllToAll | O::AllToAllV(_) | O::SendReceive
        )
    }

    /// True if slices of a message follow one another through the steps in order, over each connection: what comes over it
    /// is known before it comes.
    pub fn keeps_slices_in_order(&self) -> bool {
        use {Algorithm as A, Operation as O};
        match (&self.operation, self.algorithm) {
            // A slice without bytes for relays would not wait for those before it.
            _ if self.pxn => false,
            (O::Broadcast { .. } | O::SendReceive, _) => true,
            (_, A::Ring | A::DoubleBinaryTree) => true,
            (O::AllReduce, _) => false,
            // A single step.
            (_, A::Direct) => true,
            _ => false,
        }
    }
}
