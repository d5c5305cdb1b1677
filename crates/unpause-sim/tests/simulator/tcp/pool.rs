//! Flows over connections that are open already.

use unpause_protocols::units::Time;
use unpause_sim::results::PacketKind;
use unpause_sim::traffic::{Connections, Delays, ExtraDelay, FlowSpec, Pool, TrafficSpec};

use super::*;

/// Flows of host 1 to host 2: bytes, and start in us.
fn over(connections: Connections, flows: &[(u64, u64)]) -> Config {
    let mut config = pair(reno(params()), 1, &[], &[]);
    let flow = |&(bytes, start): &(u64, u64)| FlowSpec {
        start: us(start),
        connections,
        // Flows differ in it, connections keep that of their first flow.
        source_port: start as u16,
        extra_delay: ExtraDelay::Drawn(0),
        ..tcp_flow(1, 2, Some(bytes))
    };
    config.traffic = vec![TrafficSpec::Flows(flows.iter().map(flow).collect())];
    config.host.extra_delays = vec![Delays::OneOf(vec![Time::ZERO])];
    config.probes.packets = vec![(1, 0)];
    config
}

fn pool(slow_start_after_idle: bool) -> Connections {
    Connections::Pool(Pool::new(slow_start_after_idle))
}

fn syns(results: &Results) -> usize {
    let syn = |packet: &&_| matches!(packet, PacketKind::Syn | PacketKind::SynAck);
    results
        .packets
        .iter()
        .map(|it| &it.kind)
        .filter(syn)
        .count()
}

/// 286 segments in an RTT of 42 us and more: from ten on that takes rounds, from 286 on none.
#[test]
fn a_second_flow_continues_with_the_window_of_the_first() {
    let flows = [(400_000, 0), (400_000, 900)];
    let new = run(&over(Connections::New, &flows));
    assert_eq!(syns(&new), 2);
    assert_eq!(fct(&new.flows[0]), fct(&new.flows[1]));
    let results = run(&over(pool(false), &flows));
    assert_eq!(syns(&results), 0);
    let [first, second] = &results.flows[..] else {
        panic!("two flows")
    };
    // Without a handshake, which takes an RTT of SYNs.
    let handshake = fct(&new.flows[0]) - fct(first);
    assert_eq!(
        handshake,
        new.flows[0].ideal_fct.unwrap() - first.ideal_fct.unwrap()
    );
    assert!(fct(first) > first.ideal_fct.unwrap() + us(40));
    assert_eq!(second.fct, second.ideal_fct);
}

#[test]
fn after_a_timeout_of_idleness_it_starts_slowly_again_or_not() {
    let flows = [(400_000, 0), (400_000, 9_000)];
    let slow = run(&over(pool(true), &flows));
    assert_eq!(fct(&slow.flows[1]), fct(&slow.flows[0]));
    let fast = run(&over(pool(false), &flows));
    assert_eq!(fast.flows[1].fct, fast.flows[1].ideal_fct);
    // Sooner than the timeout of 1 ms: not idle for long.
    let soon = run(&over(pool(true), &[(400_000, 0), (400_000, 900)]));
    assert_eq!(soon.flows[1].fct, soon.flows[1].ideal_fct);
}

/// The second flow comes while the first is active, the third when both connections are idle.
#[test]
fn the_oldest_idle_connection_is_taken_and_keeps_its_delay() {
    let mut config = over(pool(true), &[(2_000_000, 0), (5_000, 50), (5_000, 4_000)]);
    config.host.extra_delays = vec![Delays::OneOf((1..1_000).map(us).collect())];
    let results = run(&config);
    let delays: Vec<Time> = results.flows.iter().map(|flow| flow.extra_delay).collect();
    assert_eq!(delays[0], delays[2]);
    assert_ne!(delays[0], delays[1]);
    assert_complete(&results);
    // Another entry has connections of its own.
    let TrafficSpec::Flows(flows) = &mut config.traffic[0] else {
        panic!("listed flows")
    };
    let third = flows.pop().unwrap();
    config.traffic.push(TrafficSpec::Flows(vec![third]));
    let results = run(&config);
    assert_ne!(results.flows[0].extra_delay, results.flows[2].extra_delay);
}

/// A segment of a burst is never followed by another flow's.
#[test]
fn segments_that_a_card_cuts_from_one_leave_together() {
    let interleaved = |tso: Option<u32>| {
        let tcp = newreno::Params { tso, ..window(64) };
        let mut config = pair(reno(tcp), 1, &[], &[]);
        let flows = (0..2).map(|_| tcp_flow(1, 2, Some(500_000)));
        config.traffic = vec![TrafficSpec::Flows(flows.collect())];
        config.probes.packets = vec![(1, 0)];
        let results = run(&config);
        assert_complete(&results);
        let segments = results
            .packets
            .iter()
            .filter(|it| it.kind == PacketKind::Segment);
        let flows: Vec<u32> = segments
            .filter(|it| it.node == 1)
            .map(|it| it.flow)
            .collect();
        flows.windows(2).filter(|pair| pair[0] != pair[1]).count()
    };
    let (single, together) = (interleaved(None), interleaved(Some(16)));
    assert!(single > 300, "{single}");
    assert!(together < 2 * 358 / 16 + 20, "{together}");
}
