//! Every scenario in the repository has the same results on any number of threads.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use unpause_protocols::units::Time;
use unpause_scenario::Scenario;
use unpause_sim::traffic::Traffic;

fn scenarios(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("scenarios are there") {
        let path = entry.expect("a folder can be read").path();
        if path.is_dir() {
            scenarios(&path, found);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            found.push(path);
        }
    }
}

#[test]
fn every_scenario_is_the_same_on_1_2_3_and_7_threads() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let mut files = Vec::new();
    scenarios(Path::new(root), &mut files);
    assert!(files.len() >= 5, "{files:?}");
    for file in files {
        // From the first flow on; the burst of Fig. 2 comes at 50 ms.
        let length = if file.ends_with("pcn/f2.toml") { 51 } else { 2 };
        let scenario = Scenario::load(&file).expect("shipped scenarios are sound");
        let mut mechanisms = HashSet::new();
        for run in scenario.runs() {
            // One point of a sweep, and one of the variants that stand behind a comma.
            let name = run.scheme.strip_prefix("PFC+").unwrap_or(&run.scheme);
            if !mechanisms.insert(name.split(',').next().map(str::to_owned)) {
                continue;
            }
            let mut config = run.config.clone();
            let first = Traffic::new(&config.traffic, &config.fabric, config.seed)
                .expect("shipped scenarios have traffic")
                .next();
            let first = first.map_or(Time::ZERO, |flow| flow.start);
            config.stop = config.stop.min(first + Time::from_ms(length));
            let on = |threads| {
                unpause_sim::run_threads(&config, threads, &mut |_| ControlFlow::Continue(()))
                    .expect("shipped scenarios run")
            };
            let one = on(1);
            assert!(one.totals.packet_hops > 0, "{}", file.display());
            for threads in [2, 3, 7] {
                assert!(on(threads) == one, "{}: {threads} threads", file.display());
            }
        }
    }
}
