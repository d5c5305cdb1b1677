//! Shortest paths through a fabric, as they are asked for.

use std::collections::{HashMap, VecDeque};

use unpause_sim::config::{Fabric, NodeKind};

/// A direction of a link: twice its index, or one more from its end `b` to `a`.
pub(super) type Way = u32;

/// Paths between hosts; flows share out among those that are equally short.
pub(super) struct Paths<'a> {
    fabric: &'a Fabric,
    /// Of each node: its neighbours, and the way to them.
    neighbours: Vec<Vec<(u32, Way)>>,
    /// Of each edge switch: the links from there to every node, through switches only.
    from: HashMap<u32, Vec<u8>>,
    /// Nodes and links that may still be looked at.
    left: usize,
}

impl<'a> Paths<'a> {
    pub fn new(fabric: &'a Fabric, steps: usize) -> Self {
        let mut neighbours = vec![Vec::new(); fabric.nodes.len()];
        for (link, way) in fabric.links.iter().zip((0..).step_by(2)) {
            neighbours[link.a as usize].push((link.b, way));
            neighbours[link.b as usize].push((link.a, way + 1));
        }
        Self {
            fabric,
            neighbours,
            from: HashMap::new(),
            left: steps,
        }
    }

    /// The ways from host to host; `entropy` chooses among equals. `None` where looking would take too long.
    pub fn ways(&mut self, src: u32, dst: u32, entropy: u64) -> Option<Vec<Way>> {
        let links = self.neighbours[src as usize].clone();
        if let Some((_, only)) = links.iter().find(|(peer, _)| *peer == dst) {
            return Some(vec![*only]);
        }
        for (edge, _) in &links {
            if !self.from.contains_key(edge) {
                let steps = self.fabric.nodes.len() + 2 * self.fabric.links.len();
                // The first is always looked for: others are taken to be like it.
                if self.left < steps && !self.from.is_empty() {
                    return None;
                }
                self.left = self.left.saturating_sub(steps);
                let found = self.search(*edge);
                self.from.insert(*edge, found);
            }
        }
        let far = |(edge, _): &(u32, Way)| self.from[edge][dst as usize];
        let least = links.iter().map(far).min()?;
        let nearest: Vec<_> = links.iter().filter(|link| far(link) == least).collect();
        let &(edge, first) = nearest[(entropy % nearest.len() as u64) as usize];
        let distance = &self.from[&edge];
        let mut ways = vec![first];
        let mut node = dst;
        let mut entropy = entropy;
        // From the end: to a node that is one nearer.
        while node != edge {
            let here = distance[node as usize];
            let nearer =
                |(peer, _): &&(u32, Way)| distance[*peer as usize].checked_add(1) == Some(here);
            let all = self.neighbours[node as usize].iter();
            let equals: Vec<_> = all.filter(nearer).collect();
            entropy = (entropy ^ (entropy >> 29)).wrapping_add(1);
            entropy = entropy.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let chosen = (entropy >> 40) % equals.len().max(1) as u64;
            let (peer, way) = **equals.get(chosen as usize)?;
            ways.push(way ^ 1);
            node = peer;
        }
        Some(ways)
    }

    fn search(&self, from: u32) -> Vec<u8> {
        let mut distance = vec![u8::MAX; self.neighbours.len()];
        distance[from as usize] = 0;
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            let here = distance[node as usize];
            if self.fabric.nodes[node as usize] == NodeKind::Host || here == u8::MAX - 1 {
                continue;
            }
            for (peer, _) in &self.neighbours[node as usize] {
                let there = &mut distance[*peer as usize];
                if *there == u8::MAX {
                    *there = here + 1;
                    queue.push_back(*peer);
                }
            }
        }
        distance
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unpause_import::fabric::topology::Topology;
    use unpause_protocols::units::{Rate, Time};

    #[test]
    fn a_host_with_two_links_takes_the_one_that_is_nearest() {
        let mut topology = Topology::default();
        let [a, b] = ["A", "B"].map(|name| topology.add_switch(name));
        let [both, near_a, near_b, also_both] =
            ["H0", "H1", "H2", "H3"].map(|name| topology.add_host(name));
        let links = [
            (both, a),
            (both, b),
            (near_a, a),
            (near_b, b),
            (also_both, a),
            (also_both, b),
        ];
        for (host, switch) in links {
            topology.connect(host, switch, Rate::from_gbps(10), Time::from_us(1));
        }
        let mut paths = Paths::new(&topology.fabric, 1_000);
        // From the end on; links are numbered by twos, the odd ones from switches.
        assert_eq!(paths.ways(both, near_a, 0), Some(vec![0, 5]));
        assert_eq!(paths.ways(both, near_b, 0), Some(vec![2, 7]));
        assert_eq!(paths.ways(both, also_both, 0), Some(vec![0, 9]));
        assert_eq!(paths.ways(both, also_both, 1), Some(vec![2, 11]));
        assert_eq!(paths.ways(near_a, near_b, 0), None, "hosts do not forward");
    }

    #[test]
    fn paths_lead_from_host_to_host_and_use_every_spine() {
        let mut topology = Topology::default();
        let hosts = topology.add_hosts(4);
        let (leaves, spines) = (
            topology.add_switches("leaf", 2),
            topology.add_switches("spine", 4),
        );
        let mut connect = |a, b| topology.connect(a, b, Rate::from_gbps(10), Time::from_us(1));
        for host in &hosts {
            connect(*host, leaves[*host as usize / 2]);
        }
        for leaf in &leaves {
            spines.iter().for_each(|spine| connect(*leaf, *spine));
        }
        let fabric = topology.fabric;
        let mut paths = Paths::new(&fabric, 0);
        let end = |way: &Way| {
            let link = &fabric.links[(way / 2) as usize];
            if way.is_multiple_of(2) {
                (link.a, link.b)
            } else {
                (link.b, link.a)
            }
        };
        let mut used = std::collections::BTreeSet::new();
        for entropy in 0..100 {
            let mut ways = paths.ways(0, 3, entropy).unwrap();
            assert_eq!(ways.len(), 4);
            ways[1..].reverse();
            let ends: Vec<_> = ways.iter().map(end).collect();
            assert_eq!((ends[0].0, ends[3].1), (0, 3));
            assert!(
                ends.windows(2).all(|pair| pair[0].1 == pair[1].0),
                "{ends:?}"
            );
            used.extend(ways);
        }
        assert_eq!(used.len(), 1 + 4 + 4 + 1);
        assert_eq!(paths.ways(0, 1, 0).unwrap().len(), 2);
        // Nothing is left for a second search.
        assert!(paths.ways(2, 0, 0).is_none());
    }
}
