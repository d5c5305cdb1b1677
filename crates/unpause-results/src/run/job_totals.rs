//! Totals of the jobs of a run: how long iterations take, and the bandwidth that follows from it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use unpause_protocols::units::Time;
use unpause_sim::config::{Config, Events, Probes};
use unpause_sim::jobs::collective::share;
use unpause_sim::jobs::{Collective, Job, Operation, RankIteration};
use unpause_sim::results::Results;
use unpause_sim::traffic::TrafficSpec;

use crate::censored::{is_enough, mean};
use crate::percentile;
use crate::run::Run;
use unpause_import::fabric::names::NamedJob;

/// An iteration that all ranks of a job have come through.
#[derive(Clone, Copy, Debug)]
pub struct Iteration<'a> {
    /// The job, and its name.
    pub job: &'a Job,
    /// Number, from 0.
    pub number: u32,
    /// When the previous iteration ended; for the first one, when the first rank began. Ranks do not wait for each other between
    /// iterations. With this start, the times of iterations add up to the time of the job.
    pub start: Time,
    /// When the first rank began.
    pub began: Time,
    /// When the last rank ended.
    pub end: Time,
    /// The rank that ended last, the first of these.
    pub last_rank: u32,
    /// When half of the ranks had ended.
    pub median_end: Time,
    /// How long the rank computed that computed longest.
    pub longest_compute: Time,
}

impl Iteration<'_> {
    /// From its start to its end.
    pub fn takes(&self) -> Time {
        self.end - self.start
    }

    /// The time without the longest compute.
    pub fn exposed(&self) -> Time {
        self.takes().saturating_sub(self.longest_compute)
    }

    /// The time of its operation, for bandwidths: from the first rank's start, without the longest compute. Compute may overlap
    /// with the rest of the previous iteration, but this does not make the operation faster. A rank that runs ahead, such as
    /// the root of a broadcast, does not make it slower: what is left of the previous iteration does not count.
    pub fn operation(&self) -> Time {
        let alone = (self.end - self.began).saturating_sub(self.longest_compute);
        alone.min(self.takes())
    }
}

/// Iterations of a run, by job and number.
pub fn iterations<'a>(run: &'a Run, results: &Results) -> Vec<Iteration<'a>> {
    of_config(&run.config, results)
}

fn of_config<'a>(config: &'a Config, results: &Results) -> Vec<Iteration<'a>> {
    let mut by_number: BTreeMap<(u16, u32), Vec<&RankIteration>> = BTreeMap::new();
    for it in &results.rank_iterations {
        by_number
            .entry((it.entry, it.iteration))
            .or_default()
            .push(it);
    }
    let complete = by_number
        .into_iter()
        .filter_map(|((entry, number), ranks)| {
            let job = config.jobs.iter().find(|it| it.entry == entry)?;
            (ranks.len() == job.hosts.len()).then(|| iteration(job, number, &ranks))
        });
    let mut found: Vec<Iteration<'_>> = complete.collect();
    for at in 1..found.len() {
        let before = found[at - 1];
        if before.job.entry == found[at].job.entry {
            found[at].start = found[at].start.max(before.end);
        }
    }
    found
}

fn iteration<'a>(job: &'a Job, number: u32, ranks: &[&RankIteration]) -> Iteration<'a> {
    let mut ends: Vec<Time> = ranks.iter().map(|it| it.end).collect();
    ends.sort_unstable();
    let end = ends.last().copied().unwrap_or_default();
    let last = ranks
        .iter()
        .filter(|it| it.end == end)
        .map(|it| it.rank)
        .min();
    let starts = ranks.iter().map(|it| it.start);
    let began = starts.min().unwrap_or_default();
    Iteration {
        job,
        number,
        start: began,
        began,
        end,
        last_rank: last.unwrap_or_default(),
        median_end: ends[(ends.len() - 1) / 2],
        longest_compute: ranks.iter().map(|it| it.computed).max().unwrap_or_default(),
    }
}

