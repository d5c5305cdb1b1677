//! PFC: expiry, modes, dynamic thresholds, independence of priorities.

use unpause_protocols::flow_control::pfc::{Params, PauseMode, PauseTime};
use unpause_protocols::units::Time;
use unpause_sim::config::{Config, PfcThreshold};
use unpause_sim::results::PauseRecord;
use unpause_sim::traffic::FlowSpec;

use crate::common::*;

const LOW: u8 = 2;
const HIGH: u8 = 5;

/// Hosts 2 to 5 send 200 KB each to host 1.
fn incast() -> Config {
    let flows = (2..6).map(|src| sized(src, 1, 200_000)).collect();
    let mut config = config(star(&[gbps(40); 5], us(1)), flows, ms(20));
    config.switch.pfc.threshold = static_threshold(20_000);
    config
}

/// A standing PAUSE is refreshed at half its time: however short, it holds.
#[test]
fn short_pauses_stay_lossless() {
    for (quanta, refreshed) in [(65_535, false), (10_000, false), (300, true), (40, true)] {
        let mut config = incast();
        config.switch.pfc.params.pause_time = PauseTime::Quanta(quanta);
        let results = run(&config);
        assert_lossless(&results);
        assert_complete(&results);
        assert_eq!(port(&results, 0, 1, LOSSLESS).paused, Time::ZERO);
        let events: u64 = results.ports.iter().map(|p| p.pause_events).sum();
        let frames = results.totals.pause_frames;
        assert!(events > 0);
        assert_eq!(frames > events, refreshed, "{quanta}: {frames} {events}");
        // No transmitter ever sees one run out.
        let sent_to_hosts = results.pauses.len() as u64;
        assert!(sent_to_hosts <= events);
    }
}

/// A refresh that waits for a frame in flight comes too late for a pause of less than that frame: the
/// transmitter goes on when the time is over, each time a little, until headroom is gone.
#[test]
fn a_pause_that_is_too_short_expires() {
    let busy = |src, dst| FlowSpec {
        priority: HIGH,
        ..flow(src, dst)
    };
    // Host 2's packets are never released, for host 3's are more urgent; PFC frames to host 2 wait
    // for host 1's packets.
    let flows = vec![busy(3, 1), busy(1, 2), flow(2, 1)];
    let mut config = config(star(&[gbps(40); 3], us(1)), flows, us(200));
    config.host.ack_every = u32::MAX;
    config.switch.lossless = 1 << HIGH | 1 << LOSSLESS;
    config.switch.pfc.threshold = static_threshold(20_000);
    let pause = Time::from_ns(150);
    config.switch.pfc.params.pause_time = PauseTime::Absolute(pause);
    let results = run(&config);
    let of_host = |p: &&PauseRecord| p.node == 2;
    let pauses: Vec<_> = results.pauses.iter().filter(of_host).collect();
    assert!(pauses.len() > 100, "{} pauses", pauses.len());
    assert!(pauses.iter().any(|p| p.end - p.obeyed == pause));
    assert!(port(&results, 0, 1, LOSSLESS).headroom_dropped_packets > 0);

    // Twice a frame and the PFC frame itself is long enough.
    config.switch.pfc.params.pause_time = PauseTime::Absolute(ps(2 * (FRAME + 64) * 200 + 1));
    let results = run(&config);
    assert_lossless(&results);
    assert_eq!(results.pauses.iter().filter(of_host).count(), 1);
}

/// ns3-rdma: PAUSE for every arrival above XOFF and every 2 us. Same data, more frames.
#[test]
fn ns3_rdma_counts_more_pauses() {
    let standard = run(&incast());
    let mut config = incast();
    config.switch.pfc.params = Params::ns3_rdma();
    let results = run(&config);
    assert_lossless(&results);
    assert_complete(&results);
    let frames = results.totals.pause_frames;
    assert!(frames > 5 * standard.totals.pause_frames, "{frames}");
    assert_eq!(config.switch.pfc.params.mode, PauseMode::Ns3Rdma);
}

/// A PAUSE that is refreshed for long costs one event a refresh, not one for each refresh before it.
#[test]
fn a_long_pause_is_cheap() {
    let events = |stop| {
        let urgent = FlowSpec {
            priority: HIGH,
            ..flow(3, 1)
        };
        let mut config = config(star(&[gbps(40); 3], us(1)), vec![urgent, flow(2, 1)], stop);
        config.switch.lossless = 1 << HIGH | 1 << LOSSLESS;
        config.switch.pfc.params = Params::ns3_rdma();
        let results = run(&config);
        assert!(results.totals.pause_frames > 400);
        results.totals.events
    };
    assert!(events(ms(4)) < 5 * events(ms(1)));
}

