//! Links of a Clos network.

use unpause_protocols::units::{Rate, Time};

use crate::topology::{Invalid, Topology, positive_delay, whole_rate};

/// The two kinds of links of a Clos network.
pub(super) struct Links {
    host_rate: Rate,
    fabric_rate: Rate,
    delay: Time,
}

impl Links {
    pub fn new(host_rate: Rate, fabric_rate: Rate, delay: Time) -> Result<Self, Invalid> {
        whole_rate("host_rate", host_rate)?;
        whole_rate("fabric_rate", fabric_rate)?;
        positive_delay("delay", delay)?;
        Ok(Self {
            host_rate,
            fabric_rate,
            delay,
        })
    }

    /// Spreads `hosts` over `switches`, an equal number on each, in order.
    pub fn hosts(&self, topology: &mut Topology, hosts: &[u32], switches: &[u32]) {
        let each = hosts.len() / switches.len();
        for (hosts, &switch) in hosts.chunks(each).zip(switches) {
            for &host in hosts {
                topology.connect(host, switch, self.host_rate, self.delay);
            }
        }
    }

    /// `parallel` links from each of `lower` to each of `upper`.
    pub fn all_pairs(&self, topology: &mut Topology, lower: &[u32], upper: &[u32], parallel: u32) {
        for &a in lower {
            for &b in upper {
                for _ in 0..parallel {
                    topology.connect(a, b, self.fabric_rate, self.delay);
                }
            }
        }
    }
}
