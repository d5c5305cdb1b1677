//! Which node runs on which thread.

use std::cmp::Reverse;
use std::collections::HashSet;

use unpause_protocols::units::Time;

use crate::config::invalid::Invalid;
use crate::config::{Config, Fabric};
use crate::fabric::ports::{Ports, Transmitter};
use crate::fabric::{NodeId, NodeKind};
use crate::plan::schedule::{Schedule, clusters, shorter};
use crate::plan::{self, Plan};

/// A thread with less than this many full-sized packets in a window, were every host to send at line
/// rate, would wait at barriers rather than work.
const MIN_PACKETS_PER_WINDOW: u64 = 100;

/// So many lengths of links are tried as those between regions, the longest first: fabrics have links of a few kinds.
const MOST_LENGTHS: usize = 16;

/// The shard of each node, on this many threads.
///
/// # Errors
///
/// The field at fault, if `config` cannot be run.
pub fn shards_of_nodes(config: &Config, threads: usize) -> Result<Vec<u16>, Invalid> {
    let plan = Plan::without_routes(config)?;
    Ok(partition(&plan, threads.max(1)))
}

/// The shard of each node. Which shard a node is in never changes a result.
pub fn partition(plan: &Plan<'_>, shards: usize) -> Vec<u16> {
    let takes = plan::least_time(plan.config);
    let (fabric, ports, schedule) = (&plan.config.fabric, &plan.ports, &plan.schedule);
    by_regions(ports, schedule, takes, shards)
        .unwrap_or_else(|| by_tiers(fabric, ports, schedule, shards))
}

/// Whole regions, if regions between which links are much longer than within can be distributed evenly.
fn by_regions(
    ports: &Ports,
    schedule: &Schedule,
    takes: impl Fn(&Transmitter) -> Time,
    shards: usize,
) -> Option<Vec<u16>> {
    let takes = |link: &Transmitter| shorter(ports, &takes, link);
    let mut times: Vec<Time> = ports.transmitters.iter().map(takes).collect();
    times.retain(|time| *time >= schedule.outer.lookahead * 2);
    times.sort_unstable();
    times.dedup();
    let shared_out = |time: &Time| {
        let region_of = clusters(ports, |link| takes(link) < *time);
        let mut regions = vec![0; 1 + *region_of.iter().max()? as usize];
        for (node, region) in (0..).zip(&region_of) {
            regions[*region as usize] += ports.rate(node);
        }
        let shard_of = evenly(&regions, shards)?;
        let of_node = region_of.iter().map(|region| shard_of[*region as usize]);
        Some(of_node.collect())
    };
    match shards {
        1 => None,
        _ => times.iter().rev().take(MOST_LENGTHS).find_map(shared_out),
    }
}

/// Distributes weights, the largest first, always to the shard that has least; `None` if one gets a tenth more than its
/// part.
fn evenly(weights: &[u64], shards: usize) -> Option<Vec<u16>> {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|at| Reverse(weights[*at]));
    let mut shard_of = vec![0; weights.len()];
    let mut load = vec![0; shards];
    for at in order {
        let least = (0..shards).min_by_key(|shard| load[*shard])?;
        shard_of[at] = least as u16;
        load[least] += weights[at];
    }
    let total: u64 = weights.iter().sum();
    let most = load.into_iter().max()?;
    (most * shards as u64 * 10 <= total * 11).then_some(shard_of)
}

