//! Breadth-first search over the switches of a fabric, from one of them or from a host with several links.

use std::collections::{BTreeMap, HashMap};

use crate::fabric::ports::{GlobalPort, Ports};
use crate::fabric::{Ecmp, Fabric, NodeId, NodeKind, PortId};

/// No number or distance: a host has none, nor has a switch that is not found.
const UNKNOWN: u32 = u32::MAX;

/// Distances from a switch, over links between switches, which have numbers of their own.
pub struct Search<'a> {
    fabric: &'a Fabric,
    ports: &'a Ports,
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
    /// Hosts with several links, each with its ports but for the dead ones.
    hosts: BTreeMap<NodeId, Vec<PortId>>,
    /// Where the search began.
    root: NodeId,
    /// A link between groups is as far as this many others, more than a path has: routes take as few of them as possible.
    far: u32,
}

impl<'a> Search<'a> {
    /// Links between the switches of a fabric, but for those whose ports `is_dead` says it of.
    pub fn new(fabric: &'a Fabric, ports: &'a Ports, is_dead: impl Fn(GlobalPort) -> bool) -> Self {
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
            let first_port = ports.of(node).start;
            let others = transmitters
                .filter(|(t, port)| is_switch(t.peer) && !is_dead(first_port + u32::from(*port)));
            links.extend(others.map(|(t, port)| (port, number[t.peer as usize])));
            first.push(links.len() as u32);
        }
        let is_one = |node: &NodeId| !is_switch(*node) && ports.transmitters_of(*node).len() > 1;
        let hosts = (0..fabric.nodes.len() as NodeId)
            .filter(is_one)
            .map(|host| {
                let first = ports.of(host).start;
                let all = 0..ports.transmitters_of(host).len() as PortId;
                let alive = all.filter(|port| !is_dead(first + u32::from(*port)));
                (host, alive.collect())
            });
        Self {
            hosts: hosts.collect(),
            root: 0,
            // So that no distance wraps: there are as many links between groups in a path, at most.
            far: switches.len().clamp(1, usize::from(u16::MAX)) as u32,
            fabric,
            ports,
            distance: vec![UNKNOWN; switches.len()],
            found: vec![UNKNOWN; switches.len()],
            frontier: Vec::with_capacity(switches.len()),
            switches,
            number,
            first,
            links,
        }
    }

    /// The switches, in the order of their numbers.
    pub fn switches(&self) -> &[NodeId] {
        &self.switches
    }

    /// The links of switch number `switch` to others: port, and number of the peer.
    pub fn links(&self, switch: u32) -> &[(PortId, u32)] {
        let at = switch as usize;
        &self.links[self.first[at] as usize..self.first[at + 1] as usize]
    }

    /// For each of these switches, the place of the first of them that has links to the same switches. Where the order in
    /// which switches are found counts, or hosts have several links, or NVSwitches go before others, or there are groups, each
    /// is the first.
    pub fn alike(&self, switches: &[NodeId]) -> Vec<usize> {
        let special = !self.fabric.nvswitches.is_empty() || !self.fabric.groups.is_empty();
        if self.fabric.ecmp == Ecmp::Hpcc || !self.hosts.is_empty() || special {
            return (0..switches.len()).collect();
        }
        let mut first = HashMap::new();
        let places = switches.iter().enumerate().map(|(at, &switch)| {
            let links = self.links(self.number[switch as usize]).iter();
            let mut peers: Vec<u32> = links.map(|(_, peer)| *peer).collect();
            peers.sort_unstable();
            *first.entry(peers).or_insert(at)
        });
        places.collect()
    }

    /// The ports of a switch that lead to others.
    pub fn ports_of(&self, switch: NodeId) -> Vec<PortId> {
        let links = self.links(self.number[switch as usize]).iter();
        links.map(|(port, _)| *port).collect()
    }

    /// The neighbours of a switch, each with its ports that lead there.
    pub fn ways_back(&self, switch: NodeId) -> BTreeMap<NodeId, Vec<PortId>> {
        self.back_from(switch, self.ports_of(switch))
    }

    fn back_from(
        &self,
        node: NodeId,
        ports: impl IntoIterator<Item = PortId>,
    ) -> BTreeMap<NodeId, Vec<PortId>> {
        let mut back: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let transmitters = self.ports.transmitters_of(node);
        for port in ports {
            let link = &transmitters[port as usize];
            let ports = back.entry(link.peer).or_default();
            ports.push(self.ports.local(link.peer, link.peer_port));
        }
        back.values_mut().for_each(|ports| ports.sort_unstable());
        back
    }

    /// Finds all switches from `root` on. HPCC's simulator looks at neighbours from the last one to the
    /// first (by the addresses of their objects, which the memory gives from above), and where it has found
    /// them first is what next hops are ordered by.
    pub fn run(&mut self, root: NodeId) {
        self.root = root;
        self.distance.fill(UNKNOWN);
        self.frontier.clear();
        self.start();
        if self.fabric.groups.is_empty() {
            self.find_all()
        } else {
            self.find_all_by_groups()
        }
        for (&switch, place) in self.frontier.iter().zip(0..) {
            self.found[switch as usize] = place;
        }
    }

    /// Each link is as far as any other.
    fn find_all(&mut self) {
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
    }

    /// Links between groups are farther.
    fn find_all_by_groups(&mut self) {
        let mut left: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for switch in std::mem::take(&mut self.frontier) {
            let distance = self.distance[switch as usize];
            left.entry(distance).or_default().push(switch);
        }
        while let Some((distance, mut switches)) = left.pop_first() {
            // Those to which there was a shorter way after all are behind.
            switches.retain(|switch| self.distance[*switch as usize] == distance);
            switches.sort_unstable();
            if self.fabric.ecmp == Ecmp::Hpcc {
                switches.reverse();
            }
            for &switch in &switches {
                let at = switch as usize;
                for link in self.first[at] as usize..self.first[at + 1] as usize {
                    let peer = self.links[link].1;
                    let over = distance + self.length(switch, peer);
                    if over < self.distance[peer as usize] {
                        self.distance[peer as usize] = over;
                        left.entry(over).or_default().push(peer);
                    }
                }
            }
            self.frontier.extend(switches);
        }
    }

    /// How far a link between two switches is.
    fn length(&self, a: u32, b: u32) -> u32 {
        let group = |switch: u32| self.fabric.group(self.switches[switch as usize]);
        if group(a) == group(b) { 1 } else { self.far }
    }

    /// The root itself is found first; of a host, its switches.
    fn start(&mut self) {
        let root = self.number[self.root as usize];
        if root != UNKNOWN {
            self.distance[root as usize] = 0;
            return self.frontier.push(root);
        }
        let links = self.ports.transmitters_of(self.root);
        for &port in &self.hosts[&self.root] {
            let link = &links[usize::from(port)];
            let switch = self.number[link.peer as usize];
            if switch != UNKNOWN && self.distance[switch as usize] == UNKNOWN {
                self.distance[switch as usize] = 1;
                self.frontier.push(switch);
            }
        }
        if self.fabric.ecmp == Ecmp::Hpcc {
            self.frontier.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// The switches of the host that the search began at, each with its ports that lead to it; none if it was a switch.
    pub fn last_hops(&self) -> BTreeMap<NodeId, Vec<PortId>> {
        match self.hosts.get(&self.root) {
            Some(links) => self.back_from(self.root, links.iter().copied()),
            None => BTreeMap::new(),
        }
    }

    /// Hosts with several links, but for the root, each with its ports that lead to the nearest of its switches.
    pub fn first_hops(&self) -> Vec<(NodeId, Vec<PortId>)> {
        let others = self.hosts.iter().filter(|(host, _)| **host != self.root);
        let nearest = |(&host, alive): (&NodeId, &Vec<PortId>)| {
            let links = self.ports.transmitters_of(host);
            let links = alive.iter().map(|&port| {
                let peer = links[usize::from(port)].peer;
                (port, self.number[peer as usize])
            });
            let found: Vec<(PortId, u32)> = links
                .filter(|(_, at)| *at != UNKNOWN && self.distance[*at as usize] != UNKNOWN)
                .collect();
            let least = found
                .iter()
                .map(|(_, at)| self.distance[*at as usize])
                .min();
            let mut found: Vec<_> = found
                .into_iter()
                .filter(|(_, at)| Some(self.distance[*at as usize]) == least)
                .collect();
            self.prefer_nvswitches(&mut found, |(_, at)| *at);
            if self.fabric.ecmp == Ecmp::Hpcc {
                found.sort_by_key(|(_, at)| self.found[*at as usize]);
            }
            (host, found.into_iter().map(|(port, _)| port).collect())
        };
        others.map(nearest).collect()
    }

    /// Among equally short paths, those over an NVSwitch are the only ones, if there are any.
    fn prefer_nvswitches<T>(&self, ways: &mut Vec<T>, next: impl Fn(&T) -> u32) {
        if self.fabric.nvswitches.is_empty() {
            return;
        }
        let over_one = |way: &T| {
            let switch = self.switches[next(way) as usize];
            self.fabric.is_nvswitch(switch)
        };
        if ways.iter().any(over_one) {
            ways.retain(over_one);
        }
    }

    /// The switches found, nearest first and without the root, each with its number here.
    pub fn others(&self) -> impl DoubleEndedIterator<Item = (NodeId, u32)> {
        let others = self.frontier.iter();
        let others = others.filter(|&&at| self.switches[at as usize] != self.root);
        others.map(|&at| (self.switches[at as usize], at))
    }

    /// The ports of switch number `switch` that lead closer.
    pub fn closer(&self, switch: u32, set: &mut Vec<PortId>) {
        let distance = self.distance[switch as usize];
        let links = self.links(switch);
        let has_groups = !self.fabric.groups.is_empty();
        let is_closer = |peer: u32| {
            let length = if has_groups {
                self.length(switch, peer)
            } else {
                1
            };
            self.distance[peer as usize] == distance.wrapping_sub(length)
        };
        set.clear();
        let closer = links.iter().filter(|(_, peer)| is_closer(*peer));
        set.extend(closer.map(|(port, _)| port));
        let peer = |port: &PortId| {
            let link = links.binary_search_by_key(port, |(port, _)| *port);
            link.map_or(UNKNOWN, |at| links[at].1)
        };
        self.prefer_nvswitches(set, peer);
        if self.fabric.ecmp == Ecmp::Hpcc {
            set.sort_by_key(|port| self.found[peer(port) as usize]);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::routing::Routing;

    /// Leaves with a host each, and spines; each leaf has links to the spines of one of two patterns, so that many have
    /// links to the same, some of them twice; some links are between leaves.
    fn fabric(
        leaves: u32,
        patterns: [Vec<u32>; 2],
        choice: &[bool],
        across: &[(u32, u32)],
    ) -> Fabric {
        const SPINES: u32 = 4;
        let mut nodes = vec![NodeKind::Host; leaves as usize];
        nodes.resize(2 * leaves as usize + SPINES as usize, NodeKind::Switch);
        let (leaf, spine) = (|at: u32| leaves + at, |at: u32| 2 * leaves + at);
        let mut links: Vec<_> = (0..leaves).map(|at| (at, leaf(at), 1)).collect();
        for at in 0..leaves {
            let pattern = &patterns[usize::from(choice[at as usize])];
            links.extend(pattern.iter().map(|&to| (leaf(at), spine(to), 1)));
        }
        let across = across
            .iter()
            .map(|&(a, b)| (leaf(a % leaves), leaf(b % leaves), 1));
        links.extend(across.filter(|(a, b, _)| a != b));
        Fabric::of(nodes, &links)
    }

    proptest! {
        /// Next hops are those that a search from each edge switch finds.
        #[test]
        fn leads_closer(
            leaves in 1_u32..9,
            one in prop::collection::vec(0_u32..4, 0..5),
            other in prop::collection::vec(0_u32..4, 0..5),
            choice in prop::collection::vec(any::<bool>(), 9),
            across in prop::collection::vec((0_u32..9, 0_u32..9), 0..3),
        ) {
            let fabric = fabric(leaves, [one, other], &choice, &across);
            let ports = Ports::new(&fabric);
            let routing = Routing::new(&fabric, &ports, 1);
            let mut search = Search::new(&fabric, &ports, |_| false);
            let mut set = Vec::new();
            for host in 0..leaves {
                let root = leaves + host;
                search.run(root);
                let mut found = vec![root];
                for (switch, at) in search.others() {
                    search.closer(at, &mut set);
                    prop_assert_eq!(routing.choices(switch, host), &set);
                    found.push(switch);
                }
                let switches = leaves..fabric.nodes.len() as NodeId;
                for switch in switches.filter(|switch| !found.contains(switch)) {
                    prop_assert!(routing.choices(switch, host).is_empty());
                }
                for other in 0..leaves {
                    let is_found = found.contains(&(leaves + other));
                    prop_assert_eq!(routing.reaches(&ports, other, host), is_found);
                }
            }
        }
    }
}
