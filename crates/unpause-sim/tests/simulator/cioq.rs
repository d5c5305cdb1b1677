//! The combined-input-output-queued fabric.

use std::ops::ControlFlow;

use proptest::prelude::*;
use unpause_protocols::congestion_point::qcn::Mode;
use unpause_protocols::flow_control::pfc::PauseTime;
use unpause_protocols::scheduler::{self, dwrr};
use unpause_protocols::units::Time;
use unpause_sim::config::{
    CioqConfig, Config, Fabric, NodeId, Queueing, SpinesConfig, SwitchModel,
};
use unpause_sim::traffic::{Arrivals, FlowSpec, Pairs, Pattern, Receivers, Size, TrafficSpec};

use crate::common::*;
use crate::random::URGENT;

/// 1522 B frames on 10 Gb/s links of 100 ns, Qhigh 110 KB and Qlow 44 KB: the QCN-at-inputs paper.
fn cioq(hosts: usize, spines: Option<SpinesConfig>, flows: Vec<FlowSpec>, stop: Time) -> Config {
    let mut config = config(
        star(&vec![gbps(10); hosts], Time::from_ns(100)),
        flows,
        stop,
    );
    config.fabric.framing_bytes = 20;
    config.host.payload_bytes = 1474;
    config.host.ack_every = 64;
    config.host.notification_reaction = Time::from_ns(2400);
    config.switch.pfc.threshold = unpause_sim::config::PfcThreshold::Static {
        xoff_bytes: 110_000,
        xon_bytes: 44_000,
    };
    config.switch.model = SwitchModel::Cioq(CioqConfig {
        spines,
        ..CioqConfig::default()
    });
    config
}

fn spines(count: u16, rate_gbps: u64, hosts_per_leaf: u16) -> Option<SpinesConfig> {
    Some(SpinesConfig {
        count,
        rate: gbps(rate_gbps),
        hosts_per_leaf,
        ..SpinesConfig::default()
    })
}

fn with_mode(mut config: Config, mode: Mode) -> Config {
    config.scheme = qcn();
    let unpause_protocols::congestion_point::Config::Qcn(params) =
        &mut config.scheme.congestion_point
    else {
        unreachable!("QCN's own")
    };
    params.q_eq = 60_000;
    params.mode = mode;
    config
}

/// So many flows of `bytes` between hosts drawn at random, at a mean interval.
fn uniform(hosts: std::ops::Range<NodeId>, flows: u64, bytes: u64, mean: Time) -> TrafficSpec {
    let to = hosts.clone().collect();
    random(hosts, to, flows, bytes, mean)
}

/// The same to receivers of their own.
fn random(
    from: std::ops::Range<NodeId>,
    to: Vec<NodeId>,
    flows: u64,
    bytes: u64,
    mean: Time,
) -> TrafficSpec {
    let per_second = 1e12 / mean.as_ps() as f64;
    let pairs = Pairs::Random {
        from: from.collect(),
        to: Receivers::Any(to),
        synchronised: false,
    };
    let arrivals = Arrivals {
        max_flows: Some(flows),
        ..Arrivals::poisson(per_second, Time::ZERO)
    };
    TrafficSpec::Pattern(Pattern::new(pairs, Size::Fixed(bytes), arrivals))
}

/// A frame waits for its grant, half a latency there and half back, and crosses.
#[test]
fn an_empty_fabric_takes_its_latency() {
    for bytes in [1, 1474] {
        let pipe = run(&cioq(2, None, vec![sized(1, 2, bytes)], us(100)));
        let wire = (bytes + 48).max(64) + 20;
        let links = ps(2 * (wire * 800 + 100_000));
        assert_eq!(fct(&pipe.flows[0]), links + us(2));
        assert_eq!(pipe.flows[0].ideal_fct, pipe.flows[0].fct);

        // The first cell takes what the pipe does, the others follow at 25 Gb/s.
        let fabric = spines(32, 25, 1);
        let spines = run(&cioq(2, fabric, vec![sized(1, 2, bytes)], us(100)));
        let cells = (bytes + 48).max(64).div_ceil(256);
        let behind = ps((cells - 1) * 256 * 320);
        assert_eq!(fct(&spines.flows[0]), links + us(2) + behind);
    }
}

