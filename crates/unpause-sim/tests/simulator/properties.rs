//! Properties of every fabric, for all flows and schemes. The engine asserts by itself that packets
//! are conserved, and that those of a flow stay in order where none is dropped.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use proptest::prelude::*;
use unpause_protocols::scheduler::{self, dwrr};
use unpause_protocols::units::Time;
use unpause_sim::config::{Config, NodeKind, PortId};
use unpause_sim::exchange::Sequential;
use unpause_sim::results::{Results, Totals};
use unpause_sim::traffic::TrafficSpec;

use crate::common::*;
use crate::random::*;

/// Long enough for the most timid scheme.
const LONG: Time = Time::from_ms(10_000);

fn packets(config: &Config, bytes: u64) -> u64 {
    bytes.div_ceil(u64::from(config.host.payload_bytes))
}

/// Whatever the run, complete or not.
fn assert_sound(config: &Config, results: &Results) {
    let totals = &results.totals;
    let mut unique = 0;
    for flow in &results.flows {
        let size = flow.size_bytes.expect("every flow has a size");
        assert!(flow.delivered_bytes <= size);
        assert_eq!(flow.fct.is_some(), flow.delivered_bytes == size);
        let ideal = flow.ideal_fct.expect("a flow with a size");
        assert!(flow.fct.is_none_or(|fct| fct >= ideal), "{flow:?}");
        unique += packets(config, size);
    }
    let completed = results.flows.iter().filter(|f| f.fct.is_some()).count() as u64;
    assert_eq!(completed, totals.flows_completed);
    assert_eq!(results.flows.len() as u64, totals.flows_started);
    assert!(totals.delivered_packets + totals.dropped_packets <= totals.data_packets);
    let retransmitted: u64 = results.flows.iter().map(|f| f.retransmitted_packets).sum();
    assert!(totals.data_packets <= unique + retransmitted);
    if completed == totals.flows_started {
        assert_eq!(totals.data_packets, unique + retransmitted);
    }
    let sum = |value: fn(&unpause_sim::results::PortRecord) -> u64| -> u64 {
        results.ports.iter().map(value).sum()
    };
    assert_eq!(sum(|p| p.marked_packets), totals.marked_packets);
    assert_eq!(sum(|p| p.pause_frames), totals.pause_frames);
    assert!(sum(|p| p.cnm_packets) <= totals.notifications);
    assert!(sum(|p| p.dropped_packets) >= totals.dropped_packets);
    assert!(sum(|p| p.tx_packets) <= totals.packet_hops);
    assert_pauses_match(results);
}

