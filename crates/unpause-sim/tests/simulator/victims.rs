//! Who waited for what others did, held against the same run without the others.

use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{Config, HostConfig, NodeId, PauseStorm, WindowConfig};
use unpause_sim::results::{Results, VictimRecord};
use unpause_sim::traffic::{FlowSpec, Transport};

use crate::common::*;

/// Hosts of the far switch come first: 2 is what everybody sends to, 3 and 4 are its neighbours.
const BUSY: NodeId = 2;
/// By then the last of them has ended.
const INCAST_END: Time = Time::from_ms(6);

/// Six hosts at the near switch send 5 MB to one at the far one, at ten times what its link carries in total; their
/// link between the switches is fast enough. `others` start at hosts 11 and 12.
fn beside_incast(others: &[FlowSpec], with: bool) -> Config {
    let mut net = Net::default();
    let switches = [net.switch(), net.switch()];
    net.link(switches[0], switches[1], gbps(100), us(1));
    for (switch, hosts) in [(switches[1], 3), (switches[0], 8)] {
        for _ in 0..hosts {
            net.host(switch, gbps(10), us(1));
        }
    }
    let mut flows = others.to_vec();
    if with {
        flows.extend((5..11).map(|src| sized(src, BUSY, 1_000_000)));
    }
    let mut config = config(net.0, flows, ms(10));
    config.switch.pfc.threshold = static_threshold(60_000);
    config.probes.causes = true;
    config
}

/// With the incast and without.
fn both(others: &[FlowSpec]) -> (Results, Results) {
    let with = run(&beside_incast(others, true));
    let without = run(&beside_incast(others, false));
    (with, without)
}

/// Bytes that a flow delivered less than without the incast.
fn lost((with, without): &(Results, Results), flow: usize) -> f64 {
    let delivered = |results: &Results| results.flows[flow].delivered_bytes as f64;
    delivered(without) - delivered(with)
}

fn victim(results: &Results, flow: u32) -> VictimRecord {
    let mut of_flow = results.victims.iter().filter(|it| it.flow == flow);
    let found = of_flow.next().expect("it is a victim");
    assert!(of_flow.next().is_none(), "of one root");
    *found
}

fn limited(src: NodeId, dst: NodeId, rate: u64) -> FlowSpec {
    FlowSpec {
        rate_limit: Some(gbps(rate)),
        ..flow(src, dst)
    }
}

/// Its own link is as slow as its sender's: what had piled up keeps it full after the incast.
#[test]
fn what_is_not_sent_is_what_the_victim_lost() {
    let cases: [&[FlowSpec]; 4] = [
        &[flow(11, 3)],
        &[limited(11, 3, 5)],
        &[limited(11, 3, 4), limited(12, 3, 4)],
        &[limited(11, 3, 5), limited(11, 4, 5)],
    ];
    for others in cases {
        let results = both(others);
        for flow in 0..others.len() {
            let (lost, victim) = (lost(&results, flow), victim(&results.0, flow as u32));
            let unsent = victim.unsent_bytes as f64;
            assert!(lost > 1_000_000.0, "it did harm: {lost}");
            assert!(
                (0.75 * lost..1.1 * lost).contains(&unsent),
                "{flow} of {}: lost {lost}, not sent {unsent}",
                others.len()
            );
        }
    }
}

/// Of a flow with a size that is done later.
#[test]
fn a_victim_with_a_size_is_done_as_much_later() {
    let (with, without) = both(&[sized(11, 3, 6_000_000)]);
    let fct = |results: &Results| results.flows[0].fct.expect("it is done").as_secs_f64();
    let later = fct(&with) - fct(&without);
    let unsent = victim(&with, 0).unsent_bytes as f64 * 8.0 / 10e9;
    assert!(
        (0.75 * later..1.1 * later).contains(&unsent),
        "{later} {unsent}"
    );
}

/// The link to its receiver is full for the rest of the run, by what piled up: that is nobody's wait.
#[test]
fn nobody_waits_for_others_while_their_own_link_is_full() {
    let (with, without) = both(&[flow(11, 3)]);
    assert!(without.causes.is_empty());
    let pauses_after = with.causes.iter().filter(|it| it.time > INCAST_END);
    assert!(pauses_after.count() > 100, "PAUSE goes on");
    let victim = victim(&with, 0);
    assert!(victim.last < INCAST_END, "{victim:?}");
    let stopped = port(&with, 11, 0, LOSSLESS).paused;
    assert!(
        victim.waited < stopped + stopped,
        "{victim:?}, host {stopped:?}"
    );
}

