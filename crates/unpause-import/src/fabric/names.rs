//! Names of nodes, and who is whose neighbour.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde_spanned::Spanned;
use unpause_sim::config::{Fabric, NodeId, NodeKind};

use crate::fabric::topology::Topology;
use unpause_text::error::{Checked, Problem, nearest};
use unpause_text::name_list::{self, NameList, expand, stem};

/// Names that the indices of a configuration stand for.
#[derive(Debug)]
pub struct Names {
    /// By node.
    pub nodes: Vec<String>,
    /// By entry of the traffic.
    pub traffic: Vec<String>,
    /// The jobs, in order.
    pub jobs: Vec<NamedJob>,
    /// By node, then port: the node at the other end.
    pub peers: Vec<Vec<NodeId>>,
    hosts: Vec<NodeId>,
    index: HashMap<String, NodeId>,
}

/// The names of a job that results show beside its numbers.
#[derive(Clone, Debug)]
pub struct NamedJob {
    /// Entry of the traffic, whose name is that of the job.
    pub entry: u16,
    /// How its ranks were placed.
    pub placement: String,
    /// It is to be run alone, too, where it is not.
    pub alone: bool,
    /// Iterations that statistics leave out.
    pub warmup: u32,
    /// The name of each phase of an iteration.
    pub steps: Vec<String>,
}

impl Names {
    /// The fabric of `built`, and the names of its nodes.
    pub fn of(built: &Topology) -> (Fabric, Self) {
        let (nodes, fabric) = (built.names.clone(), built.fabric.clone());
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
        let names = Self {
            nodes,
            traffic: Vec::new(),
            jobs: Vec::new(),
            peers,
            hosts,
            index,
        };
        (fabric, names)
    }

    /// Name of a node.
    pub fn name(&self, node: NodeId) -> &str {
        &self.nodes[node as usize]
    }

    /// Every host.
    pub fn hosts(&self) -> &[NodeId] {
        &self.hosts
    }

    /// The node of this name, if there is one.
    pub fn index(&self, name: &str) -> Option<NodeId> {
        self.index.get(name).copied()
    }

    /// True for a host.
    pub fn is_host(&self, node: NodeId) -> bool {
        self.hosts.binary_search(&node).is_ok()
    }

    /// The node of this name.
    pub fn node(&self, name: &str, span: &Range<usize>) -> Checked<NodeId> {
        self.index(name).ok_or_else(|| {
            let names: Vec<&str> = self.nodes.iter().map(String::as_str).collect();
            // `S1` is more like `S0` than like `H1`.
            let alike = names.iter().filter(|other| stem(other) == stem(name));
            let alike: Vec<&str> = alike.copied().collect();
            let near = if alike.is_empty() { names } else { alike };
            let problem = Problem::new(format!("there is no node `{name}`"))
                .at(span.clone(), "not a node of this topology")
                .help_if(nearest(name, &near));
            Box::new(problem)
        })
    }

