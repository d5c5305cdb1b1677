//! Switches in a line, with a flow across each link and one across all.

use unpause_protocols::units::{Rate, Time};
use unpause_text::error::Checked;

use super::builder::{Builder, Places, keys};
use crate::text::document::Table;
use crate::text::keys::Keys;
use unpause_import::fabric::topology::{
    Invalid, Topology, nodes, positive, positive_delay, possible_rate,
};

/// Switches `X0`, `X1`, … `XN` in a line. Host `A0` is on `X0` and `B0` on `XN`; for each of the
/// links i = 1 … N between switches, `Ai` is on `X(i-1)` and `Bi` on `Xi`. So a flow `A0` to `B0`
/// crosses all of them and `Ai` to `Bi` link i only: PCN's parking lot (Fig. 19).
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys("topology")]
pub struct ParkingLot {
    /// number N of links between switches
    pub bottlenecks: u32,
    /// rate of every link
    pub rate: Rate,
    /// delay of every link
    pub delay: Time,
}

impl ParkingLot {
    /// Builds it.
    pub fn build(&self) -> Result<Topology, Invalid> {
        positive("bottlenecks", self.bottlenecks)?;
        possible_rate("rate", self.rate)?;
        positive_delay("delay", self.delay)?;
        let n = nodes("bottlenecks", &[self.bottlenecks])? as usize;
        let mut topology = Topology::default();
        let a: Vec<_> = (0..=n)
            .map(|i| topology.add_host(format!("A{i}")))
            .collect();
        let b: Vec<_> = (0..=n)
            .map(|i| topology.add_host(format!("B{i}")))
            .collect();
        let x = topology.add_switches("X", self.bottlenecks + 1);
        for pair in x.windows(2) {
            topology.connect(pair[0], pair[1], self.rate, self.delay);
        }
        topology.connect(a[0], x[0], self.rate, self.delay);
        topology.connect(b[0], x[n], self.rate, self.delay);
        for i in 1..=n {
            topology.connect(a[i], x[i - 1], self.rate, self.delay);
            topology.connect(b[i], x[i], self.rate, self.delay);
        }
        topology.validate()
    }
}

impl Builder for ParkingLot {
    type Keys = Self;
    const NAME: &'static str = "parking-lot";
    const NODES: &'static str = "switches `X0` … `XN` in a line; `A0` on `X0`, `B0` on `XN`; for each link i, \
        `Ai` on `X(i-1)` and `Bi` on `Xi`";

    fn read(table: Table<'_>, _: &mut Places) -> Checked<Result<Topology, Invalid>> {
        Ok(keys::<Self>(table)?.build())
    }
}
