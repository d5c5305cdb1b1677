//! Runs a scenario in every way that must give the same result, and checks it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use unpause_scenario::{NoProgress, Options, Scenario, execute};
use unpause_sim::config::{Config, Probes, Skipping, SwitchOverride};
use unpause_sim::results::{Results, Totals};
use unpause_sim::traffic::TrafficSpec;

use crate::broken::{Broken, refused};
use crate::case::Case;
use crate::checks;
use crate::dice::Dice;
use crate::keys;
use crate::simulate::{How, Simulated, simulate};
use crate::steady::steady;

/// How a scenario came out.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Everything holds.
    Sound(Cost),
    /// It is refused at a place in its file: why.
    Refused(String),
    /// It is larger than what vopr runs.
    TooLarge,
    /// A check failed.
    Broken(Broken),
}

/// The work of the campaign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Runs, those on several threads and with other probes included.
    pub runs: u64,
    /// Packet-hops of all of them.
    pub packet_hops: u64,
    /// On this many threads, besides one: bit n for n threads.
    pub threads: u8,
    /// Keys that were changed to see whether something changes.
    pub keys: u64,
    /// Ways in which the tables were made.
    pub tables: u64,
}

/// Numbers of shards. They run one after the other on one thread, which costs no more than one run.
const SHARDS: [usize; 3] = [2, 3, 7];
/// Fabrics of this many nodes are also run with a shard for each, which leaves no clusters of nodes with short links.
const MOST_NODES: usize = 24;
/// Numbers of threads, and the windows that a run on this many may have: threads wait for one another
/// at the end of each, which costs more than all the rest where there are fewer cores than threads.
const THREADS: [(usize, u64); 3] = [(2, 1_000), (3, 400), (7, 100)];
/// One run in this many is made on several threads, too.
const THREADED: u64 = 4;

/// How much of it to judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope<'a> {
    /// All checks of results; one other number of threads, tables and keys by the seed.
    Sample,
    /// Everything that this check needs, in full.
    Only(&'a str),
}

impl Scope<'_> {
    fn chosen(self, check: &str, percent: u64, dice: &mut Dice) -> bool {
        match self {
            Self::Sample => dice.percent(percent),
            Self::Only(only) => only == check || only == "panic",
        }
    }
}

/// Judges a scenario; `directory` is where the files that it names are written.
pub fn judge(case: &Case, directory: &Path, scope: Scope<'_>) -> Verdict {
    match guarded(|| judge_unguarded(case, directory, scope)) {
        Ok(verdict) => verdict,
        Err(panic) => Verdict::Broken(Broken::new("panic", panic)),
    }
}

fn refusal(why: String, has_place: bool) -> Verdict {
    match refused(why, has_place) {
        Ok(why) => Verdict::Refused(why),
        Err(broken) => Verdict::Broken(broken),
    }
}

fn judge_unguarded(case: &Case, directory: &Path, scope: Scope<'_>) -> Verdict {
    let scenario = match case.compile(directory) {
        Ok(scenario) => scenario,
        Err(error) => return refusal(error.to_string(), error.location().is_some()),
    };
    let mut dice = Dice::new(case.seed ^ 0x5eed);
    let mut cost = Cost::default();
    for run in scenario.runs() {
        match judge_run(&run.config, scope, &mut dice, &mut cost) {
            Ok(()) => {}
            Err(Stop::Refused(why)) => return refusal(why, false),
            Err(Stop::TooLarge) => return Verdict::TooLarge,
            Err(Stop::Broken(broken)) => return Verdict::Broken(broken),
        }
    }
    let mut other_dice = Dice::new(case.seed ^ 0x57ead1);
    if scope.chosen("skipping", 30, &mut other_dice)
        && let Some(run) = scenario.runs().first()
        && let Err(Stop::Broken(broken)) = judge_steady(&run.config, &mut other_dice, &mut cost)
    {
        return Verdict::Broken(broken);
    }
    if scope.chosen("tables", 10, &mut dice)
        && let Err(what) = tables(&scenario, &mut cost)
    {
        return Verdict::Broken(Broken::new("tables", what));
    }
    if scope.chosen("keys", 20, &mut dice) || scope == Scope::Only("place") {
        let all = scope != Scope::Sample;
        match keys::have_effect(case, &scenario, directory, all) {
            Ok(keys) => cost.keys += keys,
            Err(broken) => return Verdict::Broken(broken),
        }
    }
    Verdict::Sound(cost)
}

