//! Which connections the ranks of jobs need, and what comes over each.

use std::collections::BTreeSet;

use super::collective::Collective;
pub use super::connection::Connection;
use super::group::Group;
use super::job::{Exchange, Job, Over};
use super::program::Program;
use super::step::Step;
use crate::fabric::NodeId;
use crate::fabric::rng::mix;
use crate::traffic::FlowSpec;

/// A message as its receiver expects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The iteration that it is of.
    pub iteration: u32,
    /// The phase there; of a program, the label of the receive.
    pub phase: u32,
    /// The receiver's step there; of a program, the number of the receive.
    pub step: u32,
    /// Its slice.
    pub slice: u32,
    /// Payload bytes, at least 1.
    pub bytes: u64,
}

/// The messages of a connection, one by one: their order is known before the run.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    iteration: u32,
    phase: u32,
    step: u32,
    slice: u32,
}

impl Messages {
    /// Iteration, phase, step and slice of the next message, or of the previous one.
    pub fn place(&mut self) -> (u32, u32, &mut u32, u32) {
        (self.iteration, self.phase, &mut self.step, self.slice)
    }

    /// The next message over `connection`; `None` if there is none left.
    pub fn next(
        &mut self,
        job: &Job,
        connection: &Connection,
        room: &mut Step,
    ) -> Option<Expected> {
        if let Some(program) = &job.program {
            return self.next_of_program(program, job.iterations, connection);
        }
        let mut idle = 0;
        while self.iteration < job.iterations && idle <= job.phases.len() {
            let phase = &job.phases[self.phase as usize];
            let exchange = phase.collective.as_ref();
            let found = exchange.and_then(|it| self.next_of(it, connection, room));
            if let Some((step, slice, bytes)) = found {
                return Some(Expected {
                    iteration: self.iteration,
                    phase: self.phase,
                    step,
                    slice,
                    bytes,
                });
            }
            idle += 1;
            (self.step, self.slice) = (0, 0);
            self.phase += 1;
            if self.phase as usize == job.phases.len() {
                self.phase = 0;
                self.iteration += 1;
            }
        }
        None
    }

    /// The next of a program.
    fn next_of_program(
        &mut self,
        program: &Program,
        iterations: u32,
        connection: &Connection,
    ) -> Option<Expected> {
        let place = program.connections().binary_search(connection).ok()?;
        let messages = program.messages_of(place);
        if self.step as usize == messages.len() {
            self.step = 0;
            self.iteration += 1;
        }
        if self.iteration == iterations {
            return None;
        }
        let (_, receive) = messages[self.step as usize];
        self.step += 1;
        let operation = &program.of_rank(connection.to)[receive as usize];
        Some(Expected {
            iteration: self.iteration,
            phase: operation.label.into(),
            step: receive,
            slice: 0,
            bytes: operation.amount,
        })
    }

    /// The next in this phase: its step, its slice, its bytes.
    fn next_of(
        &mut self,
        exchange: &Exchange,
        connection: &Connection,
        room: &mut Step,
    ) -> Option<(u32, u32, u64)> {
        let it = &exchange.collective;
        if connection.channel >= it.lanes_of_channels() {
            return None;
        }
        let (group, me) = exchange.place(connection.to)?;
        let from = group.iter().position(|rank| *rank == connection.from)? as u32;
        let n = group.count();
        while self.step < it.steps(n) {
            it.step((me, group), connection.channel, self.step, room);
            if let Some(part) = room.receives.iter().find(|part| part.peer == from) {
                while self.slice < it.slices {
                    let slice = self.slice;
                    self.slice += 1;
                    let bytes = it.bytes((from, me, n), (connection.channel, slice), part);
                    if bytes > 0 {
                        return Some((self.step, slice, bytes));
                    }
                }
            }
            self.slice = 0;
            self.step += 1;
        }
        None
    }
}

/// The connections of a collective operation of a group, in order of neither.
fn connections_of(it: &Collective, group: &Group, found: &mut BTreeSet<Connection>) {
    let n = group.count();
    let mut room = Step::default();
    for me in 0..n {
        for channel in 0..it.lanes_of_channels() {
            for step in 0..it.steps(n) {
                it.step((me, group), channel, step, &mut room);
                for part in &room.sends {
                    // The first slice has most.
                    if it.bytes((me, part.peer, n), (channel, 0), part) > 0 {
                        found.insert(Connection {
                            from: group[me as usize],
                            to: group[part.peer as usize],
                            channel,
                        });
                    }
                }
            }
        }
    }
}

