//! Files of the HPCC simulator (github.com/alibaba-edu/High-Precision-Congestion-Control) and of
//! the ns-3 RDMA simulators derived from it.
//!
//! * `topology.txt`: numbers of nodes, switches and links; the ids of the switches; one link a line
//!   as `src dst rate delay error_rate`.
//! * `flow.txt`: the number of flows; one flow a line as `src dst pg dport bytes start_s`, also with
//!   `stop_s` after it, or without `dport` (ConWeave); all lines alike.
//! * `fct.txt`: one completed flow a line as `sip dip sport dport bytes start_ns fct_ns ideal_ns`.
//!
//! As there, what follows the announced number of lines is a comment. The flow file of the older
//! ns3-rdma, `src dst pg packets start_s stop_s`, counts packets and is not read.

mod rows;
mod topology;

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use unpause_protocols::units::Time;
use unpause_sim::config::{NodeId, NodeKind};
use unpause_sim::fabric::hpcc_address as address;
use unpause_sim::results::FlowRecord;
use unpause_sim::traffic::{DESTINATION_PORT, FlowSettings, FlowSpec};

use self::rows::{Row, Rows};
pub use self::topology::{parse_topology, write_topology};
use super::{FileError, Place};
use crate::limits;
use crate::topology::Topology;

/// First source port of each pair of hosts (`third.cc`).
const FIRST_SOURCE_PORT: u16 = 10_000;

/// Flows of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Flows {
    /// In order of start.
    pub flows: Vec<FlowSpec>,
    /// Lines after the announced number of flows that look like flows: perhaps a wrong number.
    pub ignored: usize,
}

/// Reads the topology file `path`; see [`parse_topology`].
pub fn read_topology(path: &Path, parallel: u32) -> Result<Topology, FileError> {
    parse_topology(open(path)?, path, parallel)
}

/// Reads the flow file `path`; see [`parse_flows`].
pub fn read_flows(
    path: &Path,
    topology: &Topology,
    settings: &FlowSettings,
) -> Result<Flows, FileError> {
    parse_flows(open(path)?, path, topology, settings)
}

fn open(path: &Path) -> Result<impl BufRead, FileError> {
    let file = std::fs::File::open(path).map_err(|reason| Place { path, line: 0 }.io(reason))?;
    Ok(BufReader::new(file))
}

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
    let [count] = header.columns("the number of flows")?;
    let count: usize = header.number(count, "a number of flows")?;
    header.at_most(count as u64, limits::FLOWS, "flows")?;

    let mut flows = Vec::new();
    let mut first = None;
    for index in 0..count {
        const FLOW: &str = "a flow: src dst pg dport bytes start_s";
        let row = rows.next(|| format!("{FLOW} ({index} of {count} read)"))?;
        flows.push(row.flow(FLOW, topology, settings)?);
        row.like(*first.get_or_insert((row.place.line, row.width())))?;
    }
    let mut ignored = 0;
    while let Some(row) = rows.try_next()? {
        ignored += usize::from(row.flow("", topology, settings).is_ok());
    }

    if !flows.is_sorted_by_key(|flow| flow.start) {
        flows.sort_by_key(|flow| flow.start);
    }
    let mut ports = SourcePorts::default();
    for flow in &mut flows {
        flow.source_port = ports.next(flow.src, flow.dst);
    }
    Ok(Flows { flows, ignored })
}