/// Why a run is not judged to its end.
enum Stop {
    Refused(String),
    TooLarge,
    Broken(Broken),
}

fn judge_run(
    config: &Config,
    scope: Scope<'_>,
    dice: &mut Dice,
    cost: &mut Cost,
) -> Result<(), Stop> {
    let exact = Config {
        skipping: Skipping::Never,
        ..config.clone()
    };
    let results = cost.simulate(&exact, How::OnThreads(1))?;
    check(config, &results, "")?;
    if matches!(
        scope,
        Scope::Sample | Scope::Only("shards" | "panic" | "hang")
    ) {
        for shards in SHARDS {
            let several = cost.simulate(&exact, How::Sequential(shards))?;
            let how = format!("with {shards} shards");
            same(&results, &several, &how, "shards")?;
        }
        if config.fabric.nodes.len() <= MOST_NODES {
            let each_node = cost.simulate(&exact, How::EachNode)?;
            same(&results, &each_node, "with a shard for each node", "shards")?;
        }
    }
    same_skipping(config, &results, "", cost)?;
    for threads in thread_counts(&results, scope, dice) {
        cost.threads |= 1 << threads;
        let several = cost.simulate(config, How::OnThreads(threads))?;
        let how = format!("on {threads} threads");
        same(&results, &several, &how, "threads")?;
    }
    let other = if observes(config) {
        without_probes(config)
    } else {
        with_every_probe(config)
    };
    let observed = cost.simulate(&other, How::OnThreads(1))?;
    check(&other, &observed, "with other probes, ")?;
    let (mut a, mut b) = (unobserved(&results), unobserved(&observed));
    if !(config.probes.pauses && other.probes.pauses) {
        a.pauses.clear();
        b.pauses.clear();
    }
    same(&a, &b, "with other probes", "probes")
}

/// The same results where what repeats itself is skipped, with one shard or three.
fn same_skipping(
    config: &Config,
    results: &Results,
    what: &str,
    cost: &mut Cost,
) -> Result<(), Stop> {
    let skipping = Config {
        skipping: Skipping::Always,
        ..config.clone()
    };
    for shards in [1, 3] {
        let skipped = cost.simulate(&skipping, How::Sequential(shards))?;
        let how = format!("{what}with what repeats itself skipped by {shards} shards");
        same(results, &skipped, &how, "skipping")?;
    }
    Ok(())
}

/// The same with few flows in the place of the scenario's, where the fabric takes them.
fn judge_steady(config: &Config, dice: &mut Dice, cost: &mut Cost) -> Result<(), Stop> {
    let Some(mut config) = steady(config, dice) else {
        return Ok(());
    };
    config.skipping = Skipping::Never;
    let results = match cost.simulate(&config, How::OnThreads(1)) {
        Err(Stop::Refused(_) | Stop::TooLarge) => return Ok(()),
        results => results?,
    };
    same_skipping(&config, &results, "with steady flows, ", cost)
}

/// On how many threads the run is made again.
fn thread_counts(results: &Results, scope: Scope<'_>, dice: &mut Dice) -> Vec<usize> {
    let windows = results.totals.windows.0;
    let affordable = THREADS.iter().filter(|(_, most)| windows <= *most);
    let counts: Vec<usize> = affordable.map(|(threads, _)| *threads).collect();
    match scope {
        Scope::Sample if !dice.percent(THREADED) => Vec::new(),
        Scope::Sample => dice.some(&counts, 1),
        Scope::Only("threads" | "panic" | "hang") => counts,
        Scope::Only(_) => Vec::new(),
    }
}

fn check(config: &Config, results: &Results, how: &str) -> Result<(), Stop> {
    match checks::broken(config, results) {
        None => Ok(()),
        Some((check, what)) => Err(Stop::Broken(Broken::new(check, format!("{how}{what}")))),
    }
}

