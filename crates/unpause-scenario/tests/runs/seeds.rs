//! A seed that is asked for has the effect of the same seed in the file.

use crate::common;

use std::path::Path;

use unpause_scenario::{Options, Scenario, selected};
use unpause_sim::config::NodeId;

const SEED: u64 = 4_711;

/// The file with that seed.
fn with_seed(text: &str) -> String {
    let rest = text.lines().filter(|line| !line.starts_with("seed "));
    let rest: Vec<&str> = rest.collect();
    format!("seed = {SEED}\n{}", rest.join("\n"))
}

#[test]
fn a_seed_on_the_command_line_is_that_of_the_file() {
    let mut compared = 0;
    for (name, file) in common::shipped() {
        let text = std::fs::read_to_string(&file).expect("it was found");
        let load =
            |text: &str| Scenario::parse(text, &file).unwrap_or_else(|e| panic!("{name}: {e}"));
        let scenario = load(&text);
        let mut swept = scenario.runs().iter().flat_map(|run| &run.values);
        if swept.any(|swept| swept.is_seed) {
            continue;
        }
        let options = Options {
            seed: Some(SEED),
            ..Options::default()
        };
        let asked = selected(&scenario, &options).expect("shipped scenarios are sound");
        let written = load(&with_seed(&text));
        assert_eq!(asked.len(), written.runs().len(), "{name}");
        for (asked, written) in asked.iter().zip(written.runs()) {
            let [asked, written] =
                [asked, written].map(|run| format!("{:?}", (&run.config, &run.names.jobs)));
            assert!(asked == written, "{name}");
        }
        compared += 1;
    }
    assert!(compared > 30, "{compared}");
}

const JOBS: &str = r#"
duration = "1ms"
[topology]
builder = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 8
host_rate = "100Gbps"
fabric_rate = "100Gbps"
delay = "1us"
[[scheme]]
name = "PFC"
[[job]]
name = "first"
ranks = 4
placement = "random"
collective = "all-reduce"
size = "10KB"
[[job]]
name = "second"
ranks = 4
placement = "random"
collective = "all-reduce"
size = "10KB"
"#;

/// Hosts of both jobs for each of some seeds.
fn places(options: &Options) -> Vec<Vec<NodeId>> {
    let scenario = Scenario::parse(JOBS, Path::new("jobs.toml")).unwrap();
    let runs = selected(&scenario, options).unwrap();
    let of_run = |run: &unpause_scenario::Run| {
        let jobs = run.config.jobs.iter();
        jobs.flat_map(|job| job.hosts.iter().copied()).collect()
    };
    runs.iter().map(of_run).collect()
}

#[test]
fn jobs_are_placed_anew_for_each_seed() {
    let seeds = Options {
        seeds: Some(4),
        ..Options::default()
    };
    let all = places(&seeds);
    assert_eq!(all.len(), 4);
    for (at, hosts) in all.iter().enumerate() {
        assert!(!all[..at].contains(hosts), "{all:?}");
        let mut sorted = hosts.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), 8, "a host has one job: {hosts:?}");
    }
    let third = Options {
        seed: Some(3),
        ..Options::default()
    };
    assert_eq!(places(&third)[0], all[2]);
}
