//! Connection matrices of htsim as programs: a rank for each node.
//!
//! A trigger starts a flow at the node that sends it. That node has to know by itself that the trigger is activated: because
//! it has sent the flow that activates it, or has received it.

mod connections;

use std::collections::BTreeMap;
use std::path::Path;

use unpause_protocols::units::Time;
use unpause_sim::jobs::Program;
use unpause_sim::jobs::program::{Draft, DraftRank, Task};

use self::connections::{Begins, Flow, Kind, Matrix};
use super::imported::{Imported, Used, explain};
use crate::{FileError, Place};

/// Reads the text of a matrix.
///
/// # Errors
///
/// The first mistake, with its line.
pub fn parse_htsim(text: &str, path: &Path) -> Result<Imported, FileError> {
    let matrix = connections::read(text, path)?;
    Builder::new(&matrix, path).run()
}

/// Flows that activate a trigger, and whether when they have been sent.
type Activators = Vec<(usize, bool)>;

struct Builder<'a> {
    matrix: &'a Matrix,
    path: &'a Path,
    draft: Draft,
    /// By rank, the line of each operation.
    places: Vec<Vec<usize>>,
    /// By flow, its send and its receive.
    operations: Vec<(u32, u32)>,
    /// Activations that the sender of the flow learns of sooner or later than in htsim.
    elsewhere: usize,
}

impl<'a> Builder<'a> {
    fn new(matrix: &'a Matrix, path: &'a Path) -> Self {
        Self {
            matrix,
            path,
            draft: Draft {
                ranks: vec![DraftRank::default(); matrix.nodes as usize],
                by_number: false,
                shared: Vec::new(),
            },
            places: vec![Vec::new(); matrix.nodes as usize],
            operations: Vec::with_capacity(matrix.flows.len()),
            elsewhere: 0,
        }
    }

    fn run(mut self) -> Result<Imported, FileError> {
        self.flows()?;
        self.starts();
        self.triggers()?;
        let program = Program::new(&self.draft).map_err(|error| {
            let line = |rank: u32, at: u32| {
                let of_rank = self.places.get(rank as usize);
                of_rank
                    .and_then(|it| it.get(at as usize))
                    .copied()
                    .unwrap_or(1)
            };
            let place = |rank: u32, at: u32| format!("line {} at node {rank}", line(rank, at));
            let (found, expected) = explain(&error, &self.draft, &place);
            Place::of_line(self.path, line(error.rank, error.operation)).error(found, expected)
        })?;
        Ok(Imported {
            program,
            labels: vec!["htsim".into()],
            notes: self.notes(),
            used: Used::default(),
        })
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.matrix.priorities > 0 {
            let count = self.matrix.priorities;
            notes.push(format!("{count} × prio: `priority` of the job counts"));
        }
        if self.elsewhere > 0 {
            notes.push(format!(
                "{} × a trigger activated at another node: its flow starts when its own node knows, the way of an \
                 ACK sooner (send_done_trigger) or later (recv_done_trigger) than in htsim",
                self.elsewhere
            ));
        }
        notes
    }

    fn error(&self, line: usize, found: impl Into<String>, expected: &str) -> FileError {
        Place::of_line(self.path, line).error(found, expected)
    }

    fn add(&mut self, rank: u32, task: Task, channel: u16, line: usize) -> u32 {
        self.places[rank as usize].push(line);
        self.draft.ranks[rank as usize].add(task, (0, channel, 0))
    }

    /// Each over a connection of its own.
    fn flows(&mut self) -> Result<(), FileError> {
        let matrix = self.matrix;
        let mut channels: BTreeMap<(u32, u32), u16> = BTreeMap::new();
        for (number, flow) in matrix.flows.iter().enumerate() {
            let (from, to, bytes, tag) = (flow.from, flow.to, flow.bytes, number as u64);
            let next = channels.entry((from, to)).or_default();
            let channel = *next;
            let Some(more) = next.checked_add(1) else {
                let found = format!("one connection more from node {from} to node {to}");
                return Err(self.error(flow.line, found, "at most 65535 from one to another"));
            };
            *next = more;
            let send = self.add(from, Task::Send { to, bytes, tag }, channel, flow.line);
            let receive = Task::Receive {
                from: Some(from),
                bytes,
                tag: Some(tag),
            };
            let receive = self.add(to, receive, channel, flow.line);
            self.operations.push((send, receive));
        }
        Ok(())
    }

