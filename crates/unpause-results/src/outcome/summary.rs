//! A few numbers for each run.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_schema::Schema;
use arrow_select::filter::filter_record_batch;
use serde::Serialize;

use crate::Swept;
use crate::percentile;
use crate::tables::Tables;

/// The numbers of a run that the terminal shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// The run.
    pub run: u32,
    /// Its scheme.
    pub scheme: String,
    /// Root of its random streams.
    pub seed: u64,
    /// Swept values by column; in JSON a number, or a name.
    pub values: Vec<(String, Swept)>,
    /// Flows that started.
    pub flows_started: u64,
    /// Of these, the ones that have a size and so an end.
    pub flows_sized: u64,
    /// Flows that completed.
    pub flows_completed: u64,
    /// Mean FCT of completed flows.
    pub fct_mean_ns: Option<f64>,
    /// Median FCT.
    pub fct_p50_ns: Option<f64>,
    /// 99th percentile of the FCT.
    pub fct_p99_ns: Option<f64>,
    /// Mean time of an iteration of the run's job. `None` where there are several: table `jobs` has the mean of each.
    pub iteration_mean_ns: Option<f64>,
    /// 99th percentile of FCT over ideal FCT.
    pub slowdown_p99: Option<f64>,
    /// XOFF frames sent by all nodes.
    pub pause_frames: u64,
    /// Transitions to XOFF.
    pub pause_events: u64,
    /// Paused time of all egress queues together.
    pub paused_ns: f64,
    /// Packets set to CE.
    pub marked_packets: u64,
    /// CNPs and CNMs.
    pub notifications: u64,
    /// Data packets dropped.
    pub dropped_packets: u64,
    /// Data packets trimmed to their headers.
    pub trimmed_packets: u64,
    /// Data packets sent again.
    pub retransmitted_packets: u64,
    /// Largest egress backlog of any switch or host.
    pub max_queue_bytes: u64,
    /// Packets that went over one link.
    pub packet_hops: u64,
    /// When the deadlock began that ended the run.
    pub deadlock_began_ns: Option<f64>,
}

impl Summary {
    /// A summary of each run.
    pub fn of(tables: &Tables) -> Vec<Self> {
        let Some(runs) = u32s(&tables.runs, "run") else {
            return Vec::new();
        };
        let mut summaries: BTreeMap<u32, Self> = BTreeMap::new();
        for (row, run) in runs.iter().enumerate() {
            summaries.insert(*run, Self::of_row(&tables.runs, *run, row));
        }
        let flows = counted(tables);
        for (run, fcts) in by_run(&flows, "fct_ns") {
            if let Some(summary) = summaries.get_mut(&run) {
                summary.fct_mean_ns =
                    (!fcts.is_empty()).then(|| fcts.iter().sum::<f64>() / fcts.len() as f64);
                summary.fct_p50_ns = percentile(&fcts, 0.50);
                summary.fct_p99_ns = percentile(&fcts, 0.99);
            }
        }
        let jobs = u32s(&tables.jobs, "run").unwrap_or_default();
        for (run, means) in by_run(&tables.jobs, "mean_ns") {
            let is_only = jobs.iter().filter(|it| **it == run).count() == 1;
            if let (Some(summary), [mean], true) = (summaries.get_mut(&run), &means[..], is_only) {
                summary.iteration_mean_ns = Some(*mean);
            }
        }
        let sizes = flows.column_by_name("size_bytes");
        if let (Some(runs), Some(sizes)) = (u32s(&flows, "run"), sizes) {
            for (row, run) in runs.iter().enumerate() {
                if let Some(summary) = summaries.get_mut(run).filter(|_| sizes.is_valid(row)) {
                    summary.flows_sized += 1;
                }
            }
        }
        let resent = u64s(&flows, "retransmitted_packets");
        if let (Some(runs), Some(resent)) = (u32s(&flows, "run"), resent) {
            for (run, packets) in runs.iter().zip(resent) {
                if let Some(summary) = summaries.get_mut(run) {
                    summary.retransmitted_packets += packets;
                }
            }
        }
        for (run, slowdowns) in by_run(&flows, "slowdown") {
            if let Some(summary) = summaries.get_mut(&run) {
                summary.slowdown_p99 = percentile(&slowdowns, 0.99);
            }
        }
        for (run, paused) in by_run(&tables.ports, "paused_ns") {
            if let Some(summary) = summaries.get_mut(&run) {
                summary.paused_ns = paused.iter().sum();
            }
        }
        if let (Some(runs), Some(queues), Some(events)) = (
            u32s(&tables.ports, "run"),
            u64s(&tables.ports, "max_queue_bytes"),
            u64s(&tables.ports, "pause_events"),
        ) {
            for ((run, queue), events) in runs.iter().zip(queues).zip(events) {
                if let Some(summary) = summaries.get_mut(run) {
                    summary.max_queue_bytes = summary.max_queue_bytes.max(*queue);
                    summary.pause_events += events;
                }
            }
        }
        summaries.into_values().collect()
    }

