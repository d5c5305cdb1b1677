//! Each scheme at work in a small fabric.

use unpause_protocols::congestion_control::{self, pint, timely as timely_rp};
use unpause_protocols::congestion_point;
use unpause_protocols::units::{Fraction, Rate, Time};
use unpause_sim::config::{Config, SchemeConfig};
use unpause_sim::results::{FlowSample, Results};
use unpause_sim::traffic::FlowSpec;

use crate::common::*;

fn recorded(src: u32, dst: u32) -> FlowSpec {
    FlowSpec {
        recorded: true,
        ..flow(src, dst)
    }
}

fn samples(results: &Results, flow: u32) -> impl Iterator<Item = &FlowSample> {
    results.flow_series.iter().filter(move |s| s.flow == flow)
}

fn rate_at(results: &Results, flow: u32, at: Time) -> Rate {
    let mut samples = samples(results, flow);
    samples
        .find(|s| s.time == at)
        .expect("a sampling instant")
        .controller_rate
        .expect("a RoCE flow")
}

/// Hosts 2 and up send to host 1 over 40 Gb/s and 1 us.
fn incast(scheme: SchemeConfig, senders: u32, stop: Time) -> Config {
    let flows = (2..2 + senders).map(|src| recorded(src, 1)).collect();
    let mut config = config(
        star(&vec![gbps(40); senders as usize + 1], us(1)),
        flows,
        stop,
    );
    config.scheme = scheme;
    config.probes.ports = vec![(0, 0)];
    config.probes.interval = us(10);
    config
}

/// pcn.md 8.1.
#[test]
fn pcn_leaves_a_lone_flow_at_line_rate() {
    let mut config = config(star(&[gbps(40); 2], us(5)), vec![recorded(2, 1)], ms(10));
    config.scheme = pcn();
    let results = run(&config);
    assert_eq!(results.totals.marked_packets, 0);
    // The first packet takes 10.4192 us; a CNP at the end of each 50 us from then on.
    assert_eq!(results.totals.notifications, (10_000_000 - 10_420) / 50_000);
    assert!(samples(&results, 0).all(|s| s.controller_rate == Some(gbps(40))));
    assert_within(
        "goodput",
        frame_gbps(&results, 0, ms(1), ms(10)),
        40.0,
        0.0002,
    );
}

/// pcn.md 8.2.
#[test]
fn pcn_sets_two_senders_to_their_share_in_one_period() {
    let mut config = incast(pcn(), 2, us(70));
    config.probes.interval = us(1);
    let results = run(&config);
    let egress = port(&results, 0, 0, LOSSLESS);
    // The first finds the queue empty and leaves it so; then there is a backlog.
    assert_eq!(egress.tx_packets - egress.marked_packets, 1);
    // First arrival 2.4 us, a period of 50 us, the CNP back within 2.1 us.
    let share = 20e9 * (1.0 - 1.0 / 128.0);
    for flow in [0, 1] {
        assert_eq!(rate_at(&results, flow, us(52)), gbps(40));
        let rate = rate_at(&results, flow, us(55)).as_bps() as f64;
        // A packet more or less in 50 us.
        assert!(
            (rate - share).abs() < 1048.0 * 8.0 / 50e-6,
            "{rate} {share}"
        );
    }
}

/// pcn.md 8.4: F0 (flow 0) is held up by PAUSE behind F1 (flow 1), which exceeds its share of a burst.
/// F1 is cut at once, F0 is not.
#[test]
fn pcn_tells_victims_from_culprits() {
    use crate::common::fig1::*;
    let burst_at = ms(10);
    // Together less than the trunk, which so has no queue but what a PAUSE makes.
    let limited = |flow| FlowSpec {
        rate_limit: Some(gbps(19)),
        ..flow
    };
    let mut flows = vec![limited(recorded(H0, R0)), limited(recorded(H1, R1))];
    for host in burst_hosts() {
        let one = FlowSpec {
            start: burst_at,
            controlled: false,
            ..sized(host, R1, 64_000)
        };
        flows.extend(vec![one; 16]);
    }
    let mut config = config(fabric(), flows, ms(13));
    config.scheme = pcn();
    config.probes.interval = us(10);
    // A period and a round trip of F1 at 20 Gb/s exceed this.
    config.switch.pfc.threshold = static_threshold(150_000);
    let results = run(&config);
    assert_lossless(&results);
    assert!(port(&results, S0, TRUNK, LOSSLESS).paused > us(20));

    let burst = |flow| samples(&results, flow).filter(move |s| s.time >= burst_at);
    // Now and then a period after a PAUSE is marked all through, and F0 loses some per cent once.
    for sample in burst(0) {
        assert!(sample.controller_rate >= Some(gbps(17)), "{sample:?}");
    }
    // The packets that leave R1's link then came when H2 to H15 sent at 40 Gb/s and F1 at 19: 1.31 Gb/s.
    let cut = burst(1)
        .find(|s| s.controller_rate < Some(gbps(5)))
        .expect("F1 is cut");
    assert!(cut.time <= burst_at + us(150), "{}", cut.time);
    assert_within("F1", cut.controller_rate.unwrap().as_gbps_f64(), 1.31, 0.15);
}