/// The totals of a job in a run.
#[derive(Clone, Copy, Debug)]
pub struct JobTotals<'a> {
    /// The job.
    pub job: &'a Job,
    /// The names that results show beside it.
    pub named: &'a NamedJob,
    /// Iterations that all ranks have come through.
    pub completed: u32,
    /// Iterations at the beginning that do not count.
    pub warmup: u32,
    /// Mean time of the iterations after the warm-up, ns.
    pub mean: Option<f64>,
    /// The same with the iteration in progress at the end, which takes at least the time since the one before it, ns.
    pub mean_at_least: Option<f64>,
    /// Their median, ns.
    pub p50: Option<f64>,
    /// Their 99th percentile, ns; of too few there is none.
    pub p99: Option<f64>,
    /// The longest of them, ns.
    pub max: Option<f64>,
    /// Mean of the longest compute of a rank, ns.
    pub compute: Option<f64>,
    /// Mean of the rest of an iteration, ns.
    pub exposed: Option<f64>,
    /// Mean of [`Iteration::operation`], ns.
    operation: Option<f64>,
    /// Bytes of its one collective operation, and nccl-tests' factor from these to the bus.
    pub collective: Option<(u64, f64)>,
    /// An iteration whose ranks enter each step together, and that is alone, ns.
    pub ideal: Option<f64>,
    /// The rank that ended last most often.
    pub straggler: Option<u32>,
}

impl JobTotals<'_> {
    /// Bytes of its collective operation each second, GB/s.
    pub fn algorithm_bandwidth(&self) -> Option<f64> {
        let (bytes, _) = self.collective?;
        let takes = self.operation.filter(|it| *it > 0.0)?;
        Some(bytes as f64 / takes)
    }

    /// The same by what the links of a rank carry.
    pub fn bus_bandwidth(&self) -> Option<f64> {
        Some(self.algorithm_bandwidth()? * self.collective?.1)
    }
}

/// Iterations at the beginning of a job that do not count: those of its own warm-up, and those that began in that of the
/// run. `complete` are all that are complete.
pub fn warmup<'a>(
    run: &Run,
    named: &NamedJob,
    complete: impl Iterator<Item = &'a Iteration<'a>>,
) -> u32 {
    let early = complete.filter(|it| it.start < run.warmup).count();
    named.warmup.max(early as u32)
}

/// The jobs of a run, in order.
pub fn totals<'a>(run: &'a Run, results: &Results) -> Vec<JobTotals<'a>> {
    let all = iterations(run, results);
    let of = |named: &'a NamedJob| {
        let job = run.config.jobs.iter().find(|it| it.entry == named.entry)?;
        let own: Vec<&Iteration<'_>> = all
            .iter()
            .filter(|it| it.job.entry == named.entry)
            .collect();
        let warmup = warmup(run, named, own.iter().copied());
        let counted: Vec<&&Iteration<'_>> = own.iter().filter(|it| it.number >= warmup).collect();
        let mut takes: Vec<f64> = counted.iter().map(|it| it.takes().as_ns_f64()).collect();
        let mean_of_all = mean(&takes);
        let mut with_last = takes.clone();
        let failures = &mut results.job_failures.iter();
        let failure = failures.find(|it| it.entry == named.entry);
        let end = failure.map_or(results.totals.simulated, |it| it.at);
        with_last.extend(in_progress(run, job, &own, warmup, end));
        takes.sort_unstable_by(f64::total_cmp);
        let has_tail = is_enough(99, takes.len() as u64);
        let part = |of: fn(&Iteration<'_>) -> Time| {
            let values: Vec<f64> = counted.iter().map(|it| of(it).as_ns_f64()).collect();
            mean(&values)
        };
        let mut last: BTreeMap<u32, usize> = BTreeMap::new();
        // If half of the ranks end together with the last one, none is late.
        for it in counted.iter().filter(|it| it.median_end < it.end) {
            *last.entry(it.last_rank).or_default() += 1;
        }
        let straggler = last
            .iter()
            .max_by_key(|(rank, times)| (**times, std::cmp::Reverse(**rank)));
        Some(JobTotals {
            job,
            named,
            completed: own.len() as u32,
            warmup,
            compute: part(|it| it.longest_compute),
            exposed: part(|it| it.exposed()),
            operation: part(|it| it.operation()),
            collective: collective(job),
            ideal: ideal(job, results),
            straggler: straggler.map(|(rank, _)| *rank),
            mean: mean_of_all,
            mean_at_least: mean(&with_last),
            p50: percentile(&takes, 0.5),
            p99: percentile(&takes, 0.99).filter(|_| has_tail),
            max: percentile(&takes, 1.0),
        })
    };
    run.names.jobs.iter().filter_map(of).collect()
}

