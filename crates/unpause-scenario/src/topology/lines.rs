//! Topologies with one path between any two hosts: one switch, two, or a line of them.

use unpause_protocols::units::{Rate, Time};

use super::built::{Invalid, Topology, nodes, positive, positive_delay, whole_rate};

/// Hosts `H0`, `H1`, … on switch `S0`.
#[derive(Clone, Debug, PartialEq)]
pub struct SingleSwitch {
    /// Number of hosts.
    pub hosts: u32,
    /// Rate of every link.
    pub rate: Rate,
    /// Delay of every link.
    pub delay: Time,
}

impl SingleSwitch {
    /// Builds it.
    pub fn build(&self) -> Result<Topology, Invalid> {
        positive("hosts", self.hosts)?;
        whole_rate("rate", self.rate)?;
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

/// Named hosts on switch `S0` (left) and on switch `S1` (right), and one link between the two: the
/// basic scenario of PCN (Fig. 1). `S0` and `S1` have the ports of their hosts in the order given;
/// the link between them comes after the left hosts' and before the right hosts'.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoSwitch {
    /// Names of the hosts on `S0`.
    pub left: Vec<String>,
    /// Names of the hosts on `S1`.
    pub right: Vec<String>,
    /// Rate of every host's link.
    pub rate: Rate,
    /// Rate of the link between the switches; `None` for the hosts' rate.
    pub bottleneck_rate: Option<Rate>,
    /// Delay of every link.
    pub delay: Time,
}

impl TwoSwitch {
    /// Builds it.
    pub fn build(&self) -> Result<Topology, Invalid> {
        let bottleneck_rate = self.bottleneck_rate.unwrap_or(self.rate);
        whole_rate("rate", self.rate)?;
        whole_rate("bottleneck_rate", bottleneck_rate)?;
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

/// [`TwoSwitch`] with hosts `A1`, `A2`, … on the left and `B1`, `B2`, … on the right, as in PCN
/// (Fig. 11).
#[derive(Clone, Debug, PartialEq)]
pub struct Dumbbell {
    /// Number of hosts on `S0`.
    pub left: u32,
    /// Number of hosts on `S1`.
    pub right: u32,
    /// Rate of every host's link.
    pub rate: Rate,
    /// Rate of the link between the switches; `None` for the hosts' rate.
    pub bottleneck_rate: Option<Rate>,
    /// Delay of every link.
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

/// Switches `X0`, `X1`, … `XN` in a line. Host `A0` is on `X0` and `B0` on `XN`; for each of the
/// links i = 1 … N between switches, `Ai` is on `X(i-1)` and `Bi` on `Xi`. So a flow `A0` to `B0`
/// crosses all of them and `Ai` to `Bi` link i only: PCN's parking lot (Fig. 19).
#[derive(Clone, Debug, PartialEq)]
pub struct ParkingLot {
    /// Number N of links between switches.
    pub bottlenecks: u32,
    /// Rate of every link.
    pub rate: Rate,
    /// Delay of every link.
    pub delay: Time,
}

impl ParkingLot {
    /// Builds it.
    pub fn build(&self) -> Result<Topology, Invalid> {
        positive("bottlenecks", self.bottlenecks)?;
        whole_rate("rate", self.rate)?;
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
