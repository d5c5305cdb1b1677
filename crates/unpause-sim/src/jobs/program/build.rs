//! Makes programs.

use std::collections::BTreeMap;

use super::compact::{AT_START, Kind, Operation, Program};
use super::draft::{Draft, DraftRank, ProgramError, Task, Wrong};
use super::edges::Edges;
use super::spans::Spans;
use super::trial::{Message, Trial};
use crate::jobs::connection::Connection;

/// Operations of all ranks, and edges, that can be numbered.
const MOST: usize = AT_START as usize - 1;

const NOTHING: Operation = Operation {
    amount: 0,
    connection: 0,
    requires: 0,
    first: 0,
    label: 0,
    stream: 0,
    kind: Kind::Nothing,
};

impl Program {
    /// Of what a file says.
    ///
    /// # Errors
    ///
    /// The first operation that could never start or end, and why.
    pub fn new(draft: &Draft) -> Result<Self, ProgramError> {
        check(draft)?;
        let edges: Vec<Edges> = draft.ranks.iter().map(Edges::of).collect();
        let messages = Trial::run(draft, &edges)?;
        let mut program = Self {
            first: vec![0],
            operations: Vec::with_capacity(draft.ranks.iter().map(|it| it.operations.len()).sum()),
            next: Vec::with_capacity(edges.iter().map(|it| it.next.len()).sum()),
            connections: messages.keys().copied().collect(),
            first_message: vec![0],
            messages: Vec::with_capacity(messages.values().map(Vec::len).sum()),
            by_number: draft.by_number,
            spans: Spans::of(&draft.shared, draft.ranks.iter().map(|it| &it.spans[..])),
        };
        for (rank, edges) in draft.ranks.iter().zip(&edges) {
            program.add(rank, edges);
        }
        program.operations.push(Operation {
            first: program.next.len() as u32,
            ..NOTHING
        });
        program.number(draft, &messages);
        Ok(program)
    }

    fn add(&mut self, rank: &DraftRank, edges: &Edges) {
        for (at, it) in rank.operations.iter().enumerate() {
            let (kind, amount) = match it.task {
                Task::Send { bytes, .. } => (Kind::Send, bytes.max(1)),
                // Its message says how many bytes.
                Task::Receive { .. } => (Kind::Receive, 0),
                Task::Compute(time) => (Kind::Compute, time.as_ps()),
                Task::Nothing => (Kind::Nothing, 0),
            };
            self.operations.push(Operation {
                amount,
                requires: edges.requires[at],
                first: self.next.len() as u32,
                label: it.label,
                stream: it.stream,
                kind,
                ..NOTHING
            });
            self.next.extend_from_slice(edges.next_of(at));
        }
        self.first.push(self.operations.len() as u32);
    }

    /// Tells sends and receives of their connections.
    fn number(&mut self, draft: &Draft, messages: &BTreeMap<Connection, Vec<Message>>) {
        for (at, (connection, of)) in messages.iter().enumerate() {
            for it in of {
                let place = |rank: u32, number: u32| (self.first[rank as usize] + number) as usize;
                let send = place(connection.from, it.send);
                let receive = place(connection.to, it.receive);
                let bytes = self.operations[send].amount;
                self.operations[send].connection = at as u32;
                self.operations[receive].connection = at as u32;
                self.operations[receive].amount = bytes;
                self.messages.push((it.send, it.receive));
            }
            self.first_message.push(self.messages.len() as u32);
        }
        debug_assert_eq!(self.ranks() as usize, draft.ranks.len());
    }
}

fn check(draft: &Draft) -> Result<(), ProgramError> {
    let error = |rank: usize, operation: usize, wrong: Wrong| {
        Err(ProgramError {
            rank: rank as u32,
            operation: operation as u32,
            wrong,
        })
    };
    let (mut operations, mut edges) = (0, 0);
    for (at, rank) in draft.ranks.iter().enumerate() {
        operations += rank.operations.len();
        edges += rank.edges.len();
        if operations > MOST || edges > MOST {
            return error(at, 0, Wrong::TooMany);
        }
        for (number, it) in rank.operations.iter().enumerate() {
            let peer = match it.task {
                Task::Send { to, .. } => Some(to),
                Task::Receive { from, .. } => from,
                _ => None,
            };
            match peer {
                Some(peer) if peer as usize >= draft.ranks.len() => {
                    return error(at, number, Wrong::NoRank(peer));
                }
                Some(peer) if peer as usize == at => return error(at, number, Wrong::ToItself),
                _ => {}
            }
        }
        let count = rank.operations.len() as u32;
        for edge in &rank.edges {
            assert!(
                edge.before < count && edge.after < count,
                "no such operation"
            );
        }
    }
    Ok(())
}