    /// Flows of a node that start at times wait for one time after the other.
    fn starts(&mut self) {
        let matrix = self.matrix;
        let mut starts: BTreeMap<(u32, u64), Vec<usize>> = BTreeMap::new();
        for (number, flow) in matrix.flows.iter().enumerate() {
            match flow.begins {
                Begins::At(ps) if ps > 0 => starts.entry((flow.from, ps)).or_default().push(number),
                _ => {}
            }
        }
        let mut last: Option<(u32, u64, u32)> = None;
        for ((rank, ps), flows) in starts {
            let before = last.filter(|it| it.0 == rank);
            let wait = Task::Compute(Time::from_ps(ps - before.map_or(0, |it| it.1)));
            let wait = self.add(rank, wait, 0, matrix.flows[flows[0]].line);
            let draft = &mut self.draft.ranks[rank as usize];
            if let Some((_, _, before)) = before {
                draft.wait(wait, before);
            }
            for flow in flows {
                draft.wait(self.operations[flow].0, wait);
            }
            last = Some((rank, ps, wait));
        }
    }

    fn triggers(&mut self) -> Result<(), FileError> {
        let matrix = self.matrix;
        let mut activators: BTreeMap<u64, Activators> = BTreeMap::new();
        let mut started: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (number, flow) in matrix.flows.iter().enumerate() {
            let by = match flow.begins {
                Begins::By(trigger) => Some(trigger),
                Begins::At(_) => None,
            };
            let all = [flow.sent, flow.received, by];
            let unknown = all
                .into_iter()
                .flatten()
                .find(|it| !matrix.triggers.contains_key(it));
            if let Some(id) = unknown {
                let found = format!("trigger {id}");
                return Err(self.error(
                    flow.line,
                    found,
                    "one that a line `trigger id …` declares",
                ));
            }
            let ends = [(flow.sent, true), (flow.received, false)];
            for (trigger, is_send) in ends.into_iter().filter_map(|(it, end)| Some((it?, end))) {
                activators
                    .entry(trigger)
                    .or_default()
                    .push((number, is_send));
            }
            if let Some(trigger) = by {
                started.entry(trigger).or_default().push(number);
            }
        }
        for (id, trigger) in &matrix.triggers {
            let activators = activators.remove(id).unwrap_or_default();
            let flows = started.remove(id).unwrap_or_default();
            self.trigger((*id, trigger.line, trigger.kind), &activators, &flows)?;
        }
        Ok(())
    }

    fn trigger(
        &mut self,
        (id, line, kind): (u64, usize, Kind),
        activators: &Activators,
        flows: &[usize],
    ) -> Result<(), FileError> {
        let times = activators.len();
        let found = format!("trigger {id}, activated by flows: {times}");
        let expected = match kind {
            Kind::Oneshot if times != 1 => "once",
            Kind::Barrier(count) if times as u64 != count => "as often as its count says",
            Kind::Multishot if times < flows.len() => "once for each flow that it starts",
            _ => {
                for (at, flow) in flows.iter().enumerate() {
                    // If triggers are activated several times, the first in the file starts the first flow.
                    let by = match kind {
                        Kind::Multishot => &activators[at..=at],
                        _ => &activators[..],
                    };
                    by.iter().try_for_each(|it| self.wait((id, *flow), *it))?;
                }
                return Ok(());
            }
        };
        Err(self.error(line, found, expected))
    }

    /// A flow starts when another has been sent or received.
    fn wait(
        &mut self,
        (id, flow): (u64, usize),
        (activator, is_send): (usize, bool),
    ) -> Result<(), FileError> {
        let matrix = self.matrix;
        let (own, other): (&Flow, &Flow) = (&matrix.flows[flow], &matrix.flows[activator]);
        let (send, receive) = self.operations[activator];
        let before = match own.from {
            it if it == other.from => {
                self.elsewhere += usize::from(!is_send);
                send
            }
            it if it == other.to => {
                self.elsewhere += usize::from(is_send);
                receive
            }
            it => {
                let found = format!(
                    "a flow of node {it} that trigger {id} starts, which the flow of line {} activates",
                    other.line
                );
                let expected =
                    "a flow of a node that sends or receives that one: hosts know nothing else";
                return Err(self.error(own.line, found, expected));
            }
        };
        self.draft.ranks[own.from as usize].wait(self.operations[flow].0, before);
        Ok(())
    }
}
