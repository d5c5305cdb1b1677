//! Ports and priorities of a switch that are set otherwise than the others: marking, PFC, limits of queues, shapers, maps.

use unpause_protocols::congestion_point;
use unpause_protocols::units::{Fraction, Time};
use unpause_sim::config::{
    Config, PfcThreshold, QueueLimit, QueueMarking, RedThresholds, Shaper, SwitchOverride,
};
use unpause_sim::results::{PacketKind, Results};
use unpause_sim::traffic::{FlowSpec, Transport};

use crate::common::*;

const SWITCH: u32 = 0;

/// The override of the one switch that all of these tests have.
fn own() -> SwitchOverride {
    SwitchOverride {
        switches: vec![SWITCH],
        ..SwitchOverride::default()
    }
}

/// Every packet is marked that finds this many bytes.
fn curve(bytes: u64) -> QueueMarking {
    QueueMarking::Curve(RedThresholds {
        kmin: bytes,
        kmax: bytes,
        pmax: Fraction::ONE,
    })
}

/// A datagram flow, which nothing slows down and nobody repairs.
fn udp(src: u32, dst: u32, priority: u8, bytes: u64) -> FlowSpec {
    FlowSpec {
        priority,
        transport: Transport::Udp,
        controlled: false,
        ..sized(src, dst, bytes)
    }
}

/// Two hosts send to a third in each of two lossy priorities, over links of 10 Gb/s.
fn two_classes(marking: congestion_point::Config) -> Config {
    let flows = [(2, 1), (3, 1), (2, 4), (3, 4)];
    let flows = flows.map(|(src, priority)| udp(src, 1, priority, 100_000));
    let mut config = config(star(&[gbps(10); 3], us(1)), flows.to_vec(), ms(2));
    config.switch.lossless = 0;
    config.scheme.congestion_point = marking;
    config
}

/// The queue of one priority drops from 20 kB on, that of the other has no congestion point at all; a later override for one of
/// the ports counts more.
#[test]
fn each_queue_has_its_own_curve() {
    let wred = congestion_point::Config::Wred(congestion_point::wred::Params {
        kmin: 5_000,
        kmax: 5_000,
        pmax: Fraction::ONE,
    });
    let mut config = two_classes(wred);
    let longest = |config: &Config| {
        let results = run(config);
        [1, 4].map(|priority| port(&results, SWITCH, 0, priority).max_queue_bytes)
    };
    // A packet that finds 5,000 B or less joins.
    assert_eq!(longest(&config), [5 * FRAME, 5 * FRAME]);
    config.switch.overrides = vec![
        SwitchOverride {
            priorities: Some(1 << 1),
            marking: Some(curve(20_000)),
            ..own()
        },
        SwitchOverride {
            priorities: Some(1 << 4),
            marking: Some(QueueMarking::Off),
            ..own()
        },
    ];
    let [first, second] = longest(&config);
    assert_eq!(first, 20 * FRAME);
    assert!(second > 50_000, "{second}");
    config.switch.overrides.push(SwitchOverride {
        ports: Some(vec![(SWITCH, 0)]),
        priorities: Some(1 << 4),
        marking: Some(curve(10_000)),
        ..own()
    });
    assert_eq!(longest(&config), [20 * FRAME, 10 * FRAME]);
    config.switch.overrides[2].ports = Some(vec![(SWITCH, 1)]);
    assert_eq!(longest(&config), [first, second]);
}

