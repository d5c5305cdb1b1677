//! Servers of GPUs on rails.

use unpause_protocols::names::Names;
use unpause_protocols::units::{Rate, Time};
use unpause_text::error::Checked;
use unpause_text::quantity::DataRate;

use super::builder::{Builder, Places, keys};
use crate::text::document::Table;
use crate::text::keys::Keys;
use crate::text::kind::{OneOf, Plain};
use crate::text::setting::OrNone;
use unpause_import::fabric::topology::{
    Invalid, Topology, links, nodes, positive, positive_delay, possible_rate,
};

/// The delay of links to NVSwitches in SimAI's generator of topologies.
const NVLINK_DELAY: Time = Time::from_ns(25);

/// The leaves that the GPUs of a server are on.
#[derive(Default, Clone, Copy, Debug, PartialEq, Eq, Names)]
pub enum Leaves {
    /// GPU i of every server has leaves of its own: a rail.
    #[default]
    PerRail,
    /// All GPUs have the same.
    Shared,
}

/// Servers of GPUs, leaves and spines, as in SimAI's generator of topologies (Spectrum-X, AlibabaHPN and DCN+ of
/// `gen_Topo_Template.py`). Hosts `H0`, … are GPUs and fill servers in order; `N0`, … are the servers' NVSwitches. Each
/// `servers_per_leaf` servers have leaves in common, one for each rail or one for all; with two ToRs, each GPU has a NIC at
/// two leaves, of which the second is as many numbers after the first as half of the leaves there are. Every leaf has links to
/// every spine, with two planes only leaves of the first half to spines of the first half, and others to others.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys("topology")]
pub struct Rails {
    /// number of servers
    pub servers: u32,
    /// rate of every NIC
    pub rate: Rate,
    /// delay of every link but those of NVSwitches
    pub delay: Time,
    /// GPUs of each server
    #[key(default = 8)]
    pub gpus_per_server: u32,
    /// rate of the link from each GPU to its server's NVSwitch; `"none"`: servers have no NVSwitch
    #[key(unset = "`\"none\"`", via = OrNone<DataRate>)]
    pub nvlink_rate: Option<Rate>,
    /// delay of that link; the default is that of SimAI's generator of topologies
    #[key(unset = NVLINK_DELAY.to_string())]
    pub nvlink_delay: Option<Time>,
    /// leaves of a server's GPUs: `"per-rail"`, one for GPU 0 of each server, one for GPU 1 and so on, or `"shared"`, one
    /// for all
    #[key(unset = Leaves::default().name().to_owned())]
    pub leaves: Leaves,
    /// servers with leaves in common; the last leaves may have fewer
    #[key(unset = "`servers`")]
    pub servers_per_leaf: Option<u32>,
    /// number of spines; needed, and possible, if there is more than one leaf at each ToR of the GPUs
    #[key(unset = "none")]
    pub spines: Option<u32>,
    /// rate of every link between leaf and spine
    #[key(unset = "`rate`")]
    pub spine_rate: Option<Rate>,
    /// links between each leaf and each spine
    #[key(unset = "`1`")]
    pub uplinks: Option<u32>,
    /// NICs of each GPU, each at a leaf of its own: 1 or 2
    #[key(default = 1)]
    pub tors: u32,
    /// parts of the spines, each with half of the leaves: 1, or 2 with two ToRs
    #[key(default = 1)]
    pub planes: u32,
}

impl From<OrNone<DataRate>> for Option<Rate> {
    fn from(written: OrNone<DataRate>) -> Self {
        written.0.map(|rate| rate.0)
    }
}

impl Plain for Leaves {
    type Written = OneOf<Self>;
}

impl From<OneOf<Leaves>> for Leaves {
    fn from(written: OneOf<Leaves>) -> Self {
        written.0
    }
}

/// How many there are of what.
struct Counts {
    gpus: u32,
    /// At one ToR of each GPU.
    leaves: u32,
    servers_per_leaf: u32,
    spines: u32,
    uplinks: u32,
}

impl Rails {
    /// Builds it.
    pub fn build(&self) -> Result<Topology, Invalid> {
        let counts = self.counts()?;
        self.check_links()?;
        let nvlink = self.nvlink_rate.zip(Some(self.nvlink_delay()));
        let mut topology = Topology {
            gpus_per_server: Some(self.gpus_per_server),
            ..Topology::default()
        };
        let gpus = topology.add_hosts(counts.gpus);
        let nvswitches = match nvlink {
            Some(_) => topology.add_switches("N", self.servers),
            None => Vec::new(),
        };
        topology.fabric.nvswitches.clone_from(&nvswitches);
        let leaves = topology.add_switches("leaf", self.tors * counts.leaves);
        let spines = topology.add_switches("spine", counts.spines);
        for (gpu, number) in gpus.into_iter().zip(0..) {
            let server = number / self.gpus_per_server;
            if let Some((rate, delay)) = nvlink {
                topology.connect(gpu, nvswitches[server as usize], rate, delay);
            }
            let segment = server / counts.servers_per_leaf;
            let leaf = match self.leaves {
                Leaves::PerRail => segment * self.gpus_per_server + number % self.gpus_per_server,
                Leaves::Shared => segment,
            };
            for tor in 0..self.tors {
                let leaf = leaves[(tor * counts.leaves + leaf) as usize];
                topology.connect(gpu, leaf, self.rate, self.delay);
            }
        }
        let rate = self.spine_rate.unwrap_or(self.rate);
        let of_plane = |all: &[u32]| (all.len() / self.planes as usize).max(1);
        let planes = leaves.chunks(of_plane(&leaves));
        for (leaves, spines) in planes.zip(spines.chunks(of_plane(&spines))) {
            for (leaf, spine) in leaves
                .iter()
                .flat_map(|leaf| spines.iter().map(move |spine| (*leaf, *spine)))
            {
                for _ in 0..counts.uplinks {
                    topology.connect(leaf, spine, rate, self.delay);
                }
            }
        }
        topology.validate()
    }

