//! The host: turns, pacing, retransmission.

use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{Config, NicModel, WindowConfig};
use unpause_sim::traffic::{FlowSpec, TrafficSpec};

use crate::common::*;

/// Flows of one class take turns, packet by packet, whenever they came.
#[test]
fn flows_of_a_nic_take_turns() {
    for scheme in [schemes()[0].clone(), schemes()[4].clone()] {
        let (name, scheme) = scheme;
        let flows = (2..7).map(|dst| FlowSpec {
            start: us(u64::from(dst) * 10),
            recorded: true,
            ..flow(1, dst)
        });
        let mut config = config(star(&[gbps(40); 6], us(1)), flows.collect(), ms(1));
        config.scheme = scheme;
        config.probes.interval = us(7);
        let results = run(&config);
        let sent = |flow: u32, at: Time| {
            let of = |s: &&_| {
                let s: &unpause_sim::results::FlowSample = s;
                s.flow == flow && s.time == at
            };
            results
                .flow_series
                .iter()
                .find(of)
                .expect("sampled")
                .sent_bytes
        };
        let (from, to) = (us(70), us(994));
        let rates: Vec<u64> = (0..5)
            .map(|flow| sent(flow, to) - sent(flow, from))
            .collect();
        let (least, most) = (rates.iter().min().unwrap(), rates.iter().max().unwrap());
        assert!(most - least <= FRAME, "{name}: {rates:?}");
        let all = rates.iter().sum::<u64>() as f64 * 8.0 / (to - from).as_ns_f64();
        assert_within(name, all, 40.0, 0.001);
    }
}

/// A limit is never exceeded, and what it leaves goes to others. A rate limiter counts from the start
/// of the packet before: one that finds the NIC busy when it may go waits for its turn, and is not made
/// up for it (10 Gb/s beside a flow at line rate become 8).
#[test]
fn limits_hold_in_a_busy_nic() {
    let cases: [&[u64]; 5] = [
        &[10_000, 40_000],
        &[12_000, 40_000],
        &[20_000, 20_000],
        &[1_000, 1_000, 40_000],
        &[7_000, 6_000, 5_000, 4_000],
    ];
    for limits in cases {
        let flows = (2..).zip(limits).map(|(dst, &mbps)| FlowSpec {
            rate_limit: Some(Rate::from_mbps(mbps)),
            recorded: true,
            ..flow(1, dst)
        });
        let fabric = star(&vec![gbps(40); limits.len() + 1], us(1));
        let results = run(&config(fabric, flows.collect(), ms(3)));
        let mut sum = 0.0;
        for (flow, &mbps) in (0..).zip(limits) {
            let rate = frame_gbps(&results, flow, ms(1), ms(3));
            let limit = mbps as f64 / 1e3;
            assert!(rate <= limit * 1.001, "{limits:?}: {rate}");
            assert!(rate >= limit * 0.6 || limit == 40.0, "{limits:?}: {rate}");
            sum += rate;
        }
        if limits.iter().sum::<u64>() >= 40_000 {
            assert_within("the NIC is full", sum, 40.0, 0.001);
        }
    }
}

/// Two hosts overflow host 1's queue of two frames for 100 us; host 2 sends something meanwhile.
fn overflow(victim: FlowSpec, priority: u8, target: u32) -> Config {
    let noise = |src, start| FlowSpec {
        priority,
        start,
        stop: us(100),
        ..flow(src, target)
    };
    // Half a frame apart, so that the queue is full half of the time.
    let flows = vec![victim, noise(3, Time::ZERO), noise(4, ps(104_800))];
    let mut config = config(star(&[gbps(40); 4], us(1)), flows, ms(20));
    config.switch.lossless = 0;
    config.switch.lossy_queue_bytes = 2 * FRAME;
    config.host.retransmit_timeout = ms(2);
    config
}

/// Nobody can report the loss of a last packet: the timeout does, counted from its transmission.
#[test]
fn a_lost_last_packet_is_sent_again_after_the_timeout() {
    let mut lost = 0;
    for start_ns in 0..40 {
        let start = us(20) + Time::from_ns(start_ns * 53);
        let victim = FlowSpec {
            start,
            ..sized(2, 1, 1000)
        };
        let results = run(&overflow(victim, LOSSLESS, 1));
        let flow = results
            .flows
            .iter()
            .find(|f| f.src == 2)
            .expect("it started");
        let ideal = flow.ideal_fct.expect("it has a size");
        if flow.retransmitted_packets == 0 {
            assert!(fct(flow) < ideal + us(1), "{flow:?}");
        } else {
            lost += 1;
            assert_eq!(flow.retransmitted_packets, 1);
            // Not before; others may be repeating theirs then.
            assert!(fct(flow) >= ms(2) + ideal && fct(flow) < ms(2) + ideal + us(1));
        }
    }
    assert!((5..40).contains(&lost), "{lost} of 40 lost");
}

