//! Runs a program where nothing is in the way of messages, to find their order and who receives them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use unpause_protocols::units::Time;

use super::draft::{Draft, ProgramError, Task, Wrong};
use super::edges::Edges;
use super::stuck::{self, Progress};
use crate::jobs::connection::Connection;

/// How long a message of no bytes takes where the order of messages is found.
pub const LATENCY: Time = Time::from_us(1);
/// And each of its bytes: at 100 Gb/s.
pub const PER_BYTE: Time = Time::from_ps(80);

/// A message: numbers of its send and its receive within their ranks.
pub(super) struct Message {
    pub send: u32,
    /// [`NOBODY`] until a receive takes it.
    pub receive: u32,
}

const NOBODY: u32 = u32::MAX;

/// Source and tag; `None` stands for any.
type Envelope = (Option<u32>, Option<u64>);

/// A message that nobody has asked for yet.
struct Unexpected {
    order: u64,
    connection: Connection,
    place: usize,
    arrival: Time,
}

/// A rank.
#[derive(Default)]
struct Rank {
    left: Vec<u32>,
    progress: Vec<Progress>,
    /// Operations that wait for their stream, and whether that is busy.
    streams: BTreeMap<u8, (bool, BTreeSet<(u64, u32)>)>,
    /// Receives that wait, by what they ask for, in their order.
    posted: BTreeMap<Envelope, VecDeque<(u64, u32)>>,
    unexpected: BTreeMap<(u32, u64), VecDeque<Unexpected>>,
}

pub(super) struct Trial<'a> {
    draft: &'a Draft,
    edges: &'a [Edges],
    ranks: Vec<Rank>,
    ends: BinaryHeap<Reverse<(Time, u32, u32)>>,
    todo: VecDeque<(u32, u32)>,
    messages: BTreeMap<Connection, Vec<Message>>,
    /// Counts what comes one after the other.
    order: u64,
    larger: Option<ProgramError>,
}

impl<'a> Trial<'a> {
    /// The messages of each connection in order.
    pub fn run(
        draft: &'a Draft,
        edges: &'a [Edges],
    ) -> Result<BTreeMap<Connection, Vec<Message>>, ProgramError> {
        let ranks = draft.ranks.iter().zip(edges);
        let mut trial = Self {
            draft,
            edges,
            ranks: ranks
                .map(|(rank, edges)| Rank {
                    left: edges.requires.clone(),
                    progress: vec![Progress::Waits; rank.operations.len()],
                    ..Rank::default()
                })
                .collect(),
            ends: BinaryHeap::new(),
            todo: VecDeque::new(),
            messages: BTreeMap::new(),
            order: 0,
            larger: None,
        };
        for (rank, edges) in edges.iter().enumerate() {
            let ready = edges
                .requires
                .iter()
                .enumerate()
                .filter(|(_, it)| **it == 0);
            trial
                .todo
                .extend(ready.map(|(at, _)| (rank as u32, at as u32)));
        }
        trial.go_on(Time::ZERO);
        while let Some(Reverse((now, rank, operation))) = trial.ends.pop() {
            trial.end(now, rank, operation);
            trial.go_on(now);
        }
        trial.finish()
    }

    fn finish(self) -> Result<BTreeMap<Connection, Vec<Message>>, ProgramError> {
        if let Some(larger) = self.larger {
            return Err(larger);
        }
        let progress: Vec<&[Progress]> = self.ranks.iter().map(|it| &it.progress[..]).collect();
        if let Some(wrong) = stuck::find(self.draft, &progress) {
            return Err(wrong);
        }
        for (connection, messages) in &self.messages {
            if let Some(lost) = messages.iter().find(|it| it.receive == NOBODY) {
                return Err(ProgramError {
                    rank: connection.from,
                    operation: lost.send,
                    wrong: Wrong::NobodyReceives,
                });
            }
        }
        Ok(self.messages)
    }

    /// Starts all that is ready.
    fn go_on(&mut self, now: Time) {
        while let Some((rank, operation)) = self.todo.pop_front() {
            let it = &self.draft.ranks[rank as usize].operations[operation as usize];
            match it.task {
                Task::Compute(time) if time > Time::ZERO => {
                    let order = if self.draft.by_number {
                        0
                    } else {
                        self.next_order()
                    };
                    let streams = &mut self.ranks[rank as usize].streams;
                    let stream = streams.entry(it.stream).or_default();
                    stream.1.insert((order, operation));
                    self.take_next(now, rank, it.stream);
                }
                Task::Compute(_) | Task::Nothing => {
                    self.start(rank, operation);
                    self.end(now, rank, operation);
                }
                Task::Send { to, bytes, tag } => {
                    self.start(rank, operation);
                    let connection = Connection {
                        from: rank,
                        to,
                        channel: it.channel.into(),
                    };
                    self.send(now, connection, operation, (bytes.max(1), tag));
                }
                Task::Receive { from, tag, .. } => {
                    self.start(rank, operation);
                    self.receive(now, (rank, operation), (from, tag));
                }
            }
        }
    }

    fn next_order(&mut self) -> u64 {
        self.order += 1;
        self.order
    }

