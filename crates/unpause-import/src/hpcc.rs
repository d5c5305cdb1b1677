//! Files of the HPCC simulator (github.com/alibaba-edu/High-Precision-Congestion-Control) and of
//! the ns-3 RDMA simulators derived from it.
//!
//! * `topology.txt`: numbers of nodes, switches and links; the ids of the switches; one link a line
//!   as `src dst rate delay error_rate`. Headers of four numbers (ns3-datacenter, intcc), of six (Reverie), and of five
//!   and a GPU type (SimAI, with NVSwitches) are read, too.
//! * `flow.txt`: the number of flows; one flow a line as `src dst pg dport bytes start_s`, also with
//!   `stop_s` after it, or without `dport` (ConWeave); all lines alike.
//! * `fct.txt`: one completed flow a line as `sip dip sport dport bytes start_ns fct_ns ideal_ns`.
//!
//! As there, what follows the announced number of lines is a comment. The flow file of the older
//! ns3-rdma, `src dst pg packets start_s stop_s`, counts packets and is not read. Workloads of SimAI, and files
//! of htsim and LogGOPSim, are told by their first line, and refused by name.

mod flows;
mod foreign;
mod header;
mod numbers;
mod ports;
mod rows;
mod simai;
mod topology;

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use unpause_protocols::units::Time;
use unpause_sim::fabric::hpcc_address as address;
use unpause_sim::results::FlowRecord;
use unpause_sim::traffic::{DESTINATION_PORT, FlowSettings, FlowSpec};

pub use self::flows::{Flows, parse_flows};
pub(crate) use self::foreign::refuse_text;
pub(crate) use self::header::Kind as TopologyKind;
pub(crate) use self::numbers::{rate as ns3_rate, seconds};
use self::ports::SourcePorts;
pub use self::topology::{parse_topology, write_topology};
use super::{FileError, Place};
use crate::fabric::topology::Topology;

/// Reads the topology file `path`; see [`parse_topology`].
pub fn read_topology(path: &Path, parallel: Option<u32>) -> Result<Topology, FileError> {
    parse_topology(open(path)?, path, parallel)
}

/// The same, with the kind of its header; of several links between two nodes the last counts if `parallel` is none.
pub(crate) fn read_topology_kind(
    path: &Path,
    parallel: Option<u32>,
) -> Result<(Topology, TopologyKind), FileError> {
    topology::read(open(path)?, path, parallel)
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
    let file = std::fs::File::open(path).map_err(|reason| Place::of_line(path, 0).io(reason))?;
    Ok(BufReader::new(file))
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