/// Each of two ingress ports stops at its own XOFF, fixed or as its share of what is free.
#[test]
fn each_port_has_its_own_xoff() {
    let flows = [2, 3].map(|src| sized(src, 1, 400_000)).to_vec();
    let mut config = config(star(&[gbps(10); 3], us(1)), flows, ms(2));
    config.switch.pfc.threshold = static_threshold(60_000);
    config.switch.pfc.headroom_bytes = Some(20_000);
    let held = |config: &Config| {
        let results = run(config);
        assert_lossless(&results);
        assert_complete(&results);
        [1, 2].map(|number| port(&results, SWITCH, number, LOSSLESS).max_ingress_bytes)
    };
    let within = |held: u64, xoff: u64| held > xoff && held <= xoff + 20_000;
    let [first, second] = held(&config);
    assert!(within(first, 60_000) && within(second, 60_000));
    config.switch.overrides = vec![SwitchOverride {
        ports: Some(vec![(SWITCH, 1)]),
        fixed: Some((20_000, 18_000)),
        ..own()
    }];
    let [first, second] = held(&config);
    assert!(within(first, 20_000), "{first}");
    assert!(within(second, 60_000), "{second}");
    config.switch.overrides[0] = SwitchOverride {
        ports: Some(vec![(SWITCH, 1)]),
        shift: Some(4),
        ..own()
    };
    config.switch.pfc.threshold = PfcThreshold::Dynamic {
        shift: 2,
        xon_gap_bytes: 2 * FRAME,
    };
    config.switch.buffer_bytes = Some(400_000 + 6 * (20_000 + FRAME));
    let [first, second] = held(&config);
    // Neither is at its threshold for long: 1/16 and 1/4 of at most 400 kB.
    assert!(
        first <= 25_000 + 20_000 && second > 60_000,
        "{first} {second}"
    );
}

/// Bytes that reach an ingress port after its XOFF are known exactly: with this much headroom it drops nothing, with a frame less
/// it drops, and the other port, whose headroom is the switch's, does not.
#[test]
fn each_port_has_its_own_headroom() {
    let flows = [2, 3].map(|src| sized(src, 1, 400_000)).to_vec();
    let mut config = config(star(&[gbps(10); 3], us(5)), flows, ms(4));
    let xoff = 40_000;
    config.switch.pfc.threshold = static_threshold(xoff);
    let needed = {
        let results = run(&config);
        assert_lossless(&results);
        // The frame that crosses XOFF is not in it. The first to leave leaves from below XOFF, not from headroom.
        let crossed = (xoff / FRAME + 1) * FRAME - FRAME;
        port(&results, SWITCH, 1, LOSSLESS).max_ingress_bytes - crossed
    };
    assert!(needed > 4 * FRAME, "{needed}");
    let dropped = |config: &Config| {
        let results = run(config);
        [0, 1, 2].map(|number| port(&results, SWITCH, number, LOSSLESS).headroom_dropped_packets)
    };
    let headroom = |bytes, priorities| SwitchOverride {
        ports: Some(vec![(SWITCH, 1)]),
        priorities,
        headroom_bytes: Some(bytes),
        ..own()
    };
    for priorities in [None, Some(1 << LOSSLESS)] {
        config.switch.overrides = vec![headroom(needed, priorities)];
        assert_eq!(dropped(&config), [0, 0, 0]);
        config.switch.overrides = vec![headroom(needed - FRAME, priorities)];
        let [none, first, second] = dropped(&config);
        assert!(first > 0 && none == 0 && second == 0, "{first} {second}");
    }
    // It is not that of another priority, and a later override counts more.
    config.switch.overrides = vec![headroom(FRAME, Some(1 << 1))];
    assert_eq!(dropped(&config), [0, 0, 0]);
    config.switch.overrides = vec![headroom(FRAME, None), headroom(needed, None)];
    assert_eq!(dropped(&config), [0, 0, 0]);
    // The headroom of all ports may be too small, and that of one be enough for it.
    config.switch.pfc.headroom_bytes = Some(needed - FRAME);
    config.switch.overrides = vec![headroom(needed, None)];
    let [_, first, second] = dropped(&config);
    assert!(first == 0 && second > 0, "{first} {second}");
}

/// Of a given buffer, headroom leaves the rest to all: what one port has more, the others have less.
#[test]
fn headroom_of_a_port_is_taken_from_the_buffer() {
    let flows = [2, 3].map(|src| sized(src, 1, 400_000)).to_vec();
    let mut config = config(star(&[gbps(10); 3], us(1)), flows, ms(4));
    config.switch.pfc.threshold = PfcThreshold::Dynamic {
        shift: 1,
        xon_gap_bytes: 2 * FRAME,
    };
    config.switch.pfc.headroom_bytes = Some(20_000);
    let held = |config: &Config| {
        let results = run(config);
        assert_lossless(&results);
        port(&results, SWITCH, 2, LOSSLESS).max_ingress_bytes
    };
    config.switch.buffer_bytes = Some(200_000 + 3 * (20_000 + FRAME));
    let before = held(&config);
    config.switch.overrides = vec![SwitchOverride {
        ports: Some(vec![(SWITCH, 1)]),
        headroom_bytes: Some(60_000),
        ..own()
    }];
    let less = held(&config);
    config.switch.buffer_bytes = config.switch.buffer_bytes.map(|bytes| bytes + 40_000);
    assert_eq!(held(&config), before);
    assert!(less < before, "{less} {before}");
    config.switch.buffer_bytes = Some(60_000 + 2 * 20_000 + 3 * FRAME);
    let error = unpause_sim::check(&config).expect_err("nothing is left");
    assert!(error.to_string().contains("headroom"), "{error}");
}

