//! Makes a program of traces.

use unpause_sim::jobs::program::{Draft, DraftRank};
use unpause_sim::jobs::{self, Algorithm, Collective, Operation, Program};

use super::call::{Call, What};
use super::groups::{Group, groups};
use super::trace::Trace;
use crate::FileError;
use crate::programs::collectives::Part;
use crate::programs::imported::explain;
use unpause_text::limits;

/// How collective operations of traces are done.
#[derive(Clone, Copy, Debug)]
pub struct Collectives {
    /// All-reduce.
    pub all_reduce: Algorithm,
    /// All-gather and reduce-scatter.
    pub all_gather: Algorithm,
    /// All-to-all.
    pub all_to_all: Algorithm,
    /// Channels of each.
    pub channels: u32,
}

impl Default for Collectives {
    fn default() -> Self {
        Self {
            all_reduce: Algorithm::Ring,
            all_gather: Algorithm::Ring,
            all_to_all: Algorithm::Direct,
            channels: 1,
        }
    }
}

/// Channels of connections that there can be.
const CHANNELS: u32 = 1 << 16;

/// Builds the operations of all ranks.
pub(super) fn program(traces: &[Trace], of: Collectives) -> Result<Program, FileError> {
    let before = traces.iter().map(|trace| {
        let nodes = 0..trace.nodes.len();
        nodes.map(|at| trace.before(at)).collect()
    });
    let before: Vec<Vec<Vec<u32>>> = before.collect::<Result<_, FileError>>()?;
    let mut builder = Builder::new(traces, of);
    for group in groups(traces, &before)? {
        builder.group(&group)?;
    }
    builder.finish(&before)
}

struct Builder<'a> {
    traces: &'a [Trace],
    of: Collectives,
    draft: Draft,
    /// By rank and node, the operation with which it ends; it begins with the operation of its own number.
    ends: Vec<Vec<u32>>,
    /// By rank, the node of each operation that is the part of a collective.
    parts: Vec<Vec<u32>>,
    /// By rank, the first channel that no group has. Messages of nodes have channel 0.
    channel: Vec<u32>,
    groups: u64,
    operations: u64,
}

impl<'a> Builder<'a> {
    fn new(traces: &'a [Trace], of: Collectives) -> Self {
        let rank = |trace: &Trace| {
            let mut rank = DraftRank::default();
            for node in &trace.nodes {
                rank.add(node.task, (node.stream, 0, node.label));
            }
            rank
        };
        let nodes = |trace: &Trace| trace.nodes.len() as u32;
        Self {
            traces,
            of,
            draft: Draft {
                ranks: traces.iter().map(rank).collect(),
                // As astra-sim takes nodes that are ready.
                by_number: true,
                shared: Vec::new(),
            },
            ends: traces.iter().map(|it| (0..nodes(it)).collect()).collect(),
            parts: vec![Vec::new(); traces.len()],
            channel: vec![1; traces.len()],
            groups: 0,
            operations: traces.iter().map(|it| u64::from(nodes(it))).sum(),
        }
    }

    /// Its operations follow one another at each rank, over connections of their own, as in a communicator of NCCL.
    fn group(&mut self, group: &Group) -> Result<(), FileError> {
        let free = group.ranks.iter().map(|it| self.channel[*it as usize]);
        let channel = free.max().unwrap_or(1);
        let mut lanes = 0;
        for (at, nodes) in group.calls.iter().enumerate() {
            let (first, node) = (group.ranks[0] as usize, nodes[0]);
            let trace = &self.traces[first];
            let collective = self.collective(trace, node, group.ranks.len() as u32)?;
            lanes = lanes.max(collective.lanes_of_channels());
            self.check_room(&collective, (trace, node), group.ranks.len() as u32)?;
            if channel + lanes > CHANNELS {
                let found = "one process group more at a rank, each with its channels";
                let expected = format!("at most {CHANNELS} channels");
                return Err(trace.error(node as usize, found, expected));
            }
            if at > 0 {
                self.one_after_the_other(group, at);
            }
            let part = Part {
                collective: &collective,
                group: &jobs::Group::from_iter(group.ranks.iter().copied()),
                number: self.groups,
                channel: channel as u16,
                label: trace.nodes[node as usize].label,
            };
            let mut after: Vec<Option<u32>> = nodes.iter().copied().map(Some).collect();
            part.add(&mut self.draft, &mut after);
            for ((rank, node), end) in group.ranks.iter().zip(nodes).zip(after) {
                let rank = *rank as usize;
                self.ends[rank][*node as usize] = end.unwrap_or(*node);
                let added = self.draft.ranks[rank].operations.len() - self.ends[rank].len();
                self.parts[rank].resize(added, *node);
            }
        }
        for rank in &group.ranks {
            self.channel[*rank as usize] = channel + lanes;
        }
        self.groups += 1;
        Ok(())
    }

