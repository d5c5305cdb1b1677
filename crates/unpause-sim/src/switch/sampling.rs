//! Which ports of a switch are sampled, and when.

use unpause_protocols::units::Time;

use crate::config::{NodeId, PortId};
use crate::host::Sampling;
use crate::plan::Plan;

/// The ports of switch `id` that are sampled.
pub fn sampled_ports(id: NodeId, plan: &Plan<'_>) -> Vec<PortId> {
    let ports = plan.config.probes.ports.iter();
    let own = ports.filter(|(node, _)| *node == id);
    own.map(|&(_, port)| port).collect()
}

/// When they are sampled.
pub fn of_ports(ports: &[PortId], plan: &Plan<'_>) -> Sampling {
    let probes = &plan.config.probes;
    let first = probes.first_sample();
    let at = if ports.is_empty() { Time::NEVER } else { first };
    Sampling {
        at,
        interval: probes.interval,
        first,
        port: !ports.is_empty(),
    }
}
