//! Files of the HPCC simulator (github.com/alibaba-edu/High-Precision-Congestion-Control) and of
//! the ns-3 RDMA simulators derived from it.
//!
//! * `topology.txt`: numbers of nodes, switches and links; the ids of the switches; one link a line
//!   as `src dst rate delay error_rate`.
//! * `flow.txt`: the number of flows; one flow a line as `src dst pg dport bytes start_s`, also with
//!   `stop_s` after it, or without `dport` (ConWeave).
//! * `fct.txt`: one completed flow a line as `sip dip sport dport bytes start_ns fct_ns ideal_ns`.
//!
//! As there, what follows the announced number of lines is a comment. The flow file of the older
//! ns3-rdma, `src dst pg packets start_s stop_s`, counts packets and is not read.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use unpause_protocols::units::Time;
use unpause_sim::config::{NodeId, NodeKind};
use unpause_sim::fabric::hpcc_address as address;
use unpause_sim::results::FlowRecord;
use unpause_sim::traffic::{DESTINATION_PORT, FlowSettings, FlowSpec};

use super::{FileError, Place};
use crate::limits;
use crate::text::quantity::{parse_duration, parse_rate};
use crate::topology::{Topology, positive_delay, whole_rate};

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

/// Reads a topology. Node n is named `Hn` if it is a host, `Sn` if it is a switch, and keeps its
/// number. More than `parallel` links between two nodes are an error. `path` is for messages.
pub fn parse_topology(
    reader: impl BufRead,
    path: &Path,
    parallel: u32,
) -> Result<Topology, FileError> {
    let mut rows = Rows::new(reader, path);
    const HEADER: &str = "the numbers of nodes, switches and links";
    let header = rows.next(|| HEADER.into())?;
    let [nodes, switches, links] = header.columns(HEADER)?;
    let nodes: NodeId = header.number(nodes, "a number of nodes")?;
    header.at_most(nodes.into(), limits::NODES, "nodes")?;
    let switches: usize = header.number(switches, "a number of switches")?;
    let links: usize = header.number(links, "a number of links")?;
    header.at_most(links as u64, limits::LINKS, "links")?;

    // The ids may stand on several lines.
    let mut kinds = vec![NodeKind::Host; nodes as usize];
    let mut found = 0;
    while found < switches {
        let row = rows.next(|| format!("{} more ids of switches", switches - found))?;
        for text in row.text.split_whitespace() {
            let id = row.node(text, nodes)?;
            if found == switches || kinds[id as usize] == NodeKind::Switch {
                return Err(row.place.error(
                    format!("`{text}`"),
                    format!("{switches} different ids of switches"),
                ));
            }
            kinds[id as usize] = NodeKind::Switch;
            found += 1;
        }
    }

    let mut topology = Topology::default();
    for (id, kind) in kinds.iter().enumerate() {
        match kind {
            NodeKind::Host => topology.add_host(format!("H{id}")),
            NodeKind::Switch => topology.add_switch(format!("S{id}")),
        };
    }
    let mut lines = Vec::new();
    for index in 0..links {
        const LINK: &str = "a link: src dst rate delay error_rate";
        let row = rows.next(|| format!("{LINK} ({index} of {links} read)"))?;
        let [a, b, rate, delay, error_rate] = row.columns(LINK)?;
        let (a, b) = (row.node(a, nodes)?, row.node(b, nodes)?);
        if a == b {
            let found = format!("a link from node {a} to itself");
            return Err(row.place.error(found, "two nodes"));
        }
        let link_rate = parse_rate(rate).map_err(|error| {
            row.place
                .error(format!("`{rate}` ({error})"), "a rate such as `100Gbps`")
        })?;
        let link_delay = parse_duration(delay).map_err(|error| {
            row.place
                .error(format!("`{delay}` ({error})"), "a delay such as `0.001ms`")
        })?;
        if error_rate.parse::<f64>() != Ok(0.0) {
            return Err(row.place.error(
                format!("`{error_rate}`"),
                "an error rate of 0: links here lose nothing",
            ));
        }
        whole_rate("rate", link_rate).map_err(|_| {
            row.place.error(
                format!("`{rate}`"),
                "a rate at which a byte lasts whole picoseconds",
            )
        })?;
        positive_delay("delay", link_delay)
            .map_err(|_| row.place.error(format!("`{delay}`"), "a delay above zero"))?;
        topology.connect(a, b, link_rate, link_delay);
        lines.push(row.place.line);
    }
    if let Some(index) = topology.surplus_link(parallel) {
        let link = topology.fabric.links[index];
        let line = lines[index];
        return Err(Place { path, line }.error(
            format!("another link between nodes {} and {}", link.a, link.b),
            format!("at most {parallel} (`parallel` of the topology)"),
        ));
    }
    topology.validate().map_err(|error| {
        let place = Place {
            path,
            line: lines.last().copied().unwrap_or(1),
        };
        place.error(
            error.message,
            "a connected fabric whose hosts have one link each",
        )
    })
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
    for index in 0..count {
        const FLOW: &str = "a flow: src dst pg dport bytes start_s";
        let row = rows.next(|| format!("{FLOW} ({index} of {count} read)"))?;
        flows.push(row.flow(FLOW, topology, settings)?);
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

/// Lines that are not blank.
struct Rows<'a, R> {
    reader: R,
    place: Place<'a>,
    /// Bytes read.
    read: u64,
}

impl<'a, R: BufRead> Rows<'a, R> {
    fn new(reader: R, path: &'a Path) -> Self {
        Self {
            reader,
            place: Place { path, line: 0 },
            read: 0,
        }
    }

    /// The next line with its end; `None` at the end of the file. Reads no more than [`limits`] allow.
    fn line(&mut self) -> Result<Option<String>, FileError> {
        let most = limits::LINE_BYTES.min(limits::HPCC_BYTES - self.read);
        let mut bytes = Vec::new();
        let mut reader = self.reader.by_ref().take(most + 1);
        reader
            .read_until(b'\n', &mut bytes)
            .map_err(|reason| self.place.io(reason))?;
        if bytes.is_empty() {
            return Ok(None);
        }
        self.place.line += 1;
        let length = bytes.len() as u64;
        let text = limits::utf8(bytes, self.read)
            .map_err(|not| self.place.error(not.found, limits::EXPECTED_TEXT))?;
        if length > most {
            return Err(match most {
                limits::LINE_BYTES => {
                    let found = format!("a line of more than {} MiB", most >> 20);
                    self.place.error(found, "lines of text")
                }
                _ => self.place.io(limits::too_large(limits::HPCC_BYTES)),
            });
        }
        let text = match self.read {
            0 => text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned(),
            _ => text,
        };
        self.read += length;
        Ok(Some(text))
    }

    fn try_next(&mut self) -> Result<Option<Row<'a>>, FileError> {
        while let Some(text) = self.line()? {
            if !text.trim().is_empty() {
                return Ok(Some(Row {
                    text,
                    place: self.place,
                }));
            }
        }
        Ok(None)
    }

    fn next(&mut self, expected: impl FnOnce() -> String) -> Result<Row<'a>, FileError> {
        let row = self.try_next()?;
        row.ok_or_else(|| self.place.error("the end of the file", expected()))
    }
}

