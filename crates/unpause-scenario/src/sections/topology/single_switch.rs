//! One switch.

use serde::Deserialize;
use unpause_protocols::units::{Rate, Time};

use super::builder::{Builder, Places, keys};
use crate::text::document::Table;
use crate::text::error::Checked;
use crate::text::quantity::{duration, rate};
use crate::topology::{Invalid, Topology, nodes, positive, positive_delay, possible_rate};

/// Hosts `H0`, `H1`, … on switch `S0`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SingleSwitch {
    /// Number of hosts.
    pub hosts: u32,
    /// Rate of every link.
    #[serde(deserialize_with = "rate")]
    pub rate: Rate,
    /// Delay of every link.
    #[serde(deserialize_with = "duration")]
    pub delay: Time,
}

impl SingleSwitch {
    /// Builds it.
    pub fn build(&self) -> Result<Topology, Invalid> {
        positive("hosts", self.hosts)?;
        possible_rate("rate", self.rate)?;
        positive_delay("delay", self.delay)?;
        let mut topology = Topology::default();
        let hosts = topology.add_hosts(nodes("hosts", &[self.hosts])?);
        let switch = topology.add_switch("S0");
        for host in hosts {
            topology.connect(host, switch, self.rate, self.delay);
        }
        topology.validate()
    }
}

impl Builder for SingleSwitch {
    const NAME: &'static str = "single-switch";
    const KEYS: &'static str = "`hosts`, `rate`, `delay`";
    const NODES: &'static str = "`H0`, … on `S0`";

    fn read(table: Table<'_>, _: &mut Places) -> Checked<Result<Topology, Invalid>> {
        Ok(keys::<Self>(table)?.build())
    }
}