/// Start of each frame at the port to host 1, from the first on.
fn starts(config: &Config) -> Vec<Time> {
    let results = run(config);
    let sent = results.packets.iter();
    let sent = sent.filter(|it| it.kind != PacketKind::Pfc);
    let times: Vec<Time> = sent.map(|it| it.time).collect();
    times.iter().map(|time| *time - times[0]).collect()
}

/// The bucket of a shaper at rate r that may send n frames at once, behind a link that takes time L for each: frame k starts at
/// max(k L, (k - n) W / r).
#[test]
fn a_shaper_is_a_token_bucket() {
    const FRAMES: u64 = 200;
    let flows = vec![udp(2, 1, 4, FRAMES * 1000)];
    let mut config = config(star(&[gbps(100); 2], us(1)), flows, ms(2));
    config.probes.packets = vec![(SWITCH, 0)];
    let wire = FRAME + u64::from(config.fabric.framing_bytes);
    let line = |frames: u64| gbps(100).time_for(frames * wire);
    let shaped = |frames: u64| gbps(10).time_for(frames * wire);
    for priorities in [Some(1 << 4), None] {
        for burst in [0, 1, 20] {
            config.switch.overrides = vec![SwitchOverride {
                ports: Some(vec![(SWITCH, 0)]),
                priorities,
                shaper: Some(Shaper {
                    rate: gbps(10),
                    burst_bytes: burst * wire,
                }),
                ..own()
            }];
            let expected = (0..FRAMES).map(|k| line(k).max(shaped(k.saturating_sub(burst))));
            assert_eq!(starts(&config), expected.collect::<Vec<_>>(), "{burst}");
        }
    }
    // At the rate of the link it has nothing to do, and before another port it is not asked.
    let without = {
        config.switch.overrides.clear();
        starts(&config)
    };
    for (number, rate) in [(0, gbps(100)), (1, gbps(10))] {
        config.switch.overrides = vec![SwitchOverride {
            ports: Some(vec![(SWITCH, number)]),
            shaper: Some(Shaper {
                rate,
                burst_bytes: 0,
            }),
            ..own()
        }];
        assert_eq!(starts(&config), without);
    }
}

/// Less urgent queues get the rest of a shaped link; PFC stops the senders of the shaped queue, and nothing is lost. A
/// burst of a frame makes up for what it waits for a frame of the other queue.
#[test]
fn a_shaped_queue_leaves_the_rest_of_its_link_to_others() {
    let flows = vec![
        flow(2, 1),
        FlowSpec {
            priority: 1,
            ..flow(3, 1)
        },
    ];
    let mut config = config(star(&[gbps(10); 3], us(1)), flows, ms(4));
    config.switch.overrides = vec![SwitchOverride {
        priorities: Some(1 << LOSSLESS),
        shaper: Some(Shaper {
            rate: gbps(3),
            burst_bytes: 2 * FRAME,
        }),
        ..own()
    }];
    config.switch.pfc.threshold = static_threshold(50_000);
    let results = run(&config);
    let rate = |priority: u8| {
        let sent = port(&results, SWITCH, 0, priority).tx_bytes;
        sent as f64 * 8.0 / results.totals.simulated.as_ns_f64()
    };
    assert_within("shaped", rate(LOSSLESS), 3.0, 0.01);
    assert_within("rest", rate(1), 7.0, 0.01);
    assert_eq!(port(&results, SWITCH, 0, LOSSLESS).dropped_packets, 0);
    assert!(port(&results, SWITCH, 1, LOSSLESS).pause_events > 0);
    assert_eq!(port(&results, SWITCH, 2, LOSSLESS).pause_events, 0);
}

