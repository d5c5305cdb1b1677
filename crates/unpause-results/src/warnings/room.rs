//! The memory that PFC needs at a switch: numbers for advice, which loses nothing if it is followed.

use unpause_sim::config::{Config, Link, NodeId, NodeKind, PfcThreshold, PortId};

use crate::warnings::in_force::{self, Place, crossing, needed};
use unpause_text::count::at_least;

/// The links of a fabric by node and port.
pub struct Links<'a>(Vec<Vec<&'a Link>>);

impl<'a> Links<'a> {
    /// Those of `config`.
    pub fn of(config: &'a Config) -> Self {
        let mut all = vec![Vec::new(); config.fabric.nodes.len()];
        for link in &config.fabric.links {
            all[link.a as usize].push(link);
            all[link.b as usize].push(link);
        }
        Self(all)
    }

    /// By port the links of a node.
    pub fn ports(&self, node: NodeId) -> impl Iterator<Item = (PortId, &'a Link)> {
        (0..).zip(self.0[node as usize].iter().copied())
    }

    /// The link at a port.
    pub fn at(&self, node: NodeId, port: PortId) -> Option<&'a Link> {
        self.0[node as usize].get(usize::from(port)).copied()
    }
}

/// The headroom to write for `link`, bytes: a dynamic threshold adds the frame that crosses it to what is written, a reserve
/// does not.
pub fn headroom_to_write(config: &Config, link: &Link) -> u64 {
    match config.switch.pfc.threshold {
        PfcThreshold::Reserved { .. } => needed(config, link) + crossing(config),
        _ => needed(config, link),
    }
}

/// Headroom of all ports of a switch and its lossless priorities with traffic; of each as much as its link needs at least, if
/// `is_enough`.
pub fn all_headroom(config: &Config, links: &Links<'_>, node: NodeId, is_enough: bool) -> u64 {
    let used = in_force::lossless(config, node) & config.data_priorities();
    let each = links.ports(node).map(|(port, link)| {
        let enough = if is_enough {
            let crossing = match config.switch.pfc.threshold {
                PfcThreshold::Reserved { .. } => 0,
                _ => crossing(config),
            };
            at_least(headroom_to_write(config, link)) + crossing
        } else {
            0
        };
        let used = (0..8).filter(|priority| used >> priority & 1 == 1);
        let all = used.map(|priority| {
            let at = Place {
                node,
                port,
                priority,
            };
            in_force::headroom(config, at, link).max(enough)
        });
        match config.switch.pfc.threshold {
            // Set apart once for each port.
            PfcThreshold::Reserved { .. } => all.max().unwrap_or(0),
            _ => all.sum(),
        }
    });
    each.sum()
}

/// The same of the switch that needs most.
pub fn largest(config: &Config, links: &Links<'_>) -> u64 {
    let nodes = (0..).zip(&config.fabric.nodes);
    let switches = nodes.filter(|(_, kind)| **kind == NodeKind::Switch);
    let each = switches.map(|(node, _)| all_headroom(config, links, node, true));
    each.max().unwrap_or(0)
}

/// Shared memory that is not for lossless priorities: full queues of lossy ones with traffic, and for ACKs and other control
/// frames one large frame a port.
pub fn of_others(config: &Config, links: &Links<'_>, node: NodeId) -> u64 {
    let lossy = config.data_priorities() & !in_force::lossless(config, node);
    let lossy = lossy & !(1 << config.host.control_priority);
    let queues = u64::from(lossy.count_ones()) * in_force::lossy_queue(config, node);
    let each = queues.saturating_add(config.largest_frame_bytes().into());
    each.saturating_mul(links.ports(node).count() as u64)
}
