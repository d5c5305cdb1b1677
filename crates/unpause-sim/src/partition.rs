//! Which node runs on which thread.

use unpause_protocols::units::Time;

use crate::config::Config;
use crate::fabric::{NodeId, NodeKind};
use crate::invalid::Invalid;
use crate::plan::Plan;
use crate::ports::Ports;

/// A thread with less than so many full-sized packets in a window, were every host to send at line
/// rate, would wait at barriers rather than work.
const MIN_PACKETS_PER_WINDOW: u64 = 100;

/// The thread of each node, on so many threads.
///
/// # Errors
///
/// The field at fault, if `config` cannot be run.
pub fn shares(config: &Config, threads: usize) -> Result<Vec<u16>, Invalid> {
    let plan = Plan::without_routes(config)?;
    Ok(partition(config, &plan.ports, threads.max(1)))
}

/// The shard of each node. Edge switches stay with their hosts; weights are port rates, since a
/// node's work is the packets that it handles. Which shard a node is in never changes a result.
pub fn partition(config: &Config, ports: &Ports, shards: usize) -> Vec<u16> {
    let nodes = config.fabric.nodes.len();
    let is_host = |node: NodeId| config.fabric.nodes[node as usize] == NodeKind::Host;
    let rate = |node: NodeId| -> u64 {
        // Bytes per microsecond and up: exact enough for a weight.
        ports
            .transmitters_of(node)
            .iter()
            .map(|t| 1_000_000 / t.ps_per_byte.max(1))
            .sum()
    };
    let mut weight = vec![0u64; nodes];
    for node in 0..nodes as NodeId {
        let at = if is_host(node) {
            ports.transmitters_of(node)[0].peer
        } else {
            node
        };
        weight[at as usize] += rate(node);
    }
    let mut shard_of = vec![0u16; nodes];
    for with_hosts in [true, false] {
        let has_hosts = |node: NodeId| {
            ports
                .transmitters_of(node)
                .iter()
                .any(|transmitter| is_host(transmitter.peer))
        };
        let switches: Vec<NodeId> = (0..nodes as NodeId)
            .filter(|&node| !is_host(node) && has_hosts(node) == with_hosts)
            .collect();
        let total: u64 = switches.iter().map(|&node| weight[node as usize]).sum();
        let mut before = 0;
        for node in switches {
            // The middle of the switch's share of the total decides.
            let middle = before + weight[node as usize] / 2;
            shard_of[node as usize] = (middle * shards as u64 / total.max(1)) as u16;
            before += weight[node as usize];
        }
    }
    for node in 0..nodes as NodeId {
        if is_host(node) {
            shard_of[node as usize] = shard_of[ports.transmitters_of(node)[0].peer as usize];
        }
    }
    shard_of
}

/// How many of `threads` the run can use, and why not all of them.
pub fn useful_threads(config: &Config, threads: usize) -> (usize, Option<String>) {
    let switches = config
        .fabric
        .nodes
        .iter()
        .filter(|&&kind| kind == NodeKind::Switch)
        .count();
    let lookahead = config.fabric.links.iter().map(|link| link.delay).min();
    let lookahead = lookahead.unwrap_or(Time::from_us(1));
    let host = &config.host;
    let frame_bits = u64::from(host.payload_bytes + host.header_bytes) * 8;
    let is_host = |node: NodeId| config.fabric.nodes[node as usize] == NodeKind::Host;
    let packets: u64 = config
        .fabric
        .links
        .iter()
        .filter(|link| is_host(link.a) || is_host(link.b))
        .map(|link| (link.rate.as_gbps_f64() * lookahead.as_ns_f64()) as u64 / frame_bits.max(1))
        .sum();
    let by_work = (packets / MIN_PACKETS_PER_WINDOW).max(1) as usize;
    let useful = threads.min(switches.max(1)).min(by_work).max(1);
    let reason = (useful < threads).then(|| {
        if by_work <= switches {
            format!(
                "links of {lookahead} leave at most {packets} packets between two barriers, too \
                 few to share among {threads} threads"
            )
        } else {
            format!("{switches} switches cannot be shared among {threads} threads")
        }
    });
    (useful, reason)
}
