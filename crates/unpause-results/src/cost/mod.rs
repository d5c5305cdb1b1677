//! Estimates the cost of a run before it starts: flows are read as the run would read them, each packet is counted on each
//! of its links, and the beginning of the run is tried for what cannot be known without it.

mod demand;
mod paths;
mod pilot;
mod trial;

use std::collections::BTreeMap;

use rayon::prelude::*;
use unpause_protocols::units::Time;
use unpause_sim::config::Config;
use unpause_sim::traffic::{FlowSpec, Traffic};

use self::demand::{Asked, Sent, active, sent};
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
/// for each flow, flow at work, packet on a wire or in a queue, row of a table or packet in a file of HPCC's.
const PROGRAM_BYTES: u64 = 45_000_000;
const NODE_BYTES: u64 = 4_000;
const FLOW_BYTES: u64 = 400;
const LIVE_BYTES: u64 = 3_500;
const HELD_BYTES: u64 = 130;
const PACKET_BYTES: u64 = 320;
const TRACED_BYTES: u64 = 350;
const CAUSE_BYTES: u64 = 480;
const PAUSE_BYTES: u64 = 200;
/// Of a flow whose delays are recorded: its record, and those of the packets that may have ended it.
const DELAY_BYTES: u64 = 450;
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

/// How much is tried to know what runs take. The limit is a number of packet-hops: all but [`Cost::core_s`] is the same on
/// every machine, however busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// About a fifth of a second of work, and nothing of runs that are soon over: they begin at once.
    Quick,
    /// Less, and only of runs that record packets or causes, whose memory and disk are not known otherwise; the time is
    /// then not known well.
    Memory,
    /// About two seconds of work, if the runs take as long.
    Thorough,
    /// As [`Effort::Quick`], but up to this many packet-hops of all runs together.
    Counted(u64),
}

impl Effort {
    /// Packet-hops to try of runs with this many; `records`: runs record packets or causes, whose number grows with them.
    fn most(self, hops: u64, records: bool) -> Option<u64> {
        let is_worth = records && hops >= WORTH_COUNTING;
        match self {
            Self::Thorough => Some(20_000_000),
            Self::Counted(most) => (hops >= WORTH_TRYING || is_worth).then_some(most),
            Self::Quick if hops >= WORTH_TRYING => Some(2_000_000),
            Self::Quick | Self::Memory => is_worth.then_some(600_000),
        }
    }
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
    let of_run = |run| Counted::of(run, runs.len());
    let counted: Vec<Counted> = runs.par_iter().map(of_run).collect();
    let hops: f64 = counted.iter().map(|run| run.sent.hops).sum();
    let records = |run: &Run| run.config.probes.causes || !run.config.probes.packets.is_empty();
    let trials = match effort.most(hops as u64, runs.iter().any(records)) {
        None => vec![None; runs.len()],
        Some(most) => {
            let until = |index: usize, until| counted[index].hops(until, 1.0);
            trial::trials(runs, &until, most)
        }
    };
    let all = counted.into_iter().zip(trials);
    all.map(|(counted, trial)| match trial {
        Some(trial) => counted.tried(&trial),
        None => counted.untried(),
    })
    .collect()
}

/// What is counted of a run before anything of it is tried.
struct Counted<'a> {
    config: &'a Config,
    /// The number of runs that share the time to count.
    runs: usize,
    flows: u64,
    sent: Sent,
    flow_samples: u64,
}

impl<'a> Counted<'a> {
    fn of(run: &'a Run, runs: usize) -> Self {
        let config = &run.config;
        let (read, weight) = flows(config, config.stop, share(FLOWS_READ, runs));
        let mut counted = Self {
            config,
            runs,
            flows: (read.len() as f64 * weight) as u64,
            sent: Sent::default(),
            flow_samples: (flow_samples(config, &read) * weight) as u64,
        };
        counted.sent = counted.of_flows(&read, weight, config.stop, 1.0);
        counted
    }

    /// Packets times links until then, if the run uses this part of the links' rates.
    fn hops(&self, until: Time, pace: f64) -> f64 {
        let (read, weight) = flows(self.config, until, share(FLOWS_READ, self.runs));
        self.of_flows(&read, weight, until, pace).hops
    }

    fn of_flows(&self, flows: &[FlowSpec], weight: f64, until: Time, pace: f64) -> Sent {
        let asked = Asked {
            flows,
            weight,
            until,
            pace,
        };
        sent(self.config, &asked, share(STEPS, self.runs))
    }