/// The receiver of a flow that is complete still answers: one retransmission ends it.
#[test]
fn a_lost_last_acknowledgement_costs_one_packet() {
    let mut lost = 0;
    for start_ns in 0..40 {
        let victim = FlowSpec {
            start: us(20) + Time::from_ns(start_ns * 53),
            ..sized(2, 1, 1000)
        };
        // In the class of control packets, on their way to host 2.
        let results = run(&overflow(victim, 7, 2));
        let flow = results
            .flows
            .iter()
            .find(|f| f.dst == 1)
            .expect("it started");
        assert_eq!(flow.fct, flow.ideal_fct);
        assert!(flow.retransmitted_packets <= 1);
        lost += flow.retransmitted_packets;
    }
    assert!((5..=40).contains(&lost), "{lost} of 40 lost");
}

/// A gap is reported when the next packet comes, and the sender goes back to it at once: what was
/// in flight is sent again, no timeout passes.
#[test]
fn go_back_n_repeats_from_the_gap() {
    let noise = FlowSpec {
        start: us(20) + ps(104_800),
        ..sized(3, 1, 5_000)
    };
    let flows = vec![sized(2, 1, 300_000), noise];
    let mut config = config(star(&[gbps(40); 3], us(1)), flows, ms(50));
    config.switch.lossless = 0;
    config.switch.lossy_queue_bytes = 2 * FRAME;
    config.host.retransmit_timeout = ms(10);
    let results = run(&config);
    let flow = &results.flows[0];
    assert!(results.totals.dropped_packets > 0);
    // Packets in flight in a round trip of 4.2 us, for each gap.
    assert!((20..100).contains(&flow.retransmitted_packets), "{flow:?}");
    let late = fct(flow) - flow.ideal_fct.expect("it has a size");
    assert!(late > us(4) && late < us(30), "{late}");
}

/// Flows that are stopped, or only acknowledged now and then, need no retransmission when nothing
/// was lost.
#[test]
fn nothing_is_sent_again_where_nothing_is_lost() {
    for ack_every in [1, 7, 64] {
        let stopped = FlowSpec {
            stop: us(100),
            ..flow(2, 1)
        };
        let flows = vec![stopped, sized(3, 1, 123_456)];
        let mut config = config(star(&[gbps(40); 3], us(1)), flows, ms(200));
        config.host.ack_every = ack_every;
        let results = run(&config);
        assert_eq!(results.flows[1].retransmitted_packets, 0);
        assert_eq!(
            results.flows[0].retransmitted_packets, 0,
            "acknowledged every {ack_every}"
        );
    }
}

/// Where its window is used up by packets that have arrived, and their ACKs are lost, a flow has only its timeout, which
/// must be answered by who has those packets already.
#[test]
fn a_window_whose_acknowledgements_are_lost_opens_after_the_timeout() {
    for nic in [NicModel::Own, NicModel::Hpcc] {
        let mut waited = 0;
        for start_ns in 0..40 {
            let victim = FlowSpec {
                start: us(20) + Time::from_ns(start_ns * 53),
                ..sized(2, 1, 20_000)
            };
            let mut config = overflow(victim, 7, 2);
            config.host.nic = nic;
            config.host.window = Some(WindowConfig {
                bytes: Some(1000),
                by_rate: false,
            });
            // One flow with such a window fills no link.
            let TrafficSpec::Flows(flows) = &mut config.traffic[0] else {
                unreachable!("it is a list");
            };
            let noise = flows.split_off(1);
            flows.extend(noise.iter().flat_map(|flow| [*flow; 30]));
            let results = run(&config);
            let flow = results.flows.iter().find(|f| f.dst == 1).unwrap();
            assert!(flow.fct.is_some_and(|fct| fct < ms(3)), "{flow:?}");
            assert!(flow.timeouts <= 1 && flow.retransmitted_packets <= 1);
            waited += u64::from(flow.timeouts > 0);
        }
        assert!((5..40).contains(&waited), "{nic:?}: {waited} of 40 waited");
    }
}
