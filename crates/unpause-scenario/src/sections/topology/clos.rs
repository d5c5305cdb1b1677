//! Three tiers: pods below spines.

use unpause_protocols::units::{Rate, Time};
use unpause_text::error::Checked;

use super::builder::{Builder, Places, keys};
use super::links::Links;
use crate::text::document::Table;
use crate::text::keys::Keys;
use unpause_import::fabric::topology::{Invalid, Topology, links, nodes, positive};

/// Three tiers: in a pod every ToR has `tor_leaf_links` links to every leaf, and every leaf of every
/// pod has a link to every spine, as in PCN's evaluation (Fig. 14). Hosts `H0`, … fill `tor0` first;
/// ToRs `tor0`, … and leaves `leaf0`, … fill pod 0 first; spines are `spine0`, …
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys("topology")]
pub struct ClosPods {
    /// number of pods
    pub pods: u32,
    /// ToRs of each pod
    pub tors_per_pod: u32,
    /// leaves of each pod
    pub leaves_per_pod: u32,
    /// number of spines; 0 is possible for a single pod
    pub spines: u32,
    /// hosts of each ToR
    pub hosts_per_tor: u32,
    /// rate of every host's link
    pub host_rate: Rate,
    /// delay of every link between switches
    pub delay: Time,
    /// delay of every host's link
    #[key(unset = "`delay`")]
    pub host_delay: Option<Time>,
    /// rate of every link between switches
    #[key(unset = "`host_rate`")]
    pub fabric_rate: Option<Rate>,
    /// links between each ToR and each leaf of its pod
    #[key(default = 1)]
    pub tor_leaf_links: u32,
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
        let tors = nodes("tors_per_pod", &[self.pods, self.tors_per_pod])?;
        let hosts = nodes("hosts_per_tor", &[tors, self.hosts_per_tor])?;
        let leaves = nodes("leaves_per_pod", &[self.pods, self.leaves_per_pod])?;
        let spines = nodes("spines", &[self.spines])?;
        links("leaves_per_pod", &[tors, self.leaves_per_pod])?;
        links(
            "tor_leaf_links",
            &[tors, self.leaves_per_pod, self.tor_leaf_links],
        )?;
        links("spines", &[leaves, spines])?;
        let links = Links::new(
            (self.host_rate, self.host_delay.unwrap_or(self.delay)),
            (self.fabric_rate.unwrap_or(self.host_rate), self.delay),
        )?;
        let mut topology = Topology::default();
        let hosts = topology.add_hosts(hosts);
        let tors = topology.add_switches("tor", tors);
        let leaves = topology.add_switches("leaf", leaves);
        let spines = topology.add_switches("spine", spines);
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

impl Builder for ClosPods {
    type Keys = Self;
    const NAME: &'static str = "clos";
    const NODES: &'static str = "`H0`, … fill `tor0` first; `tor0`, … and `leaf0`, … fill pod 0 first; \
        `spine0`, … Every leaf has a link to every spine";

    fn read(table: Table<'_>, _: &mut Places) -> Checked<Result<Topology, Invalid>> {
        Ok(keys::<Self>(table)?.build())
    }
}