    /// Delay of an NVLink.
    fn nvlink_delay(&self) -> Time {
        self.nvlink_delay.unwrap_or(NVLINK_DELAY)
    }

    fn check_links(&self) -> Result<(), Invalid> {
        possible_rate("rate", self.rate)?;
        positive_delay("delay", self.delay)?;
        possible_rate("spine_rate", self.spine_rate.unwrap_or(self.rate))?;
        positive_delay("nvlink_delay", self.nvlink_delay())?;
        match self.nvlink_rate {
            Some(_) if self.gpus_per_server == 1 => {
                let message = "an NVSwitch carries nothing in a server of one GPU";
                Err(Invalid::new("nvlink_rate", message))
            }
            Some(rate) => possible_rate("nvlink_rate", rate),
            None if self.nvlink_delay.is_some() => {
                let message = "`nvlink_delay` has no effect without `nvlink_rate`";
                Err(Invalid::new("nvlink_delay", message))
            }
            None => Ok(()),
        }
    }

    fn counts(&self) -> Result<Counts, Invalid> {
        positive("servers", self.servers)?;
        positive("gpus_per_server", self.gpus_per_server)?;
        for (field, count) in [("tors", self.tors), ("planes", self.planes)] {
            if !(1..=2).contains(&count) {
                return Err(Invalid::new(field, "must be 1 or 2"));
            }
        }
        if self.planes > self.tors {
            let message = "two planes need two ToRs: a NIC of each GPU in each of them";
            return Err(Invalid::new("planes", message));
        }
        let gpus = nodes("gpus_per_server", &[self.servers, self.gpus_per_server])?;
        let servers_per_leaf = self.servers_per_leaf.unwrap_or(self.servers);
        positive("servers_per_leaf", servers_per_leaf)?;
        if servers_per_leaf > self.servers {
            let message = format!("must be at most the {} servers", self.servers);
            return Err(Invalid::new("servers_per_leaf", message));
        }
        let segments = self.servers.div_ceil(servers_per_leaf);
        let rails = match self.leaves {
            Leaves::PerRail => self.gpus_per_server,
            Leaves::Shared => 1,
        };
        let leaves = nodes("servers_per_leaf", &[segments, rails])?;
        let all_leaves = nodes("tors", &[leaves, self.tors])?;
        let spines = self.spines(leaves)?;
        let uplinks = self.uplinks.unwrap_or(1);
        positive("uplinks", uplinks)?;
        links("spines", &[all_leaves, spines])?;
        links("uplinks", &[all_leaves, spines, uplinks])?;
        Ok(Counts {
            gpus,
            leaves,
            servers_per_leaf,
            spines,
            uplinks,
        })
    }

    /// Spines are there if, and only if, there is more than one leaf at each ToR of the GPUs.
    fn spines(&self, leaves: u32) -> Result<u32, Invalid> {
        match self.spines {
            Some(spines) if leaves > 1 => {
                positive("spines", spines)?;
                if !spines.is_multiple_of(self.planes) {
                    let message = "must be even: each of the two planes has half of them";
                    return Err(Invalid::new("spines", message));
                }
                nodes("spines", &[spines])
            }
            None if leaves > 1 => {
                let message = format!(
                    "`spines` is missing: {leaves} leaves need some, as GPUs do not forward"
                );
                Err(Invalid::new("spines", message))
            }
            _ => {
                let set = [
                    ("spines", self.spines.is_some()),
                    ("spine_rate", self.spine_rate.is_some()),
                    ("uplinks", self.uplinks.is_some()),
                ];
                match set.into_iter().find(|(_, is_set)| *is_set) {
                    None => Ok(0),
                    Some((field, _)) => {
                        let message = format!(
                            "`{field}` has no effect: every GPU is on the same leaf, and spines would carry nothing"
                        );
                        Err(Invalid::new(field, message))
                    }
                }
            }
        }
    }
}

impl Builder for Rails {
    type Keys = Self;
    const NAME: &'static str = "rails";
    const NODES: &'static str = "GPUs `H0`, … fill servers in order; `N0`, … are the servers' NVSwitches. Each group of `servers_per_leaf` servers shares leaves: `leaf0` for GPU 0 of each server, `leaf1` for GPU 1, … or one \
        for all. With two ToRs a GPU has a NIC at two leaves: those of the first half and of the second. Every leaf has links \
        to `spine0`, …; with two planes, each half of the leaves to one half of the spines. An NVSwitch loses nothing and \
        marks nothing; GPUs do not forward";

    fn read(table: Table<'_>, _: &mut Places) -> Checked<Result<Topology, Invalid>> {
        Ok(keys::<Self>(table)?.build())
    }
}

#[cfg(test)]
mod tests;
