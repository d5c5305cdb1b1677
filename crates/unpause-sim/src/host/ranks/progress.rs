//! The progress of a rank that runs a program.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use unpause_protocols::units::Time;

use crate::jobs::program::{Kind, Program, Span};

/// In [`Progress::left`]: a send that may be posted.
const READY: u32 = u32::MAX - 1;
/// In [`Progress::left`]: a receive whose message has not come.
const WAITING: u32 = u32::MAX;

/// The progress of a rank in an iteration of its program.
#[derive(Debug, Default)]
pub struct Progress {
    /// By operation, what it still waits for, or [`READY`], or [`WAITING`].
    left: Vec<u32>,
    /// Messages that have come before their receive has started.
    ahead: BTreeMap<u32, u32>,
    /// Operations that have not ended.
    open: usize,
    /// Operations that start now.
    pub todo: VecDeque<u32>,
    streams: BTreeMap<u8, Stream>,
    /// Operations that have come to a stream.
    queued: u64,
    /// By connection.
    sending: BTreeMap<u32, Sending>,
    /// Operations that compute, since when at least one does, and how long at least one has before.
    computing: u32,
    since: Time,
    computed: Time,
    /// By its parts in collective operations, when it began them.
    joined: Vec<Time>,
    /// Those that have ended: which, from when to when.
    pub taken: Vec<(Span, Time, Time)>,
}

/// A stream: it computes, and what is to be computed next.
#[derive(Debug, Default)]
struct Stream {
    busy: bool,
    ready: BTreeSet<(u64, u32)>,
}

/// A connection: messages of this iteration that have been posted and that have been acknowledged, and of all iterations.
#[derive(Debug, Default)]
struct Sending {
    posted: usize,
    ended: usize,
    acknowledged: u32,
}

impl Progress {
    /// An iteration begins.
    pub fn begin(&mut self, program: &Program, rank: u32) {
        let operations = program.of_rank(rank);
        self.left.clear();
        self.left
            .extend(operations.iter().map(|operation| operation.requires));
        self.open = operations.len();
        let ready = operations
            .iter()
            .zip(0..)
            .filter(|(it, _)| it.requires == 0);
        self.todo.extend(ready.map(|(_, at)| at));
        for sending in self.sending.values_mut() {
            (sending.posted, sending.ended) = (0, 0);
        }
        self.computed = Time::ZERO;
        self.joined.resize(program.spans(rank).len(), Time::ZERO);
    }

    /// How long it has computed in the iteration, if that is over.
    pub fn over(&self) -> Option<Time> {
        (self.open == 0).then_some(self.computed)
    }

    /// An operation starts.
    pub fn start(&mut self, now: Time, (program, rank): (&Program, u32), at: u32) {
        for place in program.starting(rank, at) {
            self.joined[place] = now;
            let span = program.spans(rank)[place];
            if span.end.is_none() {
                self.taken.push((span, now, now));
            }
        }
        self.release(program, rank, at, true);
    }

    /// An operation has ended.
    pub fn end(&mut self, now: Time, (program, rank): (&Program, u32), at: u32) {
        self.open -= 1;
        for place in program.ending(rank, at) {
            let span = program.spans(rank)[place];
            self.taken.push((span, self.joined[place], now));
        }
        self.release(program, rank, at, false);
    }

    fn release(&mut self, program: &Program, rank: u32, at: u32, started: bool) {
        for (next, at_start) in program.waiting_for(rank, at) {
            if at_start == started {
                let left = &mut self.left[next as usize];
                *left -= 1;
                if *left == 0 {
                    self.todo.push_back(next);
                }
            }
        }
    }

    /// An operation comes to its stream.
    pub fn queue(&mut self, program: &Program, rank: u32, at: u32) {
        self.queued += 1;
        let order = if program.is_by_number() {
            0
        } else {
            self.queued
        };
        let stream = program.of_rank(rank)[at as usize].stream;
        let stream = self.streams.entry(stream).or_default();
        stream.ready.insert((order, at));
    }

    /// The operation that a stream computes now, if it is idle.
    pub fn take_next(&mut self, now: Time, stream: u8) -> Option<u32> {
        let stream = self.streams.entry(stream).or_default();
        if stream.busy {
            return None;
        }
        let (_, at) = stream.ready.pop_first()?;
        stream.busy = true;
        if self.computing == 0 {
            self.since = now;
        }
        self.computing += 1;
        Some(at)
    }

    /// A stream has computed.
    pub fn computed(&mut self, now: Time, stream: u8) {
        self.streams.entry(stream).or_default().busy = false;
        self.computing -= 1;
        if self.computing == 0 {
            self.computed += now - self.since;
        }
    }

    /// A receive starts; true if its message has come.
    pub fn receive(&mut self, at: u32) -> bool {
        let Some(ahead) = self.ahead.get_mut(&at) else {
            self.left[at as usize] = WAITING;
            return false;
        };
        *ahead -= 1;
        if *ahead == 0 {
            self.ahead.remove(&at);
        }
        true
    }

    /// The message of a receive has come; true if that waits for it.
    pub fn take(&mut self, at: u32) -> bool {
        let left = self.left.get_mut(at as usize);
        let waits = left.filter(|it| **it == WAITING);
        match waits {
            Some(left) => {
                *left = 0;
                true
            }
            None => {
                *self.ahead.entry(at).or_default() += 1;
                false
            }
        }
    }

    /// A send may be posted.
    pub fn ready(&mut self, at: u32) {
        self.left[at as usize] = READY;
    }

    /// The next message of a connection, if it may be posted now: the number of its send.
    pub fn post_next(&mut self, program: &Program, connection: u32) -> Option<u32> {
        let sending = self.sending.entry(connection).or_default();
        let (send, _) = *program
            .messages_of(connection as usize)
            .get(sending.posted)?;
        if self.left[send as usize] != READY {
            return None;
        }
        sending.posted += 1;
        Some(send)
    }

    /// `all` messages of a connection have been acknowledged since the beginning: ends their sends.
    pub fn acknowledge(
        &mut self,
        now: Time,
        program: &Program,
        (rank, connection): (u32, u32),
        all: u32,
    ) {
        loop {
            let sending = self.sending.entry(connection).or_default();
            if sending.acknowledged == all {
                return;
            }
            sending.acknowledged += 1;
            let (send, _) = program.messages_of(connection as usize)[sending.ended];
            sending.ended += 1;
            debug_assert_eq!(program.of_rank(rank)[send as usize].kind, Kind::Send);
            self.end(now, (program, rank), send);
        }
    }
}