/// Request, grant and crossing take time and no capacity: frames to one output wait as long as at a single
/// server (Lindley), whatever the order in which inputs are served.
#[test]
fn an_output_is_a_single_server() {
    for fabric in [None, spines(32, 100, 1)] {
        let mut config = cioq(0, fabric, vec![], ms(30));
        let mut rates = vec![gbps(10)];
        rates.extend(vec![gbps(400); 20]);
        config.fabric = Fabric {
            framing_bytes: 20,
            ..star(&rates, Time::from_ns(100))
        };
        config.traffic = vec![random(2..22, vec![1], 10_000, 1474, ps(1_542_000))];
        let results = run(&config);
        assert_lossless(&results);
        assert_complete(&results);
        let service = 1542 * 800;
        let (mut free, mut expected, mut waited) = (0, 0, 0);
        let alone = results
            .flows
            .iter()
            .map(fct)
            .min()
            .expect("there are flows");
        for flow in &results.flows {
            let arrival = flow.start.as_ps();
            let begin = arrival.max(free);
            free = begin + service;
            expected += begin - arrival;
            waited += (fct(flow) - alone).as_ps();
        }
        assert!(
            expected / 10_000 > service,
            "the load of 0.8 makes frames wait"
        );
        assert_within("mean wait", waited as f64, expected as f64, 0.02);
    }
}

/// Four to one: the arbiter serves inputs alike, credits keep the output's buffer, PAUSE the inputs'.
#[test]
fn fan_in_is_fair_and_loses_nothing() {
    for fabric in [None, spines(32, 25, 1), spines(8, 25, 3)] {
        let flows = (1..5).map(|src| flow(src, 5)).collect();
        let results = run(&cioq(5, fabric, flows, ms(5)));
        assert_lossless(&results);
        let delivered: Vec<u64> = results.flows.iter().map(|f| f.delivered_bytes).collect();
        let (least, most) = (delivered.iter().min(), delivered.iter().max());
        assert!(most.unwrap() - least.unwrap() <= 2 * 1474, "{delivered:?}");
        let gbps = delivered.iter().sum::<u64>() as f64 * 8.0 / 5e6 * 1542.0 / 1474.0;
        assert_within("the output", gbps, 10.0, 0.002);
        let output = port(&results, 0, 4, LOSSLESS);
        assert!(
            (146_000..=150_000).contains(&output.max_queue_bytes),
            "{output:?}"
        );
        for input in 0..4 {
            let input = port(&results, 0, input, LOSSLESS);
            assert!(input.pause_events > 10, "{input:?}");
            assert!(
                (110_000..=150_000).contains(&input.max_ingress_bytes),
                "{input:?}"
            );
        }
    }
}

/// A PAUSE of 0.8 us must be repeated for as long as an input drains from Qhigh to Qlow.
#[test]
fn a_pause_is_repeated_while_it_is_needed() {
    let flows = (1..5).map(|src| flow(src, 5)).collect();
    let mut config = cioq(5, None, flows, ms(2));
    config.switch.pfc.params.pause_time = PauseTime::Quanta(16);
    let results = run(&config);
    assert_lossless(&results);
    let input = port(&results, 0, 0, LOSSLESS);
    assert!(input.pause_events > 2, "{input:?}");
    assert!(input.pause_frames > 50 * input.pause_events, "{input:?}");
}

/// Flows of a few packets between all of ten hosts, over spines that are now ample and now the bottleneck:
/// backpressure holds cells, nothing is lost and everything in order (else it would be sent again).
#[test]
fn cells_are_held_back_and_frames_put_in_order() {
    for fabric in [spines(32, 25, 5), spines(3, 10, 2), spines(1, 10, 2)] {
        let mut config = cioq(10, fabric, vec![], ms(200));
        config.traffic = vec![uniform(1..11, 400, 30_000, us(2))];
        let results = run(&config);
        assert_lossless(&results);
        assert_eq!(results.totals.flows_completed, 400);
        assert_complete(&results);
    }
}

/// One spine link of 10 Gb/s for two hosts that send 10 Gb/s each to different leaves.
#[test]
fn a_narrow_fabric_shares_its_links() {
    let flows = vec![flow(1, 3), flow(2, 5)];
    let results = run(&cioq(6, spines(1, 10, 2), flows, ms(5)));
    assert_lossless(&results);
    for flow in &results.flows {
        // A frame takes 6 cells of 256 B; requests, grants and ACKs take the rest.
        let gbps = flow.delivered_bytes as f64 * 8.0 / 5e6 * 1536.0 / 1474.0;
        assert_within("a flow", gbps, 5.0, 0.02);
    }
}

/// f1 shares an output with three others, f2 an input with f1.
fn victim(mode: Mode) -> Config {
    let offered = |spec: FlowSpec, rate| FlowSpec {
        offered: Some(gbps(rate)),
        recorded: true,
        ..spec
    };
    let mut flows = vec![offered(flow(1, 5), 3), offered(flow(1, 6), 7)];
    flows.extend((2..5).map(|src| flow(src, 5)));
    let mut config = with_mode(cioq(6, None, flows, ms(30)), mode);
    config.probes.interval = ms(1);
    config
}

