//! The measurements of runs, as Arrow tables.
//!
//! Every table opens with the columns `run` and `scheme`. Times are float64 nanoseconds, exact to
//! the picosecond; names of columns end in their unit. What a column means is in [`crate::columns`], and
//! in the metadata of its field: `unit` and `text`.

pub mod files;
mod join;
#[cfg_attr(not(feature = "parquet"), path = "no_series.rs")]
pub mod series;

mod builder;
mod causes;
mod collectives;
mod delays;
mod jobs;
mod links;
mod packets;
#[cfg(feature = "parquet")]
pub mod rules;

use arrow_array::RecordBatch;
use unpause_protocols::units::Rate;
use unpause_sim::config::WatchdogAction;
use unpause_sim::results::{self, FlowSample, PortRecord, Results};
use unpause_sim::traffic::Transport;

use crate::columns;
use crate::run::measured::Measured;
use crate::run::offered::offered;
use builder::Builder;

/// Declares the tables of a result: the name of each, and what makes it of the runs.
macro_rules! tables {
    ($($(#[$doc:meta])* $name:ident = $rows:expr,)*) => {
        /// The tables of a result.
        #[derive(Clone, Debug)]
        pub struct Tables {
            /// One row for each run: totals.
            pub runs: RecordBatch,
            $($(#[$doc])* pub $name: RecordBatch,)*
        }

        /// Names of the tables.
        pub const TABLES: [&str; 1 + [$(stringify!($name)),*].len()] =
            ["runs", $(stringify!($name)),*];

        impl Tables {
            /// The tables of `measured`, with a column for each of `sweep_columns`.
            pub fn new(sweep_columns: &[String], measured: &[Measured]) -> Self {
                Self {
                    runs: runs(sweep_columns, measured),
                    $($name: $rows(measured),)*
                }
            }

            /// Tables in the order of [`TABLES`]; none if there are more or fewer.
            pub fn from_list(tables: Vec<RecordBatch>) -> Option<Self> {
                let [runs, $($name),*] = tables.try_into().ok()?;
                Some(Self { runs, $($name),* })
            }

            /// The table of this name.
            pub fn get(&self, name: &str) -> Option<&RecordBatch> {
                match name {
                    "runs" => Some(&self.runs),
                    $(stringify!($name) => Some(&self.$name),)*
                    _ => None,
                }
            }
        }
    };
}

tables! {
    /// One row for each flow.
    flows = flows,
    /// One row for each entry of traffic with a `load`.
    loads = loads,
    /// One row for each (egress port, priority) that carried anything.
    ports = ports,
    /// One row for each PAUSE of an egress.
    pauses = pauses,
    /// Samples of the ports in `[probes]`.
    port_series = port_series,
    /// Samples of the flows with `record = true`.
    flow_series = flow_series,
    /// Packets that left by the ports in `probes.packets`.
    packets = packets::packets,
    /// The holders of the bytes at each PAUSE, with `probes.causes`.
    causes = causes::causes,
    /// Flows that waited for what others had filled, with the same.
    victims = causes::victims,
    /// Where the time of flows and messages went, with the same.
    delays = delays::delays,
    /// Packets lost to links that were down and to routes that led nowhere.
    losses = links::losses,
    /// One row for each change of a link in one direction, and of routes.
    link_changes = links::link_changes,
    /// One row for each storm that a PFC watchdog found.
    storms = storms,
    /// One row for each job: how long its iterations took.
    jobs = jobs::jobs,
    /// One row for each iteration of a job.
    iterations = jobs::iterations,
    /// One row for each rank of each iteration.
    ranks = jobs::ranks,
    /// One row for each message of a job.
    messages = jobs::messages,
    /// One row for each segment of the critical path of each iteration.
    critical = jobs::critical,
    /// One row for each collective operation of a group.
    collectives = collectives::collectives,
    /// One row for each link and direction that a job has used.
    job_links = collectives::job_links,
}

/// Tables that results of every version have.
pub const FIRST_TABLES: [&str; 7] = [
    "runs",
    "flows",
    "ports",
    "pauses",
    "port_series",
    "flow_series",
    "packets",
];

/// The columns alone, without a row.
impl Default for Tables {
    fn default() -> Self {
        Self::new(&[], &[])
    }
}

impl Tables {
    /// Every table with its name, in the order of [`TABLES`].
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &RecordBatch)> {
        TABLES
            .into_iter()
            .filter_map(|name| Some((name, self.get(name)?)))
    }

    /// The tables of one run. Its records, except flows, are freed as soon as they are rows, to save memory.
    pub fn taken(sweep_columns: &[String], measured: &mut Measured) -> Self {
        let mut table = |of: fn(&[Measured]) -> RecordBatch, rid: fn(&mut Results)| {
            let batch = of(std::slice::from_ref(measured));
            rid(&mut measured.results);
            batch
        };
        let packets = table(packets::packets, |r| r.packets = Vec::new());
        let causes = table(causes::causes, |r| r.causes = Vec::new());
        let port_series = table(port_series, |r| r.port_series = Vec::new());
        let flow_series = table(flow_series, |r| r.flow_series = Vec::new());
        let pauses = table(pauses, |r| r.pauses = Vec::new());
        let victims = table(causes::victims, |r| r.victims = Vec::new());
        let delays = table(delays::delays, |r| r.delays = Vec::new());
        let jobs = table(jobs::jobs, |_| {});
        let critical = table(jobs::critical, |_| {});
        let messages = table(jobs::messages, |r| r.messages = Vec::new());
        let measured = std::slice::from_ref(measured);
        Self {
            packets,
            causes,
            port_series,
            flow_series,
            pauses,
            victims,
            delays,
            jobs,
            critical,
            messages,
            ..Self::new(sweep_columns, measured)
        }
    }
}

fn storms(measured: &[Measured]) -> RecordBatch {
    Builder::new(&[columns::PORT, columns::STORMS], measured, |m| {
        m.results.storms.iter().collect()
    })
    .port(|it| (it.node, it.port, it.priority))
    .column("action", |_, it| match it.action {
        WatchdogAction::Drop => "drop",
        WatchdogAction::Forward => "forward",
        WatchdogAction::Alert => "alert",
    })
    .column("began_ns", |_, it| it.began)
    .column("detected_ns", |_, it| it.detected)
    .column("restored_ns", |_, it| it.restored)
    .column("dropped_packets", |_, it| it.dropped_packets)
    .column("dropped_bytes", |_, it| it.dropped_bytes)
    .column("dropped_data_packets", |_, it| it.dropped_data_packets)
    .column("input_dropped_packets", |_, it| it.input_dropped_packets)
    .build()
}

fn runs(sweep_columns: &[String], measured: &[Measured]) -> RecordBatch {
    let mut table = Builder::new(&[columns::RUNS], measured, |m| vec![&m.results])
        .column("seed", |run, _| run.config.seed);
    for (index, name) in sweep_columns.iter().enumerate() {
        let text = "value of the sweep, in its `unit`";
        table = table.push(name, "", text, |run, _| run.values[index].value);
        let first = measured.first();
        table.note_names(first.map_or(&[], |it| &it.run.values[index].names));
    }
    table
        .column("simulated_ns", |_, r| r.totals.simulated)
        .column("counted_from_ns", |run, _| run.warmup)
        .column("packet_hops", |_, r| r.totals.packet_hops)
        .column("events", |_, r| r.totals.events)
        .column("data_packets", |_, r| r.totals.data_packets)
        .column("delivered_packets", |_, r| r.totals.delivered_packets)
        .column("dropped_packets", |_, r| r.totals.dropped_packets)
        .column("trimmed_packets", |_, r| r.totals.trimmed_packets)
        .column("marked_packets", |_, r| r.totals.marked_packets)
        .column("notifications", |_, r| r.totals.notifications)
        .column("pause_frames", |_, r| r.totals.pause_frames)
        .column("flows_started", |run, r| {
            run.counted(&r.flows).count() as u64
        })
        .column("flows_completed", |run, r| {
            run.counted(&r.flows).filter(|it| it.fct.is_some()).count() as u64
        })
        .column("deadlock_began_ns", |_, r| {
            r.deadlock.as_ref().map(|deadlock| deadlock.began)
        })
        .build()
}

fn flows(measured: &[Measured]) -> RecordBatch {
    Builder::new(&[columns::FLOWS], measured, |m| {
        m.results.flows.iter().collect()
    })
    .column("flow_id", |_, f| f.id)
    .column("traffic", |run, f| {
        &*run.names.traffic[usize::from(f.group)]
    })
    .column("src", |run, f| run.names.name(f.src))
    .column("dst", |run, f| run.names.name(f.dst))
    .column("priority", |_, f| f.priority)
    .column("size_bytes", |_, f| f.size_bytes)
    .column("start_ns", |_, f| f.start)
    .column("fct_ns", |_, f| f.fct)
    .column("ideal_fct_ns", |_, f| f.ideal_fct)
    .column("slowdown", |_, f| {
        Some(f.fct?.as_ns_f64() / f.ideal_fct?.as_ns_f64())
    })
    .column("delivered_bytes", |_, f| f.delivered_bytes)
    .column("retransmitted_packets", |_, f| f.retransmitted_packets)
    .column("transport", |_, f| match f.transport {
        Transport::Roce => "roce",
        Transport::Tcp => "tcp",
        Transport::Udp => "udp",
    })
    .column("extra_delay_ns", |_, f| f.extra_delay)
    .column("timeouts", |_, f| f.timeouts)
    .column("gave_up", |_, f| f.gave_up)
    .column("notifications", |_, f| f.notifications)
    .build()
}

fn loads(measured: &[Measured]) -> RecordBatch {
    Builder::new(&[columns::LOADS], measured, |m| {
        offered(&m.run, &m.results.flows, m.results.totals.simulated)
    })
    .column("traffic", |run, it| {
        &*run.names.traffic[usize::from(it.load.entry)]
    })
    .column("asked_load", |_, it| it.load.asked)
    .column("offered_load", |_, it| it.share())
    .column("offered_flows", |_, it| it.flows)
    .column("offered_bytes", |_, it| it.bytes)
    .column("from_ns", |_, it| it.from)
    .column("until_ns", |_, it| it.until)
    .build()
}

fn ports(measured: &[Measured]) -> RecordBatch {
    Builder::new(&[columns::PORT, columns::PORTS], measured, with_rates)
        .port(|(p, _)| (p.node, p.port, p.priority))
        .column("rate_bps", |_, (_, rate)| rate.as_bps())
        .column("tx_packets", |_, (p, _)| p.tx_packets)
        .column("tx_bytes", |_, (p, _)| p.tx_bytes)
        .column("marked_packets", |_, (p, _)| p.marked_packets)
        .column("cnm_packets", |_, (p, _)| p.cnm_packets)
        .column("dropped_packets", |_, (p, _)| p.dropped_packets)
        .column("dropped_bytes", |_, (p, _)| p.dropped_bytes)
        .column("trimmed_packets", |_, (p, _)| p.trimmed_packets)
        .column("replayed_packets", |_, (p, _)| p.replayed_packets)
        .column("headroom_dropped_packets", |_, (p, _)| {
            p.headroom_dropped_packets
        })
        .column("max_queue_bytes", |_, (p, _)| p.max_queue_bytes)
        .column("max_ingress_bytes", |_, (p, _)| p.max_ingress_bytes)
        .column("pause_frames", |_, (p, _)| p.pause_frames)
        .column("pause_events", |_, (p, _)| p.pause_events)
        .column("paused_ns", |_, (p, _)| p.paused)
        .column("credit_wait_ns", |_, (p, _)| p.credit_wait)
        .column("stalls", |_, (p, _)| p.stalls)
        .column("stalled_ns", |_, (p, _)| p.stalled)
        .build()
}

/// The ports of a run, each with the rate of its link.
fn with_rates(measured: &Measured) -> Vec<(&PortRecord, Rate)> {
    let fabric = &measured.run.config.fabric;
    let mut rates = vec![Vec::new(); fabric.nodes.len()];
    for link in &fabric.links {
        rates[link.a as usize].push(link.rate);
        rates[link.b as usize].push(link.rate);
    }
    let rate = |port: &PortRecord| rates[port.node as usize][usize::from(port.port)];
    measured
        .results
        .ports
        .iter()
        .map(|port| (port, rate(port)))
        .collect()
}

fn pauses(measured: &[Measured]) -> RecordBatch {
    Builder::new(&[columns::PORT, columns::PAUSES], measured, |m| {
        m.results.pauses.iter().collect()
    })
    .port(|p| (p.node, p.port, p.priority))
    .column("obeyed_ns", |_, p| p.obeyed)
    .column("start_ns", |_, p| p.start)
    .column("end_ns", |_, p| p.end)
    .build()
}

/// Table `port_series`.
pub fn port_series(measured: &[Measured]) -> RecordBatch {
    Builder::new(&[columns::PORT, columns::PORT_SERIES], measured, |m| {
        m.results.port_series.iter().collect()
    })
    .column("time_ns", |_, s| s.time)
    .port(|s| (s.node, s.port, s.priority))
    .column("queue_bytes", |_, s| s.queue_bytes)
    .column("queue_packets", |_, s| s.queue_packets)
    .column("ingress_bytes", |_, s| s.ingress_bytes)
    .column("tx_bytes", |_, s| s.tx_bytes)
    .column("dropped_packets", |_, s| s.dropped_packets)
    .column("pause_frames", |_, s| s.pause_frames)
    .column("paused_ns", |_, s| s.paused)
    .build()
}

/// Samples of flows, each with its entry of traffic.
fn with_groups(measured: &Measured) -> Vec<(&FlowSample, u16)> {
    let Results {
        flows, flow_series, ..
    } = &measured.results;
    let group = |flow: u32| results::flow(flows, flow).map_or(0, |flow| flow.group);
    let samples = flow_series.iter();
    samples.map(|sample| (sample, group(sample.flow))).collect()
}

fn flow_series(measured: &[Measured]) -> RecordBatch {
    Builder::new(&[columns::FLOW_SERIES], measured, with_groups)
        .column("time_ns", |_, (s, _)| s.time)
        .column("flow_id", |_, (s, _)| s.flow)
        .column("traffic", |run, (_, group)| {
            &*run.names.traffic[usize::from(group)]
        })
        .column("controller_rate_bps", |_, (s, _)| {
            s.controller_rate.map(Rate::as_bps)
        })
        .column("sent_bytes", |_, (s, _)| s.sent_bytes)
        .column("delivered_bytes", |_, (s, _)| s.delivered_bytes)
        .column("cwnd_bytes", |_, (s, _)| s.cwnd_bytes)
        .column("notifications", |_, (s, _)| s.notifications)
        .build()
}
