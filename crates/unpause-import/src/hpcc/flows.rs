//! `flow.txt`.

use std::io::BufRead;
use std::path::Path;

use unpause_protocols::units::Time;
use unpause_sim::config::{NodeId, NodeKind};
use unpause_sim::traffic::{FlowSettings, FlowSpec};

use super::ports::SourcePorts;
use super::rows::{Row, Rows};
use super::{foreign, numbers};
use crate::FileError;
use crate::fabric::topology::Topology;
use unpause_text::count::counted;
use unpause_text::limits;

/// Flows of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Flows {
    /// In order of start.
    pub flows: Vec<FlowSpec>,
    /// Lines after the announced number of flows that look like flows: perhaps a wrong number.
    pub ignored: usize,
    /// How many flows are announced.
    announced: usize,
    /// Flows of 0 bytes, which have one byte here.
    empty: usize,
    /// Flows from a host to itself, which are left out.
    to_itself: usize,
    /// Flows with destination ports above 65,535, of which the low 16 bits are kept.
    wide_ports: usize,
    /// They are not in order of start in the file.
    is_unsorted: bool,
}

impl Flows {
    /// Rows of the file that are not followed literally; a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut note = |count: usize, rest: &str| {
            if count > 0 {
                notes.push(format!("{} {rest}", counted(count, "flow")));
            }
        };
        note(
            self.empty,
            "of 0 bytes: each has 1 byte here, as in ConWeave; HPCC's simulator would never complete them",
        );
        note(
            self.to_itself,
            "from a host to itself: left out; HPCC's simulator has no route for them",
        );
        note(
            self.wide_ports,
            "with a destination port above 65535: its low 16 bits are the port, as in HPCC's simulator",
        );
        if self.is_unsorted {
            notes.push(
                "flows are not in order of start: sorted here; HPCC's simulator would fail, or start some late"
                    .into(),
            );
        }
        if self.ignored > 0 {
            notes.push(format!(
                "{} like flows after the {} announced by the first line: not read, as in HPCC's simulator",
                counted(self.ignored, "line"),
                self.announced
            ));
        }
        notes
    }
}

const FLOW: &str = "a flow: src dst pg dport bytes start_s, the same with stop_s, or without dport (6, 7 or 5 columns)";

/// Reads flows between hosts of `topology`, as numbered there. The priority is the file's `pg`, the
/// rest of how they are sent comes from `settings`; source ports are those that HPCC would give. The
/// text is read line by line and not kept. `path` is for messages.
pub fn parse_flows(
    reader: impl BufRead,
    path: &Path,
    topology: &Topology,
    settings: &FlowSettings,
) -> Result<Flows, FileError> {
    let mut rows = Rows::new(reader, path);
    let header = rows.next(|| "the number of flows".into())?;
    foreign::refuse(&header, || rows.try_next())?;
    let (header, rest) = match header.width() {
        0..=2 => (header, None),
        _ => {
            let (head, rest) = header.split(1);
            (head, Some(rest))
        }
    };
    let count = header.count()?;
    rest.into_iter().for_each(|row| rows.put_back(row));
    let mut read = Flows {
        flows: Vec::new(),
        ignored: 0,
        announced: count,
        empty: 0,
        to_itself: 0,
        wide_ports: 0,
        is_unsorted: false,
    };
    let mut first = None;
    for index in 0..count {
        let row = rows.flow(first, count - index, || {
            format!("{FLOW} ({index} of {count} read)")
        })?;
        let (flow, wide_port) = row.flow(topology, settings)?;
        first.get_or_insert((row.place.line, row.width()));
        read.add(flow, wide_port);
    }
    while let Some(row) = rows.try_next()? {
        read.ignored += usize::from(row.flow(topology, settings).is_ok());
    }
    if !read.flows.is_sorted_by_key(|flow| flow.start) {
        read.is_unsorted = true;
        read.flows.sort_by_key(|flow| flow.start);
    }
    let mut ports = SourcePorts::default();
    for flow in &mut read.flows {
        flow.source_port = ports.next(flow.src, flow.dst);
    }
    Ok(read)
}

impl Flows {
    fn add(&mut self, mut flow: FlowSpec, wide_port: bool) {
        if flow.src == flow.dst {
            self.to_itself += 1;
            return;
        }
        if flow.size_bytes == Some(0) {
            self.empty += 1;
            flow.size_bytes = Some(1);
        }
        self.wide_ports += usize::from(wide_port);
        self.flows.push(flow);
    }
}

/// Words of a flow where HPCC's simulator reads it, which takes them wherever lines end.
const WORDS: usize = 6;

