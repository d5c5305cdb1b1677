//! Topologies with many paths: leaf-spine, pods below spines, fat-tree.

use unpause_protocols::units::{Rate, Time};

use super::built::{Invalid, Topology, nodes, positive, positive_delay, whole_rate};

/// Two tiers: every leaf has a link to every spine. Hosts `H0`, `H1`, … fill `leaf0` first, then
/// `leaf1` and so on; spines are `spine0`, `spine1`, …
#[derive(Clone, Debug, PartialEq)]
pub struct LeafSpine {
    /// Number of leaves.
    pub leaves: u32,
    /// Number of spines.
    pub spines: u32,
    /// Hosts of each leaf.
    pub hosts_per_leaf: u32,
    /// Rate of every host's link.
    pub host_rate: Rate,
    /// Rate of every link between switches.
    pub fabric_rate: Rate,
    /// Links between each leaf and each spine.
    pub parallel: u32,
    /// Delay of every link.
    pub delay: Time,
}

impl LeafSpine {
    /// Builds it.
    pub fn build(&self) -> Result<Topology, Invalid> {
        positive("leaves", self.leaves)?;
        positive("spines", self.spines)?;
        positive("hosts_per_leaf", self.hosts_per_leaf)?;
        positive("parallel", self.parallel)?;
        let links = Links::new(self.host_rate, self.fabric_rate, self.delay)?;
        let mut topology = Topology::default();
        let hosts = nodes("hosts_per_leaf", &[self.leaves, self.hosts_per_leaf])?;
        let hosts = topology.add_hosts(hosts);
        let leaves = topology.add_switches("leaf", self.leaves);
        let spines = topology.add_switches("spine", nodes("spines", &[self.spines])?);
        links.hosts(&mut topology, &hosts, &leaves);
        links.all_pairs(&mut topology, &leaves, &spines, self.parallel);
        topology.validate()
    }
}

/// Three tiers: in a pod every ToR has `tor_leaf_links` links to every leaf, and every leaf of every
/// pod has a link to every spine, as in PCN's evaluation (Fig. 14). Hosts `H0`, … fill `tor0` first;
/// ToRs `tor0`, … and leaves `leaf0`, … fill pod 0 first; spines are `spine0`, …
#[derive(Clone, Debug, PartialEq)]
pub struct ClosPods {
    /// Number of pods.
    pub pods: u32,
    /// ToRs of each pod.
    pub tors_per_pod: u32,
    /// Leaves of each pod.
    pub leaves_per_pod: u32,
    /// Number of spines; 0 for a single pod.
    pub spines: u32,
    /// Hosts of each ToR.
    pub hosts_per_tor: u32,
    /// Rate of every host's link.
    pub host_rate: Rate,
    /// Rate of every link between switches.
    pub fabric_rate: Rate,
    /// Links between each ToR and each leaf of its pod.
    pub tor_leaf_links: u32,
    /// Delay of every link.
    pub delay: Time,
}

impl ClosPods {
    /// Builds it.
    pub fn build(&self) -> Result<Topology, Invalid> {
        positive("pods", self.pods)?;
        positive("tors_per_pod", self.tors_per_pod)?;
        positive("leaves_per_pod", self.leaves_per_pod)?;
        positive("hosts_per_tor", self.hosts_per_tor)?;
        positive("tor_leaf_links", self.tor_leaf_links)?;
        if self.pods > 1 {
            positive("spines", self.spines)?;
        }
        let links = Links::new(self.host_rate, self.fabric_rate, self.delay)?;
        let mut topology = Topology::default();
        let hosts = nodes(
            "hosts_per_tor",
            &[self.pods, self.tors_per_pod, self.hosts_per_tor],
        )?;
        let hosts = topology.add_hosts(hosts);
        let tors = topology.add_switches("tor", self.pods * self.tors_per_pod);
        let leaves = nodes("leaves_per_pod", &[self.pods, self.leaves_per_pod])?;
        let leaves = topology.add_switches("leaf", leaves);
        let spines = topology.add_switches("spine", nodes("spines", &[self.spines])?);
        links.hosts(&mut topology, &hosts, &tors);
        let pods = tors
            .chunks(self.tors_per_pod as usize)
            .zip(leaves.chunks(self.leaves_per_pod as usize));
        for (tors, leaves) in pods {
            links.all_pairs(&mut topology, tors, leaves, self.tor_leaf_links);
        }
        links.all_pairs(&mut topology, &leaves, &spines, 1);
        topology.validate()
    }
}