/// One line.
struct Row<'a> {
    text: String,
    place: Place<'a>,
}

impl Row<'_> {
    /// Its columns, separated by blanks.
    fn columns<const N: usize>(&self, expected: &str) -> Result<[&str; N], FileError> {
        let columns: Vec<&str> = self.text.split_whitespace().collect();
        let found = columns.len();
        columns.try_into().map_err(|_| {
            self.place.error(
                format!("`{}` ({found} columns)", self.text.trim()),
                expected,
            )
        })
    }

    fn at_most(&self, found: u64, most: u64, what: &str) -> Result<(), FileError> {
        if found > most {
            let found = format!("{found} {what}");
            return Err(self.place.error(found, format!("at most {most}")));
        }
        Ok(())
    }

    fn number<T: std::str::FromStr>(&self, text: &str, expected: &str) -> Result<T, FileError> {
        text.parse()
            .map_err(|_| self.place.error(format!("`{text}`"), expected))
    }

    fn node(&self, text: &str, nodes: NodeId) -> Result<NodeId, FileError> {
        let id = text.parse().ok().filter(|id| *id < nodes);
        id.ok_or_else(|| {
            let expected = format!("the id of a node, below {nodes}");
            self.place.error(format!("`{text}`"), expected)
        })
    }

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
            group: 0,
            src,
            dst,
            size_bytes: Some(size),
            start: time(start)?,
            stop: stop.map_or(Ok(Time::NEVER), time)?,
            priority,
            rate_limit: settings.rate_limit,
            offered: settings.offered,
            controlled: settings.controlled,
            recorded: settings.recorded,
            source_port: 0,
            destination_port: self.number(dport, "a destination port from 0 to 65535")?,
            transport: settings.transport,
            extra_delay: settings.extra_delay,
            connections: settings.connections,
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

/// Writes a topology file. Nodes keep their numbers and lose their names.
pub fn write_topology(out: &mut impl Write, topology: &Topology) -> io::Result<()> {
    let fabric = &topology.fabric;
    let switches: Vec<String> = (0..fabric.nodes.len())
        .filter(|&node| fabric.nodes[node] == NodeKind::Switch)
        .map(|node| node.to_string())
        .collect();
    writeln!(
        out,
        "{} {} {}",
        fabric.nodes.len(),
        switches.len(),
        fabric.links.len()
    )?;
    writeln!(out, "{}", switches.join(" "))?;
    for link in &fabric.links {
        let (ns, ps) = (link.delay.as_ps() / 1000, link.delay.as_ps() % 1000);
        let fraction = if ps == 0 {
            String::new()
        } else {
            format!(".{ps:03}")
        };
        writeln!(
            out,
            "{} {} {}bps {ns}{fraction}ns 0",
            link.a,
            link.b,
            link.rate.as_bps()
        )?;
    }
    Ok(())
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
