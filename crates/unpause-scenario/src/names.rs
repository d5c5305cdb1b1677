//! Names of nodes, and who is whose neighbour.

use std::collections::HashMap;
use std::ops::Range;

use serde_spanned::Spanned;
use unpause_sim::config::{Fabric, NodeId, NodeKind};

use crate::text::error::{Checked, Problem, nearest};
use crate::text::name_list::{self, NameList, expand};

/// Names that the indices of a configuration stand for.
#[derive(Debug)]
pub struct Names {
    /// By node.
    pub nodes: Vec<String>,
    /// By entry of the traffic.
    pub traffic: Vec<String>,
    /// By node, then port: the node at the other end.
    pub peers: Vec<Vec<NodeId>>,
    hosts: Vec<NodeId>,
    index: HashMap<String, NodeId>,
}

impl Names {
    pub(crate) fn new(nodes: Vec<String>, fabric: &Fabric) -> Self {
        let mut peers = vec![Vec::new(); nodes.len()];
        for link in &fabric.links {
            peers[link.a as usize].push(link.b);
            peers[link.b as usize].push(link.a);
        }
        let hosts = (0..nodes.len() as NodeId)
            .filter(|node| fabric.nodes[*node as usize] == NodeKind::Host)
            .collect();
        let index = nodes
            .iter()
            .zip(0..)
            .map(|(name, node)| (name.clone(), node))
            .collect();
        Self {
            nodes,
            traffic: Vec::new(),
            peers,
            hosts,
            index,
        }
    }

    /// Name of a node.
    pub fn name(&self, node: NodeId) -> &str {
        &self.nodes[node as usize]
    }

    /// Every host.
    pub(crate) fn hosts(&self) -> &[NodeId] {
        &self.hosts
    }

    pub(crate) fn index(&self, name: &str) -> Option<NodeId> {
        self.index.get(name).copied()
    }

    pub(crate) fn is_host(&self, node: NodeId) -> bool {
        self.hosts.binary_search(&node).is_ok()
    }

    /// The node of this name.
    pub(crate) fn node(&self, name: &str, span: &Range<usize>) -> Checked<NodeId> {
        self.index(name).ok_or_else(|| {
            let names: Vec<&str> = self.nodes.iter().map(String::as_str).collect();
            let problem = Problem::new(format!("there is no node `{name}`"))
                .at(span.clone(), "not a node of this topology")
                .help_if(nearest(name, &names));
            Box::new(problem)
        })
    }

    fn host(&self, name: &str, span: &Range<usize>) -> Checked<NodeId> {
        let hosts = || {
            self.hosts
                .iter()
                .map(|node| self.name(*node))
                .collect::<Vec<_>>()
        };
        match self.index(name) {
            Some(node) if self.is_host(node) => Ok(node),
            Some(_) => Problem::new(format!("`{name}` is a switch"))
                .at(span.clone(), "expected a host")
                .help_if(nearest(name, &hosts()))
                .err(),
            None => Problem::new(format!("there is no host `{name}`"))
                .at(span.clone(), "not a host of this topology")
                .help_if(nearest(name, &hosts()))
                .err(),
        }
    }

    /// The hosts of `"H0"`, `"H2..H15"`, `"*"`, or an array of these.
    pub(crate) fn host_list(&self, list: &Spanned<NameList>) -> Checked<Vec<NodeId>> {
        let span = list.span();
        let mut hosts = Vec::new();
        for text in &list.get_ref().0 {
            if text == "*" {
                hosts.extend(&self.hosts);
                continue;
            }
            let names = expand(text).or_else(|why| {
                Problem::new(why)
                    .at(span.clone(), "here")
                    .help(name_list::HELP)
                    .err()
            })?;
            for name in names {
                let host = self.host(&name, &span)?;
                if hosts.contains(&host) {
                    return Problem::new(format!("host `{name}` is listed twice"))
                        .at(span, "here")
                        .err();
                }
                hosts.push(host);
            }
        }
        if hosts.is_empty() {
            return Problem::new("no hosts")
                .at(span, "this list is empty")
                .err();
        }
        Ok(hosts)
    }
}