/// The k-ary fat-tree of Al-Fares et al. (SIGCOMM 2008): k pods of k/2 edge and k/2 aggregation
/// switches, (k/2)^2 core switches, k^3/4 hosts. Hosts `H0`, … fill `edge0` first; `edge0`, … and
/// `agg0`, … fill pod 0 first. Aggregation switch i of every pod has a link to each of the cores
/// `core(i u)` to `core(i u + u - 1)`, where u is `agg_uplinks`. With fewer uplinks there are fewer
/// switches above, and less capacity than below.
#[derive(Clone, Debug, PartialEq)]
pub struct FatTree {
    /// Ports of every edge switch that has k/2 uplinks, even.
    pub k: u32,
    /// Links from each edge switch up, and so aggregation switches of each pod: up to k/2.
    pub edge_uplinks: u32,
    /// Links from each aggregation switch up: up to k/2.
    pub agg_uplinks: u32,
    /// Rate of every host's link.
    pub host_rate: Rate,
    /// Rate of every link between edge and aggregation.
    pub fabric_rate: Rate,
    /// Rate of every link between aggregation and core.
    pub core_rate: Rate,
    /// Delay of every link.
    pub delay: Time,
}

impl FatTree {
    /// Builds it.
    pub fn build(&self) -> Result<Topology, Invalid> {
        if self.k < 2 || !self.k.is_multiple_of(2) || self.k > 128 {
            return Err(Invalid::new("k", "must be an even number from 2 to 128"));
        }
        let half = self.k / 2;
        for (field, uplinks) in [
            ("edge_uplinks", self.edge_uplinks),
            ("agg_uplinks", self.agg_uplinks),
        ] {
            if !(1..=half).contains(&uplinks) {
                return Err(Invalid::new(
                    field,
                    format!("must be from 1 to k/2 = {half}"),
                ));
            }
        }
        let links = Links::new(self.host_rate, self.fabric_rate, self.delay)?;
        whole_rate("core_rate", self.core_rate)?;
        let mut topology = Topology::default();
        let hosts = topology.add_hosts(self.k * half * half);
        let edges = topology.add_switches("edge", self.k * half);
        let aggregations = topology.add_switches("agg", self.k * self.edge_uplinks);
        let cores = topology.add_switches("core", self.edge_uplinks * self.agg_uplinks);
        links.hosts(&mut topology, &hosts, &edges);
        let pods = edges
            .chunks(half as usize)
            .zip(aggregations.chunks(self.edge_uplinks as usize));
        for (edges, aggregations) in pods {
            links.all_pairs(&mut topology, edges, aggregations, 1);
            let cores = cores.chunks(self.agg_uplinks as usize);
            for (&aggregation, cores) in aggregations.iter().zip(cores) {
                for &core in cores {
                    topology.connect(aggregation, core, self.core_rate, self.delay);
                }
            }
        }
        topology.validate()
    }
}

/// The two kinds of links of a Clos network.
struct Links {
    host_rate: Rate,
    fabric_rate: Rate,
    delay: Time,
}

impl Links {
    fn new(host_rate: Rate, fabric_rate: Rate, delay: Time) -> Result<Self, Invalid> {
        whole_rate("host_rate", host_rate)?;
        whole_rate("fabric_rate", fabric_rate)?;
        positive_delay("delay", delay)?;
        Ok(Self {
            host_rate,
            fabric_rate,
            delay,
        })
    }

    /// Spreads `hosts` over `switches`, an equal number on each, in order.
    fn hosts(&self, topology: &mut Topology, hosts: &[u32], switches: &[u32]) {
        let each = hosts.len() / switches.len();
        for (hosts, &switch) in hosts.chunks(each).zip(switches) {
            for &host in hosts {
                topology.connect(host, switch, self.host_rate, self.delay);
            }
        }
    }

    /// `parallel` links from each of `lower` to each of `upper`.
    fn all_pairs(&self, topology: &mut Topology, lower: &[u32], upper: &[u32], parallel: u32) {
        for &a in lower {
            for &b in upper {
                for _ in 0..parallel {
                    topology.connect(a, b, self.fabric_rate, self.delay);
                }
            }
        }
    }
}
