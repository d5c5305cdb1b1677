//! Shortest paths with equal-cost multipath.
//!
//! Routes lead to the switch that a host hangs on, so that a table has one entry a switch with
//! hosts, not one a host; to a host with several links they lead to itself, by the nearest of its
//! switches. Packets never go through a host. Among equal next hops a flow's is chosen by a hash of its addresses and
//! source port with a seed of each switch.

use std::sync::Arc;

use unpause_protocols::units::{LinkSpeed, Time};

use crate::config::Config;
use crate::fabric::packet::Packet;
use crate::fabric::ports::{GlobalPort, Ports};
use crate::fabric::rng::mix;
use crate::fabric::{Ecmp, Fabric, NodeId, NodeKind, PortId};
use crate::prefetch::prefetch;

mod by_groups;
mod entropy;
mod hpcc;
mod next_hops;
pub mod search;
mod valiant;

pub use entropy::Direction;
use entropy::Entropy;
use hpcc::HpccEcmp;
use next_hops::{SET, SwitchRoutes};
use search::Search;
use valiant::Valiant;

/// Marks a node that is not an edge switch, or an unreachable one.
const NONE: u32 = u32::MAX;
/// Marks a host that hangs on no switch.
const UNATTACHED: u32 = NONE - 1;

/// Routes of the whole fabric.
#[derive(Debug, Default)]
pub struct Routing {
    /// For each node that is a host: the index of its edge switch, and its port there; with several links, its own index
    /// among edge switches.
    host: Vec<Attachment>,
    /// For each node: its next hops.
    switch: Vec<SwitchRoutes>,
    /// How HPCC's simulator chooses, if that is asked for.
    ecmp: Option<Arc<HpccEcmp>>,
    /// There is a path between any two hosts, so it need not be checked for each flow.
    complete: bool,
    /// Ways to groups, if flows go by a third one.
    valiant: Option<Box<Valiant>>,
}

#[derive(Clone, Copy, Debug)]
struct Attachment {
    edge: u32,
    port: PortId,
}

impl Attachment {
    /// That of a host whose link leads nowhere.
    const NONE: Self = Self {
        edge: UNATTACHED,
        port: 0,
    };
}

/// The next hop from a switch.
#[derive(Clone, Copy, Debug)]
pub struct WayOn<'a> {
    routing: &'a Routing,
    switch: NodeId,
    routes: &'a SwitchRoutes,
}

impl WayOn<'_> {
    /// The port by which the switch sends on a packet, if there is a path.
    #[inline(always)]
    pub fn of(&self, packet: &Packet) -> Option<PortId> {
        self.port(packet.src, packet.dst, packet)
    }

    #[inline(always)]
    fn port(&self, src: NodeId, dst: NodeId, entropy: &impl Entropy) -> Option<PortId> {
        let Self {
            routing,
            switch,
            routes,
        } = *self;
        let attachment = routing.host[dst as usize];
        if attachment.edge == routes.edge {
            return Some(attachment.port);
        }
        let entry = *routes.next_hops.get(attachment.edge as usize)?;
        if entry & SET == 0 {
            return Some(entry);
        }
        let set = entry & !SET;
        match &routing.ecmp {
            None => routes.choose(set, src, dst, entropy.source_port()),
            Some(hpcc) => routes.at(set, hpcc.hash(switch, (src, dst), entropy)),
        }
    }
}

