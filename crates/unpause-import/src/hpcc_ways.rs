//! Ways between hosts as HPCC's simulator finds them before a run: base RTTs and slowest links.

use std::collections::HashMap;

use unpause_sim::config::{Fabric, NodeId, NodeKind};

/// The links and switches of a packet's path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Way {
    /// Propagation there and back, and a full payload over every link on the way there; each in whole
    /// nanoseconds.
    pub rtt_ns: u64,
    /// Rate of the slowest link.
    pub bps: u64,
}

impl Way {
    /// Bytes that the slowest link carries in a round trip.
    pub fn bdp(self) -> u64 {
        self.rtt_ns.saturating_mul(self.bps) / 1_000_000_000 / 8
    }
}

/// Shortest ways to receivers, each found when it is needed.
pub struct Ways<'a> {
    fabric: &'a Fabric,
    payload_bits: u64,
    /// By node: peer, delay in nanoseconds, bit/s.
    neighbours: Vec<Vec<(NodeId, u64, u64)>>,
    to: HashMap<NodeId, Vec<Way>>,
}

impl<'a> Ways<'a> {
    /// The ways of `fabric`, whose full packets have this much payload.
    pub fn new(fabric: &'a Fabric, payload_bytes: u32) -> Self {
        let mut neighbours = vec![Vec::new(); fabric.nodes.len()];
        for link in &fabric.links {
            let (delay, bps) = (link.delay.as_ps() / 1000, link.rate.as_bps());
            neighbours[link.a as usize].push((link.b, delay, bps));
            neighbours[link.b as usize].push((link.a, delay, bps));
        }
        Self {
            fabric,
            payload_bits: u64::from(payload_bytes) * 8,
            neighbours,
            to: HashMap::new(),
        }
    }

    /// That from one host to another.
    pub fn of(&mut self, src: NodeId, dst: NodeId) -> Way {
        if !self.to.contains_key(&dst) {
            let found = self.search(dst);
            self.to.insert(dst, found);
        }
        self.to[&dst][src as usize]
    }

    /// The longest round trip, and the most bytes that a slowest link carries in one.
    pub fn largest(&mut self) -> (u64, u64) {
        let mut largest = (0, 0);
        let is_host = |node: &NodeId| self.fabric.nodes[*node as usize] == NodeKind::Host;
        let hosts: Vec<NodeId> = (0..self.fabric.nodes.len() as NodeId)
            .filter(is_host)
            .collect();
        for &dst in &hosts {
            let ways = self.search(dst);
            for &src in hosts.iter().filter(|src| **src != dst) {
                let way = ways[src as usize];
                largest = (largest.0.max(way.rtt_ns), largest.1.max(way.bdp()));
            }
        }
        largest
    }

    /// Breadth-first from `dst`; hosts pass nothing on.
    fn search(&self, dst: NodeId) -> Vec<Way> {
        let mut ways = vec![Way::default(); self.neighbours.len()];
        let mut found = vec![false; self.neighbours.len()];
        found[dst as usize] = true;
        ways[dst as usize].bps = u64::MAX;
        let mut frontier = vec![dst];
        let mut at = 0;
        while let Some(&node) = frontier.get(at) {
            at += 1;
            let way = ways[node as usize];
            for &(next, delay, bps) in &self.neighbours[node as usize] {
                if std::mem::replace(&mut found[next as usize], true) {
                    continue;
                }
                ways[next as usize] = Way {
                    rtt_ns: way.rtt_ns + 2 * delay + self.payload_bits * 1_000_000_000 / bps,
                    bps: way.bps.min(bps),
                };
                if self.fabric.nodes[next as usize] == NodeKind::Switch {
                    frontier.push(next);
                }
            }
        }
        ways
    }
}
