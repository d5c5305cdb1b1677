//! What runs measured, as Arrow tables.
//!
//! Every table opens with the columns `run` and `scheme`. Times are float64 nanoseconds, exact to
//! the picosecond; names of columns end in their unit.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Float64Array, RecordBatch, StringArray, UInt8Array, UInt16Array, UInt32Array,
    UInt64Array,
};
use arrow_schema::{Field, Schema};
use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{NodeId, PortId};
use unpause_sim::results::PacketKind;
use unpause_sim::traffic::Transport;

use crate::measured::Measured;
use crate::run::Run;

/// The tables of a result.
#[derive(Clone, Debug)]
pub struct Tables {
    /// One row for each run: totals.
    pub runs: RecordBatch,
    /// One row for each flow.
    pub flows: RecordBatch,
    /// One row for each (egress port, priority) that carried anything.
    pub ports: RecordBatch,
    /// One row for each PAUSE of an egress.
    pub pauses: RecordBatch,
    /// Samples of the ports in `[probes]`.
    pub port_series: RecordBatch,
    /// Samples of the flows with `record = true`.
    pub flow_series: RecordBatch,
    /// Packets that left by the ports in `probes.packets`.
    pub packets: RecordBatch,
}

/// Names of the tables.
pub const TABLES: [&str; 7] = [
    "runs",
    "flows",
    "ports",
    "pauses",
    "port_series",
    "flow_series",
    "packets",
];

impl Tables {
    /// The table of this name.
    pub fn get(&self, name: &str) -> Option<&RecordBatch> {
        match name {
            "runs" => Some(&self.runs),
            "flows" => Some(&self.flows),
            "ports" => Some(&self.ports),
            "pauses" => Some(&self.pauses),
            "port_series" => Some(&self.port_series),
            "flow_series" => Some(&self.flow_series),
            "packets" => Some(&self.packets),
            _ => None,
        }
    }

    /// Every table with its name, in the order of [`TABLES`].
    pub fn all(&self) -> impl Iterator<Item = (&'static str, &RecordBatch)> {
        TABLES
            .into_iter()
            .filter_map(|name| Some((name, self.get(name)?)))
    }

    pub(crate) fn new(sweep_columns: &[String], measured: &[Measured]) -> Self {
        Self {
            runs: runs(sweep_columns, measured),
            flows: flows(measured),
            ports: ports(measured),
            pauses: pauses(measured),
            port_series: port_series(measured),
            flow_series: flow_series(measured),
            packets: packets(measured),
        }
    }
}

/// A table under construction: rows, and a column for each closure over them.
struct Builder<'a, R> {
    rows: Vec<(&'a Run, R)>,
    fields: Vec<Field>,
    columns: Vec<ArrayRef>,
}

