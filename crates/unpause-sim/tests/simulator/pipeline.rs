//! The pipelined switch: its time, what a full egress queue does, and CaPFC.

use std::ops::ControlFlow;

use proptest::prelude::*;
use unpause_protocols::flow_control::capfc::{EgressParams, IngressParams, Stop};
use unpause_protocols::flow_control::pfc::PauseMode;
use unpause_protocols::units::{Fraction, Time};
use unpause_sim::config::{
    Balancing, Config, DeadlockProbe, FullQueue, Memory, PipelineConfig, SwitchModel,
};
use unpause_sim::dependency::buffer_dependency_cycle;
use unpause_sim::results::{FlowRecord, PortRecord, Results, Root, RootKind};
use unpause_sim::traffic::FlowSpec;

use crate::common::*;
use crate::random::*;

const CALIBRATE: Stop = Stop::Calibrate {
    cut: Fraction::of(4, 5),
};

fn capfc(stop: Stop) -> FullQueue {
    FullQueue::Capfc(EgressParams {
        stop,
        ..EgressParams::default()
    })
}

fn full_queues() -> [FullQueue; 4] {
    [
        FullQueue::Drop,
        FullQueue::Stop,
        capfc(Stop::Max),
        capfc(CALIBRATE),
    ]
}

fn pipelined(mut config: Config, pipeline: PipelineConfig) -> Config {
    config.switch.model = SwitchModel::Pipeline(pipeline);
    config
}

fn sum(results: &Results, value: fn(&PortRecord) -> u64) -> u64 {
    results.ports.iter().map(value).sum()
}

#[test]
fn a_packet_takes_service_and_latency_at_every_switch() {
    let link = (gbps(1), Time::from_ns(500));
    let chain = chain(&[link, link, link]);
    let config = config(chain, vec![sized(1, 2, 1000)], ms(1));
    let config = pipelined(config, PipelineConfig::default());
    let results = run(&config);
    let hop = Time::from_ns(FRAME * 8 + 500);
    let switch = Time::from_ns(1_000 + 12_700);
    assert_eq!(fct(&results.flows[0]), hop * 3 + switch * 2);
    assert_eq!(results.flows[0].ideal_fct, results.flows[0].fct);
}

/// A frame of 1048 B at 1 Gb/s is 119 kpps: 4 ports send 477, and as many ACKs come back.
#[test]
fn the_processor_is_shared_by_all_ports_in_turn() {
    // An eighth of the slower one for each flow of data: 31.25 kpps.
    for (packets_per_second, rate_gbps) in [(1_000_000, 1.0), (250_000, 0.262)] {
        let recorded = |host| FlowSpec {
            recorded: true,
            ..flow(host, host + 4)
        };
        let flows = (1..=4).map(recorded).collect();
        let config = pipelined(
            config(star(&[gbps(1); 8], us(1)), flows, ms(40)),
            PipelineConfig {
                packets_per_second,
                ..PipelineConfig::default()
            },
        );
        let results = run(&config);
        assert_lossless(&results);
        for flow in 0..4 {
            let rate = frame_gbps(&results, flow, ms(20), ms(40));
            assert_within("rate", rate, rate_gbps, 0.01);
        }
    }
}

/// Ports 1 to 5 send 1 Gb/s each to port 8, port 6 to port 7 in another priority.
fn head_of_line(full_queue: FullQueue) -> Results {
    let mut flows: Vec<_> = (1..=5).map(|host| flow(host, 8)).collect();
    flows.push(FlowSpec {
        priority: URGENT,
        ..flow(6, 7)
    });
    for flow in &mut flows {
        flow.recorded = true;
    }
    let mut config = config(star(&[gbps(1); 8], Time::from_ns(500)), flows, ms(100));
    config.switch.lossless = 1 << LOSSLESS | 1 << URGENT;
    config.probes.ports = vec![(0, 7)];
    config.probes.causes = true;
    // ACKs of port 8 come in by port 8: they must not fill its FIFO when everything stands still.
    config.host.ack_every = 20;
    run(&pipelined(
        config,
        PipelineConfig {
            full_queue,
            ..PipelineConfig::default()
        },
    ))
}

