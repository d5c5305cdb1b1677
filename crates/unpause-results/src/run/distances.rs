//! How many links are between hosts and nodes. Hosts forward nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use unpause_sim::config::{NodeId, NodeKind, PortId};

use crate::run::Run;

/// Hosts whose distances are kept, so that large fabrics do not fill the memory.
const MOST: usize = 256;

/// Distances from the hosts that were asked for.
pub struct Distances<'a> {
    run: &'a Run,
    /// Ports that lead nowhere.
    down: BTreeSet<(NodeId, PortId)>,
    /// By host, by node.
    found: BTreeMap<NodeId, Vec<u32>>,
}

impl<'a> Distances<'a> {
    /// In the fabric without what leaves by the ports in `down`.
    pub fn new(run: &'a Run, down: BTreeSet<(NodeId, PortId)>) -> Self {
        Self {
            run,
            down,
            found: BTreeMap::new(),
        }
    }

    /// Links that a packet of `host` crosses to a node; none if it cannot come there.
    pub fn between(&mut self, host: NodeId, node: NodeId) -> Option<u32> {
        if self.found.len() >= MOST {
            self.found.clear();
        }
        let (run, down) = (self.run, &self.down);
        let found = self.found.entry(host);
        let far = found.or_insert_with(|| from(run, down, host))[node as usize];
        (far != u32::MAX).then_some(far)
    }
}

/// By node the links from a host.
fn from(run: &Run, down: &BTreeSet<(NodeId, PortId)>, host: NodeId) -> Vec<u32> {
    let nodes = &run.config.fabric.nodes;
    let mut distances = vec![u32::MAX; nodes.len()];
    distances[host as usize] = 0;
    let mut queue = VecDeque::from([host]);
    while let Some(node) = queue.pop_front() {
        if node != host && nodes[node as usize] == NodeKind::Host {
            continue;
        }
        for (port, peer) in (0..).zip(&run.names.peers[node as usize]) {
            if !down.contains(&(node, port)) && distances[*peer as usize] == u32::MAX {
                distances[*peer as usize] = distances[node as usize] + 1;
                queue.push_back(*peer);
            }
        }
    }
    distances
}
