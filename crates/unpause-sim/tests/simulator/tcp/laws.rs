//! Laws of TCP and DCTCP in closed form.

use unpause_protocols::congestion_point::dctcp_red::{self, Threshold};
use unpause_protocols::units::{Fraction, Rate};
use unpause_sim::traffic::{FlowSpec, TrafficSpec};

use super::*;

/// M. Mathis et al., CCR 1997: with an ACK for each packet and random losses of probability p, a TCP
/// gets MSS / RTT * sqrt(3 / (2p)).
#[test]
fn throughput_follows_the_square_root_of_the_loss_rate() {
    for (one_in, seconds) in [(500, 4), (2_000, 8)] {
        let mut config = pair(reno(params()), 1, &[], &[]);
        config.fabric = star(&[gbps(40), gbps(40)], us(100));
        config.traffic = vec![TrafficSpec::Flows(vec![FlowSpec {
            recorded: true,
            ..tcp_flow(1, 2, None)
        }])];
        config.scheme.congestion_point =
            congestion_point::Config::Faults(faults::Params::random(Fraction::of(1, one_in)));
        config.stop = ms(1000 * seconds);
        config.probes.interval = ms(1000);
        let results = run(&config);
        let rtt = 4.0 * 100e-6 + 2.0 * (1454.0 + 64.0) * 8.0 / 40e9;
        let expected = MSS as f64 * 8.0 / rtt * (1.5 * one_in as f64).sqrt() / 1e9;
        let measured = goodput_gbps(&results, 0, ms(1000), config.stop);
        assert_within(&format!("1 in {one_in}"), measured, expected, 0.15);
    }
}

/// Marking threshold in packets.
const K: u32 = 40;
/// Four links of 25 us; a segment over 40 and 10 Gb/s, an ACK over 10 and 40 Gb/s.
const BASE_RTT: f64 = 100e-6 + (1454.0 + 64.0) * 8.0 * (1.0 / 40e9 + 1.0 / 10e9);

/// M. Alizadeh et al., "Data Center TCP", SIGCOMM 2010, section 3.3: of N synchronised flows over a
/// bottleneck of C packets a second that marks above K, the queue is a sawtooth of amplitude
/// sqrt(2N(C*RTT + K)) / 2 packets below K + N, with a period of sqrt(2(C*RTT + K) / N) / 2 round
/// trips.
#[test]
fn the_queue_of_dctcp_is_the_sawtooth_of_its_model() {
    for flows in [1, 2] {
        let n = f64::from(flows);
        let packets_per_second = 10e9 / (8.0 * 1454.0);
        let under_way = packets_per_second * BASE_RTT + f64::from(K);
        let (amplitude, period, highest) = sawtooth(flows);
        let name = |what| format!("{what} of {flows} flows");
        let model = (2.0 * n * under_way).sqrt() / 2.0;
        assert_within(&name("amplitude"), amplitude, model, 0.15);
        assert_within(
            &name("period"),
            period,
            (2.0 * under_way / n).sqrt() / 2.0,
            0.15,
        );
        assert!(
            (highest - f64::from(K) - n).abs() <= 1.0,
            "{flows} flows: {highest} packets"
        );
    }
}

/// Mean amplitude in packets, mean period in round trips, highest queue in packets.
fn sawtooth(flows: u32) -> (f64, f64, f64) {
    let mut rates = vec![gbps(10)];
    rates.extend(vec![gbps(40); flows as usize]);
    let mut config = pair(dctcp(params()), 1, &[], &[]);
    config.fabric = star(&rates, us(25));
    let long = |host| tcp_flow(host, 1, None);
    config.traffic = vec![TrafficSpec::Flows((2..2 + flows).map(long).collect())];
    config.scheme.congestion_point = congestion_point::Config::DctcpRed(dctcp_red::Params {
        threshold: Threshold::Packets(K),
    });
    config.stop = ms(200);
    config.probes.interval = us(1);
    config.probes.ports = vec![(0, 0)];
    let results = run(&config);
    let queue: Vec<f64> = results
        .port_series
        .iter()
        .filter(|sample| sample.priority == LOSSLESS && sample.time > ms(50))
        .map(|sample| sample.queue_bytes as f64 / 1454.0)
        .collect();
    let mean = queue.iter().sum::<f64>() / queue.len() as f64;
    let (mut swings, mut crossings) = (Vec::new(), 0);
    let (mut low, mut high) = (f64::MAX, f64::MIN);
    let mut above = false;
    for &packets in &queue {
        if !above && packets > mean + 1.5 {
            above = true;
            crossings += 1;
            if crossings > 1 {
                swings.push(high - low);
            }
            (low, high) = (packets, packets);
        } else if above && packets < mean - 1.5 {
            above = false;
        }
        low = low.min(packets);
        high = high.max(packets);
    }
    let amplitude = swings.iter().sum::<f64>() / swings.len() as f64;
    let span = queue.len() as f64 * 1e-6;
    let rtt = BASE_RTT + mean * 1454.0 * 8.0 / 10e9;
    let period = span / f64::from(crossings) / rtt;
    let highest = queue.iter().copied().fold(0.0, f64::max);
    (amplitude, period, highest)
}

/// RFC 9438, 4.2: between losses the window is C (t - K)^3 + W_max, with C = 0.4 segments/s^3 and a loss
/// that leaves 0.7 of it. One segment of the first window is lost.
#[test]
fn the_window_of_cubic_is_the_cubic_of_the_time_since_the_loss() {
    const W_MAX: f64 = 100.0;
    let tcp = newreno::Params {
        initial_window: W_MAX as u32,
        grow_only_if_limiting: false,
        ..params()
    };
    let mut config = pair(cubic(tcp), 1, &[0], &[]);
    // A round trip of 200 ms, in which Reno gains little, and links that spread the ACKs over it.
    config.fabric = star(&[Rate::from_mbps(10), Rate::from_mbps(10)], ms(50));
    config.host.tcp.syn_timeout = ms(1000);
    config.traffic = vec![TrafficSpec::Flows(vec![FlowSpec {
        recorded: true,
        ..tcp_flow(1, 2, None)
    }])];
    config.probes.interval = ms(10);
    config.stop = ms(11_000);
    let results = run(&config);
    let windows: Vec<(f64, f64)> = results
        .flow_series
        .iter()
        .map(|s| {
            (
                s.time.as_secs_f64(),
                s.cwnd_bytes.unwrap() as f64 / MSS as f64,
            )
        })
        .collect();
    // While it repairs the loss, the window holds what duplicate ACKs let go, too.
    let inflated = windows.iter().position(|w| w.1 > W_MAX + 1.0).unwrap();
    let (_, after) = windows.split_at(inflated);
    let start = after.iter().position(|w| w.1 < 0.72 * W_MAX).unwrap();
    let (_, stage) = after.split_at(start);
    let begin = stage[0].0;
    let k = (0.3 * W_MAX / 0.4_f64).cbrt();
    for (time, window) in stage {
        let t = time - begin;
        let cubic = |t: f64| 0.4 * (t - k).powi(3) + W_MAX;
        // An ACK takes it towards where it should be a round trip later.
        let (early, late) = (cubic(t + 0.2) + 0.5, cubic(t - 0.2) - 0.5);
        assert!(
            (late..early).contains(window),
            "{window} at {t}: {late} to {early}"
        );
    }
    assert!(stage.last().unwrap().1 > 1.25 * W_MAX);
    assert_eq!(results.totals.dropped_packets, 1);
}
