//! Results in the formats of HPCC's simulator (`scratch/third.cc`): what its scripts read.

use std::fmt::Write;

use unpause_protocols::units::Time;
use unpause_sim::config::{Config, Fabric, NodeId, NodeKind};
use unpause_sim::fabric::hpcc_address as address;
use unpause_sim::results::{FlowRecord, PauseRecord, QueueHistogram};

use crate::outcome::hpcc_trace::Trace;
use crate::run::measured::Measured;
use unpause_import::hpcc_ways::Ways;

/// Names of files and what is in them.
pub type HpccFiles = Vec<(String, Vec<u8>)>;

/// Bytes of headers that its ideal FCT counts for every packet: Ethernet 14, IPv4 20, UDP 8, number and
/// priority 6; no telemetry.
const IDEAL_HEADER_BYTES: u64 = 48;

/// The files that a run asks for.
pub fn of(measured: &Measured) -> HpccFiles {
    let Measured { run, results, .. } = measured;
    let mut files = HpccFiles::new();
    let mut add = |name: &str, bytes| files.push((name.to_owned(), bytes));
    if run.hpcc.fct {
        add("fct.txt", fct(&run.config, &results.flows).into_bytes());
    }
    if run.hpcc.pfc {
        let end = results.totals.simulated;
        let text = pfc(&run.config.fabric, &results.pauses, end);
        add("pfc.txt", text.into_bytes());
    }
    if run.hpcc.qlen {
        add("qlen.txt", qlen(&results.histograms).into_bytes());
    }
    if !run.hpcc.trace.is_empty() {
        let nodes = &run.hpcc.trace;
        let traced = Trace::new(&run.config, &results.flows, nodes);
        add("mix.tr", traced.of(&results.packets));
    }
    files
}

/// Completed flows in order of completion: `sip dip sport dport bytes start_ns fct_ns ideal_ns`. An FCT lasts
/// until the sender has the last ACK. The ideal one is twice the propagation, a full payload over every
/// link, and the flow with its headers over the slowest one.
fn fct(config: &Config, flows: &[FlowRecord]) -> String {
    let mut ways = Ways::new(&config.fabric, config.host.payload_bytes);
    let payload = u64::from(config.host.payload_bytes);
    let mut completed: Vec<_> = flows
        .iter()
        .filter_map(|flow| Some((flow.acknowledged?, flow)))
        .collect();
    completed.sort_by_key(|(end, flow)| (*end, flow.id));
    let mut text = String::new();
    for (end, flow) in completed {
        let way = ways.of(flow.src, flow.dst);
        let size = flow.size_bytes.unwrap_or(flow.delivered_bytes);
        let headers = (size.saturating_sub(1) / payload + 1) * IDEAL_HEADER_BYTES;
        let ideal = way.rtt_ns + (size + headers) * 8_000_000_000 / way.bps.max(1);
        let (source, destination) = (flow.source_port, flow.destination_port);
        let (from, to) = (address(flow.src), address(flow.dst));
        let start = flow.start.as_ps() / 1000;
        let fct = (end - flow.start).as_ps() / 1000;
        let _ = writeln!(
            text,
            "{from:08x} {to:08x} {source} {destination} {size} {start} {fct} {ideal}"
        );
    }
    text
}

/// PAUSEs as they take effect, and their ends: `ns node is_switch port pause`, ports from 1.
fn pfc(fabric: &Fabric, pauses: &[PauseRecord], end: Time) -> String {
    let mut lines: Vec<(u64, NodeId, u16, u8)> = Vec::new();
    for pause in pauses {
        let of = |time: Time, kind| (time.as_ps() / 1000, pause.node, pause.port, kind);
        lines.push(of(pause.obeyed, 1));
        if pause.end < end {
            lines.push(of(pause.end, 0));
        }
    }
    lines.sort_by_key(|(time, node, port, _)| (*time, *node, *port));
    let mut text = String::new();
    for (time, node, port, kind) in lines {
        let is_switch = u8::from(fabric.nodes[node as usize] == NodeKind::Switch);
        let _ = writeln!(
            text,
            "{time} {node} {is_switch} {} {kind}",
            u32::from(port) + 1
        );
    }
    text
}

/// How long queues have been so far: `time: ns`, then a line for each port of a switch, `node port` and how often
/// they held this many kB.
fn qlen(histograms: &[QueueHistogram]) -> String {
    let mut text = String::new();
    let mut time = None;
    for histogram in histograms {
        if time.replace(histogram.time) != Some(histogram.time) {
            let _ = writeln!(text, "time: {}", histogram.time.as_ps() / 1000);
        }
        let _ = write!(text, "{} {}", histogram.node, u32::from(histogram.port) + 1);
        for count in &histogram.counts {
            let _ = write!(text, " {count}");
        }
        text.push('\n');
    }
    text
}
