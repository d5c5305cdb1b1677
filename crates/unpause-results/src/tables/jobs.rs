//! Tables `jobs`, `iterations`, `ranks`, `messages` and `critical`.

use arrow_array::RecordBatch;
use unpause_protocols::units::Time;
use unpause_sim::jobs::{CriticalPaths, Job, MessageRecord, RankIteration, Segment, SegmentKind};

use super::builder::Builder;
use crate::columns;
use crate::run::Run;
use crate::run::job_ends::{self, JobEnd};
use crate::run::job_totals::{self, Iteration, JobTotals};
use crate::run::measured::Measured;
use unpause_text::name_list;

pub(super) fn name(run: &Run, entry: u16) -> &str {
    &run.names.traffic[usize::from(entry)]
}

pub(super) fn job(run: &Run, entry: u16) -> &Job {
    let mut jobs = run.config.jobs.iter();
    jobs.find(|it| it.entry == entry).expect("it has run")
}

fn host(run: &Run, entry: u16, rank: u32) -> &str {
    run.names.name(job(run, entry).host(rank))
}

/// The name of a phase of a job.
pub(super) fn step(run: &Run, entry: u16, phase: u32) -> &str {
    let mut jobs = run.names.jobs.iter();
    let named = jobs.find(|it| it.entry == entry).expect("jobs have names");
    &named.steps[phase as usize]
}

/// A job, alone and on its critical paths, and its end.
#[derive(Clone)]
struct Whole<'a> {
    it: JobTotals<'a>,
    alone: Option<f64>,
    packed: Option<f64>,
    excess: Option<f64>,
    end: JobEnd,
}

pub fn jobs(measured: &[Measured]) -> RecordBatch {
    let entry = |row: Whole<'_>| row.it.named.entry;
    Builder::new(&[columns::JOBS], measured, rows)
        .column("job", |run, row| name(run, entry(row)))
        .column("ranks", |_, row| row.it.job.hosts.len() as u32)
        .column("hosts", |run, row| hosts(run, row.it.job))
        .column("placement", |_, row| &*row.it.named.placement)
        .column("iterations", |_, row| row.it.completed)
        .column("iterations_planned", |_, row| row.it.job.iterations)
        .column("warmup", |_, row| row.it.warmup)
        .column("failed_at_ns", |_, row| row.end.failure.map(|it| it.at))
        .column("failed_rank", |_, row| row.end.failure.map(|it| it.rank))
        .column("failed_peer", |_, row| row.end.failure.map(|it| it.peer))
        .column("stuck_since_ns", |_, row| row.end.stuck_since)
        .column("down_link", |_, row| row.end.down.map(|it| it.0))
        .column("down_since_ns", |_, row| row.end.down.map(|it| it.1))
        .column("mean_ns", |_, row| row.it.mean)
        .column("mean_at_least_ns", |_, row| row.it.mean_at_least)
        .column("p50_ns", |_, row| row.it.p50)
        .column("p99_ns", |_, row| row.it.p99)
        .column("max_ns", |_, row| row.it.max)
        .column("compute_ns", |_, row| row.it.compute)
        .column("exposed_ns", |_, row| row.it.exposed)
        .column("algbw_gbytes_s", |_, row| row.it.algorithm_bandwidth())
        .column("busbw_gbytes_s", |_, row| row.it.bus_bandwidth())
        .column("alone_ns", |_, row| row.alone)
        .column("slowdown", |_, row| ratio(row.it.mean, row.alone))
        .column("slowdown_at_least", |_, row| {
            ratio(row.it.mean_at_least, row.alone)
        })
        .column("ideal_ns", |_, row| row.it.ideal)
        .column("over_ideal", |_, row| ratio(row.alone, row.it.ideal))
        .column("packed_ns", |_, row| row.packed)
        .column("placement_cost", |_, row| ratio(row.alone, row.packed))
        .column("critical_excess_ns", |_, row| row.excess)
        .column("straggler", |_, row| row.it.straggler)
        .column("straggler_host", |run, row| {
            row.it.straggler.map(|rank| host(run, entry(row), rank))
        })
        .build()
}