    fn cost(&self) -> Cost {
        Cost {
            flows: self.flows,
            packet_hops: self.sent.hops as u64,
            port_samples: port_samples(self.config),
            flow_samples: self.flow_samples,
            ..Cost::default()
        }
    }

    /// The cost of a run whose beginning was not tried.
    fn untried(self) -> Cost {
        let config = self.config;
        let cost = self.cost();
        let ports = (2 * config.fabric.links.len()).max(1) as f64;
        let packets = self.sent.hops * config.probes.packets.len() as f64 / ports;
        let grown = Grown {
            packets,
            disk: packets * PACKET_ON_DISK,
            ..Grown::default()
        };
        let samples = (cost.port_samples + cost.flow_samples) as f64;
        Cost {
            core_s: PROGRAM_S
                + self.sent.hops / HOPS_PER_SECOND
                + samples * SAMPLE_S
                + fast_watchdog::cost_s(config),
            ..cost
        }
        .with(config, self.sent, grown, Rows::default())
    }

    /// The cost of a run from a trial of its beginning, or of that of a similar run.
    fn tried(self, trial: &Trial) -> Cost {
        let config = self.config;
        let at_pace = |pace| self.hops(config.stop, pace);
        let packet_hops = trial.hops_of(self.sent.hops, &at_pace);
        let factor = packet_hops / trial.packet_hops as f64;
        let tried_s = trial.setup_s + trial.rest_s * factor;
        let cost = self.cost();
        Cost {
            packet_hops: packet_hops as u64,
            flow_samples: trial.flow_samples.unwrap_or(self.flow_samples),
            core_s: PROGRAM_S + tried_s.max(fast_watchdog::cost_s(config)),
            ..cost
        }
        .with(
            config,
            self.sent,
            trial.grown.times(factor),
            trial.row_bytes,
        )
    }
}

/// The part of an effort that each of this many runs gets: of all, at least and at most.
fn share((all, least, most): (usize, usize, usize), runs: usize) -> usize {
    (all / runs).clamp(least, most)
}

impl Cost {
    /// With the memory and the disk that it takes.
    fn with(self, config: &Config, sent: Sent, grown: Grown, rows: Rows) -> Self {
        let bytes =
            |number: u64, each: Option<f64>, usual: f64| number as f64 * each.unwrap_or(usual);
        let on_disk = grown.disk
            + bytes(self.flows, rows.flow, FLOW_ON_DISK)
            + bytes(self.port_samples, rows.port_sample, PORT_SAMPLE_ON_DISK)
            + bytes(self.flow_samples, rows.flow_sample, FLOW_SAMPLE_ON_DISK);
        let [packets, causes, pauses, traced] =
            [grown.packets, grown.causes, grown.pauses, grown.traced].map(|number| number as u64);
        let fabric = &config.fabric;
        let delays = if config.probes.causes { self.flows } else { 0 };
        Self {
            packets,
            causes,
            memory_bytes: [
                (self.flows, FLOW_BYTES),
                (sent.live as u64, LIVE_BYTES),
                (sent.in_flight as u64, HELD_BYTES),
                (self.flow_samples, SAMPLE_BYTES),
                (packets, PACKET_BYTES),
                (causes, CAUSE_BYTES),
                (pauses, PAUSE_BYTES),
                (traced, TRACED_BYTES),
                (delays, DELAY_BYTES),
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

/// The first flows that start until then, `most` of them, and how many flows each stands for.
fn flows(config: &Config, until: Time, most: usize) -> (Vec<FlowSpec>, f64) {
    let stream = Traffic::new(&config.traffic, &config.fabric, config.seed);
    let mut sizes = job_sizes(config);
    let mut stream = stream
        .into_iter()
        .flatten()
        .map(|flow| sized(flow, &mut sizes))
        .take_while(|flow| flow.start < until);
    let flows: Vec<FlowSpec> = stream.by_ref().take(most).collect();
    let mut count = flows.len();
    let mut last = flows.last().map_or(until, |flow| flow.start);
    for flow in stream.take(most * COUNTED) {
        count += 1;
        last = flow.start;
    }
    let counted = count as f64 / flows.len().max(1) as f64;
    // Those that were not counted come as the others came, if time passed between those.
    let goes_on = count == most * (1 + COUNTED) && last > Time::ZERO;
    let rest = if goes_on {
        until.as_secs_f64() / last.as_secs_f64()
    } else {
        1.0
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
