//! Two switches and the link between them.

use unpause_protocols::units::{Rate, Time};
use unpause_text::error::Checked;

use super::builder::{Builder, Places, keys};
use crate::text::document::Table;
use crate::text::keys::Keys;
use unpause_import::fabric::topology::{Invalid, Topology, positive_delay, possible_rate};

/// Named hosts on switch `S0` (left) and on switch `S1` (right), and one link between the two: the
/// basic scenario of PCN (Fig. 1). `S0` and `S1` have the ports of their hosts in the order given;
/// the link between them comes after the left hosts' and before the right hosts'.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys("topology")]
pub struct TwoSwitch {
    /// hosts on `S0`
    pub left: Vec<String>,
    /// hosts on `S1`
    pub right: Vec<String>,
    /// rate of every host's link
    pub rate: Rate,
    /// delay of every link
    pub delay: Time,
    /// rate of the link between the switches
    #[key(unset = "`rate`")]
    pub bottleneck_rate: Option<Rate>,
}

impl TwoSwitch {
    /// Builds it.
    pub fn build(&self) -> Result<Topology, Invalid> {
        let bottleneck_rate = self.bottleneck_rate.unwrap_or(self.rate);
        possible_rate("rate", self.rate)?;
        possible_rate("bottleneck_rate", bottleneck_rate)?;
        positive_delay("delay", self.delay)?;
        for (field, hosts) in [("left", &self.left), ("right", &self.right)] {
            if hosts.is_empty() {
                return Err(Invalid::new(field, "needs at least one host"));
            }
        }
        let mut topology = Topology::default();
        let left: Vec<_> = self
            .left
            .iter()
            .map(|name| topology.add_host(name))
            .collect();
        let right: Vec<_> = self
            .right
            .iter()
            .map(|name| topology.add_host(name))
            .collect();
        let s0 = topology.add_switch("S0");
        let s1 = topology.add_switch("S1");
        for host in left {
            topology.connect(host, s0, self.rate, self.delay);
        }
        topology.connect(s0, s1, bottleneck_rate, self.delay);
        for host in right {
            topology.connect(host, s1, self.rate, self.delay);
        }
        topology.validate()
    }
}

impl Builder for TwoSwitch {
    type Keys = Self;
    const NAME: &'static str = "two-switch";
    const NODES: &'static str = "named hosts on `S0` and on `S1`";

    fn read(table: Table<'_>, _: &mut Places) -> Checked<Result<Topology, Invalid>> {
        Ok(keys::<Self>(table)?.build())
    }
}
