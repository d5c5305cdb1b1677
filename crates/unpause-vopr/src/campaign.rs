//! Many seeds on several threads, and what came of them.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::broken::Broken;
use crate::coverage::{Coverage, features, in_few_lines};
use crate::generate::generate;
use crate::judge::{Cost, Scope, Verdict, guarded, judge};
use crate::shrink::shrink;

/// The plan of a campaign.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The first seed.
    pub seed: u64,
    /// How many.
    pub count: u64,
    /// Threads, each of which has a seed of its own.
    pub jobs: usize,
    /// No seed is begun after this time.
    pub time: Option<Duration>,
    /// The first failing seed ends it, and is not shrunk.
    pub first: bool,
    /// Where the shrunk scenarios of failing seeds go.
    pub output: PathBuf,
}

/// The results of the seeds.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Scenarios judged, refused ones included.
    pub seeds: u64,
    /// Messages of refused scenarios, without digits: how often, and one seed.
    pub refused: BTreeMap<String, (u64, u64)>,
    /// Scenarios larger than what is run.
    pub too_large: Vec<u64>,
    /// The work of the campaign.
    pub cost: Cost,
    /// Seeds with a run on this many threads.
    pub threads: BTreeMap<usize, u64>,
    /// How many scenarios have what in them.
    pub coverage: Coverage,
    /// Milliseconds of each seed, on the clock.
    pub milliseconds: Vec<u64>,
    /// Seeds that failed, what broke, and where the shrunk scenario is.
    pub failed: Vec<(u64, Broken, PathBuf)>,
    /// CPU time of the process.
    pub cpu: Duration,
}

/// A seed that has not ended while the process used so much CPU time for each job will never end. It is
/// no time on the clock, so that a busy machine trips nothing; what hangs in a window or before a barrier
/// does use the CPU.
const STUCK: Duration = Duration::from_secs(100);

/// The current seed of a job, and the CPU time of the process when it began.
type Slot = Mutex<Option<(u64, Duration)>>;

/// Judges all seeds, or as many as can be until `stop` or the plan's time.
pub fn run(plan: &Plan, stop: &AtomicBool) -> Summary {
    let cpu = cpu_time::ProcessTime::now();
    let begun = Instant::now();
    let next = AtomicU64::new(0);
    let summary = Mutex::new(Summary::default());
    let busy: Vec<Slot> = (0..plan.jobs).map(|_| Mutex::new(None)).collect();
    let ended = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for slot in &busy {
            let work = || {
                let directory = tempfile::tempdir().expect("a directory for files");
                while !stop.load(Ordering::Relaxed)
                    && plan.time.is_none_or(|time| begun.elapsed() < time)
                {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= plan.count {
                        break;
                    }
                    let seed = plan.seed.wrapping_add(number);
                    *slot.lock().expect("no panic gets here") = Some((seed, cpu.elapsed()));
                    one(seed, plan, directory.path(), &summary, stop);
                    *slot.lock().expect("no panic gets here") = None;
                }
                ended.fetch_add(1, Ordering::Relaxed);
            };
            scope.spawn(work);
        }
        watch(plan, &summary, &busy, &ended, cpu);
    });
    let mut summary = summary.into_inner().expect("no panic gets here");
    summary.cpu = cpu.elapsed();
    summary.milliseconds.sort_unstable();
    summary.failed.sort_by_key(|(seed, ..)| *seed);
    summary
}

fn one(
    seed: u64,
    plan: &Plan,
    directory: &std::path::Path,
    summary: &Mutex<Summary>,
    stop: &AtomicBool,
) {
    let begun = Instant::now();
    let made = guarded(|| generate(seed));
    let case = match made {
        Ok(case) => case,
        Err(panic) => {
            let broken = Broken {
                check: "generator".into(),
                what: panic,
            };
            let mut summary = summary.lock().expect("no panic gets here");
            summary.seeds += 1;
            summary.failed.push((seed, broken, PathBuf::new()));
            return;
        }
    };
    let verdict = judge(&case, directory, Scope::Sample);
    let took = begun.elapsed().as_millis() as u64;
    let failed = match &verdict {
        Verdict::Broken(broken) if plan.first => {
            stop.store(true, Ordering::Relaxed);
            Some((seed, broken.clone(), PathBuf::new()))
        }
        Verdict::Broken(broken) => {
            let (small, broken) = shrink(&case, broken, directory, stop);
            let comment = format!("seed {seed}, {}: {}", broken.check, broken.what);
            let path = small.save(&plan.output, &comment).unwrap_or_default();
            eprintln!(
                "seed {seed} fails: {}: {}\n  {}",
                broken.check,
                broken.what,
                path.display()
            );
            Some((seed, broken, path))
        }
        _ => None,
    };
    let mut summary = summary.lock().expect("no panic gets here");
    summary.seeds += 1;
    summary.milliseconds.push(took);
    summary.failed.extend(failed);
    for feature in features(&case) {
        *summary.coverage.entry(feature).or_default() += 1;
    }
    match verdict {
        Verdict::Sound(cost) => summary.add(&cost),
        Verdict::Refused(why) => {
            let why: String = why.chars().filter(|c| !c.is_ascii_digit()).collect();
            summary.refused.entry(why).or_insert((0, seed)).0 += 1;
        }
        Verdict::TooLarge => summary.too_large.push(seed),
        Verdict::Broken(_) => {}
    }
}

