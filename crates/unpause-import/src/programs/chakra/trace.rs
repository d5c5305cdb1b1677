//! The trace of a rank: its nodes, each of which has been checked by itself.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use unpause_protocols::units::Time;
use unpause_sim::jobs::program::Task;

use super::call::{Call, TYPES, What, group_name, listed_groups};
use super::labels::Labels;
use super::wire::{self, Messages, Value};
use crate::FileError;
use crate::programs::imported::Used;
use unpause_text::limits;

const METADATA: &str = "GlobalMetadata, with which a Chakra trace begins";
const NODE: &str = "a node of a Chakra trace";
const KINDS: &str =
    "0 to 7: none, metadata, memory load, memory store, compute, send, receive, collective";

/// The type of a node of a collective operation.
const COLLECTIVE: i32 = 7;

/// The stream of operations of a GPU; those of its host have another.
const GPU: u8 = 1;

/// The operations of a rank.
#[derive(Default)]
pub(super) struct Trace {
    pub path: PathBuf,
    /// By id.
    pub nodes: Vec<Node>,
    /// Ranks of process groups, where the trace says them.
    pub groups: HashMap<String, Vec<u32>>,
    pub counts: Counts,
}

/// A node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub id: u64,
    /// The byte at which it begins.
    pub at: u64,
    pub task: Task,
    /// The request to other ranks.
    pub call: Option<Box<Call>>,
    pub stream: u8,
    pub label: u16,
    /// Ids of those that it waits for.
    pub after: Vec<u64>,
}

/// How many nodes there are of each kind, and what of them has no effect.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub compute: usize,
    pub sends: usize,
    pub receives: usize,
    pub collectives: usize,
    pub broadcasts: usize,
    pub sent_bytes: u64,
    pub used: Used,
    pub memory: usize,
    /// Metadata nodes that list no process groups.
    pub metadata: usize,
    /// Compute nodes without a duration.
    pub instant: usize,
    /// Compute nodes that say how many operations they have.
    pub num_ops: usize,
    pub priorities: usize,
    pub starts: usize,
}

impl Trace {
    /// Reads the bytes of a file, of that rank if it is known.
    pub fn read(
        bytes: &[u8],
        path: &Path,
        rank: Option<u32>,
        labels: &mut Labels,
    ) -> Result<Self, FileError> {
        let bytes = wire::unpacked(bytes, path)?;
        let mut messages = Messages::of(&bytes, path);
        let Some((_, head)) = messages.next::<wire::Metadata>(METADATA)? else {
            return Err(messages.error(0, "nothing", METADATA));
        };
        if head.version == "0.0.1" {
            let found = "a trace of version 0.0.1";
            return Err(messages.error(0, found, "version 0.0.4, whose schema is another"));
        }
        let mut trace = Self {
            path: path.to_owned(),
            ..Self::default()
        };
        while let Some((at, node)) = messages.next::<wire::Node>(NODE)? {
            if trace.nodes.len() >= limits::OPERATIONS {
                let expected = format!("at most {} nodes", limits::OPERATIONS);
                return Err(messages.error(at, "one node more", expected));
            }
            let reader = Reader {
                messages: &messages,
                node: &node,
                at,
                rank,
            };
            let (lists, is_metadata) = (reader.groups()?, node.kind == 1);
            trace.counts.metadata += usize::from(is_metadata && lists.is_empty());
            let node = reader.node(&mut trace.counts, labels)?;
            trace.groups.extend(lists);
            trace.nodes.push(node);
        }
        trace.nodes.sort_by_key(|it| (it.id, it.at));
        let twice = trace.nodes.windows(2).find(|it| it[0].id == it[1].id);
        match twice {
            Some(it) => {
                let found = format!("node {} a second time", it[1].id);
                Err(messages.error(it[1].at, found, "each id once"))
            }
            None => Ok(trace),
        }
    }