impl<'a, R: BufRead> Rows<'a, R> {
    /// The next flow of `left`, as wide as the `first`, whose line is given. Where lines differ, words are taken across
    /// them, if they are as many as these flows have.
    fn flow(
        &mut self,
        first: Option<(usize, usize)>,
        left: usize,
        expected: impl FnOnce() -> String,
    ) -> Result<Row<'a>, FileError> {
        let row = self.next(expected)?;
        let error = match first {
            Some((_, width)) if row.width() == width => return Ok(row),
            Some((line, width)) => {
                let error = row.unlike((line, width));
                if width != WORDS {
                    return Err(error);
                }
                error
            }
            None if row.width() == WORDS => return Ok(row),
            None if row.width() == WORDS - 1 || row.width() == WORDS + 1 => {
                // A line of another format, or part of a flow.
                let Some(next) = self.try_next()? else {
                    return Ok(row);
                };
                let is_alike = match left {
                    0 | 1 => next.words()[..] != [next.text.trim()] || !next.starts_with_time(),
                    _ => next.width() == row.width(),
                };
                let error = next.unlike((row.place.line, row.width()));
                self.put_back(next);
                if is_alike {
                    return Ok(row);
                }
                error
            }
            None => row.place.error(row.quoted(), FLOW),
        };
        if self.rewrap(&row, WORDS, left)? {
            self.next(String::new)
        } else {
            Err(error)
        }
    }
}

impl Row<'_> {
    fn starts_with_time(&self) -> bool {
        self.words()
            .first()
            .is_some_and(|word| numbers::seconds(word).is_some())
    }

    /// The number of flows.
    fn count(&self) -> Result<usize, FileError> {
        if let [flows, qps] = self.words()[..]
            && [flows, qps].iter().all(|it| it.parse::<u64>().is_ok())
        {
            let expected =
                "the number of flows alone: flows on shared queue pairs are not supported yet";
            let found = format!("a flow file of Pyrrha ({flows} flows, {qps} on queue pairs)");
            return Err(self.place.error(found, expected));
        }
        let [count] = self.columns("the number of flows")?;
        self.at_most(count, limits::FLOWS, "flows")?;
        self.number(count, "a number of flows")
    }

    /// A flow, and whether its destination port has more than 16 bits. It may be of 0 bytes, and to itself.
    fn flow(
        &self,
        topology: &Topology,
        settings: &FlowSettings,
    ) -> Result<(FlowSpec, bool), FileError> {
        let (src, dst, pg, dport, bytes, start, stop) = match self.words()[..] {
            [src, dst, pg, bytes, start] => (src, dst, pg, None, bytes, start, None),
            [src, dst, pg, dport, bytes, start] => (src, dst, pg, Some(dport), bytes, start, None),
            [src, dst, pg, dport, bytes, start, stop] => {
                (src, dst, pg, Some(dport), bytes, start, Some(stop))
            }
            _ => return Err(self.place.error(self.quoted(), FLOW)),
        };
        let (src, dst) = (self.host(src, topology)?, self.host(dst, topology)?);
        let priority = self.number(pg, "a priority from 0 to 7")?;
        if priority > 7 {
            let found = format!("`{pg}`");
            return Err(self.at(pg).error(found, "a priority from 0 to 7"));
        }
        let whole = "a whole number of bytes (src dst pg dport bytes start_s)";
        let size: u64 = self.number(bytes, whole)?;
        let port: u32 = dport.map_or(Ok(100), |port| {
            self.number(port, "a destination port, a whole number")
        })?;
        let time = |text: &str| {
            numbers::seconds(text).ok_or_else(|| {
                let expected = "a time in seconds such as `2.000001` or `2e-05`";
                self.at(text).error(format!("`{text}`"), expected)
            })
        };
        let flow = FlowSpec {
            size_bytes: Some(size),
            start: time(start)?,
            stop: stop.map_or(Ok(Time::NEVER), time)?,
            priority,
            destination_port: (port & 0xffff) as u16,
            ..settings.flow(src, dst)
        };
        Ok((flow, port > 0xffff))
    }

    fn host(&self, text: &str, topology: &Topology) -> Result<NodeId, FileError> {
        let id = self.node(text, topology.names.len() as NodeId)?;
        match topology.fabric.nodes[id as usize] {
            NodeKind::Host => Ok(id),
            NodeKind::Switch => {
                let found = if topology.is_linked(id) {
                    format!("`{text}`, a switch")
                } else {
                    format!("`{text}`, a node without a link")
                };
                Err(self.at(text).error(found, "the id of a host"))
            }
        }
    }
}
