//! The round-trip time of an empty fabric.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use unpause_protocols::units::Time;
use unpause_sim::config::{Fabric, NodeKind};

use crate::limits;
use crate::names::Names;
use crate::text::error::{Checked, Problem};

/// The longest of the shortest paths between hosts: propagation there and back, no serialisation.
/// `place` is that of the scheme that needs it.
pub(crate) fn base_rtt(fabric: &Fabric, names: &Names, place: &Range<usize>) -> Checked<Time> {
    let mut neighbours = vec![Vec::new(); fabric.nodes.len()];
    for link in &fabric.links {
        neighbours[link.a as usize].push((link.b as usize, link.delay));
        neighbours[link.b as usize].push((link.a as usize, link.delay));
    }
    let mut longest = Time::ZERO;
    // All hosts of a switch see the same distances but for their own link.
    let mut edges: BTreeMap<usize, Time> = BTreeMap::new();
    for host in names.hosts() {
        let Some(&(edge, delay)) = neighbours[*host as usize].first() else {
            continue;
        };
        let longest = edges.entry(edge).or_insert(delay);
        *longest = delay.max(*longest);
    }
    let steps = edges.len() as u64 * (fabric.nodes.len() + 2 * fabric.links.len()) as u64;
    if steps > limits::PATH_STEPS {
        return Problem::new("the base RTT of this fabric is too long to find")
            .at(place.clone(), "this scheme needs it")
            .help(format!(
                "{} switches with hosts and {} links take {steps} steps, at most {} are possible: \
                 set scheme.timely.min_rtt",
                edges.len(),
                fabric.links.len(),
                limits::PATH_STEPS
            ))
            .err();
    }
    for (edge, first) in &edges {
        let distances = distances(fabric, &neighbours, *edge);
        for host in names.hosts() {
            if let Some((_, delay)) = distances[*host as usize] {
                longest = longest.max(*first + delay);
            }
        }
    }
    Ok(longest * 2)
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