/// Edge switches with their hosts, switches above them with what is below, clusters whole; weights are port rates, since a
/// node's work is the packets that it handles.
fn by_tiers(fabric: &Fabric, ports: &Ports, schedule: &Schedule, shards: usize) -> Vec<u16> {
    let nodes = fabric.nodes.len();
    let is_host = |node: NodeId| fabric.nodes[node as usize] == NodeKind::Host;
    let mut weight = vec![0u64; nodes];
    for node in 0..nodes as NodeId {
        let at = if is_host(node) {
            nearest(node, ports, schedule)
        } else {
            node
        };
        weight[at as usize] += ports.rate(node);
    }
    let mut shard_of = vec![0u16; nodes];
    // Tier by tier from the hosts up: nodes near one another in the numbering, mostly a pod, stay together.
    let mut shared = vec![false; nodes];
    let mut left: Vec<NodeId> = (0..nodes as NodeId)
        .filter(|&node| !is_host(node))
        .collect();
    while !left.is_empty() {
        let is_next = |node: &NodeId| {
            let mut peers = ports.transmitters_of(*node).iter().map(|it| it.peer);
            peers.any(|peer| is_host(peer) || shared[peer as usize])
        };
        let (mut tier, mut rest): (Vec<NodeId>, _) = left.into_iter().partition(is_next);
        if tier.is_empty() {
            std::mem::swap(&mut tier, &mut rest);
        }
        let total: u64 = tier.iter().map(|&node| weight[node as usize]).sum();
        let mut before = 0;
        for node in tier {
            // The middle of the switch's share of the total decides.
            let middle = before + weight[node as usize] / 2;
            shard_of[node as usize] = (middle * shards as u64 / total.max(1)) as u16;
            before += weight[node as usize];
            shared[node as usize] = true;
        }
        left = rest;
    }
    let mut of_cluster = vec![None; nodes];
    for node in (0..nodes as NodeId).filter(|&node| !is_host(node)) {
        let own = &mut shard_of[node as usize];
        *own = *of_cluster[schedule.cluster(node) as usize].get_or_insert(*own);
    }
    for node in 0..nodes as NodeId {
        if is_host(node) {
            shard_of[node as usize] = shard_of[nearest(node, ports, schedule) as usize];
        }
    }
    shard_of
}

/// The switch that a host goes with: one of its cluster if there is one, else its first.
fn nearest(host: NodeId, ports: &Ports, schedule: &Schedule) -> NodeId {
    let mut peers = ports.transmitters_of(host).iter().map(|link| link.peer);
    let first = ports.transmitters_of(host)[0].peer;
    let own = schedule.cluster(host);
    peers
        .find(|peer| schedule.cluster(*peer) == own)
        .unwrap_or(first)
}

/// How long the shards of this many threads run independently, if they do.
fn independent_for(config: &Config, threads: usize) -> Option<Time> {
    let mut plan = Plan::without_routes(config).ok()?;
    let shard_of = partition(&plan, threads);
    plan.set_independent(&shard_of);
    plan.schedule.independent
}

