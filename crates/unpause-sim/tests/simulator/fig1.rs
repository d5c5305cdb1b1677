//! PFC alone in the basic topology of the PCN paper, where arithmetic predicts the rates.

use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{Config, NodeId, PortId};
use unpause_sim::results::{PauseRecord, Results};
use unpause_sim::traffic::FlowSpec;

use crate::common::fig1::*;
use crate::common::*;

/// F0 (flow 0) limited to 20 Gb/s, F1 (flow 1) to `limit`, H2 to H4 blast R1 without end.
fn three_blasters(limit: Rate, delay: Time) -> Config {
    let long = |src, dst, limit| FlowSpec {
        rate_limit: Some(limit),
        recorded: true,
        ..flow(src, dst)
    };
    let mut flows = vec![long(H0, R0, gbps(20)), long(H1, R1, limit)];
    flows.extend(burst_hosts().take(3).map(|host| flow(host, R1)));
    let mut config = config(fabric(), flows, ms(24));
    for link in &mut config.fabric.links {
        link.delay = delay;
    }
    config
}

/// PCN-F5: F1's share of R1's link is 40 / 4 = 10 Gb/s, and PAUSE holds it to that. Then S0 fills too,
/// up to XOFF at both its ingress ports, and its FIFO gives F0 no more than F1.
///
/// A port between XON and XOFF holds less than XOFF by up to what its PAUSE loop moves, 50 KB with
/// links of 5 us, and a FIFO gives a port its share of the bytes held. So rates are exact for short
/// links only.
#[test]
fn pause_starts_where_a_flow_exceeds_its_share() {
    for (delay, tolerance) in [(us(5), 0.05), (Time::from_ns(200), 0.02)] {
        for limit_mbps in [20_000, 15_000, 12_000, 10_500, 9_500, 5_000] {
            let limit = limit_mbps as f64 / 1000.0;
            let results = run(&three_blasters(Rate::from_mbps(limit_mbps), delay));
            assert_lossless(&results);
            let rate = |flow| frame_gbps(&results, flow, ms(12), ms(24));
            let paused = limit > 10.0;
            let (f0, f1) = if paused { (10.0, 10.0) } else { (20.0, limit) };
            assert_within(&format!("F0 at {limit}, {delay}"), rate(0), f0, tolerance);
            assert_within(&format!("F1 at {limit}, {delay}"), rate(1), f1, tolerance);
            let pauses = port(&results, S1, TRUNK, LOSSLESS).pause_frames;
            assert_eq!(pauses > 0, paused, "{pauses} PAUSEs at {limit}");
            let stopped = port(&results, S0, TRUNK, LOSSLESS).paused;
            assert_eq!(stopped > Time::ZERO, paused);
            for host in [H0, H1] {
                let stopped = port(&results, host, 0, LOSSLESS).paused;
                assert_eq!(stopped > Time::ZERO, paused);
            }
        }
    }
}

/// Before S0 has filled, F0 and F1 pass the trunk in the ratio of their limits.
#[test]
fn a_fifo_shares_by_arrivals_until_it_is_full() {
    for (limit_mbps, from, to) in [(12_000, 700, 1500), (10_500, 900, 4000)] {
        let results = run(&three_blasters(
            Rate::from_mbps(limit_mbps),
            Time::from_ns(200),
        ));
        let rate = |flow| frame_gbps(&results, flow, us(from), us(to));
        let f0 = 10.0 * 20_000.0 / limit_mbps as f64;
        assert_within("F0", rate(0), f0, 0.02);
        assert_within("F1", rate(1), 10.0, 0.02);
    }
}

const BURST_AT: Time = Time::from_ms(2);