    /// A mistake in the node at this place.
    pub fn error(
        &self,
        node: usize,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> FileError {
        FileError::Byte {
            path: self.path.clone(),
            at: self.nodes.get(node).map_or(0, |it| it.at),
            found: found.into(),
            expected: expected.into(),
        }
    }

    /// The collective operation of the node at this place, which has one.
    pub fn call(&self, node: u32) -> &Call {
        let call = &self.nodes[node as usize].call;
        call.as_ref().expect("it is such a node")
    }

    /// The places of the nodes that the node at this place waits for.
    pub fn before(&self, node: usize) -> Result<Vec<u32>, FileError> {
        let it = &self.nodes[node];
        let place = |id: &u64| {
            let found = self.nodes.binary_search_by_key(id, |it| it.id);
            found.map(|at| at as u32).map_err(|_| {
                let found = format!("node {} that waits for node {id}", it.id);
                self.error(node, found, "the id of an existing node")
            })
        };
        it.after.iter().map(place).collect()
    }
}

/// Reads a node.
struct Reader<'a> {
    messages: &'a Messages<'a>,
    node: &'a wire::Node,
    at: u64,
    rank: Option<u32>,
}

impl Reader<'_> {
    fn node(&self, counts: &mut Counts, labels: &mut Labels) -> Result<Node, FileError> {
        let it = self.node;
        counts.starts += usize::from(it.start_us > 0);
        counts.priorities += usize::from(self.value("comm_priority").is_some());
        let (task, kind) = self.task(counts)?;
        let call = match it.kind {
            COLLECTIVE => Some(Box::new(self.call(counts)?)),
            _ => None,
        };
        let kind = call.as_ref().map_or(kind, |it| it.what.name());
        let on_host = !matches!(self.value("is_cpu_op"), Some(Value::Bool(false)));
        let mut after = [&it.control[..], &it.data[..]].concat();
        after.sort_unstable();
        after.dedup();
        Ok(Node {
            id: it.id,
            at: self.at,
            task,
            call,
            stream: if on_host { 0 } else { GPU },
            label: labels.of(&it.name, kind),
            after,
        })
    }

    fn error(&self, found: String, expected: impl Into<String>) -> FileError {
        let found = format!("{found} in node {}", self.node.id);
        self.messages.error(self.at, found, expected)
    }

    fn task(&self, counts: &mut Counts) -> Result<(Task, &'static str), FileError> {
        Ok(match self.node.kind {
            0 => (Task::Nothing, "nothing"),
            1 => (Task::Nothing, "metadata"),
            2 | 3 => {
                counts.memory += 1;
                (Task::Nothing, "memory")
            }
            4 => {
                counts.compute += 1;
                counts.num_ops += usize::from(self.value("num_ops").is_some());
                (Task::Compute(self.duration(counts)?), "compute")
            }
            5 => {
                counts.sends += 1;
                self.own_rank("comm_src", "a send")?;
                let bytes = self.size()?.unwrap_or(0).max(1);
                counts.sent_bytes = counts.sent_bytes.saturating_add(bytes);
                let to = self.peer("comm_dst", "a send")?;
                let tag = self.tag()?;
                (Task::Send { to, bytes, tag }, "send")
            }
            6 => {
                counts.receives += 1;
                self.own_rank("comm_dst", "a receive")?;
                let task = Task::Receive {
                    from: Some(self.peer("comm_src", "a receive")?),
                    bytes: self.size()?.map_or(u64::MAX, |it| it.max(1)),
                    tag: Some(self.tag()?),
                };
                (task, "receive")
            }
            COLLECTIVE => (Task::Nothing, "collective"),
            kind => return Err(self.error(format!("type {kind}"), KINDS)),
        })
    }

    fn call(&self, counts: &mut Counts) -> Result<Call, FileError> {
        counts.collectives += 1;
        let Some(number) = self.number("comm_type", u32::MAX.into())? else {
            return Err(self.error("a collective without comm_type".into(), TYPES));
        };
        let what = What::of(number);
        let what = what.ok_or_else(|| self.error(format!("comm_type {number}"), TYPES))?;
        counts.broadcasts += usize::from(what == What::Broadcast);
        what.note_in(&mut counts.used);
        let bytes = match (self.size()?, what) {
            (_, What::Barrier) => 0,
            (Some(bytes), _) => bytes,
            (None, _) => {
                let found = format!("{} without comm_size", what.name());
                return Err(self.error(found, "its bytes"));
            }
        };
        let group = group_name(self.value("pg_name"));
        match self.value("involved_dim") {
            Some(Value::Bools(dimensions))
                if group.is_empty() && dimensions.values.contains(&false) =>
            {
                let found = "a collective of some dimensions (involved_dim)".to_owned();
                Err(self.error(found, "all of them, or a process group (pg_name)"))
            }
            _ => Ok(Call { what, bytes, group }),
        }
    }

    /// Process groups that it lists.
    fn groups(&self) -> Result<Vec<(String, Vec<u32>)>, FileError> {
        match &self.node.inputs {
            Some(inputs) if self.node.kind == 1 => listed_groups(&inputs.values).ok_or_else(|| {
                let expected = "a list of {\"pg_name\": …, \"ranks\": […]} in JSON";
                self.error("process groups that cannot be read".into(), expected)
            }),
            _ => Ok(Vec::new()),
        }
    }

    /// At least 1 ns, as in astra-sim.
    fn duration(&self, counts: &mut Counts) -> Result<Time, FileError> {
        let us = self.node.duration_us;
        if us == 0 {
            counts.instant += 1;
            return Ok(Time::from_ns(1));
        }
        let ps = us.checked_mul(1_000_000).filter(|ps| *ps < u64::MAX / 2);
        let ps = ps.ok_or_else(|| self.error(format!("{us} us"), "a time below 100 days"))?;
        Ok(Time::from_ps(ps))
    }

    fn value(&self, name: &str) -> Option<&Value> {
        let found = self.node.attributes.iter().find(|it| it.name == name);
        found?.value.as_ref()
    }

    /// A number that is there, and from 0 to `most`.
    fn number(&self, name: &str, most: u64) -> Result<Option<u64>, FileError> {
        let Some(value) = self.value(name) else {
            return Ok(None);
        };
        let expected = format!("a whole number from 0 to {most}");
        let Some(number) = value.number() else {
            return Err(self.error(format!("{name} that is not a number"), expected));
        };
        match u64::try_from(number) {
            Ok(number) if number <= most => Ok(Some(number)),
            _ => Err(self.error(format!("{name} {number}"), expected)),
        }
    }

    /// Bytes; below 2^63, so that sums of those that can be run have room.
    fn size(&self) -> Result<Option<u64>, FileError> {
        self.number("comm_size", u64::MAX / 2)
    }

    fn tag(&self) -> Result<u64, FileError> {
        Ok(self.number("comm_tag", u32::MAX.into())?.unwrap_or(0))
    }

    fn peer(&self, name: &str, what: &str) -> Result<u32, FileError> {
        match self.number(name, u32::MAX.into())? {
            Some(rank) => Ok(rank as u32),
            None => Err(self.error(format!("{what} without {name}"), "a rank")),
        }
    }

    /// The rank whose trace this is, if it is named.
    fn own_rank(&self, name: &str, what: &str) -> Result<(), FileError> {
        match (self.number(name, u32::MAX.into())?, self.rank) {
            (Some(named), Some(own)) if named != u64::from(own) => {
                let found = format!("{what} with {name} {named}");
                let expected = format!("rank {own}, whose trace this is");
                Err(self.error(found, expected))
            }
            _ => Ok(()),
        }
    }
}

