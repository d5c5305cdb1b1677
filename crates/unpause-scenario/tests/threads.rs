//! Every scenario in the repository has the same results on any number of threads.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use unpause_protocols::units::Time;
use unpause_scenario::Scenario;

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
        let scenario = Scenario::load(&file).expect("shipped scenarios are sound");
        let mut schemes = HashSet::new();
        for run in scenario.runs() {
            // One point of a sweep for each scheme.
            if !schemes.insert(run.scheme.clone()) {
                continue;
            }
            let mut config = run.config.clone();
            // The burst of Fig. 2 comes at 50 ms; elsewhere there is traffic from the start. Short links
            // make many windows, and threads that outnumber cores are slow at barriers.
            let delays = config.fabric.links.iter().map(|link| link.delay);
            let windows = delays.min().expect("there are links") * 1_000;
            config.stop = config.stop.min(match file.ends_with("pcn/f2.toml") {
                true => Time::from_ms(51),
                false => windows.min(Time::from_ms(2)),
            });
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