impl<'a, R: Copy> Builder<'a, R> {
    fn new(measured: &'a [Measured], rows_of: impl Fn(&'a Measured) -> Vec<R>) -> Self {
        let rows = measured
            .iter()
            .flat_map(|m| rows_of(m).into_iter().map(|row| (&m.run, row)))
            .collect();
        Self {
            rows,
            fields: Vec::new(),
            columns: Vec::new(),
        }
        .u32("run", |run, _| run.index)
        .text("scheme", |run, _| &run.scheme)
    }

    fn push<A: Array + 'static>(mut self, name: &str, column: A) -> Self {
        let nullable = [
            "size_bytes",
            "fct_ns",
            "ideal_fct_ns",
            "slowdown",
            "deadlock_began_ns",
            "controller_rate_bps",
            "cwnd_bytes",
        ]
        .contains(&name);
        self.fields
            .push(Field::new(name, column.data_type().clone(), nullable));
        self.columns.push(Arc::new(column));
        self
    }

    fn map<T>(&self, value: impl Fn(&'a Run, R) -> T) -> impl Iterator<Item = T> {
        self.rows.iter().map(move |(run, row)| value(run, *row))
    }

    fn text(self, name: &str, value: impl Fn(&'a Run, R) -> &'a str) -> Self {
        let column = StringArray::from_iter_values(self.map(value));
        self.push(name, column)
    }
    fn u8(self, name: &str, value: impl Fn(&'a Run, R) -> u8) -> Self {
        let column = UInt8Array::from_iter_values(self.map(value));
        self.push(name, column)
    }
    fn u16(self, name: &str, value: impl Fn(&'a Run, R) -> u16) -> Self {
        let column = UInt16Array::from_iter_values(self.map(value));
        self.push(name, column)
    }
    fn u32(self, name: &str, value: impl Fn(&'a Run, R) -> u32) -> Self {
        let column = UInt32Array::from_iter_values(self.map(value));
        self.push(name, column)
    }
    fn u64(self, name: &str, value: impl Fn(&'a Run, R) -> u64) -> Self {
        let column = UInt64Array::from_iter_values(self.map(value));
        self.push(name, column)
    }
    fn u64_or_null(self, name: &str, value: impl Fn(&'a Run, R) -> Option<u64>) -> Self {
        let column: UInt64Array = self.map(value).collect();
        self.push(name, column)
    }
    fn f64(self, name: &str, value: impl Fn(&'a Run, R) -> f64) -> Self {
        let column = Float64Array::from_iter_values(self.map(value));
        self.push(name, column)
    }
    fn f64_or_null(self, name: &str, value: impl Fn(&'a Run, R) -> Option<f64>) -> Self {
        let column: Float64Array = self.map(value).collect();
        self.push(name, column)
    }
    fn ns(self, name: &str, value: impl Fn(&'a Run, R) -> Time) -> Self {
        self.f64(name, |run, row| value(run, row).as_ns_f64())
    }

    /// Columns `node`, `port`, `peer` and `priority`.
    fn port(self, port: impl Fn(R) -> (NodeId, PortId, u8)) -> Self {
        let peer = |run: &'a Run, (node, port, _): (NodeId, PortId, u8)| {
            let peers = &run.names.peers[node as usize];
            peers
                .get(usize::from(port))
                .map_or("", |peer| run.names.name(*peer))
        };
        self.text("node", |run, row| run.names.name(port(row).0))
            .u16("port", |_, row| port(row).1)
            .text("peer", |run, row| peer(run, port(row)))
            .u8("priority", |_, row| port(row).2)
    }

    fn build(self) -> RecordBatch {
        RecordBatch::try_new(Arc::new(Schema::new(self.fields)), self.columns)
            .expect("all columns have a value for each row")
    }
}

fn runs(sweep_columns: &[String], measured: &[Measured]) -> RecordBatch {
    let mut table =
        Builder::new(measured, |m| vec![&m.results]).u64("seed", |run, _| run.config.seed);
    for (index, name) in sweep_columns.iter().enumerate() {
        table = table.f64(name, |run, _| run.values[index]);
    }
    table
        .ns("simulated_ns", |_, r| r.totals.simulated)
        .u64("packet_hops", |_, r| r.totals.packet_hops)
        .u64("events", |_, r| r.totals.events)
        .u64("data_packets", |_, r| r.totals.data_packets)
        .u64("delivered_packets", |_, r| r.totals.delivered_packets)
        .u64("dropped_packets", |_, r| r.totals.dropped_packets)
        .u64("marked_packets", |_, r| r.totals.marked_packets)
        .u64("notifications", |_, r| r.totals.notifications)
        .u64("pause_frames", |_, r| r.totals.pause_frames)
        .u64("flows_started", |_, r| r.totals.flows_started)
        .u64("flows_completed", |_, r| r.totals.flows_completed)
        .f64_or_null("deadlock_began_ns", |_, r| {
            r.deadlock
                .as_ref()
                .map(|deadlock| deadlock.began.as_ns_f64())
        })
        .build()
}

fn flows(measured: &[Measured]) -> RecordBatch {
    Builder::new(measured, |m| m.results.flows.iter().collect())
        .u32("flow_id", |_, f| f.id)
        .text("traffic", |run, f| &run.names.traffic[usize::from(f.group)])
        .text("src", |run, f| run.names.name(f.src))
        .text("dst", |run, f| run.names.name(f.dst))
        .u8("priority", |_, f| f.priority)
        .u64_or_null("size_bytes", |_, f| f.size_bytes)
        .ns("start_ns", |_, f| f.start)
        .f64_or_null("fct_ns", |_, f| f.fct.map(Time::as_ns_f64))
        .f64_or_null("ideal_fct_ns", |_, f| f.ideal_fct.map(Time::as_ns_f64))
        .f64_or_null("slowdown", |_, f| {
            Some(f.fct?.as_ns_f64() / f.ideal_fct?.as_ns_f64())
        })
        .u64("delivered_bytes", |_, f| f.delivered_bytes)
        .u64("retransmitted_packets", |_, f| f.retransmitted_packets)
        .text("transport", |_, f| match f.transport {
            Transport::Roce => "roce",
            Transport::Tcp => "tcp",
        })
        .ns("extra_delay_ns", |_, f| f.extra_delay)
        .u64("timeouts", |_, f| f.timeouts)
        .u8("gave_up", |_, f| u8::from(f.gave_up))
        .u64("notifications", |_, f| f.notifications)
        .build()
}

fn ports(measured: &[Measured]) -> RecordBatch {
    Builder::new(measured, |m| m.results.ports.iter().collect())
        .port(|p| (p.node, p.port, p.priority))
        .u64("tx_packets", |_, p| p.tx_packets)
        .u64("tx_bytes", |_, p| p.tx_bytes)
        .u64("marked_packets", |_, p| p.marked_packets)
        .u64("cnm_packets", |_, p| p.cnm_packets)
        .u64("dropped_packets", |_, p| p.dropped_packets)
        .u64("dropped_bytes", |_, p| p.dropped_bytes)
        .u64("headroom_dropped_packets", |_, p| {
            p.headroom_dropped_packets
        })
        .u64("max_queue_bytes", |_, p| p.max_queue_bytes)
        .u64("max_ingress_bytes", |_, p| p.max_ingress_bytes)
        .u64("pause_frames", |_, p| p.pause_frames)
        .u64("pause_events", |_, p| p.pause_events)
        .ns("paused_ns", |_, p| p.paused)
        .u64("stalls", |_, p| p.stalls)
        .ns("stalled_ns", |_, p| p.stalled)
        .build()
}

fn pauses(measured: &[Measured]) -> RecordBatch {
    Builder::new(measured, |m| m.results.pauses.iter().collect())
        .port(|p| (p.node, p.port, p.priority))
        .ns("start_ns", |_, p| p.start)
        .ns("end_ns", |_, p| p.end)
        .build()
}

fn port_series(measured: &[Measured]) -> RecordBatch {
    Builder::new(measured, |m| m.results.port_series.iter().collect())
        .ns("time_ns", |_, s| s.time)
        .port(|s| (s.node, s.port, s.priority))
        .u64("queue_bytes", |_, s| s.queue_bytes)
        .u64("ingress_bytes", |_, s| s.ingress_bytes)
        .u64("tx_bytes", |_, s| s.tx_bytes)
        .u64("pause_frames", |_, s| s.pause_frames)
        .ns("paused_ns", |_, s| s.paused)
        .build()
}

fn flow_series(measured: &[Measured]) -> RecordBatch {
    let rows = |m: &'_ Measured| -> Vec<_> {
        let group = |flow: u32| {
            m.results
                .flows
                .get(flow as usize)
                .map_or(0, |flow| flow.group)
        };
        m.results
            .flow_series
            .iter()
            .map(|sample| (*sample, group(sample.flow)))
            .collect()
    };
    Builder::new(measured, rows)
        .ns("time_ns", |_, (s, _)| s.time)
        .u32("flow_id", |_, (s, _)| s.flow)
        .text("traffic", |run, (_, group)| {
            &run.names.traffic[usize::from(group)]
        })
        .u64_or_null("controller_rate_bps", |_, (s, _)| {
            s.controller_rate.map(Rate::as_bps)
        })
        .u64("sent_bytes", |_, (s, _)| s.sent_bytes)
        .u64("delivered_bytes", |_, (s, _)| s.delivered_bytes)
        .u64_or_null("cwnd_bytes", |_, (s, _)| s.cwnd_bytes)
        .u64("notifications", |_, (s, _)| s.notifications)
        .build()
}

fn packets(measured: &[Measured]) -> RecordBatch {
    Builder::new(measured, |m| m.results.packets.iter().collect())
        .ns("time_ns", |_, p| p.time)
        .ns("arrival_ns", |_, p| p.arrival)
        .port(|p| (p.node, p.port, p.priority))
        .text("kind", |_, p| kind(p.kind))
        .u32("flow_id", |_, p| p.flow)
        .text("src", |run, p| run.names.name(p.src))
        .text("dst", |run, p| run.names.name(p.dst))
        .u16("frame_bytes", |_, p| p.bytes)
        .u32("seq", |_, p| p.seq)
        .u8("ect", |_, p| u8::from(p.ect))
        .u8("ce", |_, p| u8::from(p.ce))
        .u8("cwr", |_, p| u8::from(p.cwr))
        .u8("ece", |_, p| u8::from(p.ece))
        .build()
}

/// What a packet is, as table `packets` calls it.
fn kind(kind: PacketKind) -> &'static str {
    match kind {
        PacketKind::Data => "data",
        PacketKind::Ack => "ack",
        PacketKind::Nak => "nak",
        PacketKind::Segment => "tcp-data",
        PacketKind::TcpAck => "tcp-ack",
        PacketKind::Syn => "syn",
        PacketKind::SynAck => "syn-ack",
        PacketKind::Cnp => "cnp",
        PacketKind::PcnDecrease => "pcn-decrease",
        PacketKind::PcnIncrease => "pcn-increase",
        PacketKind::Cnm => "cnm",
        PacketKind::Pfc => "pfc",
    }
}
