//! Estimates the cost of a run before it starts: flows are read as the run would read them, each packet is counted on each
//! of its links, and the beginning of the run is tried for what cannot be known without it.

mod demand;
mod paths;
mod pilot;
mod trial;

use std::collections::BTreeMap;
use std::time::Duration;

use rayon::prelude::*;
use unpause_protocols::units::Time;
use unpause_sim::config::Config;
use unpause_sim::traffic::{FlowSpec, Traffic};

use self::demand::{active, hops};
use self::pilot::Most;
pub use self::pilot::{Beginning, beginning};
use self::trial::{Grown, Rows, Trial};
use crate::run::Run;
use crate::warnings::fast_watchdog;
use unpause_text::count::{count, rounded};
use unpause_text::limits::{PART_BYTES, SAMPLE_BYTES};

/// Flows that are read, of all runs together and of one at least and at most; of more, the rest is taken to
/// be like them.
const FLOWS_READ: (usize, usize, usize) = (2_000_000, 1_000, 200_000);
/// Behind those that are read, this many times as many are counted; more are taken to go on as they came.
const COUNTED: usize = 20;
/// Nodes and links that are looked at for the lengths of paths, likewise.
const STEPS: (usize, usize, usize) = (100_000_000, 10_000, 20_000_000);
/// Speed of a core that was not measured: the middle of the cases of `docs/performance.md`.
const HOPS_PER_SECOND: f64 = 15e6;
/// Seconds to take a sample and write it: 20 million take some 14 s.
const SAMPLE_S: f64 = 7e-7;
/// Seconds to begin and to write tables without rows.
const PROGRAM_S: f64 = 0.01;
/// Runs of fewer packet-hops in all are over in a second or two: a run that begins at once does not try them.
const WORTH_TRYING: u64 = 20_000_000;
/// The same where packets or causes are recorded, whose number is not known.
const WORTH_COUNTING: u64 = 1_000_000;

/// Memory at the peak, measured by `make bench-cost`: of the program without a run, of a node with its ports and queues, and
/// for each flow, row of a table or packet in a file of HPCC's.
const PROGRAM_BYTES: u64 = 45_000_000;
const NODE_BYTES: u64 = 4_000;
const FLOW_BYTES: u64 = 400;
const PACKET_BYTES: u64 = 320;
const TRACED_BYTES: u64 = 350;
const CAUSE_BYTES: u64 = 480;
const PAUSE_BYTES: u64 = 200;
/// Bytes on disk of a run that was not tried: of tables without rows, and of a row of each; about, since it depends on what
/// compresses.
const TABLES_ON_DISK: u64 = 50_000;
const FLOW_ON_DISK: f64 = 25.0;
const PORT_ON_DISK: u64 = 18;
const PORT_SAMPLE_ON_DISK: f64 = 3.0;
const FLOW_SAMPLE_ON_DISK: f64 = 11.0;
const PACKET_ON_DISK: f64 = 16.0;

/// Samples of ports of all runs together, from which on they go to the disk during a run.
pub const STREAMED: u64 = 1 << 21;
/// Memory of that.
const STREAM_BYTES: u64 = 100_000_000;

/// How much is tried to know what runs take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// A tenth of a second, and nothing of runs that are soon over: they begin at once.
    Quick,
    /// The same, but only of runs that record packets or causes, whose memory and disk are not known otherwise; the time is
    /// then not known well.
    Memory,
    /// Two seconds, if the runs take as long.
    Thorough,
    /// As [`Effort::Quick`], but up to this many packet-hops of all runs together instead of a time: all but
    /// [`Cost::core_s`] is then the same on every machine, however busy.
    Counted(u64),
}

/// The expected cost of a run.
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
    /// Packets recorded.
    pub packets: u64,
    /// Rows of table `causes`.
    pub causes: u64,
    /// Time of one core.
    pub core_s: f64,
    /// Memory, without samples of ports.
    pub memory_bytes: u64,
    /// Size of its files.
    pub disk_bytes: u64,
}