/// Mean backlog towards host 1, bytes.
fn mean_queue(results: &Results, from: Time) -> f64 {
    let samples = results.port_series.iter();
    let queue: Vec<f64> = samples
        .filter(|s| s.priority == LOSSLESS && s.time > from)
        .map(|s| s.queue_bytes as f64)
        .collect();
    queue.iter().sum::<f64>() / queue.len() as f64
}

fn rates(results: &Results, flows: u32, from: Time, to: Time) -> Vec<f64> {
    (0..flows)
        .map(|flow| frame_gbps(results, flow, from, to))
        .collect()
}

/// Jain's index: 1 when all are equal.
fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    sum * sum / (rates.len() as f64 * squares)
}

/// 802.1Qau: Qeq is 26 KB.
#[test]
fn qcn_holds_the_queue_near_its_set_point() {
    let results = run(&incast(qcn(), 4, ms(150)));
    let queue = mean_queue(&results, ms(75));
    assert!((13_000.0..39_000.0).contains(&queue), "{queue} B");
    let rates = rates(&results, 4, ms(75), ms(150));
    assert_within("sum", rates.iter().sum(), 40.0, 0.01);
    let cnms = port(&results, 0, 0, LOSSLESS).cnm_packets;
    assert_eq!(cnms, results.totals.notifications);
    assert_eq!(results.totals.marked_packets, 0);

    let alone = run(&incast(SchemeConfig::default(), 4, ms(5)));
    assert!(mean_queue(&alone, ms(1)) > 4.0 * 450_000.0);
}

#[test]
fn dcqcn_shares_fairly() {
    for senders in [2, 4] {
        let results = run(&incast(dcqcn(), senders, ms(150)));
        let rates = rates(&results, senders, ms(75), ms(150));
        assert!(jain(&rates) > 0.97, "{rates:?}");
        assert_within("sum", rates.iter().sum(), 40.0, 0.02);
        let queue = mean_queue(&results, ms(75));
        assert!((5_000.0..200_000.0).contains(&queue), "{queue} B");
    }
}

/// Over two links of 40 Gb/s and 1 us: a full frame on the second, an ACK of 66 B on both. A packet's
/// own serialisation at its sender is no part of the RTT.
#[test]
fn timely_measures_the_round_trip_to_the_picosecond() {
    let rtt = 4_000_000 + (1048 + 2 * 66) * 200;
    for params in [
        timely_rp::Params::per_packet(),
        timely_rp::Params::segment(),
    ] {
        for (t_high, at_line_rate) in [(rtt, true), (rtt - 1, false)] {
            let params = timely_rp::Params {
                t_low: Time::ZERO,
                t_high: ps(t_high),
                ..params
            };
            let mut config = config(star(&[gbps(40); 2], us(1)), vec![recorded(2, 1)], ms(1));
            config.scheme = timely(params);
            let results = run(&config);
            let all = samples(&results, 0).all(|s| s.controller_rate == Some(gbps(40)));
            assert_eq!(all, at_line_rate, "{:?}", params.variant);
        }
    }
}

#[test]
fn every_variant_of_timely_shares_the_link() {
    let variants = [
        timely_rp::Params::per_packet(),
        timely_rp::Params::segment(),
        timely_rp::Params::patched(),
    ];
    for params in variants {
        for senders in [2, 4] {
            let results = run(&incast(timely(params), senders, ms(150)));
            let rates = rates(&results, senders, ms(75), ms(150));
            let name = format!("{:?}: {rates:?}", params.variant);
            assert_within(&name, rates.iter().sum(), 40.0, 0.2);
            assert!(jain(&rates) > 0.9, "{name}");
            assert!(mean_queue(&results, ms(75)) < 1_000_000.0, "{name}");
            assert_eq!(results.totals.notifications, 0);
        }
    }
}

