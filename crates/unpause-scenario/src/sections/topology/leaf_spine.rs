//! Two tiers.

use unpause_protocols::units::{Rate, Time};
use unpause_text::error::Checked;

use super::builder::{Builder, Places, keys};
use super::links::Links;
use crate::text::document::Table;
use crate::text::keys::Keys;
use unpause_import::fabric::topology::{Invalid, Topology, links, nodes, positive};

/// Two tiers: every leaf has a link to every spine. Hosts `H0`, `H1`, … fill `leaf0` first, then
/// `leaf1` and so on; spines are `spine0`, `spine1`, …
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys("topology")]
pub struct LeafSpine {
    /// number of leaves
    pub leaves: u32,
    /// number of spines
    pub spines: u32,
    /// hosts of each leaf
    pub hosts_per_leaf: u32,
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
    /// links between each leaf and each spine
    #[key(default = 1)]
    pub parallel: u32,
}

impl LeafSpine {
    /// Builds it.
    pub fn build(&self) -> Result<Topology, Invalid> {
        positive("leaves", self.leaves)?;
        positive("spines", self.spines)?;
        positive("hosts_per_leaf", self.hosts_per_leaf)?;
        positive("parallel", self.parallel)?;
        let hosts = nodes("hosts_per_leaf", &[self.leaves, self.hosts_per_leaf])?;
        let spines = nodes("spines", &[self.spines])?;
        links("spines", &[self.leaves, spines])?;
        links("parallel", &[self.leaves, spines, self.parallel])?;
        let links = Links::new(
            (self.host_rate, self.host_delay.unwrap_or(self.delay)),
            (self.fabric_rate.unwrap_or(self.host_rate), self.delay),
        )?;
        let mut topology = Topology::default();
        let hosts = topology.add_hosts(hosts);
        let leaves = topology.add_switches("leaf", self.leaves);
        let spines = topology.add_switches("spine", spines);
        links.hosts(&mut topology, &hosts, &leaves);
        links.all_pairs(&mut topology, &leaves, &spines, self.parallel);
        topology.validate()
    }
}

impl Builder for LeafSpine {
    type Keys = Self;
    const NAME: &'static str = "leaf-spine";
    const NODES: &'static str = "`H0`, … fill `leaf0` first; `spine0`, …";

    fn read(table: Table<'_>, _: &mut Places) -> Checked<Result<Topology, Invalid>> {
        Ok(keys::<Self>(table)?.build())
    }
}
