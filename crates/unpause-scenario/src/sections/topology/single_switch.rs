//! One switch.

use unpause_protocols::units::{Rate, Time};
use unpause_text::error::Checked;

use super::builder::{Builder, Places, keys};
use crate::text::document::Table;
use crate::text::keys::Keys;
use unpause_import::fabric::topology::{
    Invalid, Topology, nodes, positive, positive_delay, possible_rate,
};

/// Hosts `H0`, `H1`, … on switch `S0`.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys("topology")]
pub struct SingleSwitch {
    /// number of hosts
    pub hosts: u32,
    /// rate of every link
    pub rate: Rate,
    /// delay of every link
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
    type Keys = Self;
    const NAME: &'static str = "single-switch";
    const NODES: &'static str = "`H0`, … on `S0`";

    fn read(table: Table<'_>, _: &mut Places) -> Checked<Result<Topology, Invalid>> {
        Ok(keys::<Self>(table)?.build())
    }
}