/// The expected costs of `runs`.
pub fn of(runs: &[Run], effort: Effort) -> Vec<Cost> {
    let counted: Vec<Cost> = runs
        .par_iter()
        .map(|run| Cost::counted(run, runs.len()))
        .collect();
    let hops: u64 = counted.iter().map(|cost| cost.packet_hops).sum();
    let grows = |run: &Run| run.config.probes.causes || !run.config.probes.packets.is_empty();
    let is_worth = hops >= WORTH_COUNTING && runs.iter().any(grows);
    let most = match effort {
        Effort::Thorough => Some(Most::Time(Duration::from_secs(2))),
        Effort::Counted(most) => (hops >= WORTH_TRYING || is_worth).then_some(Most::Hops(most)),
        Effort::Quick if hops >= WORTH_TRYING => Some(Most::Time(Duration::from_millis(200))),
        Effort::Quick | Effort::Memory => is_worth.then_some(Most::Time(Duration::from_millis(60))),
    };
    let counted_until = |index: usize, until| hops_until(&runs[index].config, until);
    let trials = match most {
        None => vec![None; runs.len()],
        Some(most) => trial::trials(runs, &counted_until, most),
    };
    let all = runs.iter().zip(counted).zip(trials);
    all.map(|((run, cost), trial)| match trial {
        Some(trial) => cost.tried(&run.config, &trial),
        None => cost.untried(&run.config),
    })
    .collect()
}

impl Cost {
    /// Flows, packets and samples of a run, which is one of this many.
    fn counted(run: &Run, runs: usize) -> Self {
        let share = |(all, least, most): (usize, usize, usize)| (all / runs).clamp(least, most);
        let config = &run.config;
        let (read, rest) = flows(config, share(FLOWS_READ));
        let until = match rest > 1.0 {
            true => read.last().map_or(config.stop, |flow| flow.start),
            false => config.stop,
        };
        Self {
            flows: (read.len() as f64 * rest) as u64,
            packet_hops: (hops(config, &read, until, share(STEPS)) * rest) as u64,
            port_samples: port_samples(config),
            flow_samples: (flow_samples(config, &read) * rest) as u64,
            ..Self::default()
        }
    }

    /// The cost of a run whose beginning was not tried.
    fn untried(self, config: &Config) -> Self {
        let ports = (2 * config.fabric.links.len()).max(1) as f64;
        let packets = self.packet_hops as f64 * config.probes.packets.len() as f64 / ports;
        let grown = Grown {
            packets,
            disk: packets * PACKET_ON_DISK,
            ..Grown::default()
        };
        let samples = (self.port_samples + self.flow_samples) as f64;
        Self {
            core_s: PROGRAM_S
                + self.packet_hops as f64 / HOPS_PER_SECOND
                + samples * SAMPLE_S
                + fast_watchdog::cost_s(config),
            ..self
        }
        .with(config, grown, Rows::default())
    }

    /// The cost of a run from a trial of its beginning, or of that of a similar run.
    fn tried(self, config: &Config, trial: &Trial) -> Self {
        let packet_hops = trial.hops_of(self.packet_hops as f64);
        let factor = packet_hops / trial.packet_hops as f64;
        let tried_s = trial.setup_s + trial.rest_s * factor;
        Self {
            packet_hops: packet_hops as u64,
            flow_samples: trial.flow_samples.unwrap_or(self.flow_samples),
            core_s: PROGRAM_S + tried_s.max(fast_watchdog::cost_s(config)),
            ..self
        }
        .with(config, trial.grown.times(factor), trial.row_bytes)
    }

    /// With the memory and the disk that it takes.
    fn with(self, config: &Config, grown: Grown, rows: Rows) -> Self {
        let bytes =
            |number: u64, each: Option<f64>, usual: f64| number as f64 * each.unwrap_or(usual);
        let on_disk = grown.disk
            + bytes(self.flows, rows.flow, FLOW_ON_DISK)
            + bytes(self.port_samples, rows.port_sample, PORT_SAMPLE_ON_DISK)
            + bytes(self.flow_samples, rows.flow_sample, FLOW_SAMPLE_ON_DISK);
        let [packets, causes, pauses, traced] =
            [grown.packets, grown.causes, grown.pauses, grown.traced].map(|number| number as u64);
        let fabric = &config.fabric;
        Self {
            packets,
            causes,
            memory_bytes: [
                (self.flows, FLOW_BYTES),
                (self.flow_samples, SAMPLE_BYTES),
                (packets, PACKET_BYTES),
                (causes, CAUSE_BYTES),
                (pauses, PAUSE_BYTES),
                (traced, TRACED_BYTES),
                (fabric.nodes.len() as u64, NODE_BYTES),
                (fabric.links.len() as u64, PART_BYTES),
            ]
            .map(|(number, bytes)| number.saturating_mul(bytes))
            .into_iter()
            .fold(0, u64::saturating_add),
            disk_bytes: (on_disk as u64)
                .saturating_add(2 * fabric.links.len() as u64 * PORT_ON_DISK),
            ..self
        }
    }