/// PCN-F2 with PFC alone: F0 and F1 at 20 Gb/s, H2 to H15 start 16 flows of 64 KB each to R1.
fn burst() -> Results {
    let long = |src, dst| FlowSpec {
        rate_limit: Some(gbps(20)),
        recorded: true,
        ..flow(src, dst)
    };
    let mut flows = vec![long(H0, R0), long(H1, R1)];
    for host in burst_hosts() {
        let one = FlowSpec {
            start: BURST_AT,
            controlled: false,
            ..sized(host, R1, 64_000)
        };
        flows.extend(vec![one; 16]);
    }
    let mut config = config(fabric(), flows, ms(10));
    config.probes.interval = us(10);
    run(&config)
}

fn pauses_of(results: &Results, node: NodeId, port: PortId) -> Vec<PauseRecord> {
    let of_port = |p: &&PauseRecord| (p.node, p.port, p.priority) == (node, port, LOSSLESS);
    results.pauses.iter().filter(of_port).copied().collect()
}

/// D1 to D3 of PCN-F2, and that PAUSE ends with the burst.
#[test]
fn a_burst_grows_a_congestion_tree() {
    let results = burst();
    assert_lossless(&results);
    let at_s0 = pauses_of(&results, S0, TRUNK);
    let at_h0 = pauses_of(&results, H0, 0);
    let at_h1 = pauses_of(&results, H1, 0);
    let since_burst = |time: Time| (time - BURST_AT).as_ns_f64() / 1e3;

    // D1: fair sharing of R1's link by 15 ingress ports drains 14.336 MB of payload in 3.07 ms
    // (counted in payload, as the claim does; frames take 4.8 % longer).
    let last = |pauses: &[PauseRecord]| pauses.iter().map(|p| p.end).max().expect("PAUSEs");
    let tree_ms = since_burst(last(&at_s0).max(last(&at_h0)).max(last(&at_h1))) / 1e3;
    assert_within("tree duration, ms", tree_ms, 3.1, 0.05);

    // D2: F1 at 40 / 15 on the wire, F0 the same for it is behind F1 in S0's FIFO. That is the mean
    // over the time in which 15 x 512 KB pass R1's link. Within it F1 comes in lumps: it fills up
    // behind H2 to H15, which send twice as fast, and PAUSE replaces what leaves by its like.
    for flow in [0, 1] {
        let rate = |from, to| frame_gbps(&results, flow, BURST_AT + us(from), BURST_AT + us(to));
        assert_within("share during the burst", rate(900, 2440), 40.0 / 15.0, 0.05);
        assert_within("between lumps", rate(500, 1500), 40.0 * 0.5 / 14.5, 0.05);
    }

    // D3: F1 backs up into 512 KB at S1, once the burst has come over a link of 5 us; the PAUSE takes
    // another to S0. The claim takes F1 to leave at its fair share already, 237 us; but what leaves
    // then came when 14 hosts sent at 40 Gb/s and F1 at 20.
    let leaving = 40.0 * 0.5 / 14.5;
    let filling_us = 512_000.0 * 8e-3 / (20.0 - leaving);
    let first_at_s0 = since_burst(at_s0[0].start) - 10.0;
    assert_within("S1 pauses S0, us", first_at_s0, filling_us, 0.01);
    assert_within("S1 pauses S0, us", first_at_s0, 237.0, 0.08);
    // Then F0 and F1 back up alike into S0's two ingress ports.
    for pauses in [at_h0, at_h1] {
        let later = (pauses[0].obeyed - at_s0[0].obeyed).as_ns_f64() / 1e3;
        assert_within("S0 pauses its hosts, us later", later, filling_us, 0.01);
    }
}

/// Effects of a burst on later flows: none lasts.
#[test]
fn rates_return_when_the_tree_is_gone() {
    let results = burst();
    for flow in [0, 1] {
        let before = frame_gbps(&results, flow, ms(1), ms(2));
        assert_within("before", before, 20.0, 0.005);
        let after = frame_gbps(&results, flow, ms(7), ms(10));
        assert_within("after", after, 20.0, 0.005);
    }
}