impl Counts {
    pub fn add(&mut self, of: &Self) {
        self.compute += of.compute;
        self.sends += of.sends;
        self.receives += of.receives;
        self.collectives += of.collectives;
        self.broadcasts += of.broadcasts;
        self.used.join(of.used);
        self.sent_bytes = self.sent_bytes.saturating_add(of.sent_bytes);
        self.memory += of.memory;
        self.metadata += of.metadata;
        self.instant += of.instant;
        self.num_ops += of.num_ops;
        self.priorities += of.priorities;
        self.starts += of.starts;
    }

    /// Parts that have no effect, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let all = [
            (self.memory, "memory ", "", "no time; only the order counts"),
            (
                self.metadata,
                "metadata ",
                "",
                "no time; only the order counts",
            ),
            (
                self.broadcasts,
                "broadcast ",
                "",
                "the first rank of its group sends, the trace does not name the root",
            ),
            (
                self.instant,
                "compute ",
                " without a duration",
                "1 ns, as in astra-sim without its roofline model",
            ),
            (
                self.num_ops,
                "compute ",
                " with num_ops",
                "the duration counts; astra-sim's roofline model needs rates of a GPU and its memory, which no key states",
            ),
            (
                self.priorities,
                "",
                " with comm_priority",
                "`priority` of the job counts",
            ),
            (
                self.starts,
                "",
                " with a time of start",
                "no effect: nodes start when their predecessors have ended",
            ),
        ];
        let some = all.into_iter().filter(|(count, ..)| *count > 0);
        some.map(|(count, kind, with, what)| {
            let nodes = if count == 1 { "node" } else { "nodes" };
            format!("{count} {kind}{nodes}{with}: {what}")
        })
        .collect()
    }
}
