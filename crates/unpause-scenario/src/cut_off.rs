//! Hosts that no path joins at the end of a run, because links are down.

use std::collections::{BTreeMap, BTreeSet};

use unpause_sim::config::{NodeId, NodeKind, PortId};
use unpause_sim::results::{LinkChange, Results};

use crate::measured::Measured;
use crate::run::Run;

/// Hosts of which is kept what they reach, so that large fabrics do not fill the memory.
const MOST: usize = 256;

/// Which nodes each host still reaches.
pub(crate) struct CutOff<'a> {
    run: &'a Run,
    /// Ports whose wire is down at the end.
    down: BTreeSet<(NodeId, PortId)>,
    /// By host that was asked for, by node.
    reached: BTreeMap<NodeId, Vec<bool>>,
}

impl<'a> CutOff<'a> {
    /// At the end of this run.
    pub fn new(measured: &'a Measured) -> Self {
        Self {
            run: &measured.run,
            down: down(&measured.results),
            reached: BTreeMap::new(),
        }
    }

    /// True if packets of one host cannot come to the other, or none come back.
    pub fn separates(&mut self, one: NodeId, other: NodeId) -> bool {
        !self.down.is_empty() && (!self.leads(one, other) || !self.leads(other, one))
    }

    fn leads(&mut self, from: NodeId, to: NodeId) -> bool {
        if self.reached.len() >= MOST {
            self.reached.clear();
        }
        let (run, down) = (self.run, &self.down);
        let reached = self.reached.entry(from);
        reached.or_insert_with(|| reached_from(run, down, from))[to as usize]
    }
}

fn down(results: &Results) -> BTreeSet<(NodeId, PortId)> {
    let mut down = BTreeSet::new();
    for change in &results.link_changes {
        match *change {
            LinkChange::Wire {
                node,
                port,
                up: false,
                ..
            } => {
                down.insert((node, port));
            }
            LinkChange::Wire {
                node,
                port,
                up: true,
                ..
            } => {
                down.remove(&(node, port));
            }
            _ => {}
        }
    }
    down
}

/// By node whether packets of host `from` can come there; hosts forward nothing.
fn reached_from(run: &Run, down: &BTreeSet<(NodeId, PortId)>, from: NodeId) -> Vec<bool> {
    let nodes = &run.config.fabric.nodes;
    let mut reached = vec![false; nodes.len()];
    reached[from as usize] = true;
    let mut next = vec![from];
    while let Some(node) = next.pop() {
        if node != from && nodes[node as usize] == NodeKind::Host {
            continue;
        }
        for (port, peer) in (0..).zip(&run.names.peers[node as usize]) {
            if !down.contains(&(node, port)) && !reached[*peer as usize] {
                reached[*peer as usize] = true;
                next.push(*peer);
            }
        }
    }
    reached
}
