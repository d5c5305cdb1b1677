//! A program, ready to run.

use std::fmt;

use super::spans::{Shared, Span, Spans};
use crate::jobs::connection::Connection;

/// In [`Program::next`]: an operation that waits for the start of the one before it, not for its end.
pub(super) const AT_START: u32 = 1 << 31;

/// The operations of all ranks, ready to run.
#[derive(Clone, PartialEq)]
pub struct Program {
    /// By rank, the first of its operations; at the end, their number.
    pub(super) first: Vec<u32>,
    /// Of all ranks, one after the other, and one more, which says where [`Self::next`] ends.
    pub(super) operations: Vec<Operation>,
    /// The operations that wait for each: numbers within the rank, with [`AT_START`].
    pub(super) next: Vec<u32>,
    pub(super) connections: Vec<Connection>,
    /// By connection, the first of its messages; at the end, their number.
    pub(super) first_message: Vec<u32>,
    /// Send and receive of each message, by their numbers within their ranks.
    pub(super) messages: Vec<(u32, u32)>,
    pub(super) by_number: bool,
    pub(super) spans: Spans,
}

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It sends [`Operation::amount`] bytes.
    Send,
    /// It waits for a message of this many bytes.
    Receive,
    /// It computes for this many ps.
    Compute,
    /// It joins others.
    Nothing,
}

/// An operation of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Bytes, or ps.
    pub amount: u64,
    /// Of a message, its connection.
    pub connection: u32,
    /// The number of operations that it waits for.
    pub requires: u32,
    pub(super) first: u32,
    /// The collective that it is a part of: a number of which the caller knows the name.
    pub label: u16,
    /// The stream that it occupies.
    pub stream: u8,
    /// The kind of operation.
    pub kind: Kind,
}

const _: () = assert!(size_of::<Operation>() == 24);

impl fmt::Debug for Program {
    /// In short: numbers, and a digest of all that it says.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program")
            .field("ranks", &self.ranks())
            .field("operations", &self.count())
            .field("messages", &self.messages.len())
            .field("digest", &format_args!("{:032x}", self.digest()))
            .finish()
    }
}

impl Program {
    /// Ranks.
    pub fn ranks(&self) -> u32 {
        self.first.len() as u32 - 1
    }

    /// Operations of all ranks.
    pub fn count(&self) -> usize {
        self.operations.len() - 1
    }

    /// Messages of an iteration.
    pub fn message_count(&self) -> usize {
        self.messages.len()
    }

    /// Bytes of all messages of an iteration.
    pub fn bytes(&self) -> u64 {
        let of = (0..self.connections.len()).map(|at| self.bytes_of(at));
        of.fold(0, u64::saturating_add)
    }

    /// Its connections, in order.
    pub fn connections(&self) -> &[Connection] {
        &self.connections
    }

    /// Bytes of all messages of a connection, in an iteration.
    pub fn bytes_of(&self, connection: usize) -> u64 {
        let from = self.connections[connection].from;
        let sends = self.messages_of(connection).iter();
        let bytes = sends.map(|(send, _)| self.of_rank(from)[*send as usize].amount);
        bytes.fold(0, u64::saturating_add)
    }

    /// Send and receive of each message of a connection, by their numbers within their ranks.
    pub fn messages_of(&self, connection: usize) -> &[(u32, u32)] {
        let [first, end] = [connection, connection + 1].map(|at| self.first_message[at] as usize);
        &self.messages[first..end]
    }

    /// The operations of a rank.
    pub fn of_rank(&self, rank: u32) -> &[Operation] {
        let [first, end] = [rank, rank + 1].map(|at| self.first[at as usize] as usize);
        &self.operations[first..end]
    }

    /// The operations that wait for an operation of a rank: the number of each, and whether it waits for the start alone.
    pub fn waiting_for(
        &self,
        rank: u32,
        operation: u32,
    ) -> impl Iterator<Item = (u32, bool)> + use<'_> {
        let at = self.first[rank as usize] as usize + operation as usize;
        let [first, end] = [at, at + 1].map(|at| self.operations[at].first as usize);
        let next = self.next[first..end].iter();
        next.map(|it| (it & !AT_START, it & AT_START != 0))
    }

    /// Of operations that are ready, a stream takes the one of the lowest number, not the first.
    pub fn is_by_number(&self) -> bool {
        self.by_number
    }

    /// Its collective operations.
    pub fn shared(&self) -> &[Shared] {
        &self.spans.all
    }

    /// At how many ranks an operation, or a channel of it, has something to do.
    pub(crate) fn taking_part(&self, of: u32, channel: Option<u32>) -> u32 {
        let found = self.spans.taking_part.get(&(of, channel));
        found.copied().unwrap_or(0)
    }

    /// Spans of a rank.
    pub(crate) fn spans(&self, rank: u32) -> &[Span] {
        self.spans.starts.get(rank as usize).map_or(&[], |it| it)
    }

    /// Those of a rank that start with an operation: their places.
    pub(crate) fn starting(&self, rank: u32, operation: u32) -> std::ops::Range<usize> {
        let all = self.spans(rank);
        let first = all.partition_point(|it| it.first < operation);
        first..all.partition_point(|it| it.first <= operation)
    }

    /// Those of a rank that end with an operation: their places.
    pub(crate) fn ending(
        &self,
        rank: u32,
        operation: u32,
    ) -> impl Iterator<Item = usize> + use<'_> {
        let all: &[(u32, u32)] = self.spans.ends.get(rank as usize).map_or(&[], |it| it);
        let first = all.partition_point(|(end, _)| *end < operation);
        let ends = all[first..].iter();
        ends.take_while(move |(end, _)| *end == operation)
            .map(|(_, at)| *at as usize)
    }

    fn digest(&self) -> u128 {
        let mut hash = Digest(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        for it in &self.operations {
            hash.add(it.amount);
            hash.add(u64::from(it.connection) << 32 | u64::from(it.requires));
            hash.add(u64::from(it.first) << 32 | u64::from(it.label));
            hash.add(u64::from(it.stream) << 8 | it.kind as u64);
        }
        let numbers = [&self.first, &self.next, &self.first_message];
        numbers
            .into_iter()
            .flatten()
            .for_each(|it| hash.add(u64::from(*it)));
        for it in &self.connections {
            hash.add(u64::from(it.from) << 32 | u64::from(it.to));
            hash.add(u64::from(it.channel));
        }
        for (send, receive) in &self.messages {
            hash.add(u64::from(*send) << 32 | u64::from(*receive));
        }
        hash.add(u64::from(self.by_number));
        self.spans.tell(&mut |it| hash.add(it));
        hash.0
    }
}

/// FNV-1a of 128 bits, a word at a time.
struct Digest(u128);

impl Digest {
    fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ u128::from(word)).wrapping_mul((1 << 88) + 0x13b);
    }
}