/// How many of `threads` the run can use, and why not all of them.
pub fn useful_threads(config: &Config, threads: usize) -> (usize, Option<String>) {
    let schedule = plan::schedule(config, &plan::ports(config));
    let switches = (0..).zip(&config.fabric.nodes);
    let switches = switches.filter(|(_, kind)| **kind == NodeKind::Switch);
    let parts = switches
        .map(|(node, _)| schedule.cluster(node))
        .collect::<HashSet<_>>()
        .len();
    let links = config.fabric.links.iter();
    let links = links.filter(|link| schedule.cluster(link.a) != schedule.cluster(link.b));
    let delay = links.map(|link| link.delay).min();
    let delay = delay.unwrap_or(Time::from_us(1));
    let delay =
        independent_for(config, threads).map_or(delay, |independent| independent.max(delay));
    let host = &config.host;
    let frame_bits = u64::from(host.payload_bytes + host.header_bytes) * 8;
    let is_host = |node: NodeId| config.fabric.nodes[node as usize] == NodeKind::Host;
    let packets: u64 = config
        .fabric
        .links
        .iter()
        .filter(|link| is_host(link.a) || is_host(link.b))
        .map(|link| (link.rate.as_gbps_f64() * delay.as_ns_f64()) as u64 / frame_bits.max(1))
        .sum();
    let by_work = (packets / MIN_PACKETS_PER_WINDOW).max(1) as usize;
    let useful = threads.min(parts.max(1)).min(by_work).max(1);
    let reason = (useful < threads).then(|| {
        if by_work <= parts {
            format!(
                "links of {delay} leave at most {packets} packets between two barriers, too \
                 few to share among {threads} threads"
            )
        } else {
            let what = if schedule.clusters.is_some() {
                "groups of switches"
            } else {
                "switches"
            };
            format!("{parts} {what} cannot be shared among {threads} threads")
        }
    });
    (useful, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIERS: [NodeKind; 3] = [NodeKind::Host, NodeKind::Switch, NodeKind::Switch];
    const HOSTS: [(NodeId, NodeId); 4] = [(0, 4), (1, 5), (2, 6), (3, 7)];

    /// The shards, on two threads, of four of each of [`TIERS`], hosts at [`HOSTS`], and such other links with their
    /// delays in microseconds.
    fn on_two(links: &[(NodeId, NodeId, u64)]) -> Vec<u16> {
        let hosts = HOSTS.map(|(a, b)| (a, b, 1));
        let nodes = TIERS.iter().flat_map(|kind| [*kind; 4]).collect();
        let fabric = Fabric::of(nodes, &[&hosts, links].concat());
        let ports = Ports::new(&fabric);
        let schedule = Schedule::new(&ports, |link| link.delay);
        by_tiers(&fabric, &ports, &schedule, 2)
    }

    /// Two pods of two leaves, and two spines that lead to every pod's leaves.
    #[test]
    fn pods_stay_together() {
        let pods = [(4, 8), (5, 8), (6, 9), (7, 9)];
        let spines = [(8, 10), (9, 10), (8, 11), (9, 11)];
        let links: Vec<_> = pods
            .iter()
            .chain(&spines)
            .map(|&(a, b)| (a, b, 1))
            .collect();
        assert_eq!(on_two(&links), [0, 0, 1, 1, 0, 0, 1, 1, 0, 1, 0, 1]);
    }

    /// Four rings of three switches in a row.
    #[test]
    fn regions_are_shared_out_evenly() {
        let ring = |at: u32| [(at, at + 1, 1), (at + 1, at + 2, 1), (at + 2, at, 1)];
        let mut links: Vec<_> = [0, 3, 6, 9].into_iter().flat_map(ring).collect();
        links.extend([(0, 3, 50), (3, 6, 50), (6, 9, 50)]);
        let fabric = Fabric::of(vec![NodeKind::Switch; 12], &links);
        let ports = Ports::new(&fabric);
        let schedule = Schedule::new(&ports, |link| link.delay);
        let shared_out = |shards| by_regions(&ports, &schedule, |link| link.delay, shards);
        // Clusters have a lookahead of 50 us: nothing is longer.
        assert_eq!(shared_out(2), None);
        let short = Schedule {
            clusters: None,
            ..Schedule::new(&ports, |_| Time::from_us(1))
        };
        let shared_out = |shards| by_regions(&ports, &short, |link| link.delay, shards);
        let shards = shared_out(2).expect("two rings for each");
        assert!(
            shards
                .chunks(3)
                .all(|ring| ring.iter().all(|it| *it == ring[0]))
        );
        assert_eq!(shards.iter().filter(|shard| **shard == 0).count(), 6);
        assert_eq!(shared_out(1), None);
        assert_eq!(shared_out(3), None);
    }

    /// Leaves 4 and 7 have a short link to spine 8, so that they are one cluster.
    #[test]
    fn short_links_are_not_parted() {
        let links = [
            (4, 8, 1),
            (7, 8, 1),
            (5, 9, 9),
            (6, 9, 9),
            (8, 10, 9),
            (9, 11, 9),
        ];
        let shards = on_two(&links);
        assert_eq!([shards[4], shards[7], shards[8]], [0; 3]);
        assert_eq!([shards[0], shards[3]], [0; 2]);
        assert_eq!([shards[5], shards[6]], [0, 1]);
    }
}
