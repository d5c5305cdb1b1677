//! Connection matrices of htsim (.cm): flows that start at a time, or when others are done.
//!
//! # Source
//!
//! The readers of csg-htsim and of the Ultra Ethernet Consortium's htsim.

use std::collections::BTreeMap;
use std::path::Path;

use crate::programs::words::Lines;
use crate::{FileError, Place};
use unpause_text::limits;

const HEAD: &str = "`Nodes N`, `Connections C`, `Triggers T` or `Failures F`";
const ROW: &str = "a connection `S->D …`, a `trigger`, or a comment";
const KEYS: &str = "id, start, trigger, size, send_done_trigger, recv_done_trigger or prio";

/// A matrix.
#[derive(Default)]
pub(super) struct Matrix {
    pub nodes: u32,
    pub flows: Vec<Flow>,
    pub triggers: BTreeMap<u64, Trigger>,
    /// Flows with a priority.
    pub priorities: usize,
}

/// A flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub line: usize,
    pub from: u32,
    pub to: u32,
    pub bytes: u64,
    pub begins: Begins,
    /// The trigger that it activates when all has been acknowledged.
    pub sent: Option<u64>,
    /// And when all data have arrived.
    pub received: Option<u64>,
}

/// When a flow begins.
#[derive(Clone, Copy, Debug)]
pub(super) enum Begins {
    /// After this many ps.
    At(u64),
    /// By a trigger.
    By(u64),
}

/// The connections that a trigger starts when it is activated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trigger {
    pub line: usize,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// All its flows, the first time.
    Oneshot,
    /// The next of its flows, each time.
    Multishot,
    /// All its flows, when it has been activated so often.
    Barrier(u64),
}

struct Reader<'t> {
    lines: Lines<'t>,
    matrix: Matrix,
    connections: Option<usize>,
    triggers: usize,
    ids: BTreeMap<u64, usize>,
}

pub(super) fn read(text: &str, path: &Path) -> Result<Matrix, FileError> {
    let mut reader = Reader {
        lines: Lines::plain(text, path),
        matrix: Matrix::default(),
        connections: None,
        triggers: 0,
        ids: BTreeMap::new(),
    };
    while reader.lines.next() {
        reader.row()?;
    }
    reader.check_counts()?;
    Ok(reader.matrix)
}

impl<'t> Reader<'t> {
    fn row(&mut self) -> Result<(), FileError> {
        let first = self.lines.word(0).unwrap_or_default();
        if first.starts_with('#') {
            return Ok(());
        }
        match &*first.to_ascii_lowercase() {
            "trigger" => self.trigger(),
            "failure" => {
                let expected = "no failures: write an [[event]] with kind = \"down\" for each";
                Err(self.lines.error(0, expected))
            }
            word if word.contains("->") => self.flow(),
            head => {
                let head = head.to_owned();
                self.head(&head)
            }
        }
    }

    fn head(&mut self, key: &str) -> Result<(), FileError> {
        let lines = &self.lines;
        if !self.matrix.flows.is_empty() {
            return Err(lines.error(0, ROW));
        }
        match key {
            "nodes" => {
                let nodes: u32 = lines.number(1, "a number of nodes")?;
                if u64::from(nodes) > limits::NODES {
                    let expected = format!("at most {} nodes", limits::NODES);
                    return Err(lines.error(1, &expected));
                }
                self.matrix.nodes = nodes;
            }
            "connections" => self.connections = Some(lines.number(1, "a number of connections")?),
            "triggers" => self.triggers = lines.number(1, "a number of triggers")?,
            "failures" => {
                let failures: u64 = lines.number(1, "a number of failures")?;
                if failures > 0 {
                    let expected = "0: write an [[event]] with kind = \"down\" for each failure";
                    return Err(lines.error(1, expected));
                }
            }
            _ => return Err(lines.error(0, HEAD)),
        }
        self.lines.end_at(2, "the end of the line")
    }