impl Job {
    /// Its connections, in order.
    pub fn connections(&self) -> Vec<Connection> {
        if let Some(program) = &self.program {
            return program.connections().to_vec();
        }
        let mut found = BTreeSet::new();
        let exchanges = self.phases.iter().filter_map(|it| it.collective.as_ref());
        for exchange in exchanges {
            for group in &exchange.groups {
                connections_of(&exchange.collective, group, &mut found);
            }
        }
        found.into_iter().collect()
    }

    /// Its connections, or messages if each has one of its own, as flows without end, for
    /// [`crate::config::Config::traffic`] of a run of `seed`. Source ports are 0xC000 with 14 bits of entropy, as generators
    /// choose them.
    pub fn flows(&self, seed: u64) -> Vec<FlowSpec> {
        let port_of = |it: &Connection| {
            let of_pair = mix(seed ^ mix(u64::from(it.from) << 32 | u64::from(it.to)));
            let which = u64::from(self.entry) << 32 | u64::from(it.channel);
            mix(of_pair ^ mix(which))
        };
        let flow = |it: &Connection, drawn: u64| FlowSpec {
            start: self.start,
            source_port: 0xC000 | (drawn >> 50) as u16,
            ..self.flow.flow(self.host(it.from), self.host(it.to))
        };
        let connections = self.connections();
        if self.over == Over::Connections {
            let flows = connections.iter().map(|it| flow(it, port_of(it)));
            return flows.collect();
        }
        let of_each = connections.iter().zip(self.messages_of(&connections));
        let flows = of_each.flat_map(|(it, messages)| {
            let numbers = 1..=messages.len() as u64 * u64::from(self.iterations);
            numbers.map(move |number| flow(it, mix(port_of(it) ^ mix(number))))
        });
        flows.collect()
    }

    /// Bytes of the messages of each of its connections in an iteration, in order.
    fn messages_of(&self, connections: &[Connection]) -> Vec<Vec<u64>> {
        let one = Self {
            iterations: 1,
            ..self.clone()
        };
        let mut room = Step::default();
        let of = |connection: &Connection| {
            let mut messages = Messages::default();
            let next = || messages.next(&one, connection, &mut room);
            std::iter::from_fn(next).map(|it| it.bytes).collect()
        };
        connections.iter().map(of).collect()
    }

    /// Bytes that go over each of [`Self::flows`], in order.
    pub fn bytes_of_flows(&self) -> Vec<u64> {
        let iterations = self.iterations as usize;
        if self.over == Over::Messages {
            let all = self.messages_of(&self.connections());
            let flows = all.into_iter().map(|it| it.repeat(iterations));
            return flows.flatten().collect();
        }
        if let Some(program) = &self.program {
            let bytes = (0..program.connections().len()).map(|at| program.bytes_of(at));
            return bytes
                .map(|it| it.saturating_mul(self.iterations.into()))
                .collect();
        }
        let all = self.messages_of(&self.connections());
        let sums = all.iter().map(|it| it.iter().sum::<u64>());
        sums.map(|it| it * u64::from(self.iterations)).collect()
    }

    /// The host of a rank.
    pub fn host(&self, rank: u32) -> NodeId {
        self.hosts[rank as usize]
    }
}

/// Everything that follows from the jobs of a run.
#[derive(Debug, Default)]
pub struct Jobs {
    /// The connections of each job, in the order in which they are flows of its entry.
    connections: Vec<Vec<Connection>>,
    /// Of a job whose messages are flows: the first flow of each connection.
    firsts: Vec<Option<Vec<u32>>>,
}

impl Jobs {
    /// Of these.
    pub fn of(jobs: &[Job]) -> Self {
        let connections: Vec<_> = jobs.iter().map(Job::connections).collect();
        let firsts = |(job, connections): (&Job, &Vec<Connection>)| {
            let messages = (job.over == Over::Messages).then(|| job.messages_of(connections))?;
            let mut first = 0;
            let counts = messages.iter().map(|it| it.len() as u32 * job.iterations);
            let firsts = counts.map(|count| {
                first += count;
                first - count
            });
            Some(firsts.collect())
        };
        Self {
            firsts: jobs.iter().zip(&connections).map(firsts).collect(),
            connections,
        }
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// The connection of flow `number` of the job at place `job`; and if that is a message, messages before it there.
    pub fn connection(&self, job: usize, number: u32) -> (Connection, Option<u32>) {
        let all = &self.connections[job];
        match &self.firsts[job] {
            None => (all[number as usize], None),
            Some(firsts) => {
                let at = firsts.partition_point(|it| *it <= number) - 1;
                (all[at], Some(number - firsts[at]))
            }
        }
    }
}
