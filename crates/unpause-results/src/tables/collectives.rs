//! Tables `collectives` and `job_links`.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use unpause_protocols::units::Time;
use unpause_sim::jobs::{Algorithm, Collective, Operation};
use unpause_sim::results::{CollectiveRecord, JobLinkRecord};

use super::builder::Builder;
use super::jobs::{job, name, step};
use crate::columns;
use crate::run::job_totals;
use crate::run::measured::Measured;

/// An operation of a group, and what it is.
#[derive(Clone, Copy)]
struct Row<'a> {
    it: &'a CollectiveRecord,
    collective: &'a Collective,
    bytes: u64,
    /// From when on it counts for bandwidths: ranks that run ahead begin before all have ended the operation before.
    counts_from: Time,
    /// nccl-tests' factor from the algorithm's bandwidth to that of the bus.
    factor: f64,
}

impl Row<'_> {
    fn takes(&self) -> Time {
        self.it.end - self.it.start
    }

    /// GB/s, which are bytes per ns.
    fn algorithm_bandwidth(&self) -> Option<f64> {
        let takes = (self.it.end - self.counts_from).as_ns_f64();
        // That of a pipeline would be mostly of what it computes.
        let is_pipeline = matches!(self.collective.operation, Operation::Pipeline(_));
        (takes > 0.0 && !is_pipeline).then(|| self.bytes as f64 / takes)
    }

    fn bus_bandwidth(&self) -> Option<f64> {
        Some(self.algorithm_bandwidth()? * self.factor)
    }
}

pub fn collectives(measured: &[Measured]) -> RecordBatch {
    Builder::new(&[columns::COLLECTIVES], measured, rows)
        .column("job", |run, row: Row<'_>| name(run, row.it.entry))
        .column("iteration", |_, row| row.it.iteration)
        .column("step", |run, row| step(run, row.it.entry, row.it.phase))
        .column("phase", |_, row| row.it.phase)
        .column("group", |_, row| row.it.group)
        .column("ranks", |_, row| row.it.ranks)
        .column("operation", |_, row| operation(&row.collective.operation))
        .column("algorithm", |_, row| algorithm(row.collective.algorithm))
        .column("channels", |_, row| row.collective.channels)
        .column("channel", |_, row| row.it.channel)
        .column("size_bytes", |_, row| row.bytes)
        .column("start_ns", |_, row| row.it.start)
        .column("all_began_ns", |_, row| row.it.all_began)
        .column("end_ns", |_, row| row.it.end)
        .column("duration_ns", |_, row| row.takes())
        .column("algbw_gbytes_s", |_, row| row.algorithm_bandwidth())
        .column("busbw_gbytes_s", |_, row| row.bus_bandwidth())
        .column("ideal_ns", |_, row| row.it.ideal)
        .build()
}

fn rows<'a>(measured: &'a Measured) -> Vec<Row<'a>> {
    let row = |(it, counts_from): (&'a CollectiveRecord, Time)| {
        let operation = job(&measured.run, it.entry).operation(it)?;
        let collective = operation.collective;
        let (bytes, factor) = job_totals::size(collective, it.ranks, it.channel);
        Some(Row {
            it,
            collective,
            bytes,
            counts_from,
            factor,
        })
    };
    let records = measured.results.collectives.iter();
    records.zip(count_from(measured)).filter_map(row).collect()
}

/// For each operation, when its first rank began it, or when its ranks had all ended their operation before, if that is later.
/// Operations of the same ranks follow one another if they use the same connections.
fn count_from(measured: &Measured) -> Vec<Time> {
    let records = &measured.results.collectives;
    let mut in_order: Vec<usize> = (0..records.len()).collect();
    in_order.sort_by_key(|at| records[*at].end);
    let mut from: Vec<Time> = records.iter().map(|it| it.start).collect();
    let mut ended = BTreeMap::new();
    for at in in_order {
        let it = &records[at];
        if let Some(of) = job(&measured.run, it.entry).operation(it) {
            let key = (it.entry, of.group, of.channel, it.channel);
            if let Some(before) = ended.insert(key, it.end) {
                from[at] = from[at].max(before);
            }
        }
    }
    from
}

/// As in scenario files.
fn operation(it: &Operation) -> &'static str {
    match it {
        Operation::AllReduce => "all-reduce",
        Operation::AllGather => "all-gather",
        Operation::ReduceScatter => "reduce-scatter",
        Operation::Broadcast { .. } => "broadcast",
        Operation::AllToAll => "all-to-all",
        Operation::AllToAllV(_) => "all-to-all-v",
        Operation::SendReceive => "send-receive",
        Operation::Pipeline(_) => "pipeline",
    }
}

/// As in scenario files.
fn algorithm(it: Algorithm) -> &'static str {
    match it {
        Algorithm::Ring => "ring",
        Algorithm::HalvingDoubling => "halving-doubling",
        Algorithm::Direct => "direct",
        Algorithm::Pairwise => "pairwise",
        Algorithm::DoubleBinaryTree => "double-binary-tree",
        Algorithm::Rails { .. } => "rails",
        Algorithm::OneForwardOneBackward => "1f1b",
        Algorithm::GPipe => "gpipe",
        Algorithm::Interleaved => "interleaved",
    }
}

/// A link of a job, the priority of its data, and for how long that was paused there.
type Link<'a> = (&'a JobLinkRecord, u8, Time);

pub fn job_links(measured: &[Measured]) -> RecordBatch {
    Builder::new(&[columns::PORT, columns::JOB_LINKS], measured, links)
        .column("job", |run, (it, ..): Link<'_>| name(run, it.entry))
        .port(|(it, priority, _)| (it.node, it.port, priority))
        .column("data_packets", |_, (it, ..)| it.data_packets)
        .column("data_bytes", |_, (it, ..)| it.data_bytes)
        .column("control_bytes", |_, (it, ..)| it.control_bytes)
        .column("paused_ns", |_, (_, _, paused)| paused)
        .build()
}

fn links<'a>(measured: &'a Measured) -> Vec<Link<'a>> {
    let ports = &measured.results.ports;
    let link = |it: &'a JobLinkRecord| {
        let priority = job(&measured.run, it.entry).flow.priority;
        let key = (it.node, it.port, priority);
        let at = ports.binary_search_by_key(&key, |port| (port.node, port.port, port.priority));
        (it, priority, at.map_or(Time::ZERO, |at| ports[at].paused))
    };
    measured.results.job_links.iter().map(link).collect()
}
