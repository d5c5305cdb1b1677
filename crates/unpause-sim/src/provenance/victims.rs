//! Flows that waited for what others had filled.

use std::collections::HashMap;

use unpause_protocols::units::Time;

use super::graph::Graph;
use crate::causes::{Root, RootKind, VictimRecord, Wait};
use crate::fabric::{NodeId, PortId};
use crate::log::FlowEnd;
use crate::packet::{Kind, Packet};
use crate::plan::Plan;

/// Root, as far as it tells victims apart.
type Place = (NodeId, Option<PortId>, RootKind);

/// What each flow lost to roots that are not on its way, by flow, then root.
pub fn of_waits(
    plan: &Plan<'_>,
    graph: &Graph<'_>,
    waits: Vec<Wait>,
    flows: &[FlowEnd],
) -> Vec<VictimRecord> {
    let flows: HashMap<u32, &FlowEnd> = flows.iter().map(|flow| (flow.id, flow)).collect();
    let mut ways: HashMap<u32, Vec<(NodeId, PortId)>> = HashMap::new();
    let mut found: Vec<(u32, Place, Wait)> = Vec::new();
    for wait in waits {
        let Some(flow) = flows.get(&wait.flow).filter(|_| wait.end > wait.start) else {
            continue;
        };
        let place = (wait.node, wait.port, wait.priority);
        let Some(root) = graph.root_of(place, wait.sent) else {
            continue;
        };
        let way = ways.entry(flow.id).or_insert_with(|| way(plan, flow));
        if !has_part(&root, graph.cycle(), way, flow) {
            found.push((flow.id, (root.node, root.port, root.kind), wait));
        }
    }
    let same = |a: &(u32, Place, Wait), b: &(u32, Place, Wait)| {
        (a.0, a.1.0, a.1.1, a.2.priority) == (b.0, b.1.0, b.1.1, b.2.priority)
    };
    found.sort_unstable_by_key(|&(flow, (node, port, kind), wait)| {
        let of = (flow, node, port, wait.priority);
        (of, wait.start, wait.end, kind, wait)
    });
    found.chunk_by(same).map(summed).collect()
}

/// Whether the root is on the way of a flow.
fn has_part(
    root: &Root,
    cycle: &[(NodeId, PortId)],
    way: &[(NodeId, PortId)],
    flow: &FlowEnd,
) -> bool {
    match (root.kind, root.port) {
        (RootKind::Cycle, _) => cycle.iter().any(|egress| way.contains(egress)),
        (RootKind::Nic, _) => flow.dst == root.node,
        (_, Some(port)) => way.contains(&(root.node, port)),
        (_, None) => way.iter().any(|(node, _)| *node == root.node),
    }
}

/// Egresses that packets of a flow leave by; all that they may, where they are sprayed.
fn way(plan: &Plan<'_>, flow: &FlowEnd) -> Vec<(NodeId, PortId)> {
    let packet = Packet {
        flow: flow.id,
        src: flow.src,
        dst: flow.dst,
        source_port: flow.source_port,
        ..Packet::new(Kind::Data, flow.priority, 0, 0)
    };
    let mut found = vec![(flow.src, 0)];
    let mut at = 0;
    while let Some(&(node, port)) = found.get(at) {
        at += 1;
        let next = plan.ports.transmitters_of(node)[usize::from(port)].peer;
        if next == flow.dst {
            continue;
        }
        let choices: Vec<PortId> = if plan.sprays() {
            plan.routing.choices(next, flow.dst).to_vec()
        } else {
            plan.routing.way(next, &packet).into_iter().collect()
        };
        for port in choices {
            if !found.contains(&(next, port)) {
                found.push((next, port));
            }
        }
    }
    found
}

/// The waits of one flow for one root, by start.
fn summed(waits: &[(u32, Place, Wait)]) -> VictimRecord {
    let (flow, (node, port, _), first) = waits[0];
    let (mut waited, mut last) = (Time::ZERO, Time::ZERO);
    let mut unsent: HashMap<(NodeId, PortId), u64> = HashMap::new();
    for (_, _, wait) in waits {
        waited += wait.end.max(last) - wait.start.max(last).min(wait.end.max(last));
        last = last.max(wait.end);
        *unsent.entry((wait.node, wait.port)).or_default() += wait.bytes;
    }
    VictimRecord {
        flow,
        node,
        port,
        priority: first.priority,
        first: first.start,
        last,
        waited,
        unsent_bytes: unsent.into_values().max().unwrap_or(0),
        pauses: waits.len() as u32,
    }
}