#[test]
fn occupancy_spares_the_victim() {
    for (mode, most) in [(Mode::InputOccupancyDet, 0), (Mode::InputOccupancyRand, 6)] {
        let results = run(&victim(mode));
        assert_lossless(&results);
        let [culprit, victim] = [0, 1].map(|flow| results.flows[flow]);
        assert!(culprit.notifications > 30, "{mode:?} {culprit:?}");
        assert!(victim.notifications <= most, "{mode:?} {victim:?}");
        let rate = goodput_gbps(&results, 1, ms(20), ms(29)) * 1542.0 / 1474.0;
        assert_within("the victim", rate, 7.0, 0.01);
    }
    let results = run(&victim(Mode::InputArrival));
    assert!(results.flows[1].notifications > 30);
    assert!(goodput_gbps(&results, 1, ms(20), ms(29)) < 4.0);
}

/// The same points at the ingress of a switch with a shared buffer.
#[test]
fn a_shared_buffer_has_input_points_too() {
    for (mode, spared) in [(Mode::InputOccupancyDet, true), (Mode::InputArrival, false)] {
        let mut config = victim(mode);
        config.switch.model = SwitchModel::SharedBuffer;
        config.switch.queueing = Queueing::Voq;
        let results = run(&config);
        assert_lossless(&results);
        assert!(results.flows[0].notifications > 20);
        assert_eq!(results.flows[1].notifications == 0, spared, "{mode:?}");
        let at_inputs: u64 = (0..4)
            .map(|p| port(&results, 0, p, LOSSLESS).cnm_packets)
            .sum();
        assert_eq!(at_inputs, results.totals.notifications);
    }
}

/// CNMs of outputs come from the one congested output, those of inputs from every input.
#[test]
fn congestion_points_stand_where_their_mode_says() {
    for (mode, at_output) in [(Mode::OutputArrival, true), (Mode::InputArrival, false)] {
        let flows = (1..5).map(|src| flow(src, 5)).collect();
        let results = run(&with_mode(cioq(5, None, flows, ms(10)), mode));
        let cnms = |p| port(&results, 0, p, LOSSLESS).cnm_packets;
        assert_eq!(cnms(4) > 0, at_output);
        assert!((0..4).all(|input| (cnms(input) > 0) != at_output));
        let received: u64 = results.flows.iter().map(|flow| flow.notifications).sum();
        // The last may still be in flight.
        assert!(received.abs_diff(results.totals.notifications) <= 4);
    }
}

/// A CNM takes effect when the reaction time is over.
#[test]
fn a_rate_limiter_takes_its_time() {
    let heard = |reaction| {
        let mut config = victim(Mode::InputOccupancyDet);
        config.host.notification_reaction = reaction;
        config.probes.interval = us(10);
        config.stop = ms(3);
        let series = run(&config).flow_series;
        series
            .iter()
            .find(|s| s.flow == 0 && s.notifications > 0)
            .expect("a CNM")
            .time
    };
    assert_eq!(heard(us(500)), heard(Time::ZERO) + us(500));
}

#[test]
fn threads_do_not_change_a_fabric() {
    let mut config = cioq(10, spines(8, 25, 5), vec![], ms(2));
    config.traffic = vec![uniform(1..11, 100, 30_000, us(5))];
    let one = run(&config);
    let go_on = &mut |_| ControlFlow::Continue(());
    assert!(one == unpause_sim::run_threads(&config, 3, go_on).expect("the run is valid"));
}

/// Flow of (source, hops to its destination, bytes, start in ns).
type Sent = (u32, u32, u64, u64);

/// Fabrics whose inputs have room for what comes after XOFF.
fn random_cioq(hosts: u32, inside: Option<(u16, u16)>, sent: &[Sent], scheme: usize) -> Config {
    let spec = |&(src, hop, bytes, start): &Sent| FlowSpec {
        start: Time::from_ns(start),
        recorded: true,
        ..sized(
            1 + src % hosts,
            1 + (src + 1 + hop % (hosts - 1)) % hosts,
            bytes,
        )
    };
    let fabric = inside.and_then(|(count, per_leaf)| spines(count, 25, per_leaf));
    let flows = sent.iter().map(spec).collect();
    let mut config = cioq(hosts as usize, fabric, flows, ms(20));
    config.scheme = schemes()[scheme].1.clone();
    config.probes.interval = us(50);
    config
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 500, ..ProptestConfig::with_cases(60) })]

    /// The engine asserts that packets are conserved.
    #[test]
    fn nothing_is_lost_and_buffers_hold(
        hosts in 2u32..9,
        inside in prop::option::of((1u16..9, 1u16..6)),
        sent in prop::collection::vec((0u32..8, 0u32..7, 1u64..150_000, 0u64..200_000), 1..13),
        scheme in 0..schemes().len(),
    ) {
        let config = random_cioq(hosts, inside, &sent, scheme);
        let results = run(&config);
        prop_assert_eq!(results.totals.dropped_packets, 0);
        for flow in &results.flows {
            prop_assert_eq!(flow.retransmitted_packets, 0, "{:?}", flow);
            prop_assert!(flow.fct.is_none_or(|fct| fct >= flow.ideal_fct.unwrap()), "{:?}", flow);
        }
        for port in results.ports.iter().filter(|port| port.node == 0) {
            // Frames count in whole units of 256 B at inputs; CNMs need no credit.
            prop_assert!(port.max_ingress_bytes <= 150_000, "{:?}", port);
            prop_assert!(port.priority != LOSSLESS || port.max_queue_bytes <= 150_000, "{:?}", port);
        }
    }
}

