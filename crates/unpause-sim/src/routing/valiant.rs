//! Valiant's routing over groups: each flow between two groups first goes to a third one, drawn by its hash, and from there to its
//! receiver (Kim et al., ISCA 2008; Valiant, SIAM Journal on Computing 1982).
//!
//! No packet says where it has been. In the group of its sender a switch sends it towards the group drawn, and elsewhere by
//! the routes. So only such a group is drawn as has a link to both others, while each of the three is connected within: then the
//! way from the one to the other leads over no further group, nor back.

use super::next_hops::{SET, SwitchRoutes};
use super::search::Search;
use crate::fabric::rng::mix;
use crate::fabric::{Fabric, NodeId, NodeKind, PortId};

/// Random draws of a group before groups are tried in order.
const DRAWS: u64 = 32;

/// Sender, receiver and source port.
pub type Flow = (NodeId, NodeId, u16);

/// Ways to groups.
#[derive(Debug)]
pub struct Valiant {
    seed: u64,
    /// The group of each node.
    group: Vec<u32>,
    /// How many there are.
    pub groups: u32,
    /// For each pair of groups: both are connected within, and there is a link between them.
    joined: Vec<bool>,
    /// For each node that is a switch: its next hops, as towards edge switches, towards groups.
    switch: Vec<SwitchRoutes>,
}

impl Valiant {
    /// Of the links that are not dead.
    pub fn new(fabric: &Fabric, seed: u64, search: &Search<'_>) -> Self {
        let groups = 1 + fabric.groups.iter().copied().max().unwrap_or(0);
        let own = |switch: u32| fabric.group(search.switches()[switch as usize]);
        let count = search.switches().len() as u32;
        let pair = |a: u32, b: u32| a as usize * groups as usize + b as usize;
        let mut joined = vec![false; pair(groups, 0)];
        let whole = whole(groups, count, own, search);
        for switch in 0..count {
            for &(_, peer) in search.links(switch) {
                let (here, there) = (own(switch), own(peer));
                let both = whole[here as usize] && whole[there as usize];
                joined[pair(here, there)] = both && here != there;
            }
        }
        let nodes = fabric.nodes.iter().zip(0..);
        let mut switch: Vec<SwitchRoutes> = nodes
            .map(|(kind, node)| {
                let (ways, sets) = match kind {
                    NodeKind::Host => (0, Vec::new()),
                    NodeKind::Switch => (groups as usize, vec![(0, 0)]),
                };
                SwitchRoutes {
                    edge: fabric.group(node),
                    seed: mix(seed ^ mix(u64::from(node) + 1)),
                    next_hops: vec![SET; ways],
                    sets,
                    ports: Vec::new(),
                }
            })
            .collect();
        for group in 0..groups {
            for (at, ports) in towards(group, count, own, search) {
                let routes = &mut switch[search.switches()[at as usize] as usize];
                routes.next_hops[group as usize] = routes.entry(&ports);
            }
        }
        Self {
            // Not that by which a switch chooses among next hops.
            seed: mix(seed ^ mix(u64::MAX)),
            group: fabric.groups.clone(),
            groups,
            joined,
            switch,
        }
    }

    /// The group of a sender and that of a receiver, where they differ.
    pub fn ends(&self, src: NodeId, dst: NodeId) -> Option<(u32, u32)> {
        let (from, to) = (self.group[src as usize], self.group[dst as usize]);
        (from != to).then_some((from, to))
    }

    /// True if packets between two groups may go by a third.
    pub fn may_join(&self, (from, to): (u32, u32), between: u32) -> bool {
        let groups = self.groups as usize;
        let joined = |a: u32, b: u32| self.joined[a as usize * groups + b as usize];
        joined(from, between) && joined(between, to)
    }

    /// True if a switch is in the group of a sender.
    pub fn is_with(&self, switch: NodeId, src: NodeId) -> bool {
        self.group[switch as usize] == self.group[src as usize]
    }

    /// The group by which a flow goes; none if there is no such group.
    pub fn between(&self, (src, dst, source_port): Flow) -> Option<u32> {
        let ends = self.ends(src, dst)?;
        let key = mix((u64::from(src) << 32 | u64::from(dst)) ^ self.seed) ^ u64::from(source_port);
        let drawn = |draw: u64| {
            let hash = mix(key ^ draw << 32);
            (((hash >> 32) * u64::from(self.groups)) >> 32) as u32
        };
        let mut draws = (0..DRAWS).map(drawn);
        if let Some(group) = draws.find(|group| self.may_join(ends, *group)) {
            return Some(group);
        }
        let first = drawn(DRAWS);
        let mut all = (first..self.groups).chain(0..first);
        all.find(|group| self.may_join(ends, *group))
    }

    /// The port by which `switch` sends a flow towards a group.
    pub fn towards(&self, switch: NodeId, group: u32, (src, dst, port): Flow) -> Option<PortId> {
        let routes = &self.switch[switch as usize];
        match routes.next_hops[group as usize] {
            only if only & SET == 0 => Some(only),
            set => routes.choose(set & !SET, src, dst, port),
        }
    }

    /// The ports by which `switch` sends towards a group.
    pub fn all_towards(&self, switch: NodeId, group: u32) -> &[PortId] {
        self.switch[switch as usize].towards(group as usize)
    }

    /// The switch sends nothing more by a port.
    pub fn cut(&mut self, node: NodeId, port: PortId) {
        self.switch[node as usize].cut(port);
    }
}

/// For each group: its switches are connected by links between them.
fn whole(groups: u32, count: u32, own: impl Fn(u32) -> u32, search: &Search<'_>) -> Vec<bool> {
    let mut seen = vec![false; count as usize];
    let mut parts = vec![0; groups as usize];
    for root in 0..count {
        let mut left = vec![root];
        if !seen[root as usize] {
            parts[own(root) as usize] += 1;
        }
        while let Some(switch) = left.pop() {
            if !std::mem::replace(&mut seen[switch as usize], true) {
                let peers = search.links(switch).iter().map(|(_, peer)| *peer);
                left.extend(peers.filter(|&peer| own(peer) == own(switch)));
            }
        }
    }
    parts.into_iter().map(|parts| parts == 1).collect()
}

/// For each switch of another group from which there is a way to `group` without a third one, by number: its ports by which that
/// is shortest.
fn towards(
    group: u32,
    count: u32,
    own: impl Fn(u32) -> u32,
    search: &Search<'_>,
) -> Vec<(u32, Vec<PortId>)> {
    let outside = || (0..count).filter(|switch| own(*switch) != group);
    let mut far = vec![u32::MAX; count as usize];
    let enters = |switch: &u32| search.links(*switch).iter().any(|it| own(it.1) == group);
    let mut found: Vec<u32> = outside().filter(enters).collect();
    found.iter().for_each(|switch| far[*switch as usize] = 1);
    let mut at = 0;
    while let Some(&switch) = found.get(at) {
        at += 1;
        for &(_, peer) in search.links(switch) {
            if own(peer) == own(switch) && far[peer as usize] == u32::MAX {
                far[peer as usize] = far[switch as usize] + 1;
                found.push(peer);
            }
        }
    }
    let ports = |&switch: &u32| {
        let rest = far[switch as usize] - 1;
        let leads = |peer: u32| match own(peer) {
            other if other == group => rest == 0,
            other => other == own(switch) && far[peer as usize] == rest,
        };
        let links = search.links(switch).iter();
        let ports = links.filter(|(_, peer)| leads(*peer));
        (switch, ports.map(|(port, _)| *port).collect())
    };
    found.iter().map(ports).collect()
}
