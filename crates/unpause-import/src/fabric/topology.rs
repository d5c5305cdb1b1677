//! A fabric whose nodes have names, and what every fabric has to keep.

use std::collections::HashSet;

use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{Fabric, Link, NodeId, NodeKind, PortId, check_rate};

use unpause_text::limits;

/// A fabric whose nodes have names.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    /// Name of each node.
    pub names: Vec<String>,
    /// Nodes and links. Framing is left at zero: it is not the topology's.
    pub fabric: Fabric,
    /// Links that lose frames to errors from the start, by their index, and which share of them: above 0, up to 1.
    pub errors: Vec<(usize, f64)>,
    /// Notes on the file that it was read from.
    pub notes: Vec<String>,
    /// Hosts of each server, in their order, where hosts are the GPUs of servers.
    pub gpus_per_server: Option<u32>,
}

/// Why a topology cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct Invalid {
    /// The builder's field at fault, in Rust's and the scenario's spelling: `rate`, `links[3]`.
    pub field: String,
    /// The fault.
    pub message: String,
}

impl Invalid {
    /// A fault of `field`.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            message: message.into(),
        }
    }
}

/// `Err` if `value` is zero.
pub fn positive(field: &str, value: u32) -> Result<(), Invalid> {
    if value == 0 {
        return Err(Invalid::new(field, "must be at least 1"));
    }
    Ok(())
}

/// The product of `counts`, as a number of nodes of one kind.
pub fn nodes(field: &str, counts: &[u32]) -> Result<u32, Invalid> {
    let counts = counts.iter().copied().map(u64::from);
    at_most(field, counts, limits::NODES, "nodes of one kind").map(|nodes| nodes as u32)
}

/// The product of `counts`, as a number of links; `field` is the count that is too large.
pub fn links(field: &str, counts: &[u32]) -> Result<u64, Invalid> {
    let counts = counts.iter().copied().map(u64::from);
    at_most(field, counts, limits::LINKS, "links")
}

/// The product of `counts`; `Err` if it is more than `most` of `what`.
pub fn at_most(
    field: &str,
    counts: impl IntoIterator<Item = u64>,
    most: u64,
    what: &str,
) -> Result<u64, Invalid> {
    let counts = counts.into_iter().map(u128::from);
    let product = counts.fold(1, u128::saturating_mul);
    if product > u128::from(most) {
        let message = format!("it makes {product} {what}, at most {most} are possible");
        return Err(Invalid::new(field, message));
    }
    Ok(product as u64)
}

/// `Err` if no link can have this rate.
pub fn possible_rate(field: &str, rate: Rate) -> Result<(), Invalid> {
    check_rate(rate).map_err(|why| Invalid::new(field, why))
}

/// `Err` if `delay` is zero or never ends.
pub fn positive_delay(field: &str, delay: Time) -> Result<(), Invalid> {
    check_delay(delay).map_err(|why| Invalid::new(field, why))
}

fn check_delay(delay: Time) -> Result<(), &'static str> {
    if delay == Time::ZERO || delay.is_never() {
        Err("a link needs a delay above zero")
    } else {
        Ok(())
    }
}

/// The name of a link of a topology, in messages.
fn at_link(index: usize) -> String {
    format!("links[{index}]")
}

/// Switches of `fabric` that have hosts: there is a route from every switch to each of them.
pub fn edge_switches(fabric: &Fabric) -> u64 {
    let mut is_edge = vec![false; fabric.nodes.len()];
    for link in &fabric.links {
        for (node, peer) in [(link.a, link.b), (link.b, link.a)] {
            is_edge[node as usize] |= fabric.nodes[peer as usize] == NodeKind::Host;
        }
    }
    is_edge.into_iter().filter(|is_edge| *is_edge).count() as u64
}

impl Topology {
    /// Adds a host, returns its index.
    pub fn add_host(&mut self, name: impl Into<String>) -> NodeId {
        self.add(name.into(), NodeKind::Host)
    }

    /// Adds a switch, returns its index.
    pub fn add_switch(&mut self, name: impl Into<String>) -> NodeId {
        self.add(name.into(), NodeKind::Switch)
    }

    fn add(&mut self, name: String, kind: NodeKind) -> NodeId {
        self.names.push(name);
        self.fabric.nodes.push(kind);
        self.fabric.nodes.len() as NodeId - 1
    }

    /// Adds `count` switches named `stem` and their number.
    pub fn add_switches(&mut self, stem: &str, count: u32) -> Vec<NodeId> {
        (0..count)
            .map(|i| self.add_switch(format!("{stem}{i}")))
            .collect()
    }

