//! Two tiers.

use serde::Deserialize;
use unpause_protocols::units::{Rate, Time};

use super::builder::{Builder, Places, keys, one};
use super::links::Links;
use crate::text::document::Table;
use crate::text::error::Checked;
use crate::text::quantity::{duration, duration_if_set, rate, rate_if_set};
use crate::topology::{Invalid, Topology, links, nodes, positive};

/// Two tiers: every leaf has a link to every spine. Hosts `H0`, `H1`, … fill `leaf0` first, then
/// `leaf1` and so on; spines are `spine0`, `spine1`, …
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeafSpine {
    /// Number of leaves.
    pub leaves: u32,
    /// Number of spines.
    pub spines: u32,
    /// Hosts of each leaf.
    pub hosts_per_leaf: u32,
    /// Rate of every host's link.
    #[serde(deserialize_with = "rate")]
    pub host_rate: Rate,
    /// Rate of every link between switches; `None` for the hosts' rate.
    #[serde(default, deserialize_with = "rate_if_set")]
    pub fabric_rate: Option<Rate>,
    /// Links between each leaf and each spine.
    #[serde(default = "one")]
    pub parallel: u32,
    /// Delay of every link between switches.
    #[serde(deserialize_with = "duration")]
    pub delay: Time,
    /// Delay of every host's link; `None` for that between switches.
    #[serde(default, deserialize_with = "duration_if_set")]
    pub host_delay: Option<Time>,
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
    const NAME: &'static str = "leaf-spine";
    const KEYS: &'static str = "`leaves`, `spines`, `hosts_per_leaf`, `host_rate`, `delay`, `host_delay` = \
        `delay`, `fabric_rate` = `host_rate`, `parallel` = 1";
    const NODES: &'static str = "`H0`, … fill `leaf0` first; `spine0`, …";

    fn read(table: Table<'_>, _: &mut Places) -> Checked<Result<Topology, Invalid>> {
        Ok(keys::<Self>(table)?.build())
    }
}
