//! Two switches with numbered hosts.

use unpause_protocols::units::{Rate, Time};
use unpause_text::error::Checked;

use super::builder::{Builder, Places, keys};
use super::two_switch::TwoSwitch;
use crate::text::document::Table;
use crate::text::keys::Keys;
use unpause_import::fabric::topology::{Invalid, Topology, nodes};

/// [`TwoSwitch`] with hosts `A1`, `A2`, … on the left and `B1`, `B2`, … on the right, as in PCN
/// (Fig. 11).
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys("topology")]
pub struct Dumbbell {
    /// number of hosts on `S0`
    pub left: u32,
    /// number of hosts on `S1`
    pub right: u32,
    /// rate of every host's link
    pub rate: Rate,
    /// delay of every link
    pub delay: Time,
    /// rate of the link between the switches
    #[key(unset = "`rate`")]
    pub bottleneck_rate: Option<Rate>,
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
    type Keys = Self;
    const NAME: &'static str = "dumbbell";
    const NODES: &'static str = "`A1`, … on `S0`; `B1`, … on `S1`";

    fn read(table: Table<'_>, _: &mut Places) -> Checked<Result<Topology, Invalid>> {
        Ok(keys::<Self>(table)?.build())
    }
}
