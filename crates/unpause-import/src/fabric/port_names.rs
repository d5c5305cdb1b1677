//! Names of egress ports: `"S0->S1"` is the port of S0 toward S1, `*` in either name stands for anything, and `"S0..S3"` is a
//! range.

use std::ops::Range;

use serde_spanned::Spanned;
use unpause_sim::config::{NodeId, PortId};

use crate::fabric::names::Names;
use unpause_text::error::{Checked, Problem, nearest};
use unpause_text::name_list::{NameList, expand};

impl Names {
    /// The egress ports of such a name, by node, then port.
    pub fn ports(&self, text: &str, span: &Range<usize>) -> Checked<Vec<(NodeId, PortId)>> {
        let Some((from, to)) = text.split_once("->") else {
            return Problem::new(format!("`{text}` is not an egress port"))
                .at(span.clone(), "here")
                .help("write a node and its neighbour: \"S0->S1\" is the port of S0 toward S1")
                .err();
        };
        let (from, to) = (from.trim(), to.trim());
        let (from_nodes, to_nodes) = (self.fitting(from, span)?, self.fitting(to, span)?);
        let mut found = Vec::new();
        for node in from_nodes {
            for (port, peer) in self.peers[node as usize].iter().enumerate() {
                if to_nodes.binary_search(peer).is_ok() {
                    found.push((node, port as PortId));
                }
            }
        }
        if found.is_empty() {
            let neighbours: Vec<&str> = match self.index(from) {
                Some(node) => self.peers[node as usize]
                    .iter()
                    .map(|peer| self.name(*peer))
                    .collect(),
                None => Vec::new(),
            };
            return Problem::new(format!("no link from {from} to {to}"))
                .at(span.clone(), "this port does not exist")
                .help_if(nearest(to, &neighbours))
                .err();
        }
        Ok(found)
    }

    /// The nodes of a name, a range or a pattern, in order.
    fn fitting(&self, name: &str, span: &Range<usize>) -> Checked<Vec<NodeId>> {
        let Some((before, after)) = name.split_once('*') else {
            let names =
                expand(name).or_else(|why| Problem::new(why).at(span.clone(), "here").err())?;
            let nodes = names.iter().map(|it| self.node(it, span));
            let mut nodes = nodes.collect::<Checked<Vec<NodeId>>>()?;
            nodes.sort_unstable();
            return Ok(nodes);
        };
        let fits = |node: &NodeId| {
            let name = self.name(*node);
            let long = name.len() >= before.len() + after.len();
            long && name.starts_with(before) && name.ends_with(after)
        };
        let found: Vec<NodeId> = (0..self.nodes.len() as NodeId).filter(fits).collect();
        if found.is_empty() {
            return Problem::new(format!("no node is called `{name}`"))
                .at(span.clone(), "no name of this topology fits")
                .err();
        }
        Ok(found)
    }

    /// The ports of switches of such names, each once, in order.
    pub fn switch_ports(&self, list: &Spanned<NameList>) -> Checked<Vec<(NodeId, PortId)>> {
        let span = list.span();
        let mut found = Vec::new();
        for text in &list.get_ref().0 {
            let before = found.len();
            let ports = self.ports(text, &span)?;
            found.extend(ports.into_iter().filter(|(node, _)| !self.is_host(*node)));
            if found.len() == before {
                return Problem::new(format!("`{text}` is a port of a host"))
                    .at(span, "expected ports of switches")
                    .help("the port of S0 toward H0 is \"S0->H0\"")
                    .err();
            }
        }
        found.sort_unstable();
        found.dedup();
        if found.is_empty() {
            return Problem::new("no ports")
                .at(span, "this list is empty")
                .err();
        }
        Ok(found)
    }
}
