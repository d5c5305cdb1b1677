//! What a run would take, before it starts: flows are read as the run would read them, and each packet
//! is counted on each of its links.

mod demand;
mod paths;
mod pilot;

use unpause_sim::config::Config;
use unpause_sim::traffic::{FlowSpec, Traffic};

use self::demand::{active, hops};
pub use self::pilot::{Beginning, beginning};
use crate::limits::{FLOW_BYTES, PART_BYTES, SAMPLE_BYTES};
use crate::run::Run;

/// Flows that are read, of all runs together and of one at least and at most; of more, the rest is taken to
/// be like them.
const FLOWS_READ: (usize, usize, usize) = (2_000_000, 1_000, 200_000);
/// Behind those that are read, so many times as many are counted; more are taken to go on as they came.
const COUNTED: usize = 20;
/// Nodes and links that are looked at for the lengths of paths, likewise.
const STEPS: (usize, usize, usize) = (100_000_000, 10_000, 20_000_000);
/// What a core does where nobody tries: the middle of the cases of `docs/performance.md`.
const HOPS_PER_SECOND: f64 = 15e6;
/// Seconds to take a sample and write it: 20 million take some 14 s.
const SAMPLE_S: f64 = 7e-7;
/// Runs of fewer packet-hops in all are over in a second or two.
const WORTH_TRYING: u64 = 20_000_000;
/// Memory of a node with its ports and queues, about.
const NODE_BYTES: u64 = 4_000;
/// The program without a run.
const PROGRAM_BYTES: u64 = 30_000_000;
/// Bytes on the disk: of tables without rows, and of a row of each; about, since it depends on what compresses.
const TABLES_ON_DISK: u64 = 40_000;
const FLOW_ON_DISK: u64 = 20;
const PORT_ON_DISK: u64 = 18;
const PORT_SAMPLE_ON_DISK: u64 = 3;
const FLOW_SAMPLE_ON_DISK: u64 = 11;

/// Samples of ports of all runs together, from which on they go to the disk while a run goes on.
pub(crate) const STREAMED: u64 = 1 << 20;
/// Memory of that.
const STREAM_BYTES: u64 = 100_000_000;

/// What a run is expected to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Cost {
    /// Flows that start.
    pub flows: u64,
    /// Packets times links.
    pub packet_hops: u64,
    /// Samples of ports.
    pub port_samples: u64,
    /// Samples of flows.
    pub flow_samples: u64,
    /// Time of one core.
    pub core_s: f64,
    /// Memory, without samples of ports.
    pub memory_bytes: u64,
    /// Size of its tables, without PAUSE frames and recorded packets.
    pub disk_bytes: u64,
}

impl Cost {
    /// Of a run, which is one of so many.
    pub(crate) fn of(run: &Run, runs: usize) -> Self {
        let share = |(all, least, most): (usize, usize, usize)| (all / runs).clamp(least, most);
        let config = &run.config;
        let (read, rest) = flows(config, share(FLOWS_READ));
        let until = match rest > 1.0 {
            true => read.last().map_or(config.stop, |flow| flow.start),
            false => config.stop,
        };
        let packet_hops = (hops(config, &read, until, share(STEPS)) * rest) as u64;
        let port_samples = port_samples(config);
        let flow_samples = (flow_samples(config, &read) * rest) as u64;
        let flows = (read.len() as f64 * rest) as u64;
        Self {
            flows,
            packet_hops,
            port_samples,
            flow_samples,
            core_s: packet_hops as f64 / HOPS_PER_SECOND
                + (port_samples + flow_samples) as f64 * SAMPLE_S,
            memory_bytes: flows * FLOW_BYTES
                + flow_samples * SAMPLE_BYTES
                + config.fabric.nodes.len() as u64 * NODE_BYTES
                + config.fabric.links.len() as u64 * PART_BYTES,
            disk_bytes: flows * FLOW_ON_DISK
                + port_samples * PORT_SAMPLE_ON_DISK
                + flow_samples * FLOW_SAMPLE_ON_DISK
                + 2 * config.fabric.links.len() as u64 * PORT_ON_DISK,
        }
    }

    /// Of all runs; results stay in memory until the end, but for many samples of ports.
    pub fn of_all(runs: &[Self]) -> Self {
        let sum = |part: fn(&Self) -> u64| runs.iter().map(part).sum::<u64>();
        let port_samples = sum(|run| run.port_samples);
        let series_bytes = match port_samples > STREAMED {
            true => STREAM_BYTES,
            false => port_samples * SAMPLE_BYTES,
        };
        Self {
            flows: sum(|run| run.flows),
            packet_hops: sum(|run| run.packet_hops),
            port_samples,
            flow_samples: sum(|run| run.flow_samples),
            core_s: runs.iter().map(|run| run.core_s).sum(),
            memory_bytes: PROGRAM_BYTES + series_bytes + sum(|run| run.memory_bytes),
            disk_bytes: TABLES_ON_DISK + sum(|run| run.disk_bytes),
        }
    }
}

/// Corrects how long runs are expected to take, if it is long.
pub(crate) fn time(runs: &[Run], costs: &mut [Cost]) {
    let hops: u64 = costs.iter().map(|cost| cost.packet_hops).sum();
    if hops < WORTH_TRYING {
        return;
    }
    for (cost, seconds) in costs.iter_mut().zip(pilot::seconds(runs)) {
        if let Some(seconds) = seconds {
            let samples = cost.port_samples + cost.flow_samples;
            cost.core_s = cost.packet_hops as f64 * seconds + samples as f64 * SAMPLE_S;
        }
    }
}

/// The first flows, `most` of them, and by what to multiply them for all.
fn flows(config: &Config, most: usize) -> (Vec<FlowSpec>, f64) {
    let stream = Traffic::new(&config.traffic, &config.fabric, config.seed);
    let mut stream = stream.into_iter().flatten();
    let mut stream = stream.by_ref().take_while(|flow| flow.start < config.stop);
    let flows: Vec<FlowSpec> = stream.by_ref().take(most).collect();
    let mut count = flows.len();
    let mut last = flows.last().map_or(config.stop, |flow| flow.start);
    for flow in stream.take(most * COUNTED) {
        count += 1;
        last = flow.start;
    }
    let counted = count as f64 / flows.len().max(1) as f64;
    let rest = match count == most * (1 + COUNTED) {
        true => config.stop.as_secs_f64() / last.as_secs_f64().max(1e-12),
        false => 1.0,
    };
    (flows, counted * rest)
}

/// Rows of the series of ports.
pub(crate) fn port_samples(config: &Config) -> u64 {
    let probes = &config.probes;
    let time = config.stop.saturating_sub(probes.start).as_secs_f64();
    (time / probes.interval.as_secs_f64() * probes.ports.len() as f64) as u64
}

/// Rows of the series of flows.
fn flow_samples(config: &Config, flows: &[FlowSpec]) -> f64 {
    let probes = &config.probes;
    let interval = probes
        .flow_interval
        .unwrap_or(probes.interval)
        .as_secs_f64();
    let lasts = |flow: &FlowSpec| {
        // A flow with an end is gone after it; the slowest hosts and long queues are allowed for.
        let ends = flow
            .size_bytes
            .map_or(f64::INFINITY, |size| 1e-4 + size as f64 / 1e8);
        active(flow, config.stop).min(ends) / interval
    };
    flows.iter().filter(|flow| flow.recorded).map(lasts).sum()
}
