//! The cost of driving a run: the flows of a case as messages of a session, beside the same flows as a scenario's.

use std::ops::ControlFlow;

use unpause_protocols::units::Time;
use unpause_sim::config::Config;
use unpause_sim::results::Results;
use unpause_sim::session::{Message, Options, Session, What};
use unpause_sim::traffic::{FlowSettings, FlowSpec, Traffic, TrafficSpec};

use crate::cases::Case;
use crate::measure::cpu_time;

/// Runs both for some rounds in turn, and prints the CPU time of each and the ratio of medians. The results have to be the same on
/// one to three threads.
pub fn run(case: &Case, flows: Option<u64>, rounds: u32) {
    let mut config = (case.config)(flows.unwrap_or(case.flows));
    let traffic = Traffic::new(&config.traffic, &config.fabric, config.seed);
    let flows: Vec<FlowSpec> = traffic.expect("the traffic is sound").collect();
    config.traffic.clear();
    let (mut driven, mut listed) = (Vec::new(), Vec::new());
    for round in 0..rounds.max(1) {
        let begun = cpu_time();
        let (results, end) = drive(&config, &flows);
        let between = cpu_time();
        let scenario = as_scenario(&config, &results, end);
        let prepared = cpu_time();
        let same = on_threads(&scenario, 1);
        let after = cpu_time();
        driven.push(between.total() - begun.total());
        listed.push(after.total() - prepared.total());
        assert!(same == results, "a driven run differs from its flows");
        if round == 0 {
            let windows = [&results, &same].map(|it| it.totals.windows.0);
            println!("windows: {} driven, {} not", windows[0], windows[1]);
            for threads in [2, 3] {
                let same = on_threads(&scenario, threads);
                assert!(same == results, "results differ on {threads} threads");
            }
        }
    }
    let (driven, listed) = (median(driven), median(listed));
    println!(
        "{}: {driven:.3} s driven, {listed:.3} s as a scenario, ratio {:.3}",
        case.name,
        driven / listed
    );
}

/// Sends each flow at its time, and is told of every completion. The results, and when the run was closed.
fn drive(config: &Config, flows: &[FlowSpec]) -> (Results, Time) {
    let mut session = Session::open(config.clone(), Options::default()).expect("it can be driven");
    let mut delivered = 0;
    let mut note = |what: What| delivered += u64::from(matches!(what, What::Delivered(..)));
    for flow in flows {
        while let Some(it) = session.advance(Some(flow.start)).expect("hosts are linked") {
            note(it.what);
        }
        let message = Message {
            src: flow.src,
            dst: flow.dst,
            bytes: flow.size_bytes.expect("it has an end"),
            tag: 0,
            connection: None,
        };
        session.send(message).expect("it can be sent");
    }
    while let Some(it) = session.advance(None).expect("hosts are linked") {
        note(it.what);
    }
    let end = session.soonest_end().min(config.stop);
    let results = session.finish(None).expect("hosts are linked");
    assert_eq!(delivered, results.totals.flows_completed, "each is told");
    (results, end)
}

/// The messages of a driven run as flows.
fn as_scenario(config: &Config, results: &Results, end: Time) -> Config {
    let settings = FlowSettings::default();
    let flows = results.flows.iter().map(|flow| FlowSpec {
        start: flow.start,
        size_bytes: flow.size_bytes,
        priority: settings.priority_of(flow.size_bytes),
        source_port: flow.source_port,
        ..settings.flow(flow.src, flow.dst)
    });
    Config {
        traffic: vec![TrafficSpec::Flows(flows.collect())],
        stop: end,
        ..config.clone()
    }
}

fn on_threads(config: &Config, threads: usize) -> Results {
    let go_on = &mut |_| ControlFlow::Continue(());
    unpause_sim::run_threads(config, threads, go_on).expect("it runs")
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_unstable_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}