#[test]
fn pcn_shares_the_link_with_almost_no_queue() {
    for senders in [2, 8] {
        let results = run(&incast(pcn(), senders, ms(150)));
        assert_eq!(results.totals.pause_frames, 0);
        let rates = rates(&results, senders, ms(75), ms(150));
        assert!(jain(&rates) > 0.95, "{rates:?}");
        assert_within("sum", rates.iter().sum(), 40.0, 0.03);
        let queue = mean_queue(&results, ms(75));
        assert!(queue < 20_000.0, "{queue} B");
    }
}

/// PowerTCP over telemetry and θ-PowerTCP over round trips.
fn power_tcp() -> [SchemeConfig; 2] {
    let by_telemetry = congestion_control::power_tcp::Params {
        base_rtt: us(5),
        ..Default::default()
    };
    [
        SchemeConfig {
            congestion_point: congestion_point::Config::Telemetry(Default::default()),
            roce: congestion_control::Config::PowerTcp(by_telemetry),
            ..SchemeConfig::default()
        },
        SchemeConfig {
            roce: congestion_control::Config::ThetaPowerTcp(Default::default()),
            ..SchemeConfig::default()
        },
    ]
}

#[test]
fn power_tcp_shares_the_link_without_pause() {
    for (law, scheme) in power_tcp().into_iter().enumerate() {
        for senders in [1, 2, 8] {
            let results = run(&incast(scheme.clone(), senders, ms(40)));
            assert_eq!(results.totals.pause_frames, 0);
            let rates = rates(&results, senders, ms(20), ms(40));
            let name = format!("law {law}: {rates:?}");
            assert_within(&name, rates.iter().sum(), 40.0, 0.06);
            assert!(jain(&rates) > 0.9, "{name}");
            let queue = mean_queue(&results, ms(20));
            assert!(queue < 30_000.0, "{name}: {queue} B");
        }
    }
}

/// A flow that does not obey its scheme obeys PFC all the same, and takes what it can.
#[test]
fn uncontrolled_flows_obey_pfc_only() {
    for (name, scheme) in schemes() {
        let mut config = incast(scheme, 2, ms(20));
        let wild = FlowSpec {
            controlled: false,
            ..recorded(3, 1)
        };
        config.traffic = vec![unpause_sim::traffic::TrafficSpec::Flows(vec![
            recorded(2, 1),
            wild,
        ])];
        let results = run(&config);
        assert_lossless(&results);
        assert!(
            samples(&results, 1).all(|s| s.controller_rate == Some(gbps(40))),
            "{name}"
        );
        let rates = rates(&results, 2, ms(10), ms(20));
        assert_within(name, rates[0] + rates[1], 40.0, 0.001);
        assert!(rates[1] > 19.9, "{name}: {rates:?}");
    }
}

/// HPCC with PINT leaves 5 % of the busiest link idle, which is neither the first nor the last of the way, also if few
/// packets carry a code, and two flows get equal shares of it.
#[test]
fn pint_aims_at_the_busiest_link() {
    for share in [Fraction::ONE, Fraction::of(1, 8)] {
        let mut net = Net::default();
        let switches = [(); 4].map(|()| net.switch());
        for (pair, rate) in switches.windows(2).zip([40, 10, 40]) {
            net.link(pair[0], pair[1], gbps(rate), us(1));
        }
        let hosts = [0, 0, 3, 3].map(|at| net.host(switches[at], gbps(40), us(1)));
        let flows = vec![recorded(hosts[0], hosts[2]), recorded(hosts[1], hosts[3])];
        let mut config = config(net.0, flows, ms(20));
        config.probes.interval = us(100);
        let point = congestion_point::pint::Params {
            base_rtt: us(14),
            ..Default::default()
        };
        config.scheme.congestion_point = congestion_point::Config::Pint(point);
        config.scheme.roce = congestion_control::Config::Pint(pint::Params {
            share,
            ..Default::default()
        });
        let results = run(&config);
        let rates = [0, 1].map(|flow| frame_gbps(&results, flow, ms(5), ms(20)));
        assert_within("use of the busiest link", rates[0] + rates[1], 9.5, 0.02);
        assert_within("shares of it", rates[0], rates[1], 0.2);
    }
}
