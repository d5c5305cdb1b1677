//! The particulars of SimAI's topologies.
//!
//! The numbers of nodes, GPUs of a server, NVSwitches, other switches and links, and a GPU type; the ids of the switches,
//! NVSwitches first; one link a line, as in HPCC's files. As its readers do
//! (`astra-sim-alibabacloud/inputs/topo/gen_Topo_Template.py` of aliyun/SimAI, `common.h` of ns-3-alibabacloud), GPUs of
//! a server follow one another.

use std::path::Path;

use unpause_sim::config::{Link, NodeId, NodeKind};

use super::header::{Header, Kind};
use crate::fabric::topology::Topology;

/// Says what is unusual about the links of a topology, which stand on `lines`.
pub(super) fn note_links(
    topology: &mut Topology,
    lines: &[usize],
    (path, header): (&Path, &Header),
) {
    if header.kind != Kind::SimAi {
        return;
    }
    if lines.len() != header.links {
        topology.notes.push(format!(
            "{}: the header announces {} links, but the file has {}; all are read",
            path.display(),
            header.links,
            lines.len()
        ));
    }
    let fabric = &topology.fabric;
    let is_plain =
        |node: NodeId| fabric.nodes[node as usize] == NodeKind::Switch && !fabric.is_nvswitch(node);
    let leads_out = |link: &Link| {
        let either = |a, b| fabric.is_nvswitch(a) && is_plain(b);
        either(link.a, link.b) || either(link.b, link.a)
    };
    let mut links = fabric.links.iter().zip(lines);
    if let Some((link, line)) = links.find(|(link, _)| leads_out(link)) {
        topology.notes.push(format!(
            "{}:{line}: a link of an NVSwitch to another switch (nodes {} and {}): packets take it if it is on a shortest path; SimAI uses NVSwitches inside a server only",
            path.display(),
            link.a,
            link.b
        ));
    }
}
