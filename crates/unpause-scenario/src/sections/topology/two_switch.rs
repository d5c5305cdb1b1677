//! Two switches and the link between them.

use serde::Deserialize;
use unpause_protocols::units::{Rate, Time};

use super::builder::{Builder, Places, keys};
use crate::text::document::Table;
use crate::text::error::Checked;
use crate::text::name_list::expanded;
use crate::text::quantity::{duration, rate, rate_if_set};
use crate::topology::{Invalid, Topology, positive_delay, possible_rate};

/// Named hosts on switch `S0` (left) and on switch `S1` (right), and one link between the two: the
/// basic scenario of PCN (Fig. 1). `S0` and `S1` have the ports of their hosts in the order given;
/// the link between them comes after the left hosts' and before the right hosts'.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TwoSwitch {
    /// Names of the hosts on `S0`.
    #[serde(deserialize_with = "expanded")]
    pub left: Vec<String>,
    /// Names of the hosts on `S1`.
    #[serde(deserialize_with = "expanded")]
    pub right: Vec<String>,
    /// Rate of every host's link.
    #[serde(deserialize_with = "rate")]
    pub rate: Rate,
    /// Rate of the link between the switches; `None` for the hosts' rate.
    #[serde(default, deserialize_with = "rate_if_set")]
    pub bottleneck_rate: Option<Rate>,
    /// Delay of every link.
    #[serde(deserialize_with = "duration")]
    pub delay: Time,
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
    const NAME: &'static str = "two-switch";
    const KEYS: &'static str =
        "`left`, `right` (names), `rate`, `delay`, `bottleneck_rate` = `rate`";
    const NODES: &'static str = "named hosts on `S0` and on `S1`";

    fn read(table: Table<'_>, _: &mut Places) -> Checked<Result<Topology, Invalid>> {
        Ok(keys::<Self>(table)?.build())
    }
}
