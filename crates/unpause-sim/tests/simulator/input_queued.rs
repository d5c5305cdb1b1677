//! The input-queued switch: its time, its saturation throughput against theory, and what it loses.

use std::ops::ControlFlow;

use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use unpause_protocols::scheduler::{self, dwrr};
use unpause_protocols::units::Time;
use unpause_sim::config::{
    Config, DeadlockProbe, InputQueuedConfig, InputQueues, NodeId, PortId, SwitchModel,
};
use unpause_sim::results::Results;
use unpause_sim::traffic::{Arrivals, FlowSpec, Pairs, Pattern, Receivers, Size, TrafficSpec};

use crate::common::*;
use crate::random::*;

const VOQ: InputQueues = InputQueues::Voq { iterations: 4 };

fn with(mut config: Config, model: InputQueuedConfig) -> Config {
    config.switch.model = SwitchModel::InputQueued(model);
    config
}

/// 10 Gb/s: a byte lasts 800 ps, a cell of 64 B 51.2 ns.
#[test]
fn a_frame_waits_for_the_next_slot_and_crosses_cell_by_cell() {
    for queues in [VOQ, InputQueues::Fifo] {
        for bytes in [16, 500, 1000] {
            let star = star(&[gbps(10); 2], ps(1_000_001));
            let model = InputQueuedConfig {
                queues,
                ..InputQueuedConfig::default()
            };
            let results = run(&with(
                config(star, vec![sized(1, 2, bytes)], us(100)),
                model,
            ));
            let (frame, slot) = (bytes + 48, 64 * 800);
            let hop = frame * 800 + 1_000_001;
            let starts = u64::div_ceil(hop, slot) * slot;
            let crossed = starts + frame.div_ceil(64) * slot;
            assert_eq!(fct(&results.flows[0]), ps(crossed + hop));
            assert!(results.flows[0].ideal_fct.expect("it has a size") <= fct(&results.flows[0]));
        }
    }
}

/// The share of its slots that a switch of n x n uses in the last half of a run, where frames of one cell for
/// outputs drawn at random always wait at every input, `waiting` of them.
///
/// Hosts 1 to n send at 40 Gb/s what PAUSE lets them; the crossbar takes a frame a slot, as many as the links
/// to hosts n + 1 to 2n at 10 Gb/s can.
fn saturated(n: u32, waiting: u64, queues: InputQueues, slots: u64) -> f64 {
    let slot = FRAME * 800;
    let rates = [vec![gbps(40); n as usize], vec![gbps(10); n as usize]].concat();
    let mut config = config(star(&rates, us(1)), vec![], ps(slots * slot));
    let pairs = Pairs::Random {
        from: (1..=n).collect(),
        to: Receivers::Any((n + 1..=2 * n).collect()),
        synchronised: false,
    };
    let arrivals = Arrivals::poisson(f64::from(4 * n) * 1e12 / slot as f64, Time::ZERO);
    let frames = Pattern::new(pairs, Size::Fixed(1000), arrivals);
    config.traffic = vec![TrafficSpec::Pattern(frames)];
    config.switch.pfc.threshold = static_threshold(waiting * FRAME);
    config.probes.interval = ps(slots / 2 * slot);
    config.probes.ports = (n..2 * n).map(|port| (0, port as PortId)).collect();
    let model = InputQueuedConfig {
        queues,
        cell_bytes: 4 * FRAME as u32,
        input_buffer_bytes: (waiting + 30) * FRAME,
        ..InputQueuedConfig::default()
    };
    let results = run(&with(config, model));
    assert_lossless(&results);
    for input in 0..n as PortId {
        assert!(port(&results, 0, input, LOSSLESS).pause_frames > 2);
    }
    let sent_by = |half: u64| -> u64 {
        let at = ps(slots / 2 * slot * half);
        let samples = results.port_series.iter().filter(|it| it.time == at);
        samples.map(|it| it.tx_bytes).sum()
    };
    (sent_by(2) - sent_by(1)) as f64 / (FRAME * slots / 2 * u64::from(n)) as f64
}

/// Inputs with FIFOs that are never empty: in each slot every output that is at the head of some FIFO takes
/// one frame, and its successor is for any output.
fn head_of_line(n: usize, slots: u32) -> f64 {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut draw = || (rng.next_u64() % n as u64) as usize;
    let mut heads: Vec<usize> = (0..n).map(|_| draw()).collect();
    let mut sent = 0;
    for _ in 0..slots {
        let mut taken = vec![false; n];
        for head in &mut heads {
            if !std::mem::replace(&mut taken[*head], true) {
                sent += 1;
                *head = draw();
            }
        }
    }
    f64::from(sent) / f64::from(slots) / n as f64
}