/// How long the iteration of a job has taken that is in progress at `end`, ns; none if all `complete` are all, or if it
/// is part of the warm-up.
fn in_progress(
    run: &Run,
    job: &Job,
    complete: &[&Iteration<'_>],
    warmup: u32,
    end: Time,
) -> Option<f64> {
    let number = complete.len() as u32;
    let began = complete.last().map_or(job.start, |before| before.end);
    let counts = number >= warmup && began >= run.warmup;
    (number < job.iterations && counts && began < end).then(|| (end - began).as_ns_f64())
}

/// Compute of all steps, and what their slowest groups take alone, ns.
fn ideal(job: &Job, results: &Results) -> Option<f64> {
    if job.program.is_some() {
        return None;
    }
    let own = results.collectives.iter();
    let own = own.filter(|it| it.entry == job.entry && it.channel.is_none());
    let mut groups: BTreeMap<(u32, u32), Time> = BTreeMap::new();
    for it in own {
        groups.entry((it.phase, it.group)).or_insert(it.ideal?);
    }
    let mut all = 0.0;
    for (phase, number) in job.phases.iter().zip(0..) {
        let of_phase = groups.range((number, 0)..=(number, u32::MAX));
        let (mut slowest, mut known) = (Time::ZERO, 0);
        for (_, ideal) in of_phase {
            (slowest, known) = (slowest.max(*ideal), known + 1);
        }
        if known < phase.collective.as_ref().map_or(0, |it| it.groups.len()) {
            return None;
        }
        all += (phase.compute + slowest).as_ns_f64();
    }
    Some(all)
}

/// Bytes and factor of a job that repeats a single collective operation of one group.
fn collective(job: &Job) -> Option<(u64, f64)> {
    let [phase] = &job.phases[..] else {
        return None;
    };
    let exchange = phase.collective.as_ref()?;
    if let Operation::Pipeline(_) = exchange.collective.operation {
        return None;
    }
    let [group] = &exchange.groups[..] else {
        return None;
    };
    Some(size(&exchange.collective, group.len() as u32, None))
}

/// Bytes of an operation of `n` ranks, or of one of its channels, as nccl-tests counts them, and its factor from the
/// algorithm's bandwidth to that of the bus.
pub fn size(it: &Collective, n: u32, channel: Option<u32>) -> (u64, f64) {
    let part = |bytes: &u64| match channel {
        Some(channel) => share(*bytes, it.lanes_of_channels(), channel),
        None => *bytes,
    };
    let bytes = match &it.operation {
        // Bytes of the rank that sends most. What it keeps for itself is not sent.
        Operation::AllToAllV(matrix) => {
            let rows = matrix.chunks(n as usize).enumerate();
            let sent = rows.map(|(rank, row)| row.iter().map(part).sum::<u64>() - part(&row[rank]));
            sent.max().unwrap_or(0)
        }
        _ => part(&it.bytes),
    };
    let (above, below) = it.bus_factor(n);
    (bytes, f64::from(above) / f64::from(below))
}

/// How long an iteration of a job takes that has the fabric to itself, in the mean, ns; `None` where no iteration after the
/// warm-up is complete.
#[derive(Clone, Copy, Debug, Default)]
pub struct Apart {
    /// On its hosts; `None` if it has the fabric to itself anyway, and nothing fails.
    pub own: Option<Option<f64>>,
    /// On the first hosts of the fabric; `None` if these are its hosts.
    pub packed: Option<Option<f64>>,
}

/// By entry of the job.
pub type Alone = BTreeMap<u16, Apart>;

/// Runs each job that asks for it alone and without events, on this many threads, with the same scheme and seed: as it is placed,
/// and packed.
pub fn alone(
    run: &Run,
    threads: usize,
    is_over: &dyn Fn() -> bool,
) -> Result<Alone, unpause_sim::Error> {
    let mut found = Alone::new();
    let others = run.config.traffic.len() - run.config.jobs.len();
    for named in run.names.jobs.iter().filter(|it| it.alone) {
        let entry = usize::from(named.entry);
        if run.is_left_out(entry) {
            continue;
        }
        let Some(job) = run.config.jobs.iter().find(|it| it.entry == named.entry) else {
            continue;
        };
        let nothing_else =
            (0..run.config.traffic.len()).all(|it| it == entry || run.is_left_out(it));
        let nothing_else = nothing_else || others + run.config.jobs.len() == 1;
        let is_alone = nothing_else && has_no_events(&run.config);
        let mean_of = |config: &Config| mean_of(config, named.warmup, threads, is_over);
        let mut apart = Apart::default();
        if !is_alone {
            apart.own = Some(mean_of(&only(&run.config, named.entry))?);
        }
        let first = &run.names.hosts()[..job.hosts.len()];
        if job.hosts != first {
            let mut config = only(&run.config, named.entry);
            let seed = config.seed;
            for job in &mut config.jobs {
                job.sit_at(first.to_vec(), &config.fabric);
                config.traffic[entry] = TrafficSpec::Flows(job.flows(seed));
            }
            apart.packed = Some(match mean_of(&config) {
                // These hosts may have no path to one another.
                Err(unpause_sim::Error::Invalid(_)) => None,
                mean => mean?,
            });
        }
        found.insert(named.entry, apart);
    }
    Ok(found)
}

/// Mean time of an iteration after the warm-up, ns, of the only job.
fn mean_of(
    config: &Config,
    warmup: u32,
    threads: usize,
    is_over: &dyn Fn() -> bool,
) -> Result<Option<f64>, unpause_sim::Error> {
    let results = unpause_sim::run_threads(config, threads, &mut |_| match is_over() {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    })?;
    let counted = of_config(config, &results);
    let counted = counted.iter().filter(|it| it.number >= warmup);
    let takes: Vec<f64> = counted.map(|it| it.takes().as_ns_f64()).collect();
    Ok(mean(&takes))
}

/// True if no link changes and no host sends PAUSE.
fn has_no_events(config: &Config) -> bool {
    let events = &config.events;
    let of_links = events.links.len() + events.errors.len() + events.rates.len();
    of_links + events.storms.len() == 0
}

/// The same run with the job of this entry, and nothing beside it: no event either.
fn only(config: &Config, entry: u16) -> Config {
    let mut config = config.clone();
    for (at, spec) in config.traffic.iter_mut().enumerate() {
        if at != usize::from(entry) {
            *spec = TrafficSpec::Flows(Vec::new());
        }
    }
    config.following.clear();
    config.events = Events {
        detection: config.events.detection,
        convergence: config.events.convergence,
        ..Events::default()
    };
    config.jobs.retain(|it| it.entry == entry);
    for job in &mut config.jobs {
        job.records_messages = false;
    }
    config.probes = Probes::default();
    if config.data_priorities() & !config.switch.lossless == 0 {
        // Nothing that is left can be trimmed, and a run that trims nothing is refused.
        config.switch.trimming = None;
    }
    config
}