/// Shows progress, and ends the process if a seed hangs and cannot be stopped.
fn watch(
    plan: &Plan,
    summary: &Mutex<Summary>,
    busy: &[Slot],
    ended: &AtomicU64,
    cpu: cpu_time::ProcessTime,
) {
    let is_terminal = std::io::stderr().is_terminal();
    let mut shown = Instant::now();
    while (ended.load(Ordering::Relaxed) as usize) < plan.jobs {
        std::thread::sleep(Duration::from_millis(50));
        let now = cpu.elapsed();
        for slot in busy {
            let at = *slot.lock().expect("no panic gets here");
            if let Some(seed) = at.and_then(|at| stuck(at, now, plan.jobs)) {
                eprintln!("seed {seed} hangs; before it:");
                eprint!("{}", summary.lock().expect("no panic gets here").text());
                std::process::exit(1);
            }
        }
        let every = Duration::from_secs(if is_terminal { 1 } else { 30 });
        if shown.elapsed() >= every {
            shown = Instant::now();
            let summary = summary.lock().expect("no panic gets here");
            let end = if is_terminal { "\r" } else { "\n" };
            eprint!(
                "{} seeds, {} failed{end}",
                summary.seeds,
                summary.failed.len()
            );
            let _ = std::io::stderr().flush();
        }
    }
}

/// The seed that a job is at, if it should have ended when the process has used `now` of CPU time.
fn stuck((seed, since): (u64, Duration), now: Duration, jobs: usize) -> Option<u64> {
    (now.saturating_sub(since) > STUCK * jobs as u32).then_some(seed)
}

impl Summary {
    fn add(&mut self, cost: &Cost) {
        self.cost.runs += cost.runs;
        self.cost.packet_hops += cost.packet_hops;
        self.cost.keys += cost.keys;
        self.cost.tables += cost.tables;
        for threads in 0..8 {
            if cost.threads >> threads & 1 == 1 {
                *self.threads.entry(threads).or_default() += 1;
            }
        }
    }

    /// For people.
    pub fn text(&self) -> String {
        let refused: u64 = self.refused.values().map(|(count, _)| count).sum();
        let cpu = self.cpu.as_secs_f64();
        let percentile = |percent: usize| {
            let last = self.milliseconds.len().saturating_sub(1);
            self.milliseconds
                .get(last * percent / 100)
                .copied()
                .unwrap_or(0)
        };
        let mut text = format!(
            "{} seeds: {} failed, {refused} refused, {} too large\n\
             {} runs, {} packet-hops, {} keys changed, {} executions for tables\n\
             {cpu:.1} CPU seconds, {:.1} seeds per CPU second, {:.2} ms of CPU each; \
             on the clock median {} ms, 99 % {} ms, longest {} ms\n",
            self.seeds,
            self.failed.len(),
            self.too_large.len(),
            self.cost.runs,
            self.cost.packet_hops,
            self.cost.keys,
            self.cost.tables,
            self.seeds as f64 / cpu.max(1e-9),
            1e3 * cpu / self.seeds.max(1) as f64,
            percentile(50),
            percentile(99),
            percentile(100),
        );
        let threads = self.threads.iter();
        let threads: Vec<String> = threads.map(|(n, seeds)| format!("{n}: {seeds}")).collect();
        text += &format!(
            "seeds with a run on several threads: {}\n",
            threads.join(", ")
        );
        text += &in_few_lines(&self.coverage, self.seeds);
        if !self.too_large.is_empty() {
            let some: Vec<String> = self.too_large.iter().take(5).map(u64::to_string).collect();
            text += &format!("too large: {} …\n", some.join(", "));
        }
        let mut refused: Vec<_> = self.refused.iter().collect();
        refused.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        for (why, (count, seed)) in refused {
            text += &format!("refused {count} times (seed {seed}): {why}\n");
        }
        text
    }

    /// How many seeds had what in them.
    pub fn coverage_text(&self) -> String {
        let lines = self.coverage.iter();
        lines
            .map(|(feature, seeds)| format!("{seeds:8} {feature}\n"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cpu_time_makes_a_seed_hang() {
        let begun = Duration::from_secs(1_000);
        assert_eq!(stuck((7, begun), begun + STUCK, 2), None);
        assert_eq!(stuck((7, begun), begun + 2 * STUCK, 2), None);
        let more = begun + 2 * STUCK + Duration::from_secs(1);
        assert_eq!(stuck((7, begun), more, 2), Some(7));
    }

    #[test]
    fn a_campaign_that_is_stopped_judges_nothing_more_and_has_a_summary() {
        let plan = Plan {
            seed: 0,
            count: u64::MAX,
            jobs: 2,
            time: None,
            first: false,
            output: PathBuf::new(),
        };
        let summary = run(&plan, &AtomicBool::new(true));
        assert_eq!(summary.seeds, 0);
        assert!(summary.text().starts_with("0 seeds: 0 failed"));
    }
}