    fn flow(&mut self) -> Result<(), FileError> {
        const ENDS: &str = "two nodes below `Nodes`, as in `0->1`";
        let lines = &self.lines;
        let ends = lines.word(0).and_then(|it| it.split_once("->"));
        let node = |text: &str| text.parse().ok().filter(|it| *it < self.matrix.nodes);
        let ends = ends.and_then(|(from, to)| Some((node(from)?, node(to)?)));
        let (from, to) = ends.ok_or_else(|| lines.error(0, ENDS))?;
        if from == to {
            return Err(lines.error(0, "two different nodes"));
        }
        if self.matrix.flows.len() >= limits::OPERATIONS / 3 {
            let expected = format!("at most {} connections", limits::OPERATIONS / 3);
            return Err(lines.found(0, "one connection more", &expected));
        }
        let values = self.values()?;
        let place = |key: &str| values.get(key).map(|(_, at)| *at);
        let value = |key: &str| values.get(key).map(|(value, _)| *value);
        for key in ["id", "trigger", "send_done_trigger", "recv_done_trigger"] {
            if value(key) == Some(0) {
                return Err(lines.error(place(key).unwrap_or(0), "a number above 0"));
            }
        }
        if let Some(id) = value("id")
            && let Some(before) = self.ids.insert(id, lines.line)
        {
            let found = format!("id {id} a second time, after line {before}");
            return Err(lines.found(place("id").unwrap_or(0), found, "each id once"));
        }
        let begins = match (value("start"), value("trigger")) {
            (Some(start), None) if start < u64::MAX / 2 => Begins::At(start),
            (None, Some(trigger)) => Begins::By(trigger),
            (Some(_), None) => {
                let at = place("start").unwrap_or(0);
                return Err(lines.error(at, "a time in ps, below 100 days"));
            }
            _ => return Err(lines.found(0, "a connection", "either `start` or `trigger` of it")),
        };
        let bytes = value("size").filter(|it| (1..u64::MAX / 2).contains(it));
        let bytes = bytes.ok_or_else(|| {
            let expected = "`size B`, at least 1 byte";
            match place("size") {
                Some(at) => lines.error(at, expected),
                None => lines.found(0, "a connection without a size", expected),
            }
        })?;
        self.matrix.priorities += usize::from(value("prio").is_some());
        self.matrix.flows.push(Flow {
            line: lines.line,
            from,
            to,
            bytes,
            begins,
            sent: value("send_done_trigger"),
            received: value("recv_done_trigger"),
        });
        Ok(())
    }

    /// Pairs of a key and a number: the number, and its word.
    fn values(&self) -> Result<BTreeMap<&'t str, (u64, usize)>, FileError> {
        let lines = &self.lines;
        let mut values = BTreeMap::new();
        for at in (1..lines.words.len()).step_by(2) {
            let key = lines.word(at).unwrap_or_default();
            match key {
                "id" | "start" | "trigger" | "size" | "send_done_trigger" | "recv_done_trigger"
                | "prio" => {}
                "msg" => {
                    let expected = "connections of one message each: `msg` is not supported";
                    return Err(lines.error(at, expected));
                }
                _ => return Err(lines.error(at, KEYS)),
            }
            let number = lines.number(at + 1, "a whole number")?;
            if values.insert(key, (number, at + 1)).is_some() {
                let found = format!("`{key}` a second time");
                return Err(lines.found(at, found, "each key once in a row"));
            }
        }
        Ok(values)
    }

    /// `trigger id X KIND`.
    fn trigger(&mut self) -> Result<(), FileError> {
        let lines = &self.lines;
        if lines.word(1) != Some("id") {
            return Err(lines.error(1, "`id`"));
        }
        let id: u64 = lines.number(2, "a number above 0")?;
        let (kind, end) = match lines.word(3) {
            Some("oneshot") => (Kind::Oneshot, 4),
            Some("multishot") => (Kind::Multishot, 4),
            Some("barrier") if lines.word(4) == Some("count") => {
                (Kind::Barrier(lines.number(5, "how often")?), 6)
            }
            Some("barrier") => return Err(lines.error(4, "`count N`")),
            _ => return Err(lines.error(3, "`oneshot`, `multishot` or `barrier count N`")),
        };
        lines.end_at(end, "the end of the line")?;
        let line = lines.line;
        match self.matrix.triggers.insert(id, Trigger { line, kind }) {
            None => Ok(()),
            Some(before) => {
                let found = format!("trigger {id} a second time, after line {}", before.line);
                Err(lines.found(2, found, "each trigger once"))
            }
        }
    }

    fn check_counts(&self) -> Result<(), FileError> {
        let error = |found: String, expected: String| {
            Err(Place::of_line(self.lines.path, self.lines.line).error(found, expected))
        };
        let matrix = &self.matrix;
        if matrix.nodes == 0 {
            return error(
                "the end of the file".into(),
                "`Nodes N` at its beginning".into(),
            );
        }
        let (found, said) = (matrix.flows.len(), self.connections.unwrap_or(0));
        if found != said {
            return error(
                format!("{found} connections"),
                format!("{said}, as `Connections` says"),
            );
        }
        let (found, said) = (matrix.triggers.len(), self.triggers);
        if found != said {
            return error(
                format!("{found} triggers"),
                format!("{said}, as `Triggers` says"),
            );
        }
        Ok(())
    }
}
