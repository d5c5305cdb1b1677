//! Configurations of shipped scenarios, run by the simulator and over frames.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::ops::ControlFlow;
use std::path::Path;

use unpause_protocols::units::Time;
use unpause_scenario::Scenario;
use unpause_sim::config::Config;
use unpause_sim::exchange::Exchange;
use unpause_sim::results::Results;
use unpause_testbed::{LockStep, Medium, Split, Tally};

/// The first run of a scheme of a shipped scenario, cut off after `stop`.
pub fn run_of(file: &str, scheme: &str, stop: Time) -> Config {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let scenario = Scenario::load(&root.join(file)).expect("shipped scenarios are sound");
    let mut runs = scenario.runs().iter();
    let run = runs.find(|run| run.scheme == scheme);
    let names: Vec<_> = scenario.runs().iter().map(|run| &run.scheme).collect();
    let run = run.unwrap_or_else(|| panic!("{file} has {names:?}, not {scheme}"));
    Config {
        stop: stop.min(run.config.stop),
        ..run.config.clone()
    }
}

/// A configuration, and which links of it are wires.
pub struct Bed {
    pub config: Config,
    pub split: Split,
}

impl Bed {
    pub fn new(config: Config, named: Option<&[usize]>) -> Self {
        let split = Split::new(&config, named);
        Self {
            split: split.expect("it can be split"),
            config,
        }
    }

    /// The results of the simulator.
    pub fn simulated(&self) -> Results {
        unpause_sim::run(&self.config, &mut |_| ControlFlow::Continue(())).expect("it can be run")
    }

    /// Its frames over `medium`.
    pub fn post<M: Medium>(&self, medium: M) -> LockStep<'_, M> {
        LockStep::new(&self.config, &self.split, medium).expect("there is traffic")
    }

    /// The same over frames.
    pub fn lock_step<M: Medium>(&self, medium: M) -> (Results, Tally) {
        let mut exchange = self.post(medium);
        let results = self.run(&mut exchange);
        (results, exchange.tally().clone())
    }

    /// Runs it with packets carried by `exchange`.
    pub fn run(&self, exchange: &mut impl Exchange) -> Results {
        let go_on = &mut |_| ControlFlow::Continue(());
        let run = unpause_sim::run_over(&self.config, &self.split.shard_of, exchange, go_on);
        run.expect("it can be run")
    }
}

/// Virtual Ethernet, where this process may make it. A test without says so.
#[cfg(target_os = "linux")]
pub fn veth(bed: &Bed) -> Option<unpause_testbed::Veth> {
    match unpause_testbed::Veth::new(&bed.config, &bed.split) {
        Ok(veth) => Some(veth),
        Err(error) => {
            let required = std::env::var_os("UNPAUSE_VETH").is_some();
            assert!(!required, "UNPAUSE_VETH is set, and {error}");
            eprintln!("SKIPPED: nothing of this test has run: {error}");
            None
        }
    }
}

/// The first part of the results that differs.
pub fn differ(one: &Results, other: &Results) -> Option<String> {
    let parts = [
        ("flows", one.flows == other.flows),
        ("ports", one.ports == other.ports),
        ("pauses", one.pauses == other.pauses),
        ("port series", one.port_series == other.port_series),
        ("flow series", one.flow_series == other.flow_series),
        ("packets", one.packets == other.packets),
        ("deadlock", one.deadlock == other.deadlock),
        ("totals", one.totals == other.totals),
    ];
    let part = parts.iter().find(|(_, same)| !same)?;
    let (one, other) = (&one.totals, &other.totals);
    Some(format!("{} differ: {one:#?} {other:#?}", part.0))
}
