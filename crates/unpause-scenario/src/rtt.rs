//! The round-trip time of an empty fabric.

use std::collections::VecDeque;

use unpause_protocols::units::Time;
use unpause_sim::config::{Fabric, NodeKind};

use crate::names::Names;

/// The longest of the shortest paths between hosts: propagation there and back, no serialisation.
pub(crate) fn base_rtt(fabric: &Fabric, names: &Names) -> Time {
    let mut neighbours = vec![Vec::new(); fabric.nodes.len()];
    for link in &fabric.links {
        neighbours[link.a as usize].push((link.b as usize, link.delay));
        neighbours[link.b as usize].push((link.a as usize, link.delay));
    }
    let mut longest = Time::ZERO;
    // All hosts of a switch see the same distances but for their own link.
    let mut edges: Vec<(usize, Time)> = Vec::new();
    for host in names.hosts() {
        let Some(&(edge, delay)) = neighbours[*host as usize].first() else {
            continue;
        };
        match edges.iter_mut().find(|(node, _)| *node == edge) {
            Some((_, longest)) => *longest = delay.max(*longest),
            None => edges.push((edge, delay)),
        }
    }
    for (edge, first) in &edges {
        let distances = distances(fabric, &neighbours, *edge);
        for host in names.hosts() {
            if let Some((_, delay)) = distances[*host as usize] {
                longest = longest.max(*first + delay);
            }
        }
    }
    longest * 2
}

/// Hops and delay from `from` to every node by the fewest hops, the shortest delay among these.
fn distances(
    fabric: &Fabric,
    neighbours: &[Vec<(usize, Time)>],
    from: usize,
) -> Vec<Option<(u32, Time)>> {
    let mut distance = vec![None; neighbours.len()];
    distance[from] = Some((0, Time::ZERO));
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        let (hops, delay) = distance[node].expect("queued nodes have a distance");
        if node != from && fabric.nodes[node] == NodeKind::Host {
            continue;
        }
        for (peer, link_delay) in &neighbours[node] {
            let candidate = (hops + 1, delay + *link_delay);
            match distance[*peer] {
                Some(known) if known <= candidate => {}
                Some((known_hops, _)) if known_hops == candidate.0 => {
                    distance[*peer] = Some(candidate);
                }
                Some(_) => {}
                None => {
                    distance[*peer] = Some(candidate);
                    queue.push_back(*peer);
                }
            }
        }
    }
    distance
}