/// Every PAUSE has its cause, and the root is the queue that five ports fill; between two stops of the
/// processor, when it only has not served an input yet, the switch itself.
fn assert_all_began_at_port_8(results: &Results) {
    let events: u64 = results.ports.iter().map(|port| port.pause_events).sum();
    assert_eq!(results.causes.len() as u64, events);
    let roots = results.causes.iter().filter_map(|cause| cause.root);
    let elsewhere = |root: &Root| root.port != Some(7) && root.kind != RootKind::Switch;
    assert_eq!(roots.filter(elsewhere).count(), 0);
    assert!(results.causes.iter().all(|cause| !cause.holders.is_empty()));
}

/// Throughput of the pair that shares no port and no priority with the others.
fn bystander(results: &Results) -> f64 {
    frame_gbps(results, 5, ms(50), ms(100))
}

#[test]
fn wstop_stops_packets_of_other_ports_and_priorities() {
    let results = head_of_line(FullQueue::Stop);
    assert_lossless(&results);
    let full = port(&results, 0, 7, LOSSLESS);
    assert!(full.stalls > 1_000 && full.stalled > ms(50), "{full:?}");
    assert!(full.max_queue_bytes > 58_000);
    // The processor takes a packet of each port in turn, at the pace of port 8.
    assert_within("bystander", bystander(&results), 0.2, 0.01);
    assert_eq!(port(&results, 0, 6, URGENT).stalls, 0);
    // Port 6 is paused for what others do.
    assert!(port(&results, 0, 5, URGENT).pause_events > 0);
    assert_all_began_at_port_8(&results);
    assert!(results.victims.iter().all(|victim| victim.flow == 5));
}

#[test]
fn wdrop_drops_although_pfc_is_on() {
    let results = head_of_line(FullQueue::Drop);
    let full = port(&results, 0, 7, LOSSLESS);
    assert!(full.dropped_packets > 10_000, "{full:?}");
    assert_eq!((full.stalls, sum(&results, |p| p.pause_frames)), (0, 0));
    assert_within("bystander", bystander(&results), 1.0, 0.001);
}

#[test]
fn capfc_pauses_the_inputs_that_fill_the_queue_and_no_other() {
    for stop in [Stop::Max, CALIBRATE] {
        let results = head_of_line(capfc(stop));
        assert_lossless(&results);
        let full = port(&results, 0, 7, LOSSLESS);
        assert_eq!(full.stalls, 0);
        for input in 0..5 {
            assert!(port(&results, 0, input, LOSSLESS).pause_events > 0);
        }
        assert_eq!(port(&results, 0, 5, URGENT).pause_events, 0);
        assert_all_began_at_port_8(&results);
        assert_within("bystander", bystander(&results), 1.0, 0.001);
        let at_8: f64 = (0..5)
            .map(|flow| frame_gbps(&results, flow, ms(50), ms(100)))
            .sum();
        assert_within("port 8", at_8, 1.0, 0.001);
    }
}

/// Three hosts at each of two switches send to those of the other.
fn two_switches() -> (Config, [u32; 2]) {
    let mut net = Net::default();
    let (a, b) = (net.switch(), net.switch());
    net.link(a, b, gbps(1), us(1));
    let hosts = [a, a, a, b, b, b].map(|switch| net.host(switch, gbps(1), us(1)));
    let flows = (0..6).map(|i| flow(hosts[i], hosts[(i + 3) % 6])).collect();
    (config(net.0, flows, ms(500)), [a, b])
}

