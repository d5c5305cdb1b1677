//! A program as a file states it, before it is known whether it can run.

use unpause_protocols::units::Time;

use super::spans::{Shared, Span};

/// The operations of all ranks.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// By rank.
    pub ranks: Vec<DraftRank>,
    /// Of operations that are ready, a stream takes the one of the lowest number, not the first.
    pub by_number: bool,
    /// The collective operations that it has been made of, if it is known; their numbers are set later.
    pub shared: Vec<Shared>,
}

/// The operations of a rank.
#[derive(Clone, Debug, Default)]
pub struct DraftRank {
    /// Its operations.
    pub operations: Vec<DraftOperation>,
    /// Which waits for which.
    pub edges: Vec<Edge>,
    /// Which of its operations are of which collective operation.
    pub spans: Vec<Span>,
}

/// An operation.
#[derive(Clone, Copy, Debug)]
pub struct DraftOperation {
    /// The task.
    pub task: Task,
    /// The stream that it occupies, if it computes.
    pub stream: u8,
    /// The channel of its connection, if it sends.
    pub channel: u16,
    /// The label of the collective that it is a part of.
    pub label: u16,
}

/// The task of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// It sends this many bytes, at least one, to a rank.
    Send {
        /// That rank.
        to: u32,
        /// Those bytes.
        bytes: u64,
        /// The tag that the receive must ask for.
        tag: u64,
    },
    /// It waits for a message.
    Receive {
        /// From that rank; `None`: from any.
        from: Option<u32>,
        /// Bytes that it has room for.
        bytes: u64,
        /// With that tag; `None`: with any.
        tag: Option<u64>,
    },
    /// It computes for this long.
    Compute(Time),
    /// It joins others.
    Nothing,
}

/// An operation waits for another of its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The one that is waited for.
    pub before: u32,
    /// The one that waits.
    pub after: u32,
    /// It waits for the start, not for the end.
    pub at_start: bool,
}

impl DraftRank {
    /// One more operation; answers its number.
    pub fn add(&mut self, task: Task, (stream, channel, label): (u8, u16, u16)) -> u32 {
        self.operations.push(DraftOperation {
            task,
            stream,
            channel,
            label,
        });
        self.operations.len() as u32 - 1
    }

    /// Operation `after` waits for the end of `before`.
    pub fn wait(&mut self, after: u32, before: u32) {
        self.edges.push(Edge {
            before,
            after,
            at_start: false,
        });
    }
}

/// Why a program cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramError {
    /// The rank.
    pub rank: u32,
    /// Its operation.
    pub operation: u32,
    /// The fault.
    pub wrong: Wrong,
}

/// The fault in an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// There is no such rank.
    NoRank(u32),
    /// It sends to its own rank, or receives from it.
    ToItself,
    /// Nothing is sent to its rank that it could receive.
    NothingSent,
    /// Nobody receives what it sends.
    NobodyReceives,
    /// It receives a message of this many bytes, for which it has no room.
    Larger(u64),
    /// It waits, over these operations, for itself: ranks and their operations, each waiting for the next.
    Cycle(Vec<(u32, u32)>),
    /// There are more operations or edges than can be numbered, or more channels than possible.
    TooMany,
}
