//! Nodes, ports and links: what everything else is placed on.

pub mod clocks;
pub mod graph;
pub mod packet;
pub mod ports;
pub mod rng;
pub mod telemetry;

use std::collections::BTreeMap;

use unpause_protocols::names::Names;
use unpause_protocols::units::{LinkSpeed, Rate, Time};

/// Index of a node in [`Fabric::nodes`].
pub type NodeId = u32;
/// Index of a port at its node: links in the order of [`Fabric::links`], from 0.
pub type PortId = u16;
/// Priorities are 0 to 7; strict priority serves the higher number first.
pub const PRIORITIES: usize = 8;

/// Nodes and links.
#[derive(Clone, Debug, Default)]
pub struct Fabric {
    /// Hosts and switches.
    pub nodes: Vec<NodeKind>,
    /// Full-duplex links. A host with several has a NIC at each, and forwards nothing.
    pub links: Vec<Link>,
    /// Bytes that a frame occupies on a wire beyond its own: 20 for preamble, start delimiter and
    /// inter-frame gap (IEEE 802.3), 0 to count as ns-3's RDMA models do.
    pub framing_bytes: u32,
    /// How switches choose among next hops that are equally far.
    pub ecmp: Ecmp,
    /// Which of the switches are NVSwitches, in ascending order. They have no congestion points, and lose nothing unless
    /// [`crate::config::SwitchConfig::nvlink_drops`] is set. Where a way over an NVSwitch is as short as others, it is the only one taken.
    pub nvswitches: Vec<NodeId>,
    /// The group of each node, where switches are in groups, as in a dragonfly; empty where they are not. A host is in the group of
    /// its switches. Routes take as few links between groups as possible, and of those as few links as possible.
    pub groups: Vec<u32>,
}

impl Fabric {
    /// The group of a node; 0 where there are no groups.
    pub fn group(&self, node: NodeId) -> u32 {
        self.groups.get(node as usize).copied().unwrap_or(0)
    }

    /// True if `node` is an NVSwitch.
    pub fn is_nvswitch(&self, node: NodeId) -> bool {
        self.nvswitches.binary_search(&node).is_ok()
    }

    /// The servers of hosts, the first NVSwitch that each has a link to, and their numbers there.
    pub fn seats(&self) -> BTreeMap<NodeId, (NodeId, u32)> {
        let mut found = BTreeMap::new();
        for link in &self.links {
            for (host, nvswitch) in [(link.a, link.b), (link.b, link.a)] {
                if self.is_nvswitch(nvswitch) {
                    found.entry(host).or_insert(nvswitch);
                }
            }
        }
        let mut before: BTreeMap<NodeId, u32> = BTreeMap::new();
        let seat = |(host, server)| {
            let count = before.entry(server).or_default();
            *count += 1;
            (host, (server, *count - 1))
        };
        found.into_iter().map(seat).collect()
    }
}

#[cfg(test)]
impl Fabric {
    /// Such nodes, with links of 100 Gb/s of which each has a delay in microseconds.
    pub fn of(nodes: Vec<NodeKind>, links: &[(NodeId, NodeId, u64)]) -> Self {
        let link = |&(a, b, us): &(NodeId, NodeId, u64)| Link {
            a,
            b,
            rate: Rate::from_gbps(100),
            delay: Time::from_us(us),
        };
        Self {
            nodes,
            links: links.iter().map(link).collect(),
            framing_bytes: 20,
            ..Self::default()
        }
    }
}

/// How switches choose among next hops that are equally far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Names)]
pub enum Ecmp {
    /// By a hash of addresses and source port, with a seed of each switch that follows from the run's.
    #[default]
    Own,
    /// As HPCC's simulator: by its hash of addresses and both ports, with the switch's number for a seed,
    /// whatever the run's is.
    Hpcc,
}

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// NICs with flows, one at each of its links.
    Host,
    /// A switch of the model in [`crate::config::SwitchConfig`].
    Switch,
}

/// A full-duplex link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// One end.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// Data rate of each direction, up to [`LinkSpeed::MAX`].
    pub rate: Rate,
    /// Propagation delay, above zero.
    pub delay: Time,
}

/// Checks that a link can have this rate.
///
/// # Errors
///
/// Why it cannot.
pub fn check_rate(rate: Rate) -> Result<(), String> {
    match LinkSpeed::of(rate) {
        Some(_) => Ok(()),
        None if rate == Rate::ZERO => Err("a link needs a rate above zero".into()),
        None => Err(format!(
            "a link has at most {}, at which a byte lasts a picosecond",
            LinkSpeed::MAX
        )),
    }
}

/// IPv4 address of a host in HPCC's simulator: 11.x.y.1 with x and y the high and the low byte of its number.
pub fn hpcc_address(node: NodeId) -> u32 {
    0x0b00_0001_u32
        .wrapping_add((node / 256) << 16)
        .wrapping_add((node % 256) << 8)
}