#[test]
fn a_fabric_that_cannot_work_is_refused() {
    let why = |change: fn(&mut CioqConfig)| {
        let mut cioq_config = CioqConfig::default();
        change(&mut cioq_config);
        let mut config = cioq(2, None, vec![sized(1, 2, 1)], us(100));
        config.switch.model = SwitchModel::Cioq(cioq_config);
        let ended = unpause_sim::run(&config, &mut |_| ControlFlow::Continue(()));
        ended.expect_err("it cannot work").to_string()
    };
    assert_eq!(
        why(|it| it.output_buffer_bytes = 1500),
        "`output_buffer` does not hold a frame"
    );
    assert!(why(|it| it.input_buffer_bytes = 100_000).contains("overflows"));
    assert!(why(|it| it.cell_bytes = 0).contains("from 1B to 64KiB"));
    assert!(why(|it| it.speedup_percent = 99).contains("speedup"));
    assert!(why(|it| it.spines = spines(0, 25, 1)).contains("spines"));
}

/// Two hosts send to host 3 in two priorities; what leaves it in the lower one, of all.
fn lower_share(configure: impl Fn(&mut Config)) -> f64 {
    let urgent = |spec: FlowSpec| FlowSpec {
        priority: URGENT,
        ..spec
    };
    let flows = vec![flow(1, 3), urgent(flow(2, 3))];
    let mut config = cioq(3, None, flows, ms(20));
    config.switch.lossless = 1 << LOSSLESS | 1 << URGENT;
    configure(&mut config);
    let results = run(&config);
    assert_lossless(&results);
    let sent = |priority| port(&results, 0, 2, priority).tx_bytes as f64;
    sent(LOSSLESS) / (sent(LOSSLESS) + sent(URGENT))
}

#[test]
fn priorities_of_an_output_take_turns() {
    assert!(lower_share(|_| {}) < 0.01);
    let share = lower_share(|config| {
        let mut params = dwrr::Params {
            quantum: [1; 8],
            group: [0; 8],
        };
        (params.quantum[3], params.quantum[4]) = (7 * 1522, 3 * 1522);
        config.switch.scheduler = scheduler::Config::Dwrr(params);
    });
    assert_within("of 7 : 3", share, 0.7, 0.01);
}

/// Ten frames that are there first go before one that comes by another port, or one of each port in turn.
#[test]
fn an_output_serves_its_inputs_in_turn_if_asked() {
    let last = |queueing| {
        let late = FlowSpec {
            start: us(3),
            ..sized(2, 3, 1474)
        };
        let mut config = cioq(3, None, vec![sized(1, 3, 14_740), late], us(100));
        config.fabric.links[0].rate = gbps(100);
        config.fabric.links[1].rate = gbps(100);
        let SwitchModel::Cioq(fabric) = &mut config.switch.model else {
            unreachable!("it is one")
        };
        fabric.speedup_percent = 10_000;
        config.switch.queueing = queueing;
        let results = run(&config);
        assert_complete(&results);
        fct(&results.flows[1])
    };
    assert!(last(Queueing::Voq) + us(3) < last(Queueing::Fifo));
}

#[test]
fn an_output_holds_so_many_lossy_frames() {
    let most = |packets| {
        let flows = (1..4).map(|src| sized(src, 4, 60_000)).collect();
        let mut config = cioq(4, None, flows, ms(200));
        config.switch.lossless = 0;
        config.switch.lossy_queue_packets = packets;
        config.host.retransmit_timeout = us(500);
        let results = run(&config);
        assert_complete(&results);
        let dropped = results.totals.dropped_packets;
        (port(&results, 0, 3, LOSSLESS).max_queue_bytes, dropped)
    };
    let (bytes, dropped) = most(None);
    assert!(bytes > 8 * 1522 && dropped == 0, "{bytes} {dropped}");
    let (bytes, dropped) = most(Some(8));
    assert!(bytes == 8 * 1522 && dropped > 0, "{bytes} {dropped}");
}
