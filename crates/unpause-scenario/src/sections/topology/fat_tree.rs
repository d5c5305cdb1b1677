//! The k-ary fat-tree.

use unpause_protocols::units::{Rate, Time};
use unpause_text::error::Checked;

use super::builder::{Builder, Places, keys};
use super::links::Links;
use crate::text::document::Table;
use crate::text::keys::Keys;
use unpause_import::fabric::topology::{Invalid, Topology, possible_rate};

/// The k-ary fat-tree of Al-Fares et al. (SIGCOMM 2008): k pods of k/2 edge and k/2 aggregation
/// switches, (k/2)^2 core switches, k^3/4 hosts. Hosts `H0`, … fill `edge0` first; `edge0`, … and
/// `agg0`, … fill pod 0 first. Aggregation switch i of every pod has a link to each of the cores
/// `core(i u)` to `core(i u + u - 1)`, where u is `agg_uplinks`. With fewer uplinks there are fewer
/// switches above, and less capacity than below.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys("topology")]
pub struct FatTree {
    /// an even number from 2 to 128: the ports of an edge switch that has k/2 uplinks
    pub k: u32,
    /// rate of every host's link
    pub host_rate: Rate,
    /// delay of every link between switches
    pub delay: Time,
    /// delay of every host's link
    #[key(unset = "`delay`")]
    pub host_delay: Option<Time>,
    /// rate of every link between edge and aggregation
    #[key(unset = "`host_rate`")]
    pub fabric_rate: Option<Rate>,
    /// rate of every link between aggregation and core
    #[key(unset = "`fabric_rate`")]
    pub core_rate: Option<Rate>,
    /// links from each edge switch up, and so aggregation switches of each pod: from 1 to k/2
    #[key(unset = "k/2")]
    pub edge_uplinks: Option<u32>,
    /// links from each aggregation switch up: from 1 to k/2
    #[key(unset = "k/2")]
    pub agg_uplinks: Option<u32>,
}

impl FatTree {
    /// Builds it.
    pub fn build(&self) -> Result<Topology, Invalid> {
        if self.k < 2 || !self.k.is_multiple_of(2) || self.k > 128 {
            return Err(Invalid::new("k", "must be an even number from 2 to 128"));
        }
        let half = self.k / 2;
        let edge_uplinks = self.edge_uplinks.unwrap_or(half);
        let agg_uplinks = self.agg_uplinks.unwrap_or(half);
        for (field, uplinks) in [("edge_uplinks", edge_uplinks), ("agg_uplinks", agg_uplinks)] {
            if !(1..=half).contains(&uplinks) {
                return Err(Invalid::new(
                    field,
                    format!("must be from 1 to k/2 = {half}"),
                ));
            }
        }
        let fabric_rate = self.fabric_rate.unwrap_or(self.host_rate);
        let core_rate = self.core_rate.unwrap_or(fabric_rate);
        let links = Links::new(
            (self.host_rate, self.host_delay.unwrap_or(self.delay)),
            (fabric_rate, self.delay),
        )?;
        possible_rate("core_rate", core_rate)?;
        let mut topology = Topology::default();
        let hosts = topology.add_hosts(self.k * half * half);
        let edges = topology.add_switches("edge", self.k * half);
        let aggregations = topology.add_switches("agg", self.k * edge_uplinks);
        let cores = topology.add_switches("core", edge_uplinks * agg_uplinks);
        links.hosts(&mut topology, &hosts, &edges);
        let pods = edges
            .chunks(half as usize)
            .zip(aggregations.chunks(edge_uplinks as usize));
        for (edges, aggregations) in pods {
            links.all_pairs(&mut topology, edges, aggregations, 1);
            let cores = cores.chunks(agg_uplinks as usize);
            for (&aggregation, cores) in aggregations.iter().zip(cores) {
                for &core in cores {
                    topology.connect(aggregation, core, core_rate, self.delay);
                }
            }
        }
        topology.validate()
    }
}

impl Builder for FatTree {
    type Keys = Self;
    const NAME: &'static str = "fat-tree";
    const NODES: &'static str = "k³/4 hosts `H0`, …; `edge0`, …, `agg0`, …, `core0`, … With u = `edge_uplinks` \
        and v = `agg_uplinks` a pod has u aggregation switches, each with v links to \
        the core, which has u v switches";

    fn read(table: Table<'_>, _: &mut Places) -> Checked<Result<Topology, Invalid>> {
        Ok(keys::<Self>(table)?.build())
    }
}