/// A pause that no host sees holds packets up, and costs no bytes.
#[test]
fn what_waits_in_a_switch_has_been_sent() {
    let mut config = beside_incast(&[limited(11, 3, 1)], false);
    let burst = (5..11).map(|src| sized(src, BUSY, 30_000));
    let spec = std::iter::once(limited(11, 3, 1)).chain(burst).collect();
    config.traffic = vec![unpause_sim::traffic::TrafficSpec::Flows(spec)];
    let results = run(&config);
    assert_eq!(port(&results, 11, 0, LOSSLESS).paused, Time::ZERO);
    let victim = victim(&results, 0);
    assert!(victim.waited > us(10), "{victim:?}");
    assert_eq!(victim.unsent_bytes, 0);
}

/// `ports` and `causes` count the same time.
#[test]
fn pauses_hold_as_long_as_ports_say() {
    let mut jumbo = beside_incast(&[flow(11, 3)], true);
    jumbo.host.payload_bytes = 9_000;
    let mut once = beside_incast(&[flow(11, 3)], true);
    once.switch.pfc.params.mode = unpause_protocols::flow_control::pfc::PauseMode::Once;
    for config in [beside_incast(&[flow(11, 3)], true), jumbo, once] {
        let results = run(&config);
        let of_ports: Time = results
            .ports
            .iter()
            .fold(Time::ZERO, |sum, it| sum + it.paused);
        let of_causes = results
            .causes
            .iter()
            .fold(Time::ZERO, |sum, it| sum + it.paused);
        assert!(of_ports > ms(1));
        assert_eq!(of_causes, of_ports);
    }
}

/// One host has eight flows to a neighbour whose NIC accepts nothing at these times, and `other` to another one.
fn beside_storms(host: HostConfig, other: FlowSpec, storms: &[(Time, Time)]) -> VictimRecord {
    let fabric = star(&[gbps(10); 3], us(1));
    let mut flows = vec![flow(1, 2); 8];
    flows.push(other);
    let mut config = config(fabric, flows, ms(4));
    config.host = host;
    config.switch.pfc.threshold = static_threshold(5_000);
    config.events.storms = Vec::from_iter(storms.iter().map(|&(start, stop)| PauseStorm {
        host: 2,
        nic: None,
        start,
        stop,
    }));
    config.probes.causes = true;
    victim(&run(&config), 8)
}

/// Unsent bytes are at most those that the flow had, and that its source or its window would have let it send.
#[test]
fn no_more_is_not_sent_than_the_flow_could_have_sent() {
    let storm = |host, other| beside_storms(host, other, &[(us(50), ms(2))]);
    let host = HostConfig::default;
    let all = storm(host(), flow(1, 3));
    let at = |bps: f64| bps * all.waited.as_secs_f64() / 8.0;
    assert!(all.waited > us(1_800), "{all:?}");
    assert!(all.unsent_bytes as f64 > 0.1 * at(10e9), "{all:?}");
    // It has sent some of its 100 kB when PAUSE comes.
    let small = FlowSpec {
        start: us(20),
        ..sized(1, 3, 100_000)
    };
    let few = storm(host(), small).unsent_bytes;
    assert!((10_000..107_000).contains(&few), "{few}");
    // The source makes less than the link carries.
    for transport in [Transport::Roce, Transport::Udp] {
        let slow = FlowSpec {
            offered: Some(Rate::from_mbps(100)),
            transport,
            ..flow(1, 3)
        };
        let made = storm(host(), slow).unsent_bytes as f64;
        assert!((0.8..1.1).contains(&(made / at(1e8))), "{made} {all:?}");
    }
    // One packet for each round trip of more than 4 us is less than a quarter of what the link carries. The other flows
    // wait for ACKs, and share the link no more.
    let one = WindowConfig {
        bytes: Some(1_000),
        by_rate: false,
    };
    let windowed = HostConfig {
        window: Some(one),
        ..host()
    };
    let few = storm(windowed, flow(1, 3)).unsent_bytes as f64;
    assert!((0.1..0.25).contains(&(few / at(10e9))), "{few} {all:?}");
    // Nothing more is sent once the flow is stopped.
    let stopped = FlowSpec {
        stop: us(1_000),
        ..flow(1, 3)
    };
    let few = storm(host(), stopped).unsent_bytes;
    assert!(few < all.unsent_bytes * 6 / 10, "{few} {all:?}");
}

/// Between pauses it sends a few packets; the others wait again.
#[test]
fn a_flow_that_waits_often_has_no_more_to_send_than_it_is_long() {
    let storms = Vec::from_iter((0..16).map(|it| (us(50 + 110 * it), us(150 + 110 * it))));
    let long = FlowSpec {
        start: us(40),
        ..sized(1, 3, 100_000)
    };
    let victim = beside_storms(HostConfig::default(), long, &storms);
    assert!(victim.pauses > 8, "{victim:?}");
    assert_eq!(victim.unsent_bytes, 100 * FRAME, "{victim:?}");
}