/// Two switches that stop for each other never go on.
#[test]
fn wstop_can_deadlock_two_switches_and_the_detector_sees_it() {
    let (mut config, [a, b]) = two_switches();
    config.probes.deadlock = Some(DeadlockProbe::default());
    for full_queue in full_queues() {
        let config = pipelined(
            config.clone(),
            PipelineConfig {
                full_queue,
                ..PipelineConfig::default()
            },
        );
        let results = run(&config);
        let cycle = buffer_dependency_cycle(&config).unwrap();
        assert_eq!(cycle.is_some(), full_queue == FullQueue::Stop);
        match results.deadlock {
            Some(deadlock) => {
                assert_eq!(full_queue, FullQueue::Stop);
                let cycle = vec![(a, 0, LOSSLESS), (b, 0, LOSSLESS)];
                assert_eq!(deadlock.cycle, cycle);
            }
            None => assert_ne!(full_queue, FullQueue::Stop),
        }
    }
}

/// A PAUSE that nobody repeats has run out after 33.6 ms at 1 Gb/s: what comes then finds a full ingress and
/// is dropped, and the sender's processor goes on.
#[test]
fn a_pause_that_runs_out_breaks_a_deadlock_of_wstop() {
    for (mode, breaks) in [
        (PauseMode::Standard, false),
        (PauseMode::UntilXon, false),
        (PauseMode::Once, true),
    ] {
        let (mut config, _) = two_switches();
        config.switch.pfc.params.mode = mode;
        config.probes.deadlock = Some(DeadlockProbe {
            hold: ms(50),
            ..DeadlockProbe::default()
        });
        let pipeline = PipelineConfig {
            full_queue: FullQueue::Stop,
            ..PipelineConfig::default()
        };
        let results = run(&pipelined(config, pipeline));
        let dropped = sum(&results, |port| port.dropped_packets);
        let goes_on = results.deadlock.is_none();
        assert_eq!((goes_on, dropped > 0), (breaks, breaks), "{mode:?}");
    }
}

/// Four ways between two switches: hashing may use few, balancing uses all.
#[test]
fn balancing_spreads_packets_over_all_ways() {
    let fabric = || {
        let mut net = Net::default();
        let (a, b) = (net.switch(), net.switch());
        for _ in 0..4 {
            net.link(a, b, gbps(1), us(1));
        }
        net.host(a, gbps(4), us(1));
        net.host(b, gbps(4), us(1));
        net.0
    };
    let used = |balancing| {
        let pipeline = PipelineConfig {
            packets_per_second: 10_000_000,
            ..PipelineConfig::default()
        };
        let mut config = config(fabric(), vec![sized(2, 3, 2_000_000)], ms(50));
        config.switch.balancing = balancing;
        let results = run(&pipelined(config, pipeline));
        let sent = (0..4).map(|way| port(&results, 0, way, LOSSLESS).tx_packets);
        sent.filter(|&packets| packets > 100).count()
    };
    assert_eq!(used(Balancing::Ecmp), 1);
    assert_eq!(used(Balancing::Adaptive(Default::default())), 4);
}

/// Headroom for any link of [`case`].
const HEADROOM: u64 = 400_000;

fn random_pipeline(
    case: &Case,
    scheme: usize,
    full_queue: FullQueue,
    shared: bool,
    spray: bool,
) -> Config {
    let (_, scheme) = schemes().swap_remove(scheme);
    let mut config = case.clone().with_sizes_up_to(100_000).config(scheme, ms(2));
    if spray {
        config.switch.balancing = Balancing::Adaptive(Default::default());
    }
    let memory = if shared {
        Memory::Shared {
            queue_bytes: 8_000,
            pool_bytes: 100_000,
            queue_share_bytes: 30_000,
            port_share_bytes: 50_000,
        }
    } else {
        Memory::Dedicated {
            ingress_bytes: 20_000 + HEADROOM,
            egress_bytes: 30_000,
        }
    };
    let pipeline = PipelineConfig {
        packets_per_second: 20_000_000,
        latency: us(1),
        ingress: IngressParams {
            xoff: 20_000,
            xon: 15_000,
        },
        full_queue,
        memory,
    };
    pipelined(config, pipeline)
}