/// Finds the next hops of all switches to all edge switches. To those connected to the same switches the paths are the same,
/// but for the last two hops.
fn fill(switch: &mut [SwitchRoutes], edges: &[NodeId], search: &mut Search<'_>) {
    let alike = search.alike(edges);
    let mut set = Vec::new();
    for (edge, &root) in edges.iter().enumerate().filter(|(at, _)| alike[*at] == *at) {
        search.run(root);
        for (node, at) in search.others() {
            search.closer(at, &mut set);
            let routes = &mut switch[node as usize];
            routes.next_hops[edge] = routes.entry(&set);
        }
        for (node, ports) in search.last_hops() {
            let routes = &mut switch[node as usize];
            routes.next_hops[edge] = routes.entry(&ports);
        }
        for (host, ports) in search.first_hops() {
            let routes = &mut switch[host as usize];
            routes.next_hops[edge] = routes.entry(&ports);
        }
    }
    let twins = || (0..edges.len()).filter(|&edge| alike[edge] != edge);
    for routes in switch.iter_mut().filter(|it| !it.next_hops.is_empty()) {
        for edge in twins() {
            routes.next_hops[edge] = routes.next_hops[alike[edge]];
        }
    }
    for edge in twins() {
        let (own, first) = (edges[edge], edges[alike[edge]]);
        for (neighbour, ports) in search.ways_back(own) {
            let routes = &mut switch[neighbour as usize];
            routes.next_hops[edge] = routes.entry(&ports);
        }
        switch[own as usize].next_hops[edge] = SET;
        let routes = &mut switch[first as usize];
        routes.next_hops[edge] = routes.entry(&search.ports_of(first));
    }
}

impl Routing {
    /// Breadth-first search from every switch that has hosts.
    pub fn new(fabric: &Fabric, ports: &Ports, seed: u64) -> Self {
        Self::without(fabric, ports, seed, &[])
    }

    /// The same without the links whose ports, at both ends, are marked in `dead`, if any are.
    pub fn without(fabric: &Fabric, ports: &Ports, seed: u64, dead: &[bool]) -> Self {
        let is_dead = |port: GlobalPort| dead.get(port as usize).is_some_and(|dead| *dead);
        let nodes = fabric.nodes.len();
        let is_host = |node: usize| fabric.nodes[node] == NodeKind::Host;
        let mut host = vec![Attachment::NONE; nodes];
        let mut edge_of_switch = vec![NONE; nodes];
        let mut edges: Vec<NodeId> = Vec::new();
        for node in (0..nodes).filter(|&node| is_host(node)) {
            let uplinks = ports.transmitters_of(node as NodeId);
            let Some(uplink) = uplinks.first() else {
                continue;
            };
            if uplinks.len() > 1 {
                edge_of_switch[node] = edges.len() as u32;
                host[node].edge = edges.len() as u32;
                edges.push(node as NodeId);
                continue;
            }
            if is_host(uplink.peer as usize) || is_dead(uplink.peer_port) {
                continue;
            }
            let edge = &mut edge_of_switch[uplink.peer as usize];
            if *edge == NONE {
                *edge = edges.len() as u32;
                edges.push(uplink.peer);
            }
            host[node] = Attachment {
                edge: *edge,
                port: ports.local(uplink.peer, uplink.peer_port),
            };
        }
        let mut switch: Vec<SwitchRoutes> = (0..nodes)
            .map(|node| {
                let (destinations, sets) = if is_host(node) && edge_of_switch[node] == NONE {
                    (0, Vec::new())
                } else {
                    (edges.len(), vec![(0, 0)])
                };
                SwitchRoutes {
                    edge: edge_of_switch[node],
                    seed: mix(seed ^ mix(node as u64 + 1)),
                    next_hops: vec![SET; destinations],
                    sets,
                    ports: Vec::new(),
                }
            })
            .collect();
        fill(
            &mut switch,
            &edges,
            &mut Search::new(fabric, ports, is_dead),
        );
        let attached = |node: usize| !is_host(node) || host[node].edge != UNATTACHED;
        let reaches_all = |&edge: &NodeId| {
            let routes = &switch[edge as usize];
            let to = routes.next_hops.iter().enumerate();
            to.filter(|(_, entry)| **entry == SET)
                .all(|(to, _)| to == routes.edge as usize)
        };
        let complete = (0..nodes).all(attached) && edges.iter().all(reaches_all);
        Self {
            host,
            switch,
            ecmp: None,
            complete,
            valiant: None,
        }
    }