    /// The statistics of a run that table `runs` itself has.
    fn of_row(runs: &RecordBatch, run: u32, row: usize) -> Self {
        let total = |name| u64s(runs, name).map_or(0, |column| column[row]);
        let scheme = runs.column_by_name("scheme");
        let scheme = scheme.map(|column| column.as_string::<i32>().value(row));
        let deadlock = runs
            .column_by_name("deadlock_began_ns")
            .and_then(|column| column.as_primitive_opt::<Float64Type>());
        Self {
            run,
            scheme: scheme.unwrap_or_default().to_owned(),
            seed: total("seed"),
            values: swept(runs, row),
            flows_started: total("flows_started"),
            flows_completed: total("flows_completed"),
            marked_packets: total("marked_packets"),
            notifications: total("notifications"),
            dropped_packets: total("dropped_packets"),
            trimmed_packets: total("trimmed_packets"),
            pause_frames: total("pause_frames"),
            packet_hops: total("packet_hops"),
            deadlock_began_ns: deadlock.and_then(|c| c.is_valid(row).then(|| c.value(row))),
            ..Self::default()
        }
    }
}

/// Columns of table `runs` between `seed` and `simulated_ns`.
fn swept(runs: &RecordBatch, row: usize) -> Vec<(String, Swept)> {
    let schema = runs.schema();
    let names = schema.fields().iter().map(|field| field.name());
    names
        .skip_while(|name| *name != "seed")
        .skip(1)
        .take_while(|name| *name != "simulated_ns")
        .filter_map(|name| {
            let column = runs
                .column_by_name(name)?
                .as_primitive_opt::<Float64Type>()?;
            let value = column.value(row);
            let names = names_of(&schema, name);
            Some((
                name.clone(),
                Swept {
                    value,
                    names,
                    ..Swept::default()
                },
            ))
        })
        .collect()
}

/// The names that the numbers of a column stand for, if they do.
fn names_of(schema: &Schema, column: &str) -> Arc<[String]> {
    let field = schema.field_with_name(column).ok();
    let names = field.and_then(|it| serde_json::from_str(it.metadata().get("names")?).ok());
    names.map_or_else(Arc::default, |it: Vec<String>| it.into())
}

/// The rows of `flows` that statistics are of: flows that started after the warm-up.
pub fn counted(tables: &Tables) -> RecordBatch {
    let floats = |table: &RecordBatch, name| {
        let column = table
            .column_by_name(name)?
            .as_primitive_opt::<Float64Type>()?;
        Some(column.values().to_vec())
    };
    let (runs, warmups) = (
        u32s(&tables.runs, "run"),
        floats(&tables.runs, "counted_from_ns"),
    );
    let (of_flows, starts) = (
        u32s(&tables.flows, "run"),
        floats(&tables.flows, "start_ns"),
    );
    let (Some(runs), Some(warmups), Some(of_flows), Some(starts)) =
        (runs, warmups, of_flows, starts)
    else {
        return tables.flows.clone();
    };
    if warmups.iter().all(|it| *it == 0.0) {
        return tables.flows.clone();
    }
    let warmups: HashMap<u32, f64> = runs.iter().copied().zip(warmups).collect();
    let counts = |(run, start): (&u32, f64)| warmups.get(run).is_none_or(|it| start >= *it);
    let mask: BooleanArray = of_flows.iter().zip(starts).map(counts).map(Some).collect();
    filter_record_batch(&tables.flows, &mask).unwrap_or_else(|_| tables.flows.clone())
}

/// The values of a float column that are not null, sorted, by run.
fn by_run(table: &RecordBatch, name: &str) -> BTreeMap<u32, Vec<f64>> {
    let mut values: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    let column = table
        .column_by_name(name)
        .and_then(|c| c.as_primitive_opt::<Float64Type>());
    if let (Some(runs), Some(column)) = (u32s(table, "run"), column) {
        for (run, value) in runs.iter().zip(column) {
            values.entry(*run).or_default().extend(value);
        }
    }
    for values in values.values_mut() {
        values.sort_by(f64::total_cmp);
    }
    values
}

fn u32s<'a>(table: &'a RecordBatch, name: &str) -> Option<&'a [u32]> {
    Some(
        table
            .column_by_name(name)?
            .as_primitive_opt::<UInt32Type>()?
            .values(),
    )
}

/// The values of a column without nulls.
pub fn u64s<'a>(table: &'a RecordBatch, name: &str) -> Option<&'a [u64]> {
    let column = table
        .column_by_name(name)?
        .as_primitive_opt::<UInt64Type>()?;
    (column.null_count() == 0).then(|| &**column.values())
}