fn dropped(results: &Results, priority: u8) -> (u64, u64) {
    let rows = results.ports.iter();
    let rows = rows.filter(|it| it.node == SWITCH && it.priority == priority);
    rows.fold((0, 0), |(queue, headroom), it| {
        let queue = queue + it.dropped_packets;
        (queue, headroom + it.headroom_dropped_packets)
    })
}

/// A limit at egress below what PFC lets in drops lossless frames at the queue, none for want of headroom. A queue that may take
/// alpha times the free memory takes alpha / (1 + alpha) of it.
#[test]
fn a_limit_of_a_queue_drops_even_what_is_lossless() {
    let flows = vec![sized(2, 1, 500_000), sized(3, 1, 500_000)];
    let mut config = config(star(&[gbps(10); 3], us(1)), flows, ms(4));
    config.switch.pfc.threshold = static_threshold(100_000);
    let results = run(&config);
    assert_lossless(&results);
    let longest = port(&results, SWITCH, 0, LOSSLESS).max_queue_bytes;
    assert!(longest > 150_000, "{longest}");
    let limit = |limit| SwitchOverride {
        priorities: Some(1 << LOSSLESS),
        queue_limit: Some(limit),
        ..own()
    };
    config.switch.overrides = vec![limit(QueueLimit::Bytes(50_000))];
    let results = run(&config);
    let longest = port(&results, SWITCH, 0, LOSSLESS).max_queue_bytes;
    assert_eq!(longest, 50_000 / FRAME * FRAME);
    let (at_queue, in_headroom) = dropped(&results, LOSSLESS);
    assert!(at_queue > 0 && in_headroom == 0);
    config.switch.overrides = vec![limit(QueueLimit::Bytes(longest * 10))];
    assert_lossless(&run(&config));

    let flows = vec![udp(2, 1, 4, 900_000), udp(3, 1, 4, 900_000)];
    let mut config = self::config(star(&[gbps(10); 3], us(1)), flows, ms(4));
    config.switch.lossless = 0;
    config.switch.buffer_bytes = Some(500_000);
    config.switch.lossy_queue_bytes = u64::MAX;
    for (shift, share) in [(-3, 8.0 / 9.0), (0, 0.5), (2, 0.2)] {
        config.switch.overrides = vec![SwitchOverride {
            queue_limit: Some(QueueLimit::Shift(shift)),
            ..own()
        }];
        let results = run(&config);
        let longest = port(&results, SWITCH, 0, 4).max_queue_bytes as f64;
        assert!(
            (longest - share * 500_000.0).abs() < 2.0 * FRAME as f64,
            "{longest}"
        );
    }
}

/// Hosts 1 and 2 on switch 0, host 4 behind switch 3: both send to it, switch 3 pauses switch 0.
fn two_switches() -> Config {
    let mut net = Net::default();
    let first = net.switch();
    for _ in 0..2 {
        net.host(first, gbps(40), us(1));
    }
    let second = net.switch();
    net.link(first, second, gbps(40), us(1));
    let sink = net.host(second, gbps(10), us(1));
    let flows = [1, 2].map(|src| sized(src, sink, 400_000)).to_vec();
    let mut config = config(net.0, flows, ms(4));
    config.switch.pfc.threshold = static_threshold(50_000);
    config
}

fn map(from: u8, to: u8) -> Option<[u8; 8]> {
    let mut map = std::array::from_fn(|priority| priority as u8);
    map[usize::from(from)] = to;
    Some(map)
}