/// PAUSEs of one (node, port, priority) follow one another and add up to its paused time.
fn assert_pauses_match(results: &Results) {
    let mut by_queue: BTreeMap<(u32, PortId, u8), Vec<(Time, Time)>> = BTreeMap::new();
    for pause in &results.pauses {
        assert!(pause.obeyed < pause.end, "{pause:?}");
        assert!(
            pause.obeyed <= pause.start && pause.start <= pause.end,
            "{pause:?}"
        );
        assert!(pause.end <= results.totals.simulated);
        let queue = (pause.node, pause.port, pause.priority);
        by_queue
            .entry(queue)
            .or_default()
            .push((pause.start, pause.end));
    }
    let mut held = 0;
    for (&(node, number, priority), pauses) in &by_queue {
        assert!(pauses.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        let sum: u64 = pauses.iter().map(|p| (p.1 - p.0).as_ps()).sum();
        held += usize::from(sum > 0);
        assert_eq!(port(results, node, number, priority).paused, ps(sum));
    }
    let queues_paused = results.ports.iter().filter(|p| p.paused > Time::ZERO);
    assert_eq!(queues_paused.count(), held);
}

/// Results but for what observation may change.
fn observed(results: &Results) -> Results {
    let mut results = results.clone();
    results.port_series.clear();
    results.flow_series.clear();
    results.totals = Totals {
        events: 0,
        ..results.totals
    };
    results
}

fn with_every_probe(config: &Config) -> Config {
    let mut config = config.clone();
    let mut ports = vec![0; config.fabric.nodes.len()];
    for link in &config.fabric.links {
        for node in [link.a, link.b] {
            config.probes.ports.push((node, ports[node as usize]));
            ports[node as usize] += 1;
        }
    }
    config.probes.interval = Time::from_ns(7_777);
    for spec in &mut config.traffic {
        let TrafficSpec::Flows(flows) = spec else {
            unreachable!()
        };
        flows.iter_mut().for_each(|flow| flow.recorded = true);
    }
    config
}

/// Strict priority, or turns of any length, in one group or several.
fn scheduler() -> impl Strategy<Value = scheduler::Config> {
    let dwrr = (
        prop::array::uniform8(1u32..5_000),
        prop::array::uniform8(0u8..2),
    )
        .prop_map(|(quantum, group)| scheduler::Config::Dwrr(dwrr::Params { quantum, group }));
    prop_oneof![Just(scheduler::Config::default()), dwrr]
}

proptest! {
    #![proptest_config(ProptestConfig {
        max_shrink_iters: 3_000,
        ..ProptestConfig::with_cases(200)
    })]

    #[test]
    fn lossless_classes_lose_nothing_and_every_flow_completes(
        case in case(),
        scheduler in scheduler(),
    ) {
        for (name, scheme) in schemes() {
            let mut config = case.config(scheme, LONG);
            config.switch.scheduler = scheduler.clone();
            let results = run(&config);
            assert_sound(&config, &results);
            let incomplete = results.flows.iter().find(|flow| flow.fct.is_none());
            prop_assert!(incomplete.is_none(), "{name}: {incomplete:?}");
            let totals = results.totals;
            prop_assert_eq!(totals.dropped_packets, 0, "{}", name);
            prop_assert_eq!(totals.delivered_packets, totals.data_packets);
            for port in &results.ports {
                prop_assert_eq!(port.headroom_dropped_packets, 0);
            }
        }
    }

    /// Little shared memory: control packets may be lost for want of it, data never.
    #[test]
    fn dynamic_thresholds_lose_nothing(
        case in case(),
        shift in -4i32..6,
        shared_bytes in 5_000u64..300_000,
    ) {
        for (name, scheme) in [&schemes()[0], &schemes()[6]] {
            let config = case.config(scheme.clone(), LONG);
            let config = case.with_dynamic_threshold(config, shift, shared_bytes);
            let results = run(&config);
            assert_sound(&config, &results);
            prop_assert_eq!(results.totals.dropped_packets, 0, "{}", name);
            prop_assert_eq!(results.totals.flows_completed, results.totals.flows_started, "{}", name);
        }
    }

    /// Go-back-N over queues that drop; control packets are dropped too. At line rate into a slower
    /// link with a short queue, a timeout brings a few packets only: flows must be small.
    #[test]
    fn lossy_classes_lose_packets_but_no_flow(
        case in case(),
        frames in 2u64..30,
        scheduler in scheduler(),
    ) {
        let case = case.with_sizes_up_to(100_000);
        for (name, scheme) in [&schemes()[0], &schemes()[2], &schemes()[6]] {
            let mut config = case.config(scheme.clone(), LONG);
            let frame = u64::from(config.host.payload_bytes + config.host.header_bytes);
            config.switch.lossless = 0;
            config.switch.lossy_queue_bytes = frames * frame;
            config.switch.scheduler = scheduler.clone();
            config.host.retransmit_timeout = us(500);
            let results = run(&config);
            assert_sound(&config, &results);
            let incomplete = results.flows.iter().find(|flow| flow.fct.is_none());
            prop_assert!(incomplete.is_none(), "{}: {:?}", name, incomplete);
            let retransmitted: u64 = results.flows.iter().map(|f| f.retransmitted_packets).sum();
            prop_assert!(retransmitted >= results.totals.dropped_packets);
            prop_assert_eq!(results.totals.pause_frames, 0);
            for port in &results.ports {
                let is_switch = config.fabric.nodes[port.node as usize] == NodeKind::Switch;
                prop_assert!(!is_switch || port.max_queue_bytes <= frames * frame);
            }
        }
    }

    /// The same run gives the same results: again, on more threads, with every probe, and with each node in a shard of
    /// its own, where short links make no clusters.
    #[test]
    fn a_run_is_a_function_of_its_configuration(case in case(), scheme in 0usize..7) {
        let config = case.config(schemes()[scheme].1.clone(), us(400));
        let results = run(&config);
        assert_sound(&config, &results);
        prop_assert!(results == run(&config));
        let probed = run(&with_every_probe(&config));
        prop_assert!(!probed.port_series.is_empty());
        prop_assert_eq!(observed(&results).totals, observed(&probed).totals);
        prop_assert!(observed(&results) == observed(&probed));
        let mut unrecorded = config.clone();
        unrecorded.probes.pauses = false;
        let mut bare = run(&unrecorded);
        prop_assert!(bare.pauses.is_empty());
        bare.pauses.clone_from(&results.pauses);
        prop_assert!(results == bare);
        let go_on = &mut |_| ControlFlow::Continue(());
        let threads = unpause_sim::run_threads(&with_every_probe(&config), 2, go_on);
        let threads = threads.expect("it ran on one");
        prop_assert_eq!(probed.totals, threads.totals);
        prop_assert!(probed == threads);
        let shards: Vec<u16> = (0..config.fabric.nodes.len() as u16).collect();
        let exchange = &mut Sequential::new(shards.len());
        let apart = unpause_sim::run_over(&config, &shards, exchange, go_on);
        prop_assert!(observed(&results) == observed(&apart.expect("it ran on one")));
    }
}