impl Row<'_> {
    fn flow(
        &self,
        expected: &str,
        topology: &Topology,
        settings: &FlowSettings,
    ) -> Result<FlowSpec, FileError> {
        let columns: Vec<&str> = self.text.split_whitespace().collect();
        let (src, dst, pg, dport, bytes, start, stop) = match columns[..] {
            [src, dst, pg, bytes, start] => (src, dst, pg, "100", bytes, start, None),
            [src, dst, pg, dport, bytes, start] => (src, dst, pg, dport, bytes, start, None),
            [src, dst, pg, dport, bytes, start, stop] => {
                (src, dst, pg, dport, bytes, start, Some(stop))
            }
            _ => {
                let found = format!("`{}` ({} columns)", self.text.trim(), columns.len());
                return Err(self.place.error(found, expected));
            }
        };
        let host = |text: &str| {
            let id = self.node(text, topology.names.len() as NodeId)?;
            match topology.fabric.nodes[id as usize] {
                NodeKind::Host => Ok(id),
                NodeKind::Switch => Err(self
                    .place
                    .error(format!("`{text}`, a switch"), "the id of a host")),
            }
        };
        let (src, dst) = (host(src)?, host(dst)?);
        if src == dst {
            return Err(self
                .place
                .error(format!("a flow from host {src} to itself"), "two hosts"));
        }
        let priority = self.number(pg, "a priority from 0 to 7")?;
        if priority > 7 {
            return Err(self
                .place
                .error(format!("`{pg}`"), "a priority from 0 to 7"));
        }
        let whole = "a whole number of bytes (src dst pg dport bytes start_s)";
        let size: u64 = self.number(bytes, whole)?;
        if size == 0 {
            return Err(self.place.error("a flow of 0 bytes", "at least 1 byte"));
        }
        let time = |text: &str| {
            seconds(text).ok_or_else(|| {
                self.place
                    .error(format!("`{text}`"), "a time in seconds such as `2.000001`")
            })
        };
        Ok(FlowSpec {
            size_bytes: Some(size),
            start: time(start)?,
            stop: stop.map_or(Ok(Time::NEVER), time)?,
            priority,
            destination_port: self.number(dport, "a destination port from 0 to 65535")?,
            ..settings.flow(src, dst)
        })
    }
}

/// Seconds as a plain decimal number, to the nearest picosecond, without floating point.
fn seconds(text: &str) -> Option<Time> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let mut digits = fraction.bytes().map(|byte| u64::from(byte - b'0'));
    let fraction = (0..12).fold(0, |value, _| value * 10 + digits.next().unwrap_or(0));
    let half_up = u64::from(digits.next().unwrap_or(0) >= 5);
    let ps = whole
        .checked_mul(1_000_000_000_000)?
        .checked_add(fraction + half_up)?;
    Some(Time::from_ps(ps)).filter(|time| !time.is_never())
}

/// Source ports as HPCC counts them: for each pair of hosts, in order of start.
#[derive(Default)]
struct SourcePorts(HashMap<(NodeId, NodeId), u16>);

impl SourcePorts {
    fn next(&mut self, src: NodeId, dst: NodeId) -> u16 {
        let next = self.0.entry((src, dst)).or_insert(FIRST_SOURCE_PORT);
        let port = *next;
        *next = next.wrapping_add(1);
        port
    }
}

/// Writes a flow file. Flows must have sizes and be in order of start, which HPCC relies on.
pub fn write_flows(out: &mut impl Write, flows: &[FlowSpec]) -> io::Result<()> {
    if !flows.is_sorted_by_key(|flow| flow.start) {
        return Err(io::Error::other(
            "flows of an HPCC file must be in order of start",
        ));
    }
    writeln!(out, "{}", flows.len())?;
    for flow in flows {
        let Some(bytes) = flow.size_bytes else {
            return Err(io::Error::other(
                "a flow without a size cannot be written to an HPCC file",
            ));
        };
        let (whole, fraction) = (
            flow.start.as_ps() / 1_000_000_000_000,
            flow.start.as_ps() % 1_000_000_000_000,
        );
        writeln!(
            out,
            "{} {} {} {} {bytes} {whole}.{fraction:012}",
            flow.src, flow.dst, flow.priority, flow.destination_port
        )?;
    }
    Ok(())
}

/// Writes the completed flows among `flows` as an FCT file, in order of completion. Times are
/// truncated to nanoseconds. Ports are those that HPCC would give.
pub fn write_fct(out: &mut impl Write, flows: &[FlowRecord]) -> io::Result<()> {
    let mut ports = SourcePorts::default();
    let mut completed: Vec<_> = flows
        .iter()
        .map(|flow| (flow, ports.next(flow.src, flow.dst)))
        .filter_map(|(flow, port)| Some((flow.start + flow.fct?, flow, port)))
        .collect();
    completed.sort_by_key(|(end, flow, _)| (*end, flow.id));
    for (end, flow, port) in completed {
        let ideal = flow.ideal_fct.unwrap_or(Time::ZERO);
        writeln!(
            out,
            "{:08x} {:08x} {port} {DESTINATION_PORT} {} {} {} {}",
            address(flow.src),
            address(flow.dst),
            flow.size_bytes.unwrap_or(flow.delivered_bytes),
            flow.start.as_ps() / 1000,
            (end - flow.start).as_ps() / 1000,
            ideal.as_ps() / 1000,
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