/// Thresholds that move with the free buffer, beside lossy traffic that takes and gives it back.
#[test]
fn dynamic_thresholds_are_lossless() {
    for shift in [-8, -2, 0, 1, 3, 5] {
        for buffer in [400_000, 1_000_000, 9_000_000] {
            let mut config = incast();
            let noise = |src: u32, start| FlowSpec {
                priority: 1,
                start: us(start),
                ..sized(src, 1 + src % 5, 100_000)
            };
            let flows = (1..6)
                .flat_map(|src| [noise(src, 3), noise(src, 50)])
                .chain((2..6).map(|src| sized(src, 1, 200_000)))
                .collect();
            config.traffic = vec![unpause_sim::traffic::TrafficSpec::Flows(flows)];
            config.stop = ms(500);
            config.switch.buffer_bytes = Some(buffer);
            config.switch.lossy_queue_bytes = 50_000;
            config.switch.pfc.threshold = PfcThreshold::Dynamic {
                shift,
                xon_gap_bytes: 2 * FRAME,
            };
            let results = run(&config);
            for port in results.ports.iter().filter(|p| p.priority == LOSSLESS) {
                let drops = (port.dropped_packets, port.headroom_dropped_packets);
                assert_eq!(drops, (0, 0), "shift {shift}, {buffer} B: {port:?}");
            }
            assert_complete(&results);
            assert!(results.totals.pause_frames > 0 || buffer > 400_000);
        }
    }
}

/// Pausing a priority does not touch another: a trunk carries one priority to a congested host, the
/// other to an idle one.
#[test]
fn priorities_are_paused_independently() {
    for (congested, other) in [(LOW, HIGH), (HIGH, LOW)] {
        let mut net = Net::default();
        let (a, b) = (net.switch(), net.switch());
        net.link(a, b, gbps(40), us(1));
        let hosts: Vec<_> = [a, a, b, b, b, b]
            .map(|switch| net.host(switch, gbps(40), us(1)))
            .to_vec();
        let [sender, bystander, target, idle, rival1, rival2] = hosts[..] else {
            unreachable!()
        };
        let to_target = |src| FlowSpec {
            priority: congested,
            recorded: true,
            ..flow(src, target)
        };
        let by = FlowSpec {
            priority: other,
            rate_limit: Some(gbps(20)),
            recorded: true,
            ..flow(bystander, idle)
        };
        let flows = vec![to_target(sender), to_target(rival1), to_target(rival2), by];
        let mut config = config(net.0, flows, ms(3));
        config.switch.lossless = 1 << LOW | 1 << HIGH;
        config.switch.pfc.threshold = static_threshold(50_000);
        let results = run(&config);
        assert_lossless(&results);
        assert!(port(&results, a, 0, congested).paused > us(500));
        assert!(port(&results, sender, 0, congested).paused > us(500));
        assert!(results.pauses.iter().all(|p| p.priority == congested));
        let rate = |flow| frame_gbps(&results, flow, ms(1), ms(3));
        assert_within("bystander", rate(3), 20.0, 0.002);
        // The bottleneck stays full whoever sends.
        assert_within("bottleneck", rate(0) + rate(1) + rate(2), 40.0, 0.001);
    }
}

/// At a host as in a switch, the more urgent class takes what it wants.
#[test]
fn urgent_classes_go_first() {
    let recorded = |src, dst, priority, limit| FlowSpec {
        priority,
        rate_limit: Some(gbps(limit)),
        recorded: true,
        ..flow(src, dst)
    };
    // In one NIC, and from two NICs in the switch.
    for (second, urgent_gbps) in [(2, 40), (3, 40), (3, 30), (3, 5)] {
        let flows = vec![
            recorded(2, 1, HIGH, urgent_gbps),
            recorded(second, 1, LOW, 40),
        ];
        let mut config = config(star(&[gbps(40); 3], us(1)), flows, ms(3));
        config.switch.lossless = 1 << LOW | 1 << HIGH;
        let results = run(&config);
        assert_lossless(&results);
        let urgent = urgent_gbps as f64;
        for (flow, expected) in [(0, urgent), (1, 40.0 - urgent)] {
            let rate = frame_gbps(&results, flow, ms(1), ms(3));
            assert!((rate - expected).abs() < 0.01, "{rate} {expected}");
        }
    }
}

/// A paused class leaves the wire to the others, in order, and none of its packets is lost.
#[test]
fn records_of_pauses_add_up() {
    let results = run(&incast());
    assert!(!results.pauses.is_empty());
    for src in 2..6 {
        let of_host = results.pauses.iter().filter(|p| p.node == src);
        let sum: u64 = of_host.map(|p| (p.end - p.start).as_ps()).sum();
        assert_eq!(port(&results, src, 0, LOSSLESS).paused, ps(sum));
    }
}
