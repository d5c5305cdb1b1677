//! A few numbers for each run.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{Array, BooleanArray, Float64Array, RecordBatch};
use arrow_schema::Schema;
use arrow_select::filter::filter_record_batch;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::Swept;
use crate::censored::{Estimate, Sample, Statistics};
use crate::tables::Tables;

/// The numbers of a run that the terminal shows. In JSON they have the names of a sweep's columns.
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
    /// FCT of the flows that have a size, ns.
    #[serde(flatten, serialize_with = "fct")]
    pub fct: Statistics,
    /// FCT over ideal FCT of these flows.
    #[serde(flatten, serialize_with = "slowdown")]
    pub slowdown: Statistics,
    /// Iterations that all jobs together came through.
    pub iterations_completed: u64,
    /// Iterations that they were to do.
    pub iterations_planned: u64,
    /// The jobs, in order.
    #[serde(flatten, serialize_with = "jobs")]
    pub jobs: Vec<JobSummary>,
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

/// The numbers of a job in a run. A job that did not finish its iterations has only bounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobSummary {
    /// The name of its `[[job]]`.
    pub name: String,
    /// Iterations that it came through.
    pub completed: u32,
    /// Iterations that it was to do.
    pub planned: u32,
    /// Mean time of an iteration, ns.
    pub mean_ns: Option<Estimate>,
    /// The same over that of the job alone.
    pub slowdown: Option<Estimate>,
    /// Bus bandwidth, GB/s.
    pub busbw_gbytes_s: Option<f64>,
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
        for (run, fct, slowdown) in samples(&flows, &tables.runs) {
            if let Some(summary) = summaries.get_mut(&run) {
                summary.fct = Statistics::of(&fct);
                summary.slowdown = Statistics::of(&slowdown);
            }
        }
        for (run, job) in of_jobs(&tables.jobs) {
            if let Some(summary) = summaries.get_mut(&run) {
                summary.iterations_completed += u64::from(job.completed);
                summary.iterations_planned += u64::from(job.planned);
                summary.jobs.push(job);
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
        if let (Some(runs), Some(queues), Some(events), Some(paused)) = (
            u32s(&tables.ports, "run"),
            u64s(&tables.ports, "max_queue_bytes"),
            u64s(&tables.ports, "pause_events"),
            floats(&tables.ports, "paused_ns"),
        ) {
            for (row, run) in runs.iter().enumerate() {
                if let Some(summary) = summaries.get_mut(run) {
                    summary.max_queue_bytes = summary.max_queue_bytes.max(queues[row]);
                    summary.pause_events += events[row];
                    summary.paused_ns += paused.value(row);
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
        let deadlock = floats(runs, "deadlock_began_ns");
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

fn fct<S: Serializer>(statistics: &Statistics, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    statistics.write("fct", "_ns", &mut map)?;
    map.end()
}

fn slowdown<S: Serializer>(statistics: &Statistics, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    statistics.write("slowdown", "", &mut map)?;
    map.end()
}

fn jobs<S: Serializer>(jobs: &[JobSummary], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    for job in jobs {
        let value = |estimate: Option<Estimate>| estimate.and_then(Estimate::value);
        let at_least = |estimate: Option<Estimate>| estimate.map(|estimate| estimate.at_least);
        for (column, value) in [
            ("mean_ns", value(job.mean_ns)),
            ("slowdown", value(job.slowdown)),
            ("busbw_gbytes_s", job.busbw_gbytes_s),
            ("mean_at_least_ns", at_least(job.mean_ns)),
            ("slowdown_at_least", at_least(job.slowdown)),
        ] {
            map.serialize_entry(&format!("job.{}.{column}", job.name), &value)?;
        }
    }
    map.end()
}

/// By run FCT (ns) and slowdown of those `flows` that have a size. The FCT of a flow that did not finish is at least the
/// time from its start to the end of the run.
fn samples(flows: &RecordBatch, runs: &RecordBatch) -> Vec<(u32, Sample, Sample)> {
    let columns = ["start_ns", "fct_ns", "ideal_fct_ns"].map(|name| floats(flows, name));
    let ends = u32s(runs, "run").zip(floats(runs, "simulated_ns"));
    let ([Some(starts), Some(fcts), Some(ideals)], Some((runs, ends)), Some(of_flows), Some(sizes)) = (
        columns,
        ends,
        u32s(flows, "run"),
        flows.column_by_name("size_bytes"),
    ) else {
        return Vec::new();
    };
    let mut all: BTreeMap<u32, (f64, Sample, Sample)> = BTreeMap::new();
    for (run, end) in runs.iter().zip(ends.values()) {
        all.insert(*run, (*end, Sample::default(), Sample::default()));
    }
    for (row, run) in of_flows.iter().enumerate() {
        let Some((end, fct, slowdown)) = all.get_mut(run).filter(|_| sizes.is_valid(row)) else {
            continue;
        };
        let ideal = ideals.is_valid(row).then(|| ideals.value(row));
        let (takes, fct, slowdown) = if fcts.is_valid(row) {
            (fcts.value(row), &mut fct.known, &mut slowdown.known)
        } else {
            let takes = *end - starts.value(row);
            (takes, &mut fct.bounds, &mut slowdown.bounds)
        };
        fct.push(takes);
        slowdown.extend(ideal.map(|ideal| takes / ideal));
    }
    let samples = |(run, (_, fct, slowdown))| (run, fct, slowdown);
    all.into_iter().map(samples).collect()
}

/// The rows of table `jobs`, each with its run.
fn of_jobs(table: &RecordBatch) -> Vec<(u32, JobSummary)> {
    let of = |name| floats(table, name);
    let numbers = (
        u32s(table, "run"),
        table.column_by_name("job"),
        u32s(table, "iterations"),
        u32s(table, "iterations_planned"),
    );
    let (Some(runs), Some(names), Some(completed), Some(planned)) = numbers else {
        return Vec::new();
    };
    let names = names.as_string::<i32>();
    let job = |row: usize| {
        let is_done = completed[row] == planned[row];
        let number =
            |name| of(name).and_then(|column| column.is_valid(row).then(|| column.value(row)));
        let estimate = |name| {
            let at_least = number(name)?;
            Some(Estimate {
                at_least,
                is_exact: is_done,
            })
        };
        let job = JobSummary {
            name: names.value(row).to_owned(),
            completed: completed[row],
            planned: planned[row],
            mean_ns: estimate("mean_at_least_ns"),
            slowdown: estimate("slowdown_at_least"),
            busbw_gbytes_s: number("busbw_gbytes_s").filter(|_| is_done),
        };
        (runs[row], job)
    };
    (0..table.num_rows()).map(job).collect()
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
            let value = floats(runs, name)?.value(row);
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

/// The names that the numbers of a column stand for, if there are any.
fn names_of(schema: &Schema, column: &str) -> Arc<[String]> {
    let field = schema.field_with_name(column).ok();
    let names = field.and_then(|it| serde_json::from_str(it.metadata().get("names")?).ok());
    names.map_or_else(Arc::default, |it: Vec<String>| it.into())
}

/// The rows of `flows` that statistics are of: flows that started after the warm-up.
pub fn counted(tables: &Tables) -> RecordBatch {
    let floats = |table: &RecordBatch, name| Some(floats(table, name)?.values().to_vec());
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

fn floats<'a>(table: &'a RecordBatch, name: &str) -> Option<&'a Float64Array> {
    table.column_by_name(name)?.as_primitive_opt()
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