    /// The host of this name.
    ///
    /// # Errors
    ///
    /// If there is no such node, or it is a switch.
    pub fn host(&self, name: &str, span: &Range<usize>) -> Checked<NodeId> {
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
                .help_if(
                    self.range(name)
                        .or_else(|| self.beyond_the_last(name))
                        .or_else(|| nearest(name, &hosts())),
                )
                .err(),
        }
    }

    /// How `H1-H8` is written.
    fn range(&self, name: &str) -> Option<String> {
        let (first, last) = name.split_once(['-', ':', ','])?;
        let (first, last) = (first.trim(), last.trim());
        let are_hosts = [first, last].iter().all(|it| self.index(it).is_some());
        are_hosts.then(|| {
            if name.contains(',') {
                format!("several hosts are a list: [\"{first}\", \"{last}\"]")
            } else {
                format!("a range of hosts is written \"{first}..{last}\"")
            }
        })
    }

    /// "hosts are H0 to H8", if hosts are numbered so and `name` is one more such name.
    fn beyond_the_last(&self, name: &str) -> Option<String> {
        let first = self.name(*self.hosts.first()?);
        let last = self.name(*self.hosts.last()?);
        let stem = stem(first);
        let alike = [name, last].iter().all(|other| self::stem(other) == stem);
        let number = |name: &str| name.strip_prefix(stem)?.parse::<usize>().ok();
        let (low, high) = (number(first)?, number(last)?);
        let all = alike && number(name).is_some() && high.checked_sub(low)? + 1 == self.hosts.len();
        all.then(|| format!("hosts are {first} to {last}"))
    }

    /// The hosts of `"H0"`, `"H2..H15"` or `"*"`.
    fn listed(&self, text: &str, span: &Range<usize>) -> Checked<Vec<NodeId>> {
        if text == "*" {
            return Ok(self.hosts.clone());
        }
        let names = expand(text).or_else(|why| {
            Problem::new(why)
                .at(span.clone(), "here")
                .help(name_list::HELP)
                .err()
        })?;
        names.iter().map(|name| self.host(name, span)).collect()
    }

    /// The hosts of `"H0"`, `"H2..H15"`, `"*"`, or an array of these.
    pub fn host_list(&self, list: &Spanned<NameList>) -> Checked<Vec<NodeId>> {
        let span = list.span();
        let mut hosts = Vec::new();
        let mut listed = HashSet::new();
        for text in &list.get_ref().0 {
            for host in self.listed(text, &span)? {
                if !listed.insert(host) {
                    return Problem::new(format!("host `{}` is listed twice", self.name(host)))
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

    /// Every switch, in order.
    pub fn switches(&self) -> Vec<NodeId> {
        let all = 0..self.nodes.len() as NodeId;
        all.filter(|node| !self.is_host(*node)).collect()
    }

    /// The switches of `"S0"`, `"S2..S5"`, `"spine*"`, or an array of these, in order.
    pub fn switch_list(&self, list: &Spanned<NameList>) -> Checked<Vec<NodeId>> {
        let span = list.span();
        let mut switches = Vec::new();
        for text in &list.get_ref().0 {
            let found = match text.split_once('*') {
                Some((before, after)) => self.matching(before, after, &span)?,
                None => {
                    let names = expand(text).or_else(|why| {
                        Problem::new(why)
                            .at(span.clone(), "here")
                            .help("a range is \"S0..S3\", a pattern \"spine*\"")
                            .err()
                    })?;
                    let one = |name: &String| self.switch(name, &span);
                    names.iter().map(one).collect::<Checked<Vec<NodeId>>>()?
                }
            };
            switches.extend(found);
        }
        switches.sort_unstable();
        switches.dedup();
        if switches.is_empty() {
            return Problem::new("no switches")
                .at(span, "this list is empty")
                .err();
        }
        Ok(switches)
    }

    /// The switches whose names begin and end so.
    fn matching(&self, before: &str, after: &str, span: &Range<usize>) -> Checked<Vec<NodeId>> {
        let fits = |node: &NodeId| {
            let name = self.name(*node);
            let long = name.len() >= before.len() + after.len();
            long && name.starts_with(before) && name.ends_with(after) && !self.is_host(*node)
        };
        let found: Vec<NodeId> = (0..self.nodes.len() as NodeId).filter(fits).collect();
        if found.is_empty() {
            return Problem::new(format!("no switch is called `{before}*{after}`"))
                .at(span.clone(), "no name of this topology fits")
                .help(format!("its switches are {}", self.some_switches()))
                .err();
        }
        Ok(found)
    }

    fn switch(&self, name: &str, span: &Range<usize>) -> Checked<NodeId> {
        match self.index(name) {
            Some(node) if !self.is_host(node) => Ok(node),
            Some(_) => Problem::new(format!("`{name}` is a host"))
                .at(span.clone(), "expected a switch")
                .help(format!("switches are {}", self.some_switches()))
                .err(),
            None => Problem::new(format!("there is no switch `{name}`"))
                .at(span.clone(), "not a switch of this topology")
                .help(format!("its switches are {}", self.some_switches()))
                .err(),
        }
    }

    /// The first of them.
    fn some_switches(&self) -> String {
        let all = self.switches().into_iter();
        let mut names: Vec<&str> = all.map(|node| self.name(node)).collect();
        let count = names.len();
        names.truncate(8);
        if count > names.len() {
            format!("{}, …", names.join(", "))
        } else {
            names.join(", ")
        }
    }
}
