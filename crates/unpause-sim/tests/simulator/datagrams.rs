//! UDP: open loop.

use std::ops::ControlFlow;

use unpause_protocols::loss_recovery;
use unpause_sim::config::{Config, NicModel};
use unpause_sim::results::{PacketKind, Results};
use unpause_sim::traffic::{Ending, FlowSpec, Following, Matching, TrafficSpec, Transport};

use crate::common::*;
use crate::ranks::assert_ranks_do_not_matter;
use crate::threads::assert_threads_do_not_matter;

fn udp(src: u32, dst: u32, bytes: u64) -> FlowSpec {
    FlowSpec {
        transport: Transport::Udp,
        ..sized(src, dst, bytes)
    }
}

/// Host 1 at 100 Gb/s sends to host 2 at 10, through a switch whose lossy queues have this many bytes.
fn slower_port(flow: FlowSpec, queue: u64) -> Config {
    let mut config = config(
        star(&[gbps(100), gbps(10)], ps(500_000)),
        vec![flow],
        ms(10),
    );
    config.switch.lossless = 0;
    config.switch.lossy_queue_bytes = queue;
    config
}

fn acks(results: &Results) -> usize {
    let acks = results.packets.iter();
    acks.filter(|it| it.kind != PacketKind::Datagram).count()
}

/// 1 MB comes in 84 us; in that time the slower port sends a tenth of it, and 300 KB of the rest find room.
#[test]
fn what_a_queue_cannot_hold_is_lost() {
    let mut config = slower_port(udp(1, 2, 1_000_000), 300_000);
    config.probes.packets = vec![(1, 0), (2, 0)];
    let results = run(&config);
    let flow = &results.flows[0];
    assert_eq!(results.totals.dropped_packets, 614);
    assert_eq!((flow.fct, flow.delivered_bytes), (None, 386_000));
    assert_eq!((flow.retransmitted_packets, flow.timeouts), (0, 0));
    assert_eq!((results.packets.len(), acks(&results)), (1_000, 0));
    assert_threads_do_not_matter("a burst", &config);
    assert!(assert_ranks_do_not_matter("a burst", &config) == results);
}

/// A last packet that is smaller is counted as such, whether it arrives or not.
#[test]
fn bytes_that_arrive_are_counted() {
    for size in [1, 999, 1_000, 1_001, 123_456] {
        let flow = udp(1, 2, size);
        let results = run(&slower_port(flow, 1_000_000));
        let whole = &results.flows[0];
        assert_eq!(whole.delivered_bytes, size);
        // As long as over RoCE, which sends the same frames.
        let roce = run(&slower_port(sized(1, 2, size), 1_000_000));
        assert_eq!(fct(whole), fct(&roce.flows[0]));
        assert_eq!(whole.ideal_fct, roce.flows[0].ideal_fct);
    }
    let results = run(&slower_port(udp(1, 2, 123_456), 20_000));
    let flow = &results.flows[0];
    let lost = results.totals.dropped_packets;
    assert!(lost > 0 && flow.fct.is_none());
    // The last packet, of 456 B, finds no room either.
    assert_eq!(flow.delivered_bytes, (124 - lost) * 1_000);
}

#[test]
fn datagrams_keep_to_their_rate_and_obey_pfc() {
    let mut limited = udp(1, 2, 500_000);
    limited.rate_limit = Some(gbps(5));
    let results = run(&slower_port(limited, 10_000));
    assert_eq!(results.totals.dropped_packets, 0);
    let expected = gbps(5).time_for(499 * FRAME);
    assert!(fct(&results.flows[0]) > expected && fct(&results.flows[0]) < expected + us(5));
    let mut config = slower_port(udp(1, 2, 1_000_000), 300_000);
    config.switch.lossless = 1 << LOSSLESS;
    let results = run(&config);
    assert_lossless(&results);
    assert_complete(&results);
    assert!(results.totals.pause_frames > 0);
}

/// Beside them other flows have any scheme, and what these do is theirs.
#[test]
fn other_flows_keep_their_scheme() {
    for (name, scheme) in schemes() {
        let mut config = slower_port(udp(1, 2, 200_000), 30_000);
        config.fabric = star(&[gbps(40); 4], us(1));
        let flows = vec![
            udp(1, 2, 200_000),
            sized(3, 2, 300_000),
            sized(4, 2, 200_000),
        ];
        config.traffic = vec![TrafficSpec::Flows(flows)];
        config.scheme = scheme;
        config.stop = ms(50);
        let results = run(&config);
        let delivered: Vec<u64> = results.flows.iter().map(|it| it.delivered_bytes).collect();
        let lost = 200_000 - delivered[0];
        assert!(lost.is_multiple_of(1_000), "{name}: {delivered:?}");
        assert_threads_do_not_matter(name, &config);
        config.scheme.loss_recovery = loss_recovery::Config::SelectiveRepeat(Default::default());
        let results = run(&config);
        assert!(results.flows[0].delivered_bytes > 0, "{name}");
        assert_threads_do_not_matter(name, &config);
    }
}

/// A sender is done when all is sent: what follows starts then, or when all has arrived.
#[test]
fn flows_may_follow_datagrams() {
    for ending in [Ending::Acknowledged, Ending::Delivered] {
        let mut config = slower_port(udp(1, 2, 100_000), 1_000_000);
        config.traffic = vec![
            TrafficSpec::Flows(vec![udp(1, 2, 100_000)]),
            TrafficSpec::Flows(vec![match ending {
                Ending::Acknowledged => sized(1, 2, 1_000),
                Ending::Delivered => sized(2, 1, 1_000),
            }]),
        ];
        config.following = vec![Following {
            entry: 1,
            after: vec![0],
            ending,
            matching: Matching::All,
        }];
        let results = run(&config);
        assert_complete(&results);
        let first = fct(&results.flows[0]);
        let sent = gbps(100).time_for(100 * FRAME);
        let start = results.flows[1].start;
        match ending {
            Ending::Acknowledged => assert!(start <= sent && start > sent - us(1), "{start}"),
            Ending::Delivered => assert_eq!(start, first),
        }
    }
}

#[test]
fn hpccs_nic_sends_none() {
    let mut config = slower_port(udp(1, 2, 1_000), 300_000);
    config.host.nic = NicModel::Hpcc;
    let refused = unpause_sim::run(&config, &mut |_| ControlFlow::Continue(()));
    let refused = refused.expect_err("it is refused").to_string();
    assert!(refused.contains("HPCC's NIC sends no UDP"), "{refused}");
}
