//! The schedule of a run that another program drives.

use super::{Bipartition, Schedule};
use crate::fabric::NodeId;
use crate::fabric::ports::Ports;

impl Schedule {
    /// Has all nodes of which `has_driver` says that whoever drives the run acts there be in one half, without clusters:
    /// what arrives at them in a window is then in flight when it begins.
    pub fn for_driver(&mut self, ports: &Ports, has_driver: impl Fn(NodeId) -> bool) {
        if let Some(clusters) = self.clusters.take() {
            *self = Self::of_nodes(ports, clusters.inner.lookahead);
        }
        let mut acting = (0..ports.nodes() as NodeId).filter(|node| has_driver(*node));
        let first = acting.next().map_or(0, |node| self.outer.of(node));
        if acting.any(|node| self.outer.of(node) != first) {
            self.outer = Bipartition {
                of: vec![0; ports.nodes()],
                lookahead: self.outer.lookahead,
                two: false,
            };
        }
    }
}