    /// The ports by which `switch` may send to `dst`, all equally far; none if there is no path.
    #[inline]
    pub fn choices(&self, switch: NodeId, dst: NodeId) -> &[PortId] {
        let routes = &self.switch[switch as usize];
        let attachment = &self.host[dst as usize];
        if attachment.edge == routes.edge {
            return std::slice::from_ref(&attachment.port);
        }
        routes.towards(attachment.edge as usize)
    }

    /// Lets switches choose among next hops as [`Fabric::ecmp`] says.
    pub fn choose_as(&mut self, config: &Config) {
        if config.fabric.ecmp == Ecmp::Hpcc {
            self.ecmp = Some(Arc::new(HpccEcmp::new(config)));
        }
    }

    /// Lets switches choose as with `other` routes.
    pub fn choose_like(&mut self, other: &Self) {
        self.ecmp.clone_from(&other.ecmp);
    }

    /// The switch of `port` sends nothing more by it, but by those that lead equally far.
    pub fn cut(&mut self, ports: &Ports, port: GlobalPort) {
        let (node, local) = ports.place(port);
        self.switch[node as usize].cut(local);
        if let Some(valiant) = &mut self.valiant {
            valiant.cut(node, local);
        }
    }

    /// True if the path of a flow depends on more than its addresses and its source port.
    pub fn tells_flows_apart(&self) -> bool {
        self.ecmp.is_some()
    }

    /// Prefetches what [`Self::way`] looks up.
    #[inline(always)]
    pub fn prefetch(&self, packet: &Packet) {
        prefetch(&self.host[packet.dst as usize]);
    }

    /// The port by which `switch` sends on a packet, if there is a path.
    #[inline(always)]
    pub fn way(&self, switch: NodeId, packet: &Packet) -> Option<PortId> {
        self.port(switch, packet.src, packet.dst, packet)
    }

    /// The next hop from `switch`, for frequent callers.
    #[inline]
    pub fn from(&self, switch: NodeId) -> WayOn<'_> {
        WayOn {
            routing: self,
            switch,
            routes: &self.switch[switch as usize],
        }
    }

    /// The port by which `switch` sends to `dst`, if there is a path.
    #[inline(always)]
    fn port(
        &self,
        switch: NodeId,
        src: NodeId,
        dst: NodeId,
        entropy: &impl Entropy,
    ) -> Option<PortId> {
        self.from(switch).port(src, dst, entropy)
    }

    /// The NIC by which packets leave the host that they start at, if there is a path.
    pub fn nic(&self, way: &Direction) -> Option<PortId> {
        if self.switch[way.src as usize].next_hops.is_empty() {
            Some(0)
        } else {
            self.port(way.src, way.src, way.dst, way)
        }
    }

    /// True if there is a path from one host to the other.
    pub fn reaches(&self, ports: &Ports, src: NodeId, dst: NodeId) -> bool {
        if self.complete {
            return true;
        }
        let any = Direction {
            src,
            dst,
            source_port: 0,
            flow: None,
            is_feedback: false,
        };
        self.path(ports, &any).is_some()
    }

    /// The links of a shortest path, as (speed, delay); `None` if there is none.
    pub fn path(&self, ports: &Ports, way: &Direction) -> Option<Vec<(LinkSpeed, Time)>> {
        self.walk(ports, way, |switch| {
            self.port(switch, way.src, way.dst, way)
        })
    }

    /// The links of the path on which each switch has this next hop.
    fn walk(
        &self,
        ports: &Ports,
        way: &Direction,
        next_hop: impl Fn(NodeId) -> Option<PortId>,
    ) -> Option<Vec<(LinkSpeed, Time)>> {
        let Direction { src, dst, .. } = *way;
        const USUAL: usize = 6;
        let nic = self.nic(way)?;
        let mut link = *ports.transmitters_of(src).get(usize::from(nic))?;
        let mut path = Vec::with_capacity(USUAL);
        path.push((link.speed, link.delay));
        while link.peer != dst {
            let port = next_hop(link.peer)?;
            link = ports.transmitters_of(link.peer)[port as usize];
            path.push((link.speed, link.delay));
        }
        Some(path)
    }
}