/// How often a time is another; none where that is 0, as of a job that sends and computes nothing.
fn ratio(takes: Option<f64>, other: Option<f64>) -> Option<f64> {
    Some(takes? / other.filter(|other| *other > 0.0)?)
}

/// Hosts of a job, by rank; those in a row are written as a range.
fn hosts(run: &Run, job: &Job) -> String {
    let names = job.hosts.iter().map(|it| run.names.name(*it));
    name_list::shorten(names)
}

fn rows<'a>(measured: &'a Measured) -> Vec<Whole<'a>> {
    let totals = job_totals::totals(&measured.run, &measured.results);
    let segments = segments(measured);
    let whole = |it: JobTotals<'a>| {
        let apart = measured.alone.get(&it.named.entry);
        // It was alone, or it was packed.
        let alone = match apart.and_then(|it| it.own) {
            Some(alone) => alone,
            None => it.mean.filter(|_| it.named.alone),
        };
        let packed = apart.and_then(|it| it.packed.unwrap_or(alone));
        Whole {
            it,
            alone,
            packed,
            excess: excess(&it, &segments),
            end: JobEnd::of(measured, it.job, it.completed),
        }
    };
    totals.into_iter().map(whole).collect()
}

/// Mean delay of messages on the critical paths of iterations after the warm-up, ns.
fn excess(of: &JobTotals<'_>, segments: &[Row<'_>]) -> Option<f64> {
    let own = segments
        .iter()
        .filter(|it| it.iteration.job.entry == of.named.entry && it.iteration.number >= of.warmup);
    let (mut sum, mut iterations) = (0.0, 0);
    for it in own {
        iterations += u32::from(it.number == 0);
        sum += it.excess().map_or(0.0, Time::as_ns_f64);
    }
    (iterations > 0).then(|| sum / f64::from(iterations))
}

pub fn iterations(measured: &[Measured]) -> RecordBatch {
    Builder::new(&[columns::ITERATIONS], measured, |m| {
        job_totals::iterations(&m.run, &m.results)
    })
    .column("job", |run, it: Iteration<'_>| name(run, it.job.entry))
    .column("iteration", |_, it| it.number)
    .column("start_ns", |_, it| it.start)
    .column("end_ns", |_, it| it.end)
    .column("last_rank", |_, it| it.last_rank)
    .column("skew_ns", |_, it| it.end - it.median_end)
    .column("compute_ns", |_, it| it.longest_compute)
    .column("exposed_ns", |_, it| it.exposed())
    .build()
}

pub fn ranks(measured: &[Measured]) -> RecordBatch {
    Builder::new(&[columns::RANKS], measured, |m| {
        m.results.rank_iterations.iter().collect()
    })
    .column("job", |run, it: &RankIteration| name(run, it.entry))
    .column("iteration", |_, it| it.iteration)
    .column("rank", |_, it| it.rank)
    .column("host", |run, it| host(run, it.entry, it.rank))
    .column("start_ns", |_, it| it.start)
    .column("end_ns", |_, it| it.end)
    .column("compute_ns", |_, it| it.computed)
    .column("wait_ns", |_, it| it.end - it.start - it.computed)
    .build()
}

pub fn messages(measured: &[Measured]) -> RecordBatch {
    Builder::new(&[columns::MESSAGES], measured, |m| {
        m.results.messages.iter().collect()
    })
    .column("job", |run, it: &MessageRecord| name(run, it.entry))
    .column("iteration", |_, it| it.iteration)
    .column("step", |run, it| step(run, it.entry, it.phase))
    .column("phase", |_, it| it.phase)
    .column("round", |_, it| it.step)
    .column("channel", |_, it| it.channel)
    .column("slice", |_, it| it.slice)
    .column("from_rank", |_, it| it.from)
    .column("to_rank", |_, it| it.to)
    .column("src", |run, it| host(run, it.entry, it.from))
    .column("dst", |run, it| host(run, it.entry, it.to))
    .column("flow_id", |_, it| it.flow)
    .column("number", |_, it| it.number)
    .column("size_bytes", |_, it| it.bytes)
    .column("start_ns", |_, it| it.start)
    .column("end_ns", |_, it| it.end)
    .column("ideal_ns", |_, it| it.ideal)
    .column("acked_ns", |_, it| it.acknowledged)
    .column("timeouts", |_, it| it.timeouts)
    .build()
}

/// A segment, and its place in the path of an iteration.
#[derive(Clone)]
struct Row<'a> {
    iteration: Iteration<'a>,
    number: u32,
    it: Segment<'a>,
    /// Of a message that timed out: links that were down meanwhile, and since when.
    down: Option<(String, Time)>,
}