    /// `300 samples, 20,000 recorded packets, 1,200 rows of causes`; samples always, the others if there are any.
    pub fn recorded(&self) -> String {
        let samples = self.port_samples.saturating_add(self.flow_samples);
        let mut parts = vec![format!("{} samples", count(rounded(samples)))];
        let more = [
            (self.packets, "recorded packets"),
            (self.causes, "rows of causes"),
        ];
        for (number, of) in more.into_iter().filter(|(number, _)| *number > 0) {
            parts.push(format!("{} {of}", count(rounded(number))));
        }
        parts.join(", ")
    }

    /// The cost of all runs; results stay in memory until the end, except for many samples of ports if they are `streamed`.
    pub fn of_all(runs: &[Self], streamed: bool) -> Self {
        let sum = |part: fn(&Self) -> u64| runs.iter().map(part).fold(0, u64::saturating_add);
        let port_samples = sum(|run| run.port_samples);
        let series_bytes = if streamed && port_samples > STREAMED {
            STREAM_BYTES
        } else {
            port_samples.saturating_mul(SAMPLE_BYTES)
        };
        Self {
            flows: sum(|run| run.flows),
            packet_hops: sum(|run| run.packet_hops),
            port_samples,
            flow_samples: sum(|run| run.flow_samples),
            packets: sum(|run| run.packets),
            causes: sum(|run| run.causes),
            core_s: runs.iter().map(|run| run.core_s).sum(),
            memory_bytes: sum(|run| run.memory_bytes)
                .saturating_add(PROGRAM_BYTES)
                .saturating_add(series_bytes),
            disk_bytes: sum(|run| run.disk_bytes).saturating_add(TABLES_ON_DISK),
        }
    }
}

/// Packets times links until then, of a run that is tried.
fn hops_until(config: &Config, until: Time) -> f64 {
    let stream = Traffic::new(&config.traffic, &config.fabric, config.seed);
    let flows = stream.into_iter().flatten();
    let read: Vec<FlowSpec> = flows.take_while(|flow| flow.start < until).collect();
    hops(config, &read, until, STEPS.2)
}

/// Bytes of the connections of each job, by its entry.
fn job_sizes(config: &Config) -> BTreeMap<u16, std::vec::IntoIter<u64>> {
    let sizes = config.jobs.iter();
    sizes
        .map(|job| (job.entry, job.bytes_of_flows().into_iter()))
        .collect()
}

/// A flow, with all that its messages have if it is the connection of a job.
fn sized(flow: FlowSpec, sizes: &mut BTreeMap<u16, std::vec::IntoIter<u64>>) -> FlowSpec {
    match sizes.get_mut(&flow.group) {
        None => flow,
        Some(sizes) => FlowSpec {
            size_bytes: sizes.next(),
            ..flow
        },
    }
}

/// The first flows, `most` of them, and by what to multiply them for all.
fn flows(config: &Config, most: usize) -> (Vec<FlowSpec>, f64) {
    let stream = Traffic::new(&config.traffic, &config.fabric, config.seed);
    let mut sizes = job_sizes(config);
    let mut stream = stream
        .into_iter()
        .flatten()
        .map(|flow| sized(flow, &mut sizes));
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
pub fn port_samples(config: &Config) -> u64 {
    let probes = &config.probes;
    let time = config.stop.saturating_sub(probes.start).as_secs_f64();
    let priorities = config.data_priorities() | 1 << config.host.control_priority;
    let each = probes.ports.len() as f64 * f64::from(priorities.count_ones());
    (time / probes.interval.as_secs_f64() * each) as u64
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