/// Lossless packets wait in queue 1 while PAUSE stops queue 3, in which nothing is: the next switch loses what its headroom does
/// not take. Where PAUSE stops queue 1, too, all is as with queue 3.
#[test]
fn pause_stops_the_queue_that_fills_or_packets_are_lost() {
    let mut config = two_switches();
    let plain = run(&config);
    assert_lossless(&plain);
    config.switch.overrides = vec![SwitchOverride {
        to_queue: map(LOSSLESS, 1),
        ..own()
    }];
    let wrong = run(&config);
    assert_eq!(port(&wrong, SWITCH, 2, LOSSLESS).tx_packets, 0);
    assert!(port(&wrong, SWITCH, 2, LOSSLESS).paused > Time::ZERO);
    assert!(port(&wrong, SWITCH, 2, 1).tx_packets > 0);
    assert!(port(&wrong, 3, 0, LOSSLESS).headroom_dropped_packets > 0);
    config.switch.overrides[0].pfc_to_queue = map(LOSSLESS, 1);
    let right = run(&config);
    assert_lossless(&right);
    let fcts = |results: &Results| results.flows.iter().map(fct).collect::<Vec<_>>();
    assert_eq!(fcts(&right), fcts(&plain));
    let queue = |results: &Results, priority| {
        let it = port(results, SWITCH, 2, priority);
        (it.tx_bytes, it.max_queue_bytes, it.paused)
    };
    assert_eq!(queue(&right, 1), queue(&plain, LOSSLESS));
    let held = |results: &Results| port(results, SWITCH, 0, LOSSLESS).max_ingress_bytes;
    assert_eq!(held(&right), held(&plain));
}

/// Packets that count in a lossy group are lossy; in another lossless group they ask for PAUSE of its priority, which stops
/// nobody who sends them.
#[test]
fn pause_is_of_the_group_in_which_packets_count() {
    let mut config = two_switches();
    config.switch.lossless = 1 << LOSSLESS | 1 << 4;
    config.switch.lossy_queue_bytes = 100_000;
    let groups = |to| SwitchOverride {
        switches: vec![3],
        to_group: map(LOSSLESS, to),
        ..SwitchOverride::default()
    };
    config.switch.overrides = vec![groups(1)];
    let lossy = run(&config);
    assert!(
        lossy
            .ports
            .iter()
            .all(|it| it.node != 3 || it.pause_frames == 0)
    );
    assert!(port(&lossy, 3, 1, LOSSLESS).dropped_packets > 0);
    assert!(port(&lossy, 3, 1, LOSSLESS).max_queue_bytes <= 100_000);
    config.switch.overrides = vec![groups(4)];
    let other = run(&config);
    assert!(port(&other, 3, 0, 4).pause_frames > 0);
    assert_eq!(port(&other, 3, 0, LOSSLESS).pause_frames, 0);
    assert!(port(&other, 3, 0, 4).headroom_dropped_packets > 0);
    assert_eq!(port(&other, SWITCH, 2, LOSSLESS).paused, Time::ZERO);
    // Where the switch before it reads PAUSE of 4 as one of queue 3, nothing is lost.
    config.switch.overrides.push(SwitchOverride {
        pfc_to_queue: map(4, LOSSLESS),
        ..own()
    });
    assert_lossless(&run(&config));
}

/// Impossible overrides are named.
#[test]
fn what_goes_with_no_map_or_port_is_refused() {
    let refused = |own: SwitchOverride, change: fn(&mut Config)| {
        let mut config = two_switches();
        config.switch.overrides = vec![own];
        change(&mut config);
        unpause_sim::check(&config)
            .expect_err("it is refused")
            .message
    };
    let with = |change: fn(&mut SwitchOverride)| {
        let mut it = own();
        change(&mut it);
        it
    };
    for (own, change, said) in [
        (
            with(|it| it.to_queue = map(3, 1)),
            (|config| config.probes.causes = true) as fn(&mut Config),
            "for the causes of PAUSE a priority, its queue and its group must be one number",
        ),
        (
            with(|it| it.to_queue = map(3, 7)),
            |_| {},
            "control frames have a queue of their own",
        ),
        (
            with(|it| it.to_group = map(3, 9)),
            |_| {},
            "there is no queue or group 9",
        ),
        (
            with(|it| it.ports = Some(vec![(0, 9)])),
            |_| {},
            "port 9 is none of",
        ),
        (
            with(|it| (it.priorities, it.buffer_bytes) = (Some(8), Some(1_000_000))),
            |_| {},
            "what is the switch's",
        ),
        (
            with(|it| (it.priorities, it.queue_limit) = (Some(1 << 7), Some(QueueLimit::Bytes(9)))),
            |_| {},
            "priority 7 carries control frames",
        ),
        (
            with(|it| it.headroom_bytes = Some(1_000)),
            |config| config.switch.lossless = 0,
            "no switch has PFC",
        ),
    ] {
        let error = refused(own, change);
        assert!(error.contains(said), "{said}: {error}");
    }
}
