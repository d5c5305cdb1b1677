//! Breadth-first search over the switches of a fabric.

use crate::fabric::{Ecmp, Fabric, NodeId, NodeKind, PortId};
use crate::ports::Ports;

/// No number or distance: a host has none, nor has a switch that is not found.
const UNKNOWN: u32 = u32::MAX;

/// Distances from a switch, over links between switches, which have numbers of their own.
pub struct Search<'a> {
    fabric: &'a Fabric,
    switches: Vec<NodeId>,
    /// The number of each node that is a switch.
    number: Vec<u32>,
    /// For each switch: where its links begin.
    first: Vec<u32>,
    /// Links: port and number of the peer.
    links: Vec<(PortId, u32)>,
    distance: Vec<u32>,
    /// Numbers of switches in the order found.
    frontier: Vec<u32>,
    /// The place of each in it.
    found: Vec<u32>,
}

impl<'a> Search<'a> {
    /// Links between the switches of a fabric.
    pub fn new(fabric: &'a Fabric, ports: &'a Ports) -> Self {
        let is_switch = |node: NodeId| fabric.nodes[node as usize] == NodeKind::Switch;
        let nodes = 0..fabric.nodes.len() as NodeId;
        let switches: Vec<NodeId> = nodes.filter(|node| is_switch(*node)).collect();
        let mut number = vec![UNKNOWN; fabric.nodes.len()];
        for (&node, at) in switches.iter().zip(0..) {
            number[node as usize] = at;
        }
        let (mut first, mut links) = (vec![0], Vec::new());
        for &node in &switches {
            let transmitters = ports.transmitters_of(node).iter().zip(0..);
            let others = transmitters.filter(|(t, _)| is_switch(t.peer));
            links.extend(others.map(|(t, port)| (port, number[t.peer as usize])));
            first.push(links.len() as u32);
        }
        Self {
            fabric,
            distance: vec![UNKNOWN; switches.len()],
            found: vec![UNKNOWN; switches.len()],
            frontier: Vec::with_capacity(switches.len()),
            switches,
            number,
            first,
            links,
        }
    }

    fn links(&self, switch: u32) -> &[(PortId, u32)] {
        let at = switch as usize;
        &self.links[self.first[at] as usize..self.first[at + 1] as usize]
    }

    /// Finds all switches from `root` on. HPCC's simulator looks at neighbours from the last one to the
    /// first (by the addresses of their objects, which the memory gives from above), and where it has found
    /// them first is what next hops are ordered by.
    pub fn run(&mut self, root: NodeId) {
        let root = self.number[root as usize];
        self.distance.fill(UNKNOWN);
        self.distance[root as usize] = 0;
        self.frontier.clear();
        self.frontier.push(root);
        let mut at = 0;
        while at < self.frontier.len() && self.frontier.len() < self.switches.len() {
            let switch = self.frontier[at] as usize;
            at += 1;
            let new = self.frontier.len();
            for &(_, peer) in
                &self.links[self.first[switch] as usize..self.first[switch + 1] as usize]
            {
                if self.distance[peer as usize] == UNKNOWN {
                    self.distance[peer as usize] = self.distance[switch] + 1;
                    self.frontier.push(peer);
                }
            }
            if self.fabric.ecmp == Ecmp::Hpcc {
                self.frontier[new..].sort_unstable_by(|a, b| b.cmp(a));
            }
        }
        for (&switch, place) in self.frontier.iter().zip(0..) {
            self.found[switch as usize] = place;
        }
    }

    /// The switches found, nearest first and without the root, each with its number here.
    pub fn others(&self) -> impl DoubleEndedIterator<Item = (NodeId, u32)> {
        let others = self.frontier[1..].iter();
        others.map(|&at| (self.switches[at as usize], at))
    }

    /// The ports of switch number `switch` that lead closer.
    pub fn closer(&self, switch: u32, set: &mut Vec<PortId>) {
        let closer = self.distance[switch as usize].wrapping_sub(1);
        let links = self.links(switch).iter();
        set.clear();
        set.extend(
            links
                .filter(|(_, peer)| self.distance[*peer as usize] == closer)
                .map(|(port, _)| port),
        );
        if self.fabric.ecmp == Ecmp::Hpcc {
            let found = |port: &PortId| {
                let links = self.links(switch);
                let link = links.binary_search_by_key(port, |(port, _)| *port);
                link.map(|at| self.found[links[at].1 as usize])
            };
            set.sort_by_key(found);
        }
    }
}
