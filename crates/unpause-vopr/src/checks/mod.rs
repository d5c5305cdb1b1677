//! What must hold of the results of any run. Each check answers with one line that says what broke.

mod limits;
mod packets;
mod pfc;
mod replay;
mod service;
mod totals;

use unpause_sim::config::{Config, NodeId, NodeKind, PortId, SwitchModel};
use unpause_sim::results::Results;

/// A check's answer: what broke, if something did.
pub type Answer = Result<(), String>;

/// A check of the results of a run.
pub type Check = fn(&Config, &Results) -> Answer;

/// All checks of results, by name.
pub const CHECKS: [(&str, Check); 22] = [
    ("conservation", totals::conservation),
    ("flows", totals::flows),
    ("ideal", totals::no_faster_than_ideal),
    ("notifications", totals::notifications),
    ("marks", totals::marks),
    ("deadlock", totals::deadlock),
    ("pauses", limits::pauses),
    ("rates", limits::rates),
    ("buffers", limits::buffers),
    ("lossless", limits::lossless),
    ("series", limits::series),
    ("packets", packets::packets),
    ("order", packets::order),
    ("delivery", replay::delivery),
    ("limits", replay::limits),
    ("again", replay::again),
    ("service", service::service),
    ("held", pfc::held),
    ("emptied", pfc::emptied),
    ("refresh", pfc::refresh),
    ("xon", pfc::xon),
    ("beyond_xoff", pfc::beyond_xoff),
];

/// The first check that fails, and what it says.
pub fn broken(config: &Config, results: &Results) -> Option<(&'static str, String)> {
    CHECKS.iter().find_map(|(name, check)| {
        let answer = check(config, results);
        answer.err().map(|what| (*name, what))
    })
}

/// An egress port: its link, seen from one end.
#[derive(Clone, Copy, Debug)]
struct Port {
    node: NodeId,
    number: PortId,
    peer: NodeId,
    ps_per_byte: u64,
    delay_ps: u64,
}

/// Every port of the fabric, in the order of its links; both ends of a link in turn.
fn ports(config: &Config) -> Vec<Port> {
    let mut next = vec![0; config.fabric.nodes.len()];
    let mut ports = Vec::new();
    for link in &config.fabric.links {
        for (node, peer) in [(link.a, link.b), (link.b, link.a)] {
            let number = next[node as usize];
            next[node as usize] += 1;
            ports.push(Port {
                node,
                number,
                peer,
                ps_per_byte: link.rate.ps_per_byte().unwrap_or(1),
                delay_ps: link.delay.as_ps(),
            });
        }
    }
    ports
}

fn is_host(config: &Config, node: NodeId) -> bool {
    config.fabric.nodes[node as usize] == NodeKind::Host
}

/// True if every packet of the run is recorded.
fn records_all(config: &Config) -> bool {
    let probes = &config.probes;
    let has = |port: &Port| probes.packets.contains(&(port.node, port.number));
    probes.packet_flows.is_empty() && ports(config).iter().all(has)
}

/// Bytes of the largest packet on the wire, with framing.
fn largest(config: &Config) -> u64 {
    let frame = config
        .largest_frame_bytes()
        .max(config.host.tcp.header_bytes);
    u64::from(frame + config.fabric.framing_bytes)
}

/// Packets of one flow can go by several ways.
fn sprays(config: &Config) -> bool {
    match &config.switch.model {
        SwitchModel::Pipeline(pipeline) => pipeline.balancing.is_some(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
