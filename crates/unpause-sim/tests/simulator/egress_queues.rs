//! Egress queues: limits of lossy ones, schedulers between them, a congestion point in each.

use unpause_protocols::congestion_point::{self, dctcp_red, ecn_sharp, tcn};
use unpause_protocols::scheduler::{self, dwrr};
use unpause_protocols::units::Time;
use unpause_sim::config::{Config, NodeId, Queueing};
use unpause_sim::results::Results;
use unpause_sim::traffic::FlowSpec;

use crate::common::*;

/// Port of the switch to host 1, which receives.
const TO: (NodeId, u16) = (0, 0);

/// Hosts 2 and up, each sending to host 1 over links of 10 Gb/s, one flow for each
/// (priority, Gb/s); none of these priorities is lossless.
fn many_to_one(senders: &[(u8, u64)], stop: Time) -> Config {
    let flows = senders.iter().zip(2..);
    let flows = flows.map(|(&(priority, rate), src)| FlowSpec {
        priority,
        rate_limit: Some(gbps(rate)),
        ..flow(src, 1)
    });
    let rates = vec![gbps(10); senders.len() + 1];
    let mut config = config(star(&rates, us(1)), flows.collect(), stop);
    config.switch.lossless = 0;
    config.switch.lossy_queue_bytes = 200_000;
    // Go-back-N shall send on at its rate whatever is lost.
    config.host.retransmit_timeout = us(100);
    config
}

/// Weights by priority; groups above 0 are strict.
fn weighted(weights: &[(u8, u32)], strict: &[u8]) -> scheduler::Config {
    let mut params = dwrr::Params {
        quantum: [1; 8],
        group: [0; 8],
    };
    for &(priority, weight) in weights {
        params.quantum[usize::from(priority)] = weight * 1500;
    }
    for &priority in strict {
        params.group[usize::from(priority)] = 1 + priority;
    }
    scheduler::Config::Dwrr(params)
}

/// Gb/s that left for host 1 in a priority.
fn share(results: &Results, priority: u8) -> f64 {
    let bytes = port(results, TO.0, TO.1, priority).tx_bytes;
    bytes as f64 * 8.0 / results.totals.simulated.as_ns_f64()
}

/// Drops of queues are those of the run, and what was not dropped or delivered is on its way.
fn assert_drops_add_up(results: &Results) {
    let of_ports: u64 = results.ports.iter().map(|port| port.dropped_packets).sum();
    let totals = &results.totals;
    assert_eq!(of_ports, totals.dropped_packets);
    assert!(totals.dropped_packets > 0);
    let under_way = totals.data_packets - totals.delivered_packets - totals.dropped_packets;
    assert!(under_way < 2000, "{under_way} packets are nowhere");
    for port in &results.ports {
        assert!(port.dropped_bytes >= port.dropped_packets * 64);
        assert!(port.dropped_bytes <= port.dropped_packets * FRAME);
    }
}

#[test]
fn dwrr_shares_a_port_by_weight() {
    for queueing in [Queueing::Fifo, Queueing::Voq] {
        let mut config = many_to_one(&[(0, 10), (1, 10), (2, 10)], ms(10));
        config.switch.scheduler = weighted(&[(0, 2), (1, 1), (2, 1)], &[]);
        config.switch.queueing = queueing;
        let results = run(&config);
        for (priority, expected) in [(0, 5.0), (1, 2.5), (2, 2.5)] {
            assert_within("share", share(&results, priority), expected, 0.01);
        }
        assert_drops_add_up(&results);
    }
}

#[test]
fn dwrr_shares_a_port_of_lossless_priorities_by_weight() {
    let mut config = many_to_one(&[(0, 10), (1, 10), (2, 10)], ms(10));
    config.switch.lossless = 0b111;
    config.switch.pfc.threshold = static_threshold(100_000);
    config.switch.scheduler = weighted(&[(0, 2), (1, 1), (2, 1)], &[]);
    let results = run(&config);
    assert_lossless(&results);
    assert!(results.totals.pause_frames > 0);
    for (priority, expected) in [(0, 5.0), (1, 2.5), (2, 2.5)] {
        assert_within("share", share(&results, priority), expected, 0.01);
    }
}

#[test]
fn what_a_priority_leaves_goes_to_the_others_by_weight() {
    let mut config = many_to_one(&[(0, 1), (1, 10), (2, 10)], ms(10));
    config.switch.scheduler = weighted(&[(0, 2), (1, 2), (2, 1)], &[]);
    let results = run(&config);
    for (priority, expected) in [(0, 1.0), (1, 6.0), (2, 3.0)] {
        assert_within("share", share(&results, priority), expected, 0.01);
    }
}