    /// A stream that is idle takes the next operation.
    fn take_next(&mut self, now: Time, rank: u32, stream: u8) {
        let streams = &mut self.ranks[rank as usize].streams;
        let (busy, ready) = streams.entry(stream).or_default();
        if *busy {
            return;
        }
        let Some((_, operation)) = ready.pop_first() else {
            return;
        };
        *busy = true;
        self.start(rank, operation);
        let task = self.draft.ranks[rank as usize].operations[operation as usize].task;
        let takes = match task {
            Task::Compute(takes) => takes,
            _ => Time::ZERO,
        };
        self.ends
            .push(Reverse((now.saturating_add(takes), rank, operation)));
    }

    fn start(&mut self, rank: u32, operation: u32) {
        self.ranks[rank as usize].progress[operation as usize] = Progress::Started;
        self.release(rank, operation, true);
    }

    /// An operation has ended, at its time.
    fn end(&mut self, now: Time, rank: u32, operation: u32) {
        self.ranks[rank as usize].progress[operation as usize] = Progress::Ended;
        self.release(rank, operation, false);
        let it = &self.draft.ranks[rank as usize].operations[operation as usize];
        if matches!(it.task, Task::Compute(time) if time > Time::ZERO) {
            let streams = &mut self.ranks[rank as usize].streams;
            streams.entry(it.stream).or_default().0 = false;
            self.take_next(now, rank, it.stream);
        }
    }

    fn release(&mut self, rank: u32, operation: u32, started: bool) {
        let of_rank = &mut self.ranks[rank as usize];
        for (next, at_start) in self.edges[rank as usize].waiting(operation) {
            if at_start != started {
                continue;
            }
            let left = &mut of_rank.left[next as usize];
            *left -= 1;
            if *left == 0 {
                self.todo.push_back((rank, next));
            }
        }
    }

    fn send(&mut self, now: Time, connection: Connection, send: u32, (bytes, tag): (u64, u64)) {
        let takes = PER_BYTE.as_ps().saturating_mul(bytes);
        let arrival = now
            .saturating_add(LATENCY)
            .saturating_add(Time::from_ps(takes));
        let messages = self.messages.entry(connection).or_default();
        let place = messages.len();
        messages.push(Message {
            send,
            receive: NOBODY,
        });
        self.ends.push(Reverse((
            arrival.saturating_add(LATENCY),
            connection.from,
            send,
        )));
        // The first posted of those that ask for it.
        let (from, to) = (connection.from, &mut self.ranks[connection.to as usize]);
        let asked = [
            (Some(from), Some(tag)),
            (Some(from), None),
            (None, Some(tag)),
            (None, None),
        ];
        let first = asked
            .into_iter()
            .filter_map(|it| Some((*to.posted.get(&it)?.front()?, it)))
            .min();
        match first {
            Some(((_, receive), asked)) => {
                pop(&mut to.posted, asked);
                self.matched(connection, place, receive, arrival);
            }
            None => {
                let order = self.next_order();
                let unexpected = &mut self.ranks[connection.to as usize].unexpected;
                unexpected
                    .entry((from, tag))
                    .or_default()
                    .push_back(Unexpected {
                        order,
                        connection,
                        place,
                        arrival,
                    });
            }
        }
    }

    fn receive(&mut self, now: Time, (rank, operation): (u32, u32), asked: Envelope) {
        let of_rank = &mut self.ranks[rank as usize];
        let found = match asked {
            (Some(from), Some(tag)) => of_rank.unexpected.get(&(from, tag)).map(|_| (from, tag)),
            (from, tag) => {
                let fits = |key: &(u32, u64)| {
                    from.is_none_or(|from| from == key.0) && tag.is_none_or(|tag| tag == key.1)
                };
                let of = of_rank.unexpected.iter().filter(|(key, _)| fits(key));
                let first = of.filter_map(|(key, of)| Some((of.front()?.order, *key)));
                first.min().map(|(_, key)| key)
            }
        };
        match found.and_then(|key| pop(&mut of_rank.unexpected, key)) {
            Some(it) => self.matched(it.connection, it.place, operation, it.arrival.max(now)),
            None => {
                let order = self.next_order();
                let posted = &mut self.ranks[rank as usize].posted;
                posted
                    .entry(asked)
                    .or_default()
                    .push_back((order, operation));
            }
        }
    }

    /// A message goes to a receive, which ends then.
    fn matched(&mut self, connection: Connection, place: usize, receive: u32, ends: Time) {
        let message = self.messages.get_mut(&connection).map(|it| &mut it[place]);
        let message = message.expect("it is there");
        message.receive = receive;
        let of = |rank: u32, at: u32| self.draft.ranks[rank as usize].operations[at as usize].task;
        let tasks = (
            of(connection.from, message.send),
            of(connection.to, receive),
        );
        if let (Task::Send { bytes, .. }, Task::Receive { bytes: room, .. }) = tasks
            && bytes > room
        {
            self.larger.get_or_insert(ProgramError {
                rank: connection.to,
                operation: receive,
                wrong: Wrong::Larger(bytes),
            });
        }
        self.ends.push(Reverse((ends, connection.to, receive)));
    }
}

/// Takes the first of what stands at `key`; nothing empty stays.
fn pop<K: Ord, V>(from: &mut BTreeMap<K, VecDeque<V>>, key: K) -> Option<V> {
    let of = from.get_mut(&key)?;
    let first = of.pop_front();
    if of.is_empty() {
        from.remove(&key);
    }
    first
}
