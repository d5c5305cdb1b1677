//! Sampling: which ports of a node, and when.

use unpause_protocols::units::Time;

use crate::fabric::{NodeId, PortId};
use crate::plan::Plan;

/// When to sample, and whether ports.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// Next sampling instant; [`Time::NEVER`] when nothing is sampled.
    pub at: Time,
    /// Interval.
    pub interval: Time,
    /// The first sample of the run.
    pub first: Time,
    /// Sample the port, not only flows.
    pub port: bool,
}

/// The first multiple of `interval` after `time`.
pub fn grid_after(time: Time, interval: Time) -> Time {
    interval * (time.as_ps() / interval.as_ps() + 1)
}

/// The ports of switch `id` that are sampled.
pub fn sampled_ports(id: NodeId, plan: &Plan<'_>) -> Vec<PortId> {
    let ports = plan.config.probes.ports.iter();
    let own = ports.filter(|(node, _)| *node == id);
    own.map(|&(_, port)| port).collect()
}

/// When they are sampled.
pub fn of_ports(ports: &[PortId], plan: &Plan<'_>) -> Sampling {
    let probes = &plan.config.probes;
    let first = grid_after(probes.start, probes.interval);
    let at = if ports.is_empty() { Time::NEVER } else { first };
    Sampling {
        at,
        interval: probes.interval,
        first,
        port: !ports.is_empty(),
    }
}
