//! Which flows may cross a link, by the shortest paths.

use std::collections::BTreeSet;

use unpause_sim::config::{NodeId, NodeKind};

use crate::run::Run;
use crate::run::distances::Distances;

/// The shortest paths of a fabric.
pub struct Crossings<'a> {
    run: &'a Run,
    distances: Distances<'a>,
}

impl<'a> Crossings<'a> {
    pub fn new(run: &'a Run) -> Self {
        Self {
            run,
            distances: Distances::new(run, BTreeSet::new()),
        }
    }

    /// Whether packets from host to host may go from `here` to its neighbour: always where paths need not be the shortest.
    pub fn may_be(
        &mut self,
        (src, dst): (NodeId, NodeId),
        (here, neighbour): (NodeId, NodeId),
    ) -> bool {
        let config = &self.run.config;
        if !config.fabric.groups.is_empty() || !config.events.links.is_empty() {
            return true;
        }
        if config.fabric.nodes[neighbour as usize] == NodeKind::Host {
            return dst == neighbour;
        }
        let mut far = |host, node| self.distances.between(host, node);
        let (whole, before, after) = (far(src, dst), far(src, here), far(dst, neighbour));
        before
            .zip(after)
            .is_some_and(|(before, after)| whole == Some(before + 1 + after))
    }
}
