//! Shortest paths with equal-cost multipath.
//!
//! Routes lead to the switch that a host hangs on, so that a table has one entry a switch with
//! hosts, not one a host. Among equal next hops a flow's is chosen by a hash of its addresses and
//! source port with a seed of each switch.

use unpause_protocols::units::Time;

use crate::fabric::{Fabric, NodeId, NodeKind, PortId};
use crate::ports::Ports;
use crate::rng::mix;

/// Marks a node that is not an edge switch, or an unreachable one.
const NONE: u32 = u32::MAX;

/// Routes of the whole fabric.
#[derive(Debug, Default)]
pub struct Routing {
    /// For each node that is a host: the index of its edge switch, and its port there.
    host: Vec<Attachment>,
    /// For each switch: its next hops.
    switch: Vec<Option<SwitchRoutes>>,
    /// The switches that have hosts.
    edges: Vec<NodeId>,
}

#[derive(Clone, Copy, Debug)]
struct Attachment {
    edge: u32,
    port: PortId,
}

/// The next hops of one switch.
#[derive(Clone, Debug)]
struct SwitchRoutes {
    /// This switch's own index as an edge switch.
    edge: u32,
    seed: u64,
    /// For each edge switch: which set of ports leads there.
    next_hops: Vec<u16>,
    /// Each set of ports that lead equally far, as a range of `ports`. The first is empty.
    sets: Vec<(u16, u16)>,
    ports: Vec<PortId>,
}

impl SwitchRoutes {
    /// The number of a set of ports; most destinations share a few.
    fn set(&mut self, ports: &[PortId]) -> u16 {
        let known = self
            .sets
            .iter()
            .position(|&(start, count)| self.ports[start as usize..][..count as usize] == *ports);
        known.unwrap_or_else(|| {
            self.sets
                .push((self.ports.len() as u16, ports.len() as u16));
            self.ports.extend(ports);
            self.sets.len() - 1
        }) as u16
    }
}

impl Routing {
    /// Breadth-first search from every switch that has hosts.
    pub fn new(fabric: &Fabric, ports: &Ports, seed: u64) -> Self {
        let nodes = fabric.nodes.len();
        let is_host = |node: usize| fabric.nodes[node] == NodeKind::Host;
        let mut host = vec![
            Attachment {
                edge: NONE,
                port: 0
            };
            nodes
        ];
        let mut edge_of_switch = vec![NONE; nodes];
        let mut edges: Vec<NodeId> = Vec::new();
        for node in (0..nodes).filter(|&node| is_host(node)) {
            let Some(uplink) = ports.transmitters_of(node as NodeId).first() else {
                continue;
            };
            if is_host(uplink.peer as usize) {
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
        let mut switch: Vec<Option<SwitchRoutes>> = (0..nodes)
            .map(|node| {
                (!is_host(node)).then(|| SwitchRoutes {
                    edge: edge_of_switch[node],
                    seed: mix(seed ^ mix(node as u64 + 1)),
                    next_hops: vec![0; edges.len()],
                    sets: vec![(0, 0)],
                    ports: Vec::new(),
                })
            })
            .collect();
        let mut distance = vec![NONE; nodes];
        let mut frontier = Vec::new();
        for (edge, &root) in edges.iter().enumerate() {
            distance.fill(NONE);
            distance[root as usize] = 0;
            frontier.clear();
            frontier.push(root);
            let mut at = 0;
            while at < frontier.len() {
                let node = frontier[at];
                at += 1;
                for transmitter in ports.transmitters_of(node) {
                    let peer = transmitter.peer as usize;
                    if distance[peer] == NONE && !is_host(peer) {
                        distance[peer] = distance[node as usize] + 1;
                        frontier.push(transmitter.peer);
                    }
                }
            }
            for &node in &frontier[1..] {
                let routes = switch[node as usize]
                    .as_mut()
                    .expect("only switches are searched");
                let closer = ports
                    .transmitters_of(node)
                    .iter()
                    .enumerate()
                    .filter(|(_, t)| {
                        let peer = distance[t.peer as usize];
                        peer != NONE && peer + 1 == distance[node as usize]
                    });
                let set: Vec<PortId> = closer.map(|(port, _)| port as PortId).collect();
                routes.next_hops[edge] = routes.set(&set);
            }
        }
        Self {
            host,
            switch,
            edges,
        }
    }

    /// The switches that have hosts.
    pub fn edges(&self) -> &[NodeId] {
        &self.edges
    }

    /// The ports of `switch` by which packets may go on to the edge switch of index `edge`; none
    /// there itself.
    pub fn next_hops(&self, switch: NodeId, edge: usize) -> &[PortId] {
        let Some(routes) = &self.switch[switch as usize] else {
            return &[];
        };
        let (start, count) = routes.sets[usize::from(routes.next_hops[edge])];
        &routes.ports[usize::from(start)..][..usize::from(count)]
    }

    /// The ports by which `switch` may send to `dst`, all equally far; none if there is no way.
    #[inline]
    pub fn choices(&self, switch: NodeId, dst: NodeId) -> &[PortId] {
        let Some(routes) = &self.switch[switch as usize] else {
            return &[];
        };
        let attachment = &self.host[dst as usize];
        if attachment.edge == routes.edge && attachment.edge != NONE {
            return std::slice::from_ref(&attachment.port);
        }
        let set = routes.next_hops.get(attachment.edge as usize);
        let (start, count) = set.map_or((0, 0), |&set| routes.sets[usize::from(set)]);
        &routes.ports[usize::from(start)..][..usize::from(count)]
    }

    /// The port by which `switch` sends to `dst`, if there is a way.
    #[inline]
    pub fn port(
        &self,
        switch: NodeId,
        src: NodeId,
        dst: NodeId,
        source_port: u16,
    ) -> Option<PortId> {
        let routes = self.switch[switch as usize].as_ref()?;
        let attachment = self.host[dst as usize];
        if attachment.edge == routes.edge {
            return (attachment.edge != NONE).then_some(attachment.port);
        }
        let set = *routes.next_hops.get(attachment.edge as usize)?;
        let (start, count) = routes.sets[set as usize];
        let choice = match count {
            0 => return None,
            1 => 0,
            _ => {
                let addresses = u64::from(src) << 32 | u64::from(dst);
                let hash = mix(addresses ^ u64::from(source_port) << 16 ^ routes.seed);
                (((hash >> 32) * u64::from(count)) >> 32) as u16
            }
        };
        Some(routes.ports[(start + choice) as usize])
    }

    /// True if there is a way from one host to the other.
    pub fn reaches(&self, ports: &Ports, src: NodeId, dst: NodeId) -> bool {
        let uplink = ports.transmitters_of(src).first();
        uplink.is_some_and(|uplink| self.port(uplink.peer, src, dst, 0).is_some())
    }

    /// The links of the way from `src` to `dst`, as (time of a byte in ps, delay); `None` if there
    /// is no way.
    pub fn path(
        &self,
        ports: &Ports,
        src: NodeId,
        dst: NodeId,
        source_port: u16,
    ) -> Option<Vec<(u64, Time)>> {
        let mut link = *ports.transmitters_of(src).first()?;
        let mut path = vec![(link.ps_per_byte, link.delay)];
        while link.peer != dst {
            let port = self.port(link.peer, src, dst, source_port)?;
            link = ports.transmitters_of(link.peer)[port as usize];
            path.push((link.ps_per_byte, link.delay));
        }
        Some(path)
    }
}