impl From<Simulated> for Stop {
    fn from(why: Simulated) -> Self {
        match why {
            Simulated::Refused(why) => Self::Refused(why),
            Simulated::TooLarge => Self::TooLarge,
            Simulated::Hang(windows) => Self::Broken(Broken::new(
                "hang",
                format!("no end after {windows} windows"),
            )),
        }
    }
}

impl Cost {
    fn simulate(&mut self, config: &Config, how: How) -> Result<Results, Stop> {
        let results = simulate(config, how)?;
        self.runs += 1;
        self.packet_hops += results.totals.packet_hops;
        Ok(results)
    }
}

/// Two results are equal, or the first place where they differ.
fn same(one: &Results, other: &Results, how: &str, check: &str) -> Result<(), Stop> {
    if one == other {
        return Ok(());
    }
    Err(Stop::Broken(Broken::new(
        check,
        format!("{how}, {}", difference(one, other)),
    )))
}

fn difference(one: &Results, other: &Results) -> String {
    fn first<T: PartialEq + std::fmt::Debug>(what: &str, a: &[T], b: &[T]) -> Option<String> {
        if a.len() != b.len() {
            return Some(format!(
                "{what} has {} rows instead of {}",
                b.len(),
                a.len()
            ));
        }
        let at = a.iter().zip(b).position(|(a, b)| a != b)?;
        Some(format!(
            "{what}, row {at}: {:?} instead of {:?}",
            b[at], a[at]
        ))
    }
    first("flows", &one.flows, &other.flows)
        .or(first("ports", &one.ports, &other.ports))
        .or(first("pauses", &one.pauses, &other.pauses))
        .or(first("causes", &one.causes, &other.causes))
        .or(first("victims", &one.victims, &other.victims))
        .or(first("delays", &one.delays, &other.delays))
        .or(first("port_series", &one.port_series, &other.port_series))
        .or(first("flow_series", &one.flow_series, &other.flow_series))
        .or(first("packets", &one.packets, &other.packets))
        .or(first("losses", &one.losses, &other.losses))
        .or(first("storms", &one.storms, &other.storms))
        .or(first("messages", &one.messages, &other.messages))
        .or(first("ranks", &one.rank_iterations, &other.rank_iterations))
        .unwrap_or_else(|| {
            format!(
                "{:?} {:?} instead of {:?} {:?}",
                other.deadlock, other.totals, one.deadlock, one.totals
            )
        })
}

fn is_recorded(spec: &TrafficSpec) -> bool {
    match spec {
        TrafficSpec::Flows(flows) => flows.iter().any(|flow| flow.recorded),
        generated => generated.settings().is_some_and(|flow| flow.recorded),
    }
}

fn observes(config: &Config) -> bool {
    let probes = &config.probes;
    !probes.ports.is_empty() || !probes.packets.is_empty() || config.traffic.iter().any(is_recorded)
}

fn set_recorded(config: &mut Config, recorded: bool) {
    for spec in &mut config.traffic {
        match spec {
            TrafficSpec::Flows(flows) => flows.iter_mut().for_each(|f| f.recorded = recorded),
            TrafficSpec::Pattern(pattern) => pattern.flow.recorded = recorded,
        }
    }
}

/// The same run unobserved. The probe for deadlocks stays: it may end the run.
fn without_probes(config: &Config) -> Config {
    let mut config = config.clone();
    config.probes = Probes {
        deadlock: config.probes.deadlock,
        // Flows have a column of it.
        acknowledged: config.probes.acknowledged,
        pauses: false,
        ..Probes::default()
    };
    set_recorded(&mut config, false);
    config
}

