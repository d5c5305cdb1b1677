//! Poisson arrivals of packets of one size at one server: M/D/1.

use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{Config, NodeId};
use unpause_sim::results::Results;
use unpause_sim::traffic::{Arrivals, Pairs, Pattern, Receivers, Size, TrafficSpec};

use crate::common::*;

const PACKETS: u64 = 60_000;
/// Each holds many busy periods, so that their means are as good as independent.
const BATCHES: usize = 30;
/// Student's t for 99 % and 29 degrees of freedom.
const T_99: f64 = 2.756;

/// Single-packet flows from hosts 2 and up to host 1, whose link is the server. The first link is
/// `egress`, the others are `access`.
fn config_at(load: f64, egress: Rate, access: Rate, sources: u32, seed: u64) -> Config {
    let mut rates = vec![egress];
    rates.extend(vec![access; sources as usize]);
    let packets_per_second = egress.min(access).as_bps() as f64 / (FRAME * 8) as f64;
    let events_per_second = load * packets_per_second;
    let stop = Time::from_us((PACKETS as f64 / events_per_second * 1e6 * 1.5) as u64);
    let mut config = config(star(&rates, us(1)), vec![], stop);
    let pairs = Pairs::Random {
        from: (2..2 + sources).collect::<Vec<NodeId>>(),
        to: Receivers::Any(vec![1]),
        synchronised: false,
    };
    let arrivals = Arrivals {
        max_flows: Some(PACKETS),
        ..Arrivals::poisson(events_per_second, Time::ZERO)
    };
    let packets = Pattern::new(pairs, Size::Fixed(1000), arrivals);
    config.traffic = vec![TrafficSpec::Pattern(packets)];
    config.seed = seed;
    // Waiting only: PAUSE would hold packets at the sources.
    config.switch.pfc.threshold = static_threshold(100_000_000);
    config
}

/// Waits of all packets, by arrival.
fn waits(results: &Results) -> Vec<u64> {
    assert_lossless(results);
    assert_eq!(results.flows.len() as u64, PACKETS);
    assert_eq!(results.totals.pause_frames, 0);
    let wait = |flow| fct(flow) - flow.ideal_fct.expect("it has a size");
    results
        .flows
        .iter()
        .map(|flow| wait(flow).as_ps())
        .collect()
}

/// Lindley: each packet waits for what its predecessors left.
fn lindley(results: &Results, service: u64) -> Vec<u64> {
    let mut free = 0;
    let waits = results.flows.iter().map(|flow| {
        let arrival = flow.start.as_ps();
        let begin = arrival.max(free);
        free = begin + service;
        begin - arrival
    });
    waits.collect()
}

fn assert_md1(name: &str, load: f64, service: u64, waits: &[u64]) {
    let expected = load / (2.0 * (1.0 - load)) * service as f64;
    let means: Vec<f64> = waits
        .chunks_exact(waits.len() / BATCHES)
        .map(|batch| batch.iter().sum::<u64>() as f64 / batch.len() as f64)
        .collect();
    let count = means.len() as f64;
    let mean = means.iter().sum::<f64>() / count;
    let variance = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let half_width = T_99 * (variance / count).sqrt();
    assert!(
        (mean - expected).abs() <= half_width,
        "{name}, load {load}: mean wait {mean} ps +- {half_width}, M/D/1 says {expected}"
    );
    assert!(
        half_width < 0.1 * expected,
        "{name}, load {load}: {half_width} ps tells nothing of {expected}"
    );
}

/// One source: its NIC is the server, and behind it no packet waits for another.
#[test]
fn a_nic_is_an_m_d_1_queue() {
    for load in [0.3, 0.6, 0.8] {
        let results = run(&config_at(load, gbps(40), gbps(40), 1, 7));
        let waits = waits(&results);
        assert_eq!(waits, lindley(&results, FRAME * 200));
        assert_md1("NIC", load, FRAME * 200, &waits);
    }
}

/// One source with a faster link: deterministic servers in a row delay a packet as the slowest of
/// them alone would (Friedman 1965), so the sum of both waits is still M/D/1's to the picosecond.
#[test]
fn a_switch_egress_behind_a_faster_nic_is_an_m_d_1_queue() {
    for load in [0.3, 0.6, 0.8] {
        let results = run(&config_at(load, gbps(10), gbps(100), 1, 11));
        let waits = waits(&results);
        assert_eq!(waits, lindley(&results, FRAME * 800));
        assert_md1("egress", load, FRAME * 800, &waits);
        assert!(port(&results, 0, 0, LOSSLESS).max_queue_bytes > 2 * FRAME);
    }
}

/// Many sources, each too fast for its NIC to add a wait that shows: at most 1/40 of a service time,
/// for one packet in 600. All links have one delay, so arrivals are starts shifted.
#[test]
fn a_switch_egress_shared_by_many_sources_is_an_m_d_1_queue() {
    for load in [0.3, 0.6, 0.8] {
        let results = run(&config_at(load, gbps(10), gbps(400), 16, 13));
        assert_md1("shared egress", load, FRAME * 800, &waits(&results));
    }
}