proptest! {
    #![proptest_config(ProptestConfig {
        max_shrink_iters: 1_000,
        ..ProptestConfig::with_cases(80)
    })]

    /// The engine asserts that packets are conserved.
    #[test]
    fn wstop_drops_nothing_and_the_others_never_stall(
        case in case(),
        scheme in 0..schemes().len(),
        shared in any::<bool>(),
        spray in any::<bool>(),
    ) {
        for full_queue in full_queues() {
            let config = random_pipeline(&case, scheme, full_queue, shared, spray);
            let results = run(&config);
            let lossless = |p: &&PortRecord| {
                [LOSSLESS, URGENT].contains(&p.priority)
            };
            let records = || results.ports.iter().filter(lossless);
            if full_queue == FullQueue::Stop {
                // A pool may be exhausted before XOFF.
                let dropped: u64 = records().map(|p| p.dropped_packets).sum();
                prop_assert!(dropped == 0 || shared, "{:?}", records().collect::<Vec<_>>());
            } else {
                prop_assert_eq!(sum(&results, |p| p.stalls), 0);
                prop_assert_eq!(sum(&results, |p| p.stalled.as_ps()), 0);
            }
            if full_queue == FullQueue::Drop && !shared {
                let at_ingress: u64 = records().map(|p| p.headroom_dropped_packets).sum();
                prop_assert_eq!(at_ingress, 0);
            }
            let ideal = |flow: &FlowRecord| flow.ideal_fct.unwrap();
            for flow in &results.flows {
                // Alone on one way; several may be faster.
                prop_assert!(spray || flow.fct.is_none_or(|fct| fct >= ideal(flow)), "{flow:?}");
            }
            for port in records().filter(|_| !shared) {
                prop_assert!(port.max_queue_bytes <= 30_000);
            }
        }
    }

    #[test]
    fn threads_do_not_change_results(case in case(), scheme in 0..schemes().len(), full_queue in 0..4_usize) {
        let config = random_pipeline(&case, scheme, full_queues()[full_queue], false, true);
        let one = run(&config);
        for threads in [2, 3] {
            let go_on = &mut |_| ControlFlow::Continue(());
            let many = unpause_sim::run_threads(&config, threads, go_on).unwrap();
            prop_assert!(one == many, "{} threads", threads);
        }
    }
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let fabric = || star(&[gbps(1); 2], us(1));
    let good = PipelineConfig::default();
    let egress = EgressParams::default();
    let bad = [
        (
            PipelineConfig {
                packets_per_second: 0,
                ..good.clone()
            },
            "`packets_per_second` must be from 1 to 10^12",
        ),
        (
            PipelineConfig {
                full_queue: FullQueue::Capfc(EgressParams {
                    warn: 25_001,
                    ..egress
                }),
                ..good.clone()
            },
            "`egress_warn` is above `egress_xoff`",
        ),
        (
            PipelineConfig {
                full_queue: capfc(Stop::Calibrate {
                    cut: Fraction::ZERO,
                }),
                ..good.clone()
            },
            "`cut` must be above 0",
        ),
        (
            PipelineConfig {
                memory: Memory::Dedicated {
                    ingress_bytes: 60_000,
                    egress_bytes: 1_048,
                },
                ..good.clone()
            },
            "`egress_max` does not hold a frame",
        ),
    ];
    for (pipeline, reason) in bad {
        let config = pipelined(config(fabric(), vec![flow(1, 2)], us(10)), pipeline);
        let error = unpause_sim::run(&config, &mut |_| ControlFlow::Continue(()));
        assert_eq!(error.expect_err(reason).to_string(), reason);
    }
}
