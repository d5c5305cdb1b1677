//! TCP among other things: PFC, RoCE flows on the same port, extra delay, flows that are stopped.

use unpause_sim::results::{PacketKind, PacketRecord};
use unpause_sim::traffic::{ExtraDelay, FlowSpec, TrafficSpec};

use super::*;

fn endless(src: NodeId, dst: NodeId) -> FlowSpec {
    FlowSpec {
        recorded: true,
        ..tcp_flow(src, dst, None)
    }
}

/// Segments, SYNs and ACKs obey PAUSE as RoCE packets do: what would be lost waits at its sender.
#[test]
fn pfc_keeps_an_incast_of_tcp_lossless() {
    let incast = |lossless: bool| {
        let mut config = pair(reno(params()), 1, &[], &[]);
        config.fabric = star(&[gbps(10); 9], us(2));
        // Host 2, which is paused, has to acknowledge what comes from host 1.
        let incast = (2..10).map(|host| tcp_flow(host, 1, Some(2_000_000)));
        let flows = incast.chain([tcp_flow(1, 2, Some(2_000_000))]);
        config.traffic = vec![TrafficSpec::Flows(flows.collect())];
        config.probes.packets = vec![(2, 0)];
        config.host.tcp.ack_priority = AckPriority::Flow;
        config.switch.lossless = u8::from(lossless) << LOSSLESS;
        config.switch.pfc.threshold = static_threshold(30_000);
        config.switch.lossy_queue_bytes = 100_000;
        run(&config)
    };
    let lossless = incast(true);
    assert_lossless(&lossless);
    assert_complete(&lossless);
    let pauses: Vec<_> = lossless
        .pauses
        .iter()
        .filter(|pause| pause.node == 2)
        .collect();
    assert!(pauses.len() > 3);
    for packet in lossless
        .packets
        .iter()
        .filter(|packet| packet.priority == LOSSLESS)
    {
        let paused = pauses
            .iter()
            .any(|it| it.start <= packet.time && packet.time < it.end);
        assert!(!paused, "{packet:?}");
    }
    assert!(
        lossless
            .packets
            .iter()
            .any(|packet| packet.kind == PacketKind::TcpAck)
    );
    let lossy = incast(false);
    assert_complete(&lossy);
    assert!(lossy.totals.dropped_packets > 0 && lossy.totals.pause_frames == 0);
}

/// The port takes packets of both in turn, and what TCP's window would allow beyond that is not
/// made, nor does the window grow for it.
#[test]
fn tcp_and_roce_share_a_port_packet_by_packet() {
    let mut config = pair(reno(params()), 1, &[], &[]);
    config.fabric = star(&[gbps(10), gbps(40), gbps(40)], us(2));
    let roce = FlowSpec {
        recorded: true,
        ..flow(1, 3)
    };
    config.traffic = vec![TrafficSpec::Flows(vec![endless(1, 2), roce])];
    config.stop = ms(20);
    config.probes.interval = ms(1);
    let results = run(&config);
    let packets = |flow, payload: f64| goodput_gbps(&results, flow, ms(5), config.stop) / payload;
    let pair = 10.0 / (1454.0 + FRAME as f64);
    assert_within("TCP", packets(0, MSS as f64), pair, 0.01);
    assert_within("RoCE", packets(1, 1000.0), pair, 0.01);
    let windows = results.flow_series.iter().filter(|sample| sample.flow == 0);
    let largest = windows.map(|sample| sample.cwnd_bytes.unwrap()).max();
    assert!(largest < Some(40 * MSS), "{largest:?}");
    let rates = results.flow_series.iter().filter(|sample| sample.flow == 1);
    assert!(rates.clone().count() > 0);
    assert!(
        rates
            .into_iter()
            .all(|it| it.cwnd_bytes.is_none() && it.controller_rate.is_some())
    );
}

#[test]
fn an_extra_delay_adds_itself_to_fct_and_rtt_of_roce() {
    let with = |delay| {
        let delayed = FlowSpec {
            extra_delay: ExtraDelay::Fixed(delay),
            ..sized(1, 2, 50_500)
        };
        let other = FlowSpec {
            start: us(500),
            ..sized(2, 1, 1_000)
        };
        let mut config = config(star(&[gbps(10); 2], us(10)), vec![delayed, other], ms(1));
        config.probes.packets = vec![(2, 0)];
        run(&config)
    };
    let (plain, delayed) = (with(us(0)), with(us(70)));
    assert_eq!(fct(&delayed.flows[0]), fct(&plain.flows[0]) + us(70));
    assert_eq!(delayed.flows[0].ideal_fct, delayed.flows[0].fct);
    assert_eq!(delayed.flows[1], plain.flows[1]);
    let acks = |results: &Results| -> Vec<_> {
        let of_flow = results.packets.iter().filter(|packet| packet.flow == 0);
        of_flow
            .map(|packet| (packet.kind, packet.seq, packet.time))
            .collect()
    };
    let later = acks(&plain)
        .into_iter()
        .map(|(kind, seq, time)| (kind, seq, time + us(70)));
    assert!(later.eq(acks(&delayed)));
    assert_eq!(acks(&plain).len(), 51);
}

/// Packets that are held back at the end of the run are accounted for: the engine asserts it.
#[test]
fn a_run_may_end_while_packets_are_held_back() {
    let delayed = FlowSpec {
        extra_delay: ExtraDelay::Fixed(us(70)),
        ..sized(1, 2, 50_500)
    };
    let results = run(&config(star(&[gbps(10); 2], us(10)), vec![delayed], us(60)));
    assert_eq!(results.totals.delivered_packets, 0);
    assert!(results.totals.data_packets > 0);
}

#[test]
fn a_stopped_connection_sends_what_is_lost_and_no_more() {
    let mut config = pair(reno(params()), 1, &[60], &[]);
    config.traffic = vec![TrafficSpec::Flows(vec![FlowSpec {
        stop: us(200),
        ..endless(1, 2)
    }])];
    config.probes.packets = vec![(1, 0)];
    let results = run(&config);
    let mut segments = results
        .packets
        .iter()
        .filter(|it| it.kind == PacketKind::Segment);
    let new = |packet: &&PacketRecord| packet.time >= us(200);
    assert_eq!(segments.clone().filter(new).count(), 1);
    assert!(segments.any(|packet| u64::from(packet.seq) == 60 * MSS && packet.time > us(200)));
    let flow = &results.flows[0];
    assert_eq!((flow.fct, flow.retransmitted_packets), (None, 1));
    assert_eq!(
        flow.delivered_bytes,
        (results.totals.data_packets - 1) * MSS
    );
}
