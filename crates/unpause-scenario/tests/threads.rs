//! Every scenario that ships gives the same bits on any number of threads.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use unpause_protocols::units::Time;
use unpause_scenario::Scenario;
use unpause_sim::config::Config;
use unpause_sim::results::Results;

/// Enough for every scenario to have flows under way and most to have pauses.
const DURATION: Time = Time::from_us(1500);

#[test]
fn scenarios_do_not_depend_on_threads() {
    let mut paths = Vec::new();
    find(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios"),
        &mut paths,
    );
    assert!(paths.len() >= 5, "the scenarios are found");
    for path in paths {
        let scenario = Scenario::load(&path).unwrap_or_else(|error| panic!("{error:?}"));
        let mut seen = Vec::new();
        for run in scenario.runs() {
            // One point of a sweep will do.
            if seen.contains(&&run.scheme) {
                continue;
            }
            seen.push(&run.scheme);
            let mut config = run.config.clone();
            config.stop = config.stop.min(DURATION);
            let one = simulate(&config, 1);
            assert!(one.totals.data_packets > 0, "{}: idle", path.display());
            for threads in [2, 3, 7] {
                let same = simulate(&config, threads) == one;
                let (path, scheme) = (path.display(), &run.scheme);
                assert!(
                    same,
                    "{path}, {scheme}: {threads} threads give other results"
                );
            }
        }
    }
}

fn simulate(config: &Config, threads: usize) -> Results {
    unpause_sim::run_threads(config, threads, &mut |_| ControlFlow::Continue(()))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn find(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            find(&path, found);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            found.push(path);
        }
    }
}