impl<'a> Row<'a> {
    fn entry(&self) -> u16 {
        self.iteration.job.entry
    }

    fn message(&self) -> Option<&'a MessageRecord> {
        self.it.message
    }

    fn excess(&self) -> Option<Time> {
        Some(self.it.takes() - self.it.ideal()?)
    }
}

pub fn critical(measured: &[Measured]) -> RecordBatch {
    let kind = |row: &Row<'_>| match row.it.kind {
        SegmentKind::Compute => "compute",
        SegmentKind::Launch => "launch",
        SegmentKind::Message => "message",
        SegmentKind::Acknowledgement => "ack",
        SegmentKind::Reduce => "reduce",
    };
    Builder::new(&[columns::CRITICAL], measured, segments)
        .column("job", |run, row| name(run, row.entry()))
        .column("iteration", |_, row| row.iteration.number)
        .column("segment", |_, row| row.number)
        .column("kind", |_, row| kind(&row))
        .column("of_iteration", |_, row| row.it.iteration)
        .column("step", |run, row| step(run, row.entry(), row.it.phase))
        .column("phase", |_, row| row.it.phase)
        .column("rank", |_, row| row.it.rank)
        .column("host", |run, row| host(run, row.entry(), row.it.rank))
        .column("peer_rank", |_, row| row.message().map(|it| it.to))
        .column("peer_host", |run, row| {
            row.message().map(|it| host(run, it.entry, it.to))
        })
        .column("flow_id", |_, row| row.message().map(|it| it.flow))
        .column("number", |_, row| row.message().map(|it| it.number))
        .column("size_bytes", |_, row| row.message().map(|it| it.bytes))
        .column("start_ns", |_, row| row.it.start)
        .column("end_ns", |_, row| row.it.end)
        .column("ideal_ns", |_, row| row.it.ideal())
        .column("excess_ns", |_, row| row.excess())
        .column("timeouts", |_, row| row.message().map(|it| it.timeouts))
        .column("down_link", |_, row| row.down.map(|it| it.0))
        .column("down_since_ns", |_, row| row.down.map(|it| it.1))
        .build()
}

/// Links that were down while a message of `job` that timed out was in flight, and since when.
fn down_meanwhile(measured: &Measured, job: &Job, segment: Segment<'_>) -> Option<(String, Time)> {
    let it = segment.message.filter(|it| it.timeouts > 0)?;
    let ends = [job.host(it.from), job.host(it.to)];
    job_ends::down_between(measured, ends, (it.start, it.end))
}

/// The critical paths of the iterations of all jobs that record their messages.
fn segments(measured: &Measured) -> Vec<Row<'_>> {
    let (config, results) = (&measured.run.config, &measured.results);
    let mut found = Vec::new();
    let all = job_totals::iterations(&measured.run, results);
    for own in all.chunk_by(|a, b| a.job.entry == b.job.entry) {
        let (ranks, messages) = (&results.rank_iterations, &results.messages);
        let Some(paths) = CriticalPaths::new(config.seed, own[0].job, ranks, messages) else {
            continue;
        };
        for iteration in own {
            let times = (iteration.start, iteration.end);
            let path = paths.path(iteration.number, times, iteration.last_rank);
            let rows = path.into_iter().flatten().zip(0..);
            found.extend(rows.map(|(it, number)| Row {
                iteration: *iteration,
                number,
                it,
                down: down_meanwhile(measured, own[0].job, it),
            }));
        }
    }
    found
}