/// M. Karol, M. Hluchyj, S. Morgan, "Input Versus Output Queueing on a Space-Division Packet Switch", IEEE
/// Transactions on Communications 35(12), 1987, Table I; for many ports 2 - sqrt(2) = 0.586.
#[test]
fn fifos_saturate_where_theory_says() {
    let fifo = |n, slots| saturated(n, 30, InputQueues::Fifo, slots);
    for (n, theory) in [(2, 0.75), (4, 0.6553), (8, 0.6184)] {
        assert_within("n x n", fifo(n, 12_000), theory, 0.01);
    }
    assert_within("16 x 16", fifo(16, 6_000), head_of_line(16, 50_000), 0.01);
    assert_within("64 x 64", fifo(64, 1_600), 2.0 - 2.0_f64.sqrt(), 0.01);
}

/// All of it, with one iteration as with four: N. McKeown, "The iSLIP Scheduling Algorithm for Input-Queued
/// Switches", IEEE/ACM Transactions on Networking 7(2), 1999.
#[test]
fn islip_carries_all_of_uniform_traffic() {
    for iterations in [1, 4] {
        let share = saturated(16, 3_000, InputQueues::Voq { iterations }, 3_000);
        assert!(share > 0.99, "{iterations} iterations: {share}");
    }
}

/// Host 1 sends to hosts 2 and 3 at 40 Gb/s; the link to host 3 has 10 Gb/s.
#[test]
fn a_fifo_holds_up_who_is_behind_and_virtual_output_queues_do_not() {
    let share = |queues| {
        let recorded = |dst| FlowSpec {
            recorded: true,
            ..flow(1, dst)
        };
        let fabric = star(&[gbps(40), gbps(40), gbps(10)], us(1));
        let mut config = config(fabric, vec![recorded(2), recorded(3)], ms(4));
        config.switch.pfc.threshold = static_threshold(100_000);
        let model = InputQueuedConfig {
            queues,
            speedup_percent: 150,
            ..InputQueuedConfig::default()
        };
        let results = run(&with(config, model));
        assert_lossless(&results);
        [0, 1].map(|flow| frame_gbps(&results, flow, ms(2), ms(4)))
    };
    let [fast, slow] = share(InputQueues::Fifo);
    assert_within("behind a slow output", fast, 10.0, 0.02);
    assert_within("slow", slow, 10.0, 0.02);
    // PAUSE stops both flows of the host, or more of the fast one would pass here.
    let [fast, slow] = share(VOQ);
    assert_within("slow", slow, 10.0, 0.02);
    assert!(fast > 9.8, "{fast}");
}

/// Without PAUSE, so that only the matching is at work: each host offers 6 Gb/s to a free output and 6 Gb/s to
/// one that four of them want.
#[test]
fn without_pause_a_full_output_costs_others_only_in_fifos() {
    let free = |queues| {
        let limited = |src, dst| FlowSpec {
            rate_limit: Some(gbps(6)),
            controlled: false,
            recorded: true,
            ..flow(src, dst)
        };
        let flows = (1..=4).flat_map(|src| [limited(src, 4 + src), limited(src, 9)]);
        let mut config = config(star(&[gbps(12); 9], us(1)), flows.collect(), ms(2));
        config
            .fabric
            .links
            .iter_mut()
            .for_each(|it| it.rate = gbps(20));
        config.switch.lossless = 0;
        config.host.retransmit_timeout = ms(100);
        let model = InputQueuedConfig {
            queues,
            input_buffer_bytes: 10_000_000,
            ..InputQueuedConfig::default()
        };
        let results = run(&with(config, model));
        frame_gbps(&results, 0, ms(1), ms(2))
    };
    assert_within("virtual output queues", free(VOQ), 6.0, 0.01);
    let fifo = free(InputQueues::Fifo);
    assert!(fifo < 5.5, "{fifo}");
}

#[test]
fn what_an_input_buffer_does_not_hold_is_dropped_there() {
    let flows = (1..=4).map(|src| sized(src, 5, 200_000)).collect();
    let mut config = config(star(&[gbps(10); 5], us(1)), flows, ms(500));
    config.switch.lossless = 0;
    config.host.retransmit_timeout = us(300);
    let small = InputQueuedConfig {
        input_buffer_bytes: 20_000,
        ..InputQueuedConfig::default()
    };
    let results = run(&with(config.clone(), small));
    assert_complete(&results);
    assert!(results.totals.dropped_packets > 0);
    assert_eq!(results.totals.pause_frames, 0);
    for port in results.ports.iter().filter(|port| port.node == 0) {
        assert!(port.max_ingress_bytes <= 20_000, "{port:?}");
    }
    // The same with PAUSE from 10 KB on, and room for what comes after it.
    config.switch.lossless = 1 << LOSSLESS;
    config.switch.pfc.threshold = static_threshold(10_000);
    let results = run(&with(config, small));
    assert_lossless(&results);
    assert_complete(&results);
    assert!(results.totals.pause_frames > 0);
}

