//! `[probes]`.

use std::collections::HashSet;

use serde::Deserialize;
use serde_spanned::Spanned;
use unpause_sim::config::{DeadlockProbe, NodeId, PortId, Probes};

use crate::names::Names;
use crate::text::checks::positive;
use crate::text::error::{Checked, Problem, nearest};
use crate::text::quantity::Duration;

/// `[probes]`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProbeKeys {
    pub interval: Option<Spanned<Duration>>,
    pub flow_interval: Option<Spanned<Duration>>,
    pub start: Option<Spanned<Duration>>,
    #[serde(default)]
    pub ports: Vec<Spanned<String>>,
    pub pauses: Option<bool>,
    #[serde(default)]
    pub packets: Vec<Spanned<String>>,
    pub packet_flows: Option<Spanned<Vec<u32>>>,
    pub deadlock: Option<Spanned<Duration>>,
    pub deadlock_hold: Option<Spanned<Duration>>,
}

/// What is recorded.
pub(crate) fn probes(file: &ProbeKeys, names: &Names) -> Checked<Probes> {
    let mut probes = Probes::default();
    if let Some(interval) = &file.interval {
        probes.interval = positive("interval", interval)?;
    }
    if let Some(interval) = &file.flow_interval {
        let flows = positive("flow_interval", interval)?;
        if !flows.as_ps().is_multiple_of(probes.interval.as_ps()) {
            return Problem::new(format!(
                "`flow_interval` is no multiple of `interval`, {}",
                probes.interval
            ))
            .at(interval.span(), "here")
            .help("flows are sampled together with ports, but less often")
            .err();
        }
        probes.flow_interval = Some(flows);
    }
    if let Some(start) = &file.start {
        probes.start = start.get_ref().0;
    }
    if let Some(pauses) = file.pauses {
        probes.pauses = pauses;
    }
    if let Some(interval) = &file.deadlock {
        let mut probe = DeadlockProbe {
            interval: positive("deadlock", interval)?,
            ..DeadlockProbe::default()
        };
        if let Some(hold) = &file.deadlock_hold {
            probe.hold = positive("deadlock_hold", hold)?;
        }
        probes.deadlock = Some(probe);
    } else if let Some(hold) = &file.deadlock_hold {
        return Problem::new("`deadlock_hold` has no effect")
            .at(hold.span(), "nobody looks for a deadlock")
            .help("add deadlock = \"1ms\": look for one every 1 ms")
            .err();
    }
    for (texts, found) in [
        (&file.ports, &mut probes.ports),
        (&file.packets, &mut probes.packets),
    ] {
        let mut known = HashSet::new();
        for text in texts {
            let new = ports(text, names)?.into_iter();
            found.extend(new.filter(|port| known.insert(*port)));
        }
    }
    if let Some(flows) = &file.packet_flows {
        if file.packets.is_empty() {
            return Problem::new("`packet_flows` has no effect")
                .at(flows.span(), "no packets are recorded")
                .help("add packets = [\"H0->S0\"]: record those that leave by this port")
                .err();
        }
        probes.packet_flows.clone_from(flows.get_ref());
    }
    Ok(probes)
}

/// The egress ports of `"S0->S1"`; `*` stands for every node.
fn ports(text: &Spanned<String>, names: &Names) -> Checked<Vec<(NodeId, PortId)>> {
    let Some((from, to)) = text.get_ref().split_once("->") else {
        return Problem::new(format!("`{}` is not an egress port", text.get_ref()))
            .at(text.span(), "here")
            .help("write a node and its neighbour: \"S0->S1\" is the port of S0 toward S1")
            .err();
    };
    let (from, to) = (from.trim(), to.trim());
    let nodes = |name: &str| match name {
        "*" => Ok((0..names.nodes.len() as NodeId).collect()),
        name => names.node(name, &text.span()).map(|node| vec![node]),
    };
    let (from_nodes, to_nodes): (Vec<NodeId>, Vec<NodeId>) = (nodes(from)?, nodes(to)?);
    let mut found = Vec::new();
    for node in from_nodes {
        for (port, peer) in names.peers[node as usize].iter().enumerate() {
            if to == "*" || to_nodes.contains(peer) {
                found.push((node, port as PortId));
            }
        }
    }
    if found.is_empty() {
        let neighbours: Vec<&str> = match names.index(from) {
            Some(node) => names.peers[node as usize]
                .iter()
                .map(|peer| names.name(*peer))
                .collect(),
            None => Vec::new(),
        };
        return Problem::new(format!("no link from {from} to {to}"))
            .at(text.span(), "this port does not exist")
            .help_if(nearest(to, &neighbours))
            .err();
    }
    Ok(found)
}