    fn one_after_the_other(&mut self, group: &Group, at: usize) {
        for (place, rank) in group.ranks.iter().enumerate() {
            let (last, next) = (group.calls[at - 1][place], group.calls[at][place]);
            let end = self.ends[*rank as usize][last as usize];
            self.draft.ranks[*rank as usize].wait(next, end);
        }
    }

    /// The collective that a node requests of a group of this many ranks.
    fn collective(&self, trace: &Trace, node: u32, ranks: u32) -> Result<Collective, FileError> {
        let call: &Call = trace.call(node);
        let (operation, algorithm, factor) = match call.what {
            What::AllReduce => (Operation::AllReduce, self.of.all_reduce, 1),
            // The trace counts what one rank gives.
            What::AllGather => (Operation::AllGather, self.of.all_gather, ranks),
            What::ReduceScatter => (Operation::ReduceScatter, self.of.all_gather, 1),
            What::Broadcast => (Operation::Broadcast { root: 0 }, Algorithm::Ring, 1),
            What::AllToAll => (Operation::AllToAll, self.of.all_to_all, 1),
            What::Barrier => (Operation::AllGather, Algorithm::Direct, ranks),
        };
        let (bytes, channels) = match call.what {
            What::Barrier => (1, 1),
            _ => (call.bytes, self.of.channels),
        };
        let all = bytes
            .checked_mul(factor.into())
            .filter(|it| *it < u64::MAX / 2);
        let bytes = all.ok_or_else(|| {
            let found = format!("{} of {ranks} ranks", call.show());
            trace.error(node as usize, found, "fewer than 2^63 B of all ranks")
        })?;
        Ok(Collective {
            operation,
            algorithm,
            bytes,
            channels,
            slices: 1,
            pxn: false,
        })
    }

    fn check_room(
        &mut self,
        of: &Collective,
        (trace, node): (&Trace, u32),
        ranks: u32,
    ) -> Result<(), FileError> {
        let partners = match of.algorithm {
            Algorithm::Direct => ranks - 1,
            // Those of two trees: a parent and two children.
            Algorithm::DoubleBinaryTree => 3,
            _ => 1,
        };
        let steps = u64::from(of.steps(ranks)) * u64::from(2 * partners + 1);
        let added = steps * u64::from(ranks) * u64::from(of.lanes_of_channels());
        self.operations = self.operations.saturating_add(added);
        if self.operations > limits::OPERATIONS as u64 {
            let expected = format!("at most {} operations", limits::OPERATIONS);
            let found = "more sends and receives of collectives up to this node";
            return Err(trace.error(node as usize, found, expected));
        }
        Ok(())
    }

    /// The node of an operation.
    fn node(&self, rank: u32, operation: u32) -> usize {
        let nodes = self.traces[rank as usize].nodes.len();
        match (operation as usize).checked_sub(nodes) {
            None => operation as usize,
            Some(part) => self.parts[rank as usize][part] as usize,
        }
    }

    fn finish(mut self, before: &[Vec<Vec<u32>>]) -> Result<Program, FileError> {
        for (rank, of_rank) in before.iter().enumerate() {
            for (node, all) in of_rank.iter().enumerate() {
                for before in all {
                    let end = self.ends[rank][*before as usize];
                    self.draft.ranks[rank].wait(node as u32, end);
                }
            }
        }
        Program::new(&self.draft).map_err(|error| {
            let of = |rank: u32, at: u32| (&self.traces[rank as usize], self.node(rank, at));
            let place = |rank: u32, at: u32| {
                let (trace, node) = of(rank, at);
                format!("node {} of rank {rank}", trace.nodes[node].id)
            };
            let (found, expected) = explain(&error, &self.draft, &place);
            let node = place(error.rank, error.operation);
            let found = if found.contains(&node) {
                found
            } else {
                format!("{found} ({node})")
            };
            let (trace, at) = of(error.rank, error.operation);
            trace.error(at, found, expected)
        })
    }
}
