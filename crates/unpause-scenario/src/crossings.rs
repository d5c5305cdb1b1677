//! Which flows may cross a link, by the shortest paths.

use std::collections::{BTreeMap, VecDeque};

use unpause_sim::config::{Config, NodeId, NodeKind};

/// Hosts whose distances are kept, so that large fabrics do not fill the memory.
const MOST: usize = 256;

/// The shortest paths of a fabric.
pub(crate) struct Crossings<'a> {
    config: &'a Config,
    /// By node.
    neighbours: Vec<Vec<NodeId>>,
    /// By host that was asked for, by node: how many links are between them.
    distances: BTreeMap<NodeId, Vec<u32>>,
}

impl<'a> Crossings<'a> {
    pub fn new(config: &'a Config) -> Self {
        let fabric = &config.fabric;
        let mut neighbours = vec![Vec::new(); fabric.nodes.len()];
        for link in &fabric.links {
            neighbours[link.a as usize].push(link.b);
            neighbours[link.b as usize].push(link.a);
        }
        Self {
            config,
            neighbours,
            distances: BTreeMap::new(),
        }
    }

    /// Whether packets from host to host may go from `here` to its neighbour: always where paths need not be the shortest.
    pub fn may_be(
        &mut self,
        (src, dst): (NodeId, NodeId),
        (here, neighbour): (NodeId, NodeId),
    ) -> bool {
        if !self.config.fabric.groups.is_empty() || !self.config.events.links.is_empty() {
            return true;
        }
        if self.config.fabric.nodes[neighbour as usize] == NodeKind::Host {
            return dst == neighbour;
        }
        let whole = self.between(src, dst);
        let far = |part: u32, other: u32| part.saturating_add(other).saturating_add(1);
        far(self.between(src, here), self.between(dst, neighbour)) == whole
    }

    /// Links from a host to a node.
    fn between(&mut self, host: NodeId, node: NodeId) -> u32 {
        if self.distances.len() >= MOST {
            self.distances.clear();
        }
        let (config, neighbours) = (self.config, &self.neighbours);
        let found = self.distances.entry(host);
        found.or_insert_with(|| from(config, neighbours, host))[node as usize]
    }
}

/// By node the links from a host; hosts forward nothing.
fn from(config: &Config, neighbours: &[Vec<NodeId>], host: NodeId) -> Vec<u32> {
    let mut distances = vec![u32::MAX; neighbours.len()];
    distances[host as usize] = 0;
    let mut queue = VecDeque::from([host]);
    while let Some(node) = queue.pop_front() {
        if node != host && config.fabric.nodes[node as usize] == NodeKind::Host {
            continue;
        }
        for peer in &neighbours[node as usize] {
            if distances[*peer as usize] == u32::MAX {
                distances[*peer as usize] = distances[node as usize] + 1;
                queue.push_back(*peer);
            }
        }
    }
    distances
}
