//! Links of a Clos network.

use unpause_protocols::units::{Rate, Time};

use unpause_import::fabric::topology::{Invalid, Topology, positive_delay, possible_rate};

/// The two kinds of links of a Clos network, with the rate and the delay of each.
pub(super) struct Links {
    host: (Rate, Time),
    fabric: (Rate, Time),
}

impl Links {
    pub fn new(host: (Rate, Time), fabric: (Rate, Time)) -> Result<Self, Invalid> {
        possible_rate("host_rate", host.0)?;
        possible_rate("fabric_rate", fabric.0)?;
        positive_delay("delay", fabric.1)?;
        positive_delay("host_delay", host.1)?;
        Ok(Self { host, fabric })
    }

    /// Spreads `hosts` over `switches`, an equal number on each, in order.
    pub fn hosts(&self, topology: &mut Topology, hosts: &[u32], switches: &[u32]) {
        let (rate, delay) = self.host;
        let each = hosts.len() / switches.len();
        for (hosts, &switch) in hosts.chunks(each).zip(switches) {
            for &host in hosts {
                topology.connect(host, switch, rate, delay);
            }
        }
    }

    /// `parallel` links from each of `lower` to each of `upper`.
    pub fn all_pairs(&self, topology: &mut Topology, lower: &[u32], upper: &[u32], parallel: u32) {
        let (rate, delay) = self.fabric;
        for &a in lower {
            for &b in upper {
                for _ in 0..parallel {
                    topology.connect(a, b, rate, delay);
                }
            }
        }
    }
}