#[test]
fn strict_priorities_go_before_those_that_take_turns() {
    // Lower in number than the others: being strict is what counts.
    let senders = [(0, 3), (1, 10), (2, 10), (3, 10)];
    let mut config = many_to_one(&senders, ms(10));
    config.switch.scheduler = weighted(&[(1, 2), (2, 1), (3, 1)], &[0]);
    let results = run(&config);
    for (priority, expected) in [(0, 3.0), (1, 3.5), (2, 1.75), (3, 1.75)] {
        assert_within("share", share(&results, priority), expected, 0.01);
    }
    assert_eq!(port(&results, TO.0, TO.1, 0).dropped_packets, 0);
}

#[test]
fn a_lossy_and_a_lossless_priority_share_a_port() {
    let mut config = many_to_one(&[(0, 10), (1, 10), (0, 10), (1, 10)], ms(10));
    config.switch.lossless = 1 << 1;
    config.switch.pfc.threshold = static_threshold(100_000);
    config.switch.scheduler = weighted(&[(0, 3), (1, 1)], &[]);
    let results = run(&config);
    assert_within("lossy", share(&results, 0), 7.5, 0.01);
    assert_within("lossless", share(&results, 1), 2.5, 0.01);
    let (lossy, lossless) = (port(&results, 0, 0, 0), port(&results, 0, 0, 1));
    assert!(lossy.dropped_packets > 1000, "{lossy:?}");
    assert_eq!(lossless.dropped_packets, 0);
    assert_eq!(results.totals.dropped_packets, lossy.dropped_packets);
    assert_drops_add_up(&results);
}

#[test]
fn a_packet_limit_holds_to_the_packet() {
    let mut config = many_to_one(&[(0, 10), (0, 10)], ms(1));
    config.switch.lossy_queue_bytes = u64::MAX;
    config.switch.lossy_queue_packets = Some(40);
    let results = run(&config);
    let queue = port(&results, TO.0, TO.1, 0);
    assert_eq!(queue.max_queue_bytes, 40 * FRAME);
    assert_drops_add_up(&results);
    // The tighter of the two limits counts.
    config.switch.lossy_queue_bytes = 30 * FRAME;
    let results = run(&config);
    assert_eq!(port(&results, TO.0, TO.1, 0).max_queue_bytes, 30 * FRAME);
}

fn marks(results: &Results, priority: u8) -> u64 {
    port(results, TO.0, TO.1, priority).marked_packets
}

#[test]
fn every_queue_of_a_port_has_its_own_congestion_point() {
    // Priority 0 overflows, priority 1 never waits for more than a few packets.
    let mut config = many_to_one(&[(0, 10), (0, 10), (1, 1)], ms(10));
    config.switch.scheduler = weighted(&[(0, 1), (1, 1)], &[]);
    let k = dctcp_red::Threshold::Bytes(50_000);
    let red = dctcp_red::Params { threshold: k };
    let tcn = tcn::Params { threshold: us(40) };
    let sharp = ecn_sharp::Params::default();
    for congestion_point in [
        congestion_point::Config::DctcpRed(red),
        congestion_point::Config::Tcn(tcn),
        congestion_point::Config::EcnSharp(sharp),
    ] {
        config.scheme.congestion_point = congestion_point;
        let results = run(&config);
        assert!(marks(&results, 0) > 100, "{:?}", config.scheme);
        assert_eq!(marks(&results, 1), 0, "{:?}", config.scheme);
    }
}

#[test]
fn ecn_sharp_on_queue_length_marks_what_it_marks_on_sojourn_time() {
    // A queue that stands above pst_target and below ins_target: only the persistent part marks.
    let mut config = many_to_one(&[(0, 9), (0, 1)], ms(20));
    config
        .traffic
        .push(unpause_sim::traffic::TrafficSpec::Flows(vec![FlowSpec {
            priority: 0,
            ..sized(3, 1, 150_000)
        }]));
    let mut params = ecn_sharp::Params::default();
    let mut counts = [0, 0];
    let rate = gbps(1); // The switch knows better.
    let signals = [
        ecn_sharp::Signal::SojournTime,
        ecn_sharp::Signal::QueueLength(rate),
    ];
    for (signal, count) in signals.into_iter().zip(&mut counts) {
        params.signal = signal;
        config.scheme.congestion_point = congestion_point::Config::EcnSharp(params);
        *count = marks(&run(&config), 0);
    }
    assert!(counts[0] > 500, "{counts:?}");
    assert!(counts[0].abs_diff(counts[1]) * 50 < counts[0], "{counts:?}");
}
