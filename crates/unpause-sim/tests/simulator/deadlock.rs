//! Cyclic buffer dependencies, and the deadlocks that come of them.

use std::ops::ControlFlow;

use unpause_protocols::units::Time;
use unpause_sim::config::{Config, DeadlockProbe, Fabric, NodeId, PortId};
use unpause_sim::dependency::buffer_dependency_cycle;
use unpause_sim::results::PauseRecord;
use unpause_sim::traffic::{FlowSpec, TrafficSpec};

use crate::common::*;

/// Switches 0 to n - 1 in a ring, each with a host; host i is node n + i.
fn ring(switches: u32) -> Fabric {
    let mut net = Net::default();
    for _ in 0..switches {
        net.switch();
    }
    for i in 0..switches {
        net.link(i, (i + 1) % switches, gbps(10), us(1));
    }
    for i in 0..switches {
        assert_eq!(net.host(i, gbps(40), us(1)), switches + i);
    }
    net.0
}

fn cycle(fabric: Fabric) -> Option<Vec<(NodeId, PortId)>> {
    let last = fabric.nodes.len() as NodeId - 1;
    let config = config(fabric, vec![flow(last, last - 1)], ms(1));
    buffer_dependency_cycle(&config).expect("the configuration is valid")
}

#[test]
fn a_ring_has_a_cycle_if_routes_turn_corners() {
    // Every way in a triangle is one link.
    assert_eq!(cycle(ring(3)), None);
    assert_eq!(cycle(ring(5)).map(|ports| ports.len()), Some(5));
}

#[test]
fn a_cycle_is_named_in_order() {
    let cycle = cycle(ring(5)).expect("each way of two links turns a corner");
    let fabric = ring(5);
    let mut ports = vec![Vec::new(); fabric.nodes.len()];
    for link in &fabric.links {
        ports[link.a as usize].push(link.b);
        ports[link.b as usize].push(link.a);
    }
    for (at, &(node, port)) in cycle.iter().enumerate() {
        let next = cycle[(at + 1) % cycle.len()].0;
        assert_eq!(ports[node as usize][usize::from(port)], next);
    }
}

#[test]
fn only_lossless_traffic_can_wait() {
    let mut lossy = config(ring(5), vec![flow(5, 7)], ms(1));
    assert!(buffer_dependency_cycle(&lossy).unwrap().is_some());
    lossy.switch.lossless = 1 << 4;
    assert_eq!(buffer_dependency_cycle(&lossy).unwrap(), None);
}

/// Four switches of hosts below two: up, then down.
#[test]
fn up_and_down_has_no_cycle() {
    let mut net = Net::default();
    let tors: Vec<NodeId> = (0..4).map(|_| net.switch()).collect();
    let leaves: Vec<NodeId> = (0..2).map(|_| net.switch()).collect();
    for &tor in &tors {
        for &leaf in &leaves {
            net.link(tor, leaf, gbps(40), us(1));
            net.link(tor, leaf, gbps(40), us(1));
        }
    }
    for &tor in &tors {
        net.host(tor, gbps(10), us(1));
    }
    assert_eq!(cycle(net.0.clone()), None);

    // Without L0-T3 and L1-T0, what goes from T0 to T3 bounces at T1 or T2.
    net.0
        .links
        .retain(|link| ![(3, 4), (0, 5)].contains(&(link.a, link.b)));
    let found = cycle(net.0).expect("a cycle through both leaves");
    let nodes: Vec<NodeId> = found.iter().map(|(node, _)| *node).collect();
    assert_eq!(nodes.len(), 4);
    assert!(nodes.contains(&4) && nodes.contains(&5), "{nodes:?}");
}

/// Hosts of a 5-ring send to the host two switches further, more than the ring can carry: `senders`
/// of them, in the order of the ring.
pub fn around(senders: u32, stop: Time) -> Config {
    let flows = (0..senders).map(|i| flow(5 + i, 5 + (i + 2) % 5));
    let mut config = config(ring(5), flows.collect(), stop);
    config.switch.pfc.threshold = static_threshold(20_000);
    config.probes.deadlock = Some(DeadlockProbe::default());
    config
}

/// Ports clockwise: at switch 4 port 1 leads to 0, elsewhere the last link made.
fn clockwise() -> Vec<(NodeId, PortId, u8)> {
    let ports = [0, 1, 1, 1, 1];
    (0..5)
        .zip(ports)
        .map(|(node, port)| (node, port, LOSSLESS))
        .collect()
}

#[test]
fn a_deadlock_is_found_and_ends_the_run() {
    let config = around(5, ms(100));
    let results = run(&config);
    let deadlock = results.deadlock.clone().expect("all wait for the next");
    assert_eq!(deadlock.cycle, clockwise());
    let ended = results.totals.simulated;
    assert!(deadlock.began < ms(5), "began at {}", deadlock.began);
    // The first instant 5 ms after it began.
    assert_eq!(ended.as_ps() % ms(1).as_ps(), 0);
    let held = ended - deadlock.began;
    assert!(held >= ms(5) && held < ms(6), "found after {held}");
    assert!(results.pauses.iter().all(|pause| pause.end <= ended));
    for &(node, number, _) in &deadlock.cycle {
        let of_port = |p: &&PauseRecord| (p.node, p.port) == (node, number);
        let last = results.pauses.iter().rfind(of_port).expect("it is paused");
        assert!(last.obeyed <= deadlock.began && last.end == ended);
    }
    assert_lossless(&results);

    for threads in [2, 3, 5, 7, 16] {
        let go_on = &mut |_| ControlFlow::Continue(());
        let many = unpause_sim::run_threads(&config, threads, go_on);
        assert!(
            results == many.expect("the run is valid"),
            "{threads} threads"
        );
    }
    assert!(crate::ranks::assert_ranks_do_not_matter("a ring", &config) == results);
}

/// Without a search it runs to its end, but delivers nothing any more.
#[test]
fn a_deadlock_is_searched_for_only_on_request() {
    let mut config = around(5, ms(20));
    config.probes.deadlock = None;
    let results = run(&config);
    assert_eq!((results.deadlock, results.totals.simulated), (None, ms(20)));
    config.stop = ms(10);
    assert_eq!(
        run(&config).totals.delivered_packets,
        results.totals.delivered_packets
    );
}

/// Flows that would have started after it are not among the results.
#[test]
fn flows_after_a_deadlock_do_not_start() {
    let mut config = around(5, ms(100));
    let TrafficSpec::Flows(flows) = &mut config.traffic[0] else {
        unreachable!()
    };
    for at in 1..100 {
        flows.push(FlowSpec {
            start: ms(at),
            ..sized(5, 6, 1_000)
        });
    }
    let results = run(&config);
    let ended = results.totals.simulated;
    assert!(results.deadlock.is_some() && ended < ms(20));
    assert_eq!(
        results.flows.len() as u64,
        5 + ended.as_ps() / ms(1).as_ps() - 1
    );
    assert_eq!(results.totals.flows_started, results.flows.len() as u64);
}

/// Without one of the five the waiting has an end, however crowded it is; looking changes nothing.
#[test]
fn what_is_only_crowded_is_no_deadlock() {
    let mut config = around(4, ms(20));
    let results = run(&config);
    assert!(results.totals.pause_frames > 100);
    assert_eq!(
        (&results.deadlock, results.totals.simulated),
        (&None, ms(20))
    );
    config.probes.deadlock = None;
    let unseen = run(&config);
    assert!(results.flows == unseen.flows && results.ports == unseen.ports);
    assert!(results.pauses == unseen.pauses);
}
