//! Every scenario in the repository has the same results on any number of threads.

use crate::common;

use std::collections::HashSet;
use std::ops::ControlFlow;

use unpause_protocols::units::Time;
use unpause_scenario::Scenario;
use unpause_sim::config::Config;
use unpause_sim::traffic::Traffic;

fn first_start(config: &Config) -> Time {
    let mut flows = Traffic::new(&config.traffic, &config.fabric, config.seed)
        .expect("shipped scenarios are sound");
    flows.next().map_or(Time::ZERO, |flow| flow.start)
}

#[test]
fn every_scenario_is_the_same_on_any_number_of_threads() {
    let files = common::shipped();
    assert!(files.len() >= 70, "{files:?}");
    for (name, file) in files {
        let scenario = Scenario::load(&file).expect("shipped scenarios are sound");
        let mut kinds = HashSet::new();
        for run in scenario.runs() {
            // One run of what differs in more than parameters.
            let model = std::mem::discriminant(&run.config.switch.model);
            if !kinds.insert((run.mechanisms.control, run.mechanisms.marking, model)) {
                continue;
            }
            let mut config = run.config.clone();
            // The burst of Fig. 2 comes at 50 ms, and jobs compute first; elsewhere there is traffic from the start.
            let begin = if name == "papers/pcn/scenarios/f2.toml" {
                Time::from_ms(50)
            } else if !config.jobs.is_empty() {
                Time::from_ms(1)
            } else {
                first_start(&config)
            };
            // There is much traffic in a large fabric, and short links make many windows.
            let length = match config.fabric.links.len() {
                0..100 => Time::from_ms(1),
                _ => Time::from_us(300),
            };
            let delays = config.fabric.links.iter().map(|link| link.delay);
            let windows = delays.min().expect("there are links") * 500;
            config.stop = config.stop.min(begin + length.min(windows));
            let on = |threads| {
                unpause_sim::run_threads(&config, threads, &mut |_| ControlFlow::Continue(()))
                    .expect("shipped scenarios run")
            };
            let one = on(1);
            assert!(one.totals.packet_hops > 0, "{name}");
            let others: &[usize] = if kinds.len() == 1 { &[2, 7] } else { &[3] };
            for &threads in others {
                assert!(on(threads) == one, "{name}: {threads} threads");
            }
        }
    }
}