/// At twice the speed of the links frames of both priorities wait at the output, and its scheduler shares.
#[test]
fn priorities_take_turns_at_an_output() {
    let urgent = |spec: FlowSpec| FlowSpec {
        priority: URGENT,
        ..spec
    };
    let flows = vec![flow(1, 3), urgent(flow(2, 3))];
    let mut config = config(star(&[gbps(10); 3], us(1)), flows, ms(4));
    config.switch.lossless = 1 << LOSSLESS | 1 << URGENT;
    config.switch.pfc.threshold = static_threshold(50_000);
    let model = InputQueuedConfig {
        speedup_percent: 200,
        output_buffer_bytes: 40_000,
        ..InputQueuedConfig::default()
    };
    let share = |config: &Config| {
        let results = run(config);
        let sent = |priority| port(&results, 0, 2, priority).tx_bytes as f64;
        sent(LOSSLESS) / (sent(LOSSLESS) + sent(URGENT))
    };
    assert!(share(&with(config.clone(), model)) < 0.02);
    let mut params = dwrr::Params {
        quantum: [1; 8],
        group: [0; 8],
    };
    (params.quantum[3], params.quantum[4]) = (7 * 1500, 3 * 1500);
    config.switch.scheduler = scheduler::Config::Dwrr(params);
    assert_within("of 7 : 3", share(&with(config, model)), 0.7, 0.02);
}

/// A byte of payload makes a frame of 64 B, Ethernet's smallest, and not one of 49.
#[test]
fn an_output_keeps_room_for_a_padded_frame() {
    let mut config = config(
        star(&[gbps(10); 3], us(1)),
        vec![flow(1, 3), flow(2, 3)],
        us(100),
    );
    config.host.payload_bytes = 1;
    let model = InputQueuedConfig {
        speedup_percent: 200,
        output_buffer_bytes: 1010,
        ..InputQueuedConfig::default()
    };
    let results = run(&with(config, model));
    let most = port(&results, 0, 2, LOSSLESS).max_queue_bytes;
    assert!((800..=1010).contains(&most), "{most}");
}

/// Two hosts at each of five switches in a ring send to a host two switches further: what passes to the next
/// link gets a third of it, and needs two.
#[test]
fn a_deadlock_is_found_through_input_queues() {
    let mut net = Net::default();
    for _ in 0..5 {
        net.switch();
    }
    for i in 0..5 {
        net.link(i, (i + 1) % 5, gbps(10), us(1));
    }
    for i in 0..10 {
        net.host(i % 5, gbps(40), us(1));
    }
    let around = |senders: NodeId, queues| -> Results {
        let to = |i| 5 + (i + 2) % 5;
        let flows = (0..senders).flat_map(|i| [flow(5 + i, to(i)), flow(10 + i, to(i))]);
        let mut config = config(net.0.clone(), flows.collect(), ms(30));
        config.switch.pfc.threshold = static_threshold(20_000);
        config.probes.deadlock = Some(DeadlockProbe::default());
        let model = InputQueuedConfig {
            queues,
            ..InputQueuedConfig::default()
        };
        run(&with(config, model))
    };
    for queues in [VOQ, InputQueues::Fifo] {
        let deadlock = around(5, queues).deadlock.expect("all wait in a circle");
        assert_eq!(deadlock.cycle.len(), 5);
        assert!(around(3, queues).deadlock.is_none());
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        max_shrink_iters: 3_000,
        ..ProptestConfig::with_cases(25)
    })]

    /// And so on two threads.
    #[test]
    fn nothing_is_lost_and_every_flow_completes(
        case in case(),
        fifo in any::<bool>(),
        cell_bytes in prop::sample::select(vec![64_u32, 256, 1500]),
        speedup_percent in prop::sample::select(vec![100_u32, 150, 400]),
    ) {
        for (name, scheme) in schemes() {
            let mut config = case.config(scheme, ms(10_000));
            if let unpause_protocols::congestion_point::Config::Qcn(params) =
                &mut config.scheme.congestion_point
            {
                params.mode = unpause_protocols::congestion_point::qcn::Mode::InputOccupancyDet;
            }
            let model = InputQueuedConfig {
                queues: if fifo { InputQueues::Fifo } else { VOQ },
                input_buffer_bytes: 10_000_000,
                cell_bytes,
                speedup_percent,
                ..InputQueuedConfig::default()
            };
            let config = with(config, model);
            let results = run(&config);
            let incomplete = results.flows.iter().find(|flow| flow.fct.is_none());
            prop_assert!(incomplete.is_none(), "{name}: {incomplete:?}");
            prop_assert_eq!(results.totals.dropped_packets, 0, "{}", name);
            for flow in &results.flows {
                prop_assert!(flow.fct >= flow.ideal_fct, "{:?}", flow);
            }
            let go_on = &mut |_| ControlFlow::Continue(());
            let two = unpause_sim::run_threads(&config, 2, go_on).expect("it ran on one");
            prop_assert!(results == two);
        }
    }
}
