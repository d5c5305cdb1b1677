//! Cyclic buffer dependencies, and the deadlocks that come of them.

use unpause_sim::config::{Fabric, NodeId, PortId};
use unpause_sim::dependency::buffer_dependency_cycle;

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