    /// Adds `count` hosts named `H` and their number.
    pub fn add_hosts(&mut self, count: u32) -> Vec<NodeId> {
        (0..count).map(|i| self.add_host(format!("H{i}"))).collect()
    }

    /// Adds a link.
    pub fn connect(&mut self, a: NodeId, b: NodeId, rate: Rate, delay: Time) {
        self.fabric.links.push(Link { a, b, rate, delay });
    }

    /// Name of a node.
    pub fn name(&self, node: NodeId) -> &str {
        &self.names[node as usize]
    }

    /// True if a link ends at `node`.
    pub fn is_linked(&self, node: NodeId) -> bool {
        let links = &self.fabric.links;
        links.iter().any(|link| link.a == node || link.b == node)
    }

    /// Indices of the hosts.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> {
        let nodes = self.fabric.nodes.iter().zip(0..);
        nodes
            .filter(|(kind, _)| **kind == NodeKind::Host)
            .map(|(_, node)| node)
    }

    /// Checks what every fabric has to keep: distinct names, links between two different nodes that
    /// exist, rates that links can have, delays above zero, a link at each host, and a
    /// path between any two nodes.
    pub fn validate(self) -> Result<Self, Invalid> {
        self.validate_with(false)
    }

    /// The same; switches without any link are possible if `unlinked`.
    pub fn validate_with(self, unlinked: bool) -> Result<Self, Invalid> {
        if self.hosts().next().is_none() {
            return Err(Invalid::new("hosts", "there is no host"));
        }
        let mut seen = HashSet::with_capacity(self.names.len());
        for (name, kind) in self.names.iter().zip(&self.fabric.nodes) {
            let field = if *kind == NodeKind::Host {
                "hosts"
            } else {
                "switches"
            };
            if name.is_empty() {
                return Err(Invalid::new(field, "a node has an empty name"));
            }
            if !seen.insert(name) {
                return Err(Invalid::new(field, format!("two nodes are named `{name}`")));
            }
        }
        self.check_links()?;
        self.check_connected(unlinked)?;
        Ok(self)
    }

    fn check_links(&self) -> Result<(), Invalid> {
        let mut degree = vec![0usize; self.names.len()];
        for (index, link) in self.fabric.links.iter().enumerate() {
            for end in [link.a, link.b] {
                *degree.get_mut(end as usize).ok_or_else(|| {
                    Invalid::new(at_link(index), format!("there is no node {end}"))
                })? += 1;
            }
            self.check_link(link)
                .map_err(|why| Invalid::new(at_link(index), why))?;
        }
        for (node, &degree) in degree.iter().enumerate() {
            let name = &self.names[node];
            if self.fabric.nodes[node] == NodeKind::Host && degree == 0 {
                let message = format!("host `{name}` has no link");
                return Err(Invalid::new("links", message));
            }
            if degree > usize::from(PortId::MAX) {
                return Err(Invalid::new(
                    "links",
                    format!("`{name}` has {degree} links"),
                ));
            }
        }
        Ok(())
    }

    /// `Err` with the reason if there cannot be such a link.
    fn check_link(&self, link: &Link) -> Result<(), String> {
        if link.a == link.b {
            return Err(format!("`{}` is linked to itself", self.name(link.a)));
        }
        check_rate(link.rate)?;
        Ok(check_delay(link.delay)?)
    }

    fn check_connected(&self, unlinked: bool) -> Result<(), Invalid> {
        let mut neighbours = vec![Vec::new(); self.names.len()];
        for link in &self.fabric.links {
            neighbours[link.a as usize].push(link.b as usize);
            neighbours[link.b as usize].push(link.a as usize);
        }
        let left_out = |node: usize| {
            unlinked && neighbours[node].is_empty() && self.fabric.nodes[node] == NodeKind::Switch
        };
        let mut reached: Vec<bool> = (0..self.names.len()).map(left_out).collect();
        let first = reached.iter().position(|reached| !reached).unwrap_or(0);
        let mut pending = vec![first];
        while let Some(node) = pending.pop() {
            if !std::mem::replace(&mut reached[node], true) {
                pending.extend(&neighbours[node]);
            }
        }
        match reached.iter().position(|reached| !reached) {
            None => Ok(()),
            Some(node) => {
                let message = format!(
                    "no path leads from `{}` to `{}`",
                    self.names[first], self.names[node]
                );
                Err(Invalid::new("links", message))
            }
        }
    }
}
