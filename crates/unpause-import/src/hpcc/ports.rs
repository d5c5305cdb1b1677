//! Source ports, which flow files of HPCC's simulator do not have.

use std::collections::HashMap;

use unpause_sim::config::NodeId;

/// First source port of each pair of hosts (`third.cc`).
const FIRST_SOURCE_PORT: u16 = 10_000;

/// Source ports as HPCC counts them: for each pair of hosts, in order of start.
#[derive(Default)]
pub(super) struct SourcePorts(HashMap<(NodeId, NodeId), u16>);

impl SourcePorts {
    pub fn next(&mut self, src: NodeId, dst: NodeId) -> u16 {
        let next = self.0.entry((src, dst)).or_insert(FIRST_SOURCE_PORT);
        let port = *next;
        *next = next.wrapping_add(1);
        port
    }
}
