//! Fabrics of a thousand hosts and more.

use unpause_protocols::units::{Rate, Time};
use unpause_scenario::topology::{FatTree, LeafSpine};
use unpause_sim::config::{Config, NodeId, NodeKind, SchemeConfig};
use unpause_sim::traffic::{Arrivals, FlowSpec, Pairs, Pattern, Receivers, Size, TrafficSpec};

use super::parts::{clos_topology, dcqcn, pcn, permutation, run, w1};

pub fn fat_tree(scheme: SchemeConfig) -> Config {
    let rate = Rate::from_gbps(100);
    let topology = FatTree {
        k: 16,
        edge_uplinks: None,
        agg_uplinks: None,
        host_rate: rate,
        fabric_rate: None,
        core_rate: None,
        delay: Time::from_us(1),
        host_delay: None,
    }
    .build()
    .expect("the topology is sound");
    let traffic = permutation(&topology, Size::Fixed(2_000_000));
    run(topology, scheme, vec![traffic], Time::from_ms(100))
}

pub fn sparse(pods: u32, flows: u64) -> Config {
    let topology = clos_topology(pods);
    let hosts: Vec<NodeId> = topology.hosts().collect();
    let size = w1();
    let mut arrivals = Arrivals::poisson(0.01 * 10e9 * 512.0 / (8.0 * size.mean()), Time::ZERO);
    arrivals.max_flows = Some(flows);
    let pairs = Pairs::Random {
        from: hosts.clone(),
        to: Receivers::Any(hosts),
        synchronised: false,
    };
    let traffic = TrafficSpec::Pattern(Pattern::new(pairs, size, arrivals));
    run(topology, pcn(), vec![traffic], Time::from_ms(100))
}

/// Delay of a link of today's fabrics.
pub const LINK: Time = Time::from_ns(500);
/// Delay of a short cable.
pub const CABLE: Time = Time::from_ns(10);

/// Today's fabrics: 400 Gb/s, frames of 4 KB. Flows of `bytes`, from each host and to each.
pub fn leaf_spine(
    [leaves, spines, hosts_per_leaf]: [u32; 3],
    host_delay: Time,
    bytes: u64,
) -> Config {
    let topology = LeafSpine {
        leaves,
        spines,
        hosts_per_leaf,
        host_rate: Rate::from_gbps(400),
        fabric_rate: None,
        parallel: 1,
        delay: LINK,
        host_delay: Some(host_delay),
    }
    .build()
    .expect("the topology is sound");
    let traffic = permutation(&topology, Size::Fixed(bytes));
    let mut config = run(topology, dcqcn(), vec![traffic], Time::from_ms(100));
    config.host.payload_bytes = 4096;
    config
}

/// A step of a collective: each rank sends to the next, and links have one flow each way.
pub fn ring() -> Config {
    let mut config = leaf_spine([32, 32, 32], LINK, 1);
    let nodes = config.fabric.nodes.iter().zip(0..);
    let hosts: Vec<NodeId> = nodes
        .filter(|(kind, _)| **kind == NodeKind::Host)
        .map(|(_, node)| node)
        .collect();
    let to = hosts.iter().cycle().skip(1);
    let flow = |(&src, &dst): (&NodeId, &NodeId)| FlowSpec {
        size_bytes: Some(1_000_000),
        source_port: src as u16,
        ..FlowSpec::between(src, dst)
    };
    config.traffic = vec![TrafficSpec::Flows(hosts.iter().zip(to).map(flow).collect())];
    config
}
