//! Where segments wait for the port, how connections end, and what sampling a port sees of either.

use insta::assert_snapshot;
use unpause_sim::config::Qdisc;
use unpause_sim::results::PacketKind;
use unpause_sim::traffic::{FlowSpec, TrafficSpec};

use super::*;

/// Which flow each segment that leaves host 1 is of, in order.
fn order(config: &Config) -> Vec<u32> {
    let results = run(config);
    assert_complete(&results);
    let sent = results.packets.iter().filter(|packet| packet.node == 1);
    let segments = sent.filter(|packet| packet.kind == PacketKind::Segment);
    segments.map(|packet| packet.flow).collect()
}

/// Three flows of six segments from one host, four in the first window.
fn three(qdisc: Qdisc) -> Config {
    let mut config = pair(reno(window(4)), 1, &[], &[]);
    config.host.tcp.qdisc = qdisc;
    let flows = (0..3).map(|_| tcp_flow(1, 2, Some(6 * MSS)));
    config.traffic = vec![TrafficSpec::Flows(flows.collect())];
    config.probes.packets = vec![(1, 0)];
    config
}

#[test]
fn connections_take_turns_or_share_one_fifo() {
    let mut fair = order(&three(Qdisc::Fq));
    let fifo = order(&three(Qdisc::Pfifo));
    assert_eq!(fair[3..9], [2, 0, 1, 2, 0, 1]);
    assert_eq!(fifo, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 0, 0, 1, 1, 2, 2]);
    fair.sort_unstable();
    assert_eq!(fair, [[0; 6], [1; 6], [2; 6]].concat());
}

/// The second flow starts while five segments of the first wait, and its SYN waits behind them.
#[test]
fn in_a_fifo_nobody_is_ahead() {
    let mut config = three(Qdisc::Pfifo);
    config.host.tcp.ack_priority = AckPriority::Flow;
    config.host.tcp.recovery.initial_window = 6;
    let late = FlowSpec {
        start: us(41),
        ..tcp_flow(1, 2, Some(MSS))
    };
    config.traffic = vec![TrafficSpec::Flows(vec![
        tcp_flow(1, 2, Some(6 * MSS)),
        late,
    ])];
    let results = run(&config);
    let sent = results.packets.iter().map(|it| (it.flow, it.kind));
    let syn = (1, PacketKind::Syn);
    let segment = (0, PacketKind::Segment);
    assert_eq!(
        sent.skip(1).take(7).collect::<Vec<_>>(),
        [[segment; 6].as_slice(), &[syn]].concat()
    );
}

/// A round trip is measured from when the segment enters the FIFO: with 20 flows' segments there, timeouts that
/// fit the wires are too short.
#[test]
fn what_waits_in_a_fifo_is_in_flight() {
    let spurious = |qdisc| {
        let mut config = three(qdisc);
        config.host.tcp.recovery.rto.min = us(100);
        config.host.tcp.recovery.rto.granularity = us(10);
        let flows = (0..20).map(|_| tcp_flow(1, 2, Some(6 * MSS)));
        config.traffic = vec![TrafficSpec::Flows(flows.collect())];
        let results = run(&config);
        results.flows.iter().map(|it| it.timeouts).sum::<u64>()
    };
    assert_eq!(spurious(Qdisc::Fq), 0);
    assert!(spurious(Qdisc::Pfifo) > 0);
}

#[test]
fn a_port_is_sampled_in_packets_and_drops() {
    let mut config = three(Qdisc::Pfifo);
    config.fabric = star(&[gbps(40), gbps(10)], us(10));
    config.host.tcp.recovery.initial_window = 40;
    config.switch.lossy_queue_packets = Some(25);
    let flows = (0..3).map(|_| tcp_flow(1, 2, Some(40 * MSS)));
    config.traffic = vec![TrafficSpec::Flows(flows.collect())];
    config.probes.ports = vec![(0, 1), (1, 0)];
    config.probes.interval = us(1);
    let results = run(&config);
    let of = |node| {
        let all = results.port_series.iter().filter(move |it| it.node == node);
        all.filter(|it| it.priority == LOSSLESS)
    };
    for sample in of(0).chain(of(1)) {
        assert_eq!(sample.queue_bytes, u64::from(sample.queue_packets) * 1454);
    }
    let most = |node| of(node).map(|it| it.queue_packets).max();
    assert_eq!(most(0), Some(25));
    // All windows but what has left within a microsecond.
    assert!(most(1) > Some(70), "{:?}", most(1));
    let drops: Vec<u64> = of(0).map(|it| it.dropped_packets).collect();
    assert!(drops.is_sorted() && drops[0] == 0);
    assert_eq!(
        *drops.last().unwrap(),
        port(&results, 0, 1, LOSSLESS).dropped_packets
    );
    assert!(*drops.last().unwrap() > 10);
}

/// The last segment has the sender's FIN; the receiver's comes after its last ACK.
#[test]
fn a_connection_ends_with_a_fin() {
    let mut config = pair(reno(params()), 2 * MSS, &[], &[]);
    config.host.tcp.fin = true;
    assert_snapshot!(transcript(&config).0, @r"
          0.000 us  1 > 2  SYN
         20.102 us  2 > 1  SYN-ACK
         40.205 us  1 > 2  data 0..2800, 2 until 41.368 us
         62.531 us  2 > 1  ack 1400..2800, 2 until 63.694 us
         63.746 us  2 > 1  FIN
         83.848 us  1 > 2  ack 0
    complete: 63.6944us, ideal 63.6944us; sent again 0, timeouts 0
    ");
}

#[test]
fn a_connection_without_bytes_ends_with_a_fin() {
    let mut config = pair(reno(params()), 0, &[], &[]);
    config.host.tcp.fin = true;
    assert_snapshot!(transcript(&config).0, @r"
          0.000 us  1 > 2  SYN
         20.102 us  2 > 1  SYN-ACK
         40.205 us  1 > 2  ack 0
         60.307 us  2 > 1  FIN
         80.410 us  1 > 2  ack 0
    complete: 60.3072us, ideal 60.3072us; sent again 0, timeouts 0
    ");
}

/// A rate limiter that allows a segment while a long packet of RoCE takes the port does not let it leave then.
#[test]
fn a_limited_flow_waits_for_the_port() {
    let mut config = three(Qdisc::Pfifo);
    config.host.payload_bytes = 9000;
    let limited = FlowSpec {
        rate_limit: Some(gbps(5)),
        ..tcp_flow(1, 2, Some(50 * MSS))
    };
    config.traffic = vec![TrafficSpec::Flows(vec![limited, sized(1, 2, 1_000_000)])];
    let results = run(&config);
    assert_complete(&results);
    for pair in results.packets.windows(2) {
        let free = pair[0].time + ps(u64::from(pair[0].bytes) * 800);
        assert!(pair[1].time >= free, "{pair:?}");
    }
}