/// The same run with every port and every flow sampled, and every packet recorded.
pub fn with_every_probe(config: &Config) -> Config {
    let mut config = config.clone();
    let mut ports = vec![0; config.fabric.nodes.len()];
    config.probes.ports.clear();
    for link in &config.fabric.links {
        for node in [link.a, link.b] {
            config.probes.ports.push((node, ports[node as usize]));
            ports[node as usize] += 1;
        }
    }
    config.probes.packets = config.probes.ports.clone();
    config.probes.packet_flows.clear();
    config.probes.pauses = true;
    config.probes.job_links = true;
    // Causes cannot be recorded beside credits, nor where classes, queues and groups are different numbers.
    let overrides = &config.switch.overrides;
    let maps = |it: &SwitchOverride| it.to_queue.is_some() || it.to_group.is_some();
    config.probes.causes = config.switch.cbfc.is_none() && !overrides.iter().any(maps);
    // With a sample at the very end, if the time can be divided so.
    let stop = config.stop.as_ps();
    let samples = (20..=40).rev().find(|it| stop.is_multiple_of(*it));
    let interval = samples.map_or(stop / 37 + 1, |samples| stop / samples);
    config.probes.interval = unpause_protocols::units::Time::from_ps(interval);
    config.probes.flow_interval = None;
    set_recorded(&mut config, true);
    config
}

/// Results but for what observation may change: series, and the events they cost.
fn unobserved(results: &Results) -> Results {
    let mut results = results.clone();
    results.port_series.clear();
    results.flow_series.clear();
    results.packets.clear();
    results.causes.clear();
    results.victims.clear();
    results.delays.clear();
    results.job_links.clear();
    results.totals = Totals {
        events: 0,
        ..results.totals
    };
    results
}

/// Tables are the same on any number of threads, all runs of the scenario at once included.
fn tables(scenario: &Scenario, cost: &mut Cost) -> Result<(), String> {
    let on = |threads| {
        let options = Options {
            threads: Some(threads),
            ..Options::default()
        };
        execute(scenario, &options, &NoProgress).map_err(|error| error.explain())
    };
    let (one, several) = (on(1)?, on(3)?);
    cost.tables += 2;
    for ((name, a), (_, b)) in one.tables.all().zip(several.tables.all()) {
        if a != b {
            return Err(format!("table {name} is another on 3 threads"));
        }
    }
    Ok(())
}

/// The message of the last panic, with its position.
static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// How many threads are in [`guarded`]: other panics are told as ever.
static GUARDED: AtomicUsize = AtomicUsize::new(0);

/// Runs `work`; a panic of it, on whatever thread, is an error with message and place.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            *LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner) = Some(info.to_string());
            if GUARDED.load(Ordering::Relaxed) == 0 {
                before(info);
            }
        }));
    });
    GUARDED.fetch_add(1, Ordering::Relaxed);
    let done = catch_unwind(AssertUnwindSafe(work));
    GUARDED.fetch_sub(1, Ordering::Relaxed);
    done.map_err(|payload| {
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or_else(|| {
            payload
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned())
        });
        let last = LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner);
        match (last.clone(), text) {
            // Another job may have panicked in between.
            (Some(last), Some(text)) if last.contains(&text) => last,
            (_, text) => text.unwrap_or_else(|| "panicked".into()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half a latency of an odd number of picoseconds is rounded down, for a request and for a grant.
    #[test]
    fn a_flow_through_a_fabric_of_odd_latency_is_no_faster_than_ideal() {
        let text = "duration = '5us'
            topology = { builder = 'single-switch', hosts = 2, rate = '10Gbps', delay = '1us' }
            switch = { model = 'cioq', cioq = { latency = '439285ps' } }
            [[scheme]]
            name = 'PFC'
            [[traffic]]
            name = 'a'
            kind = 'flow'
            from = 'H0'
            to = 'H1'
            size = '1B'";
        let case = Case {
            seed: 1,
            document: text.parse().unwrap(),
            files: Default::default(),
        };
        let directory = tempfile::tempdir().unwrap();
        let scenario = case.compile(directory.path()).unwrap();
        let results = simulate(&scenario.runs()[0].config, How::OnThreads(1)).unwrap();
        assert!(results.flows[0].fct.is_some());
        assert_eq!(results.flows[0].fct, results.flows[0].ideal_fct);
    }

    #[test]
    fn a_refusal_has_a_place() {
        assert!(refused("`tcp` has no effect".into(), true).is_ok());
        let broken = refused("inf events".into(), false).unwrap_err();
        assert_eq!(broken.check, "place");
    }

    #[test]
    fn a_panic_is_told_with_its_place() {
        let told = guarded(|| panic!("so it is")).unwrap_err();
        assert!(
            told.contains("so it is") && told.contains("judge.rs"),
            "{told}"
        );
    }
}
