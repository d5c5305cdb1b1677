//! Runs in which PFC never acted.

use std::collections::BTreeSet;

use unpause_sim::config::{NodeId, NodeKind, SwitchModel};
use unpause_sim::results::PortRecord;

use crate::run::measured::Measured;
use crate::warnings::in_force::{self, Place};
use unpause_text::count::size;

/// That no PAUSE was sent, and what ingress ports held.
pub fn why(measured: &Measured) -> String {
    let Measured { run, results, .. } = measured;
    let config = &run.config;
    let (switch, used) = (&config.switch, config.data_priorities());
    if switch.lossless & used == 0 {
        return "no PAUSE was sent: no traffic has a lossless priority".to_owned();
    }
    // PAUSE of NVSwitches stands for credits.
    let is_switch = |node: NodeId| {
        let kind = config.fabric.nodes[node as usize];
        kind == NodeKind::Switch && !config.fabric.is_nvswitch(node)
    };
    let mut nodes = 0..config.fabric.nodes.len() as NodeId;
    if !nodes.any(|node| is_switch(node) && in_force::lossless(config, node) & used != 0) {
        return "no PAUSE was sent: overrides leave no switch with PFC for a priority of the traffic".to_owned();
    }
    let is_lossless =
        |port: &PortRecord| in_force::lossless(config, port.node) >> port.priority & 1 == 1;
    let records = results.ports.iter();
    let records = records.filter(|port| is_switch(port.node) && is_lossless(port));
    let held = records.clone().map(|port| port.max_ingress_bytes).max();
    let largest = size(held.unwrap_or(0));
    let at = |port: &PortRecord| Place {
        node: port.node,
        port: port.port,
        priority: port.priority,
    };
    let xoffs = records.filter_map(|port| Some(in_force::fixed(config, at(port))?.0));
    // Where it differs, it is compared with no one XOFF.
    let xoffs: BTreeSet<u64> = match &switch.model {
        SwitchModel::Pipeline(pipeline) => BTreeSet::from([pipeline.ingress.xoff]),
        _ => xoffs.collect(),
    };
    let xoff = xoffs.first().filter(|_| xoffs.len() == 1);
    let xoff = xoff.map_or(String::new(), |xoff| format!(", XOFF is {}", size(*xoff)));
    format!("no PAUSE was sent: no ingress of a switch held more than {largest}{xoff}")
}
