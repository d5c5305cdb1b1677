//! RoCE flows with a window beside their rate.

use unpause_protocols::congestion_control::{self, newreno, swift};
use unpause_protocols::units::{Fraction, Time};
use unpause_sim::config::{Config, SchemeConfig};
use unpause_sim::results::Results;
use unpause_sim::traffic::FlowSpec;

use crate::common::*;

/// A frame lasts so long at 40 Gb/s.
const FRAME_US: f64 = FRAME as f64 * 8.0 / 40e3;

/// Hosts 2 and up send to host 1 over links of 40 Gb/s and 2 us.
fn incast(law: congestion_control::Config, senders: u32, stop: Time) -> Config {
    let recorded = |src| FlowSpec {
        recorded: true,
        ..flow(src, 1)
    };
    let flows = (2..2 + senders).map(recorded).collect();
    let fabric = star(&vec![gbps(40); senders as usize + 1], us(2));
    let mut config = config(fabric, flows, stop);
    config.scheme = SchemeConfig {
        roce: law,
        ..SchemeConfig::default()
    };
    config.probes.ports = vec![(0, 0)];
    config.probes.interval = us(10);
    config
}

/// From the last bit of a packet at its sender to the last bit of its ACK: four links, the packet on the
/// second and the ACK, 66 B, on two.
const BASE_RTT_US: f64 = 8.0 + FRAME_US + 2.0 * 66.0 * 8.0 / 40e3;

/// Mean queue of the bottleneck since `from`, in us at its rate.
fn mean_queue_us(results: &Results, from: Time) -> f64 {
    let samples = results.port_series.iter();
    let queue: Vec<u64> = samples
        .filter(|s| s.node == 0 && s.port == 0 && s.priority == LOSSLESS && s.time >= from)
        .map(|s| s.queue_bytes)
        .collect();
    queue.iter().sum::<u64>() as f64 / queue.len() as f64 * 8.0 / 40e3
}

/// A window that stays as it is: its steps are nothing.
fn fixed(packets: u64) -> congestion_control::Config {
    congestion_control::Config::Swift(swift::Params {
        // The window holds the packets of line rate in the base target.
        base_target: Time::from_ps(packets * FRAME * 200),
        fs_range: Time::ZERO,
        ai: swift::Packets::of(1, 1 << 32),
        beta: Fraction::ZERO,
        max_mdf: Fraction::ZERO,
        ..swift::Params::default()
    })
}

/// A window and no more goes in a round trip, however seldom receivers acknowledge: the packet that closes
/// the window asks for it.
#[test]
fn a_window_goes_in_a_round_trip() {
    const SELDOM: u32 = 1_000_000;
    for (packets, ack_every) in [(1, 1), (1, SELDOM), (7, 1), (7, SELDOM), (30, SELDOM)] {
        let mut config = incast(fixed(packets), 1, ms(2));
        config.host.ack_every = ack_every;
        let results = run(&config);
        let name = format!("{packets} packets, an ACK for {ack_every}");
        let mut windows = results.flow_series.iter().map(|s| s.cwnd_bytes);
        assert!(windows.all(|cwnd| cwnd == Some(packets * FRAME)), "{name}");
        // From the packet that an ACK lets go, the first of the window or the last, to that ACK.
        let waited = if ack_every == 1 { 1 } else { packets };
        let round = BASE_RTT_US + waited as f64 * FRAME_US;
        let expected = packets as f64 * FRAME as f64 * 8.0 / round / 1e3;
        let measured = frame_gbps(&results, 0, ms(1), ms(2));
        assert_within(&name, measured, expected, 0.01);
    }
}

/// A law without a window has none in the tables, and fills the link.
#[test]
fn without_a_window_nothing_holds_packets_back() {
    let results = run(&incast(congestion_control::Config::None, 1, ms(1)));
    assert!(results.flow_series.iter().all(|s| s.cwnd_bytes.is_none()));
    assert_within("rate", frame_gbps(&results, 0, us(100), ms(1)), 40.0, 0.001);
}

/// The window at which N flows' packets take the target to go round, and that target in us.
fn equilibrium(flows: f64) -> (f64, f64) {
    let target = |window: f64| {
        let scaled = (1.0 / window.sqrt() - 0.1) / (10_f64.sqrt() - 0.1);
        20.0 + 100.0 * scaled.clamp(0.0, 1.0)
    };
    let (mut low, mut high) = (0.001, 1000.0);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if flows * middle * FRAME_US > target(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    (low, target(low))
}

/// Swift, 3.5: each flow's target grows as its window shrinks, so that the queue grows with the square root
/// of their number at most.
#[test]
fn swift_holds_its_target_delay_whatever_the_number_of_flows() {
    let law = congestion_control::Config::Swift(swift::Params::default());
    for (flows, tolerance) in [(4, 0.02), (16, 0.03), (64, 0.06), (128, 0.11)] {
        let results = run(&incast(law.clone(), flows, ms(20)));
        assert_lossless(&results);
        let (window, target) = equilibrium(f64::from(flows));
        // Whole packets are the coarser, the smaller the window.
        let delay = BASE_RTT_US + mean_queue_us(&results, ms(10));
        let name = format!("delay of {flows} flows with windows of {window:.1}");
        assert_within(&name, delay, target, tolerance);
        for flow in 0..flows {
            let share = frame_gbps(&results, flow, ms(10), ms(20));
            let name = format!("share of flow {flow} of {flows}");
            assert_within(&name, share, 40.0 / f64::from(flows), 0.05);
        }
    }
}

/// More flows than packets fit into the target: windows below a packet, paced.
#[test]
fn swift_paces_windows_below_a_packet() {
    let law = congestion_control::Config::Swift(swift::Params::default());
    let mut config = incast(law, 600, ms(150));
    config.fabric = star(&vec![gbps(10); 601], us(2));
    config.probes.interval = us(100);
    let results = run(&config);
    assert_lossless(&results);
    // A packet of each would take 503 us; the largest target is 120 us.
    let delay = BASE_RTT_US + 4.0 * mean_queue_us(&results, ms(100));
    assert!((20.0..120.0).contains(&delay), "{delay} us");
    let samples = results.flow_series.iter().filter(|s| s.time >= ms(100));
    let rates: Vec<_> = samples.map(|s| s.controller_rate.unwrap()).collect();
    let paced = rates.iter().filter(|rate| **rate < gbps(10)).count();
    assert!(paced * 10 > rates.len() * 9, "{paced} of {}", rates.len());
    let shares = (0..600).map(|flow| frame_gbps(&results, flow, ms(100), ms(150)));
    assert_within("total", shares.sum(), 10.0, 0.01);
}

/// A loss, which go-back-N repairs, halves NewReno's window over RoCE as over TCP.
#[test]
fn a_law_of_tcp_sees_losses_over_roce() {
    let law = congestion_control::Config::NewReno(newreno::Params {});
    let mut config = incast(law, 8, ms(5));
    config.switch.lossless = 0;
    config.switch.lossy_queue_bytes = 100_000;
    config.host.retransmit_timeout = us(500);
    let results = run(&config);
    assert!(results.totals.dropped_packets > 0);
    let windows = results.flow_series.iter().filter(|s| s.time >= ms(4));
    let largest = windows.filter_map(|s| s.cwnd_bytes).max().unwrap();
    assert!(largest < 200 * FRAME, "{largest}");
    let shares: Vec<f64> = (0..8)
        .map(|flow| frame_gbps(&results, flow, ms(2), ms(5)))
        .collect();
    assert!(shares.iter().sum::<f64>() > 20.0, "{shares:?}");
}
