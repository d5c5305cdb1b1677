//! Two switches with numbered hosts.

use serde::Deserialize;
use unpause_protocols::units::{Rate, Time};

use super::builder::{Builder, Places, keys};
use super::two_switch::TwoSwitch;
use crate::text::document::Table;
use crate::text::error::Checked;
use crate::text::quantity::{duration, rate, rate_if_set};
use crate::topology::{Invalid, Topology, nodes};

/// [`TwoSwitch`] with hosts `A1`, `A2`, … on the left and `B1`, `B2`, … on the right, as in PCN
/// (Fig. 11).
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dumbbell {
    /// Number of hosts on `S0`.
    pub left: u32,
    /// Number of hosts on `S1`.
    pub right: u32,
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

impl Dumbbell {
    /// Builds it.
    pub fn build(&self) -> Result<Topology, Invalid> {
        nodes("left", &[self.left])?;
        nodes("right", &[self.right])?;
        let two_switch = TwoSwitch {
            left: (1..=self.left).map(|i| format!("A{i}")).collect(),
            right: (1..=self.right).map(|i| format!("B{i}")).collect(),
            rate: self.rate,
            bottleneck_rate: self.bottleneck_rate,
            delay: self.delay,
        };
        two_switch.build()
    }
}

impl Builder for Dumbbell {
    const NAME: &'static str = "dumbbell";
    const KEYS: &'static str =
        "`left`, `right` (numbers), `rate`, `delay`, `bottleneck_rate` = `rate`";
    const NODES: &'static str = "`A1`, … on `S0`; `B1`, … on `S1`";

    fn read(table: Table<'_>, _: &mut Places) -> Checked<Result<Topology, Invalid>> {
        Ok(keys::<Self>(table)?.build())
    }
}
