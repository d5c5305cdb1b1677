//! Flows that waited for what others had filled.

use std::collections::HashMap;

use unpause_protocols::units::Time;

use super::graph::Graph;
use crate::config::NicModel;
use crate::engine::log::FlowEnd;
use crate::fabric::{NodeId, PortId};
use crate::host::flow::layout::Layout;
use crate::outcome::causes::{Root, RootKind, VictimRecord, Wait};
use crate::outcome::held_back::{self, Egress};
use crate::plan::Plan;
use crate::routing::Direction;
use crate::traffic::Transport;

/// A root, as far as it tells victims apart, and a wait for it.
type Blamed = ((NodeId, Option<PortId>, RootKind), Wait);

/// The packets that paused egresses held back.
pub struct Waits<'a> {
    /// The egresses.
    pub egresses: &'a [Egress],
    /// Where the waits of each flow are.
    pub places: &'a [held_back::Place],
    /// By egress and pause the PAUSE that held it.
    pub held_by: &'a [Vec<Option<u32>>],
}

/// The bytes that each flow lost to roots that are not on its path, by flow, then root.
///
/// A wait is no loss to others where the flow passes the root, nor where it passes the queue that the PAUSE followed
/// from: that link is full meanwhile, whoever let the queue pile up.
pub fn of_waits(
    plan: &Plan<'_>,
    graph: &Graph<'_>,
    waits: &Waits<'_>,
    flows: &[FlowEnd],
) -> Vec<VictimRecord> {
    let flows: HashMap<u32, &FlowEnd> = flows.iter().map(|flow| (flow.id, flow)).collect();
    let mut victims = Vec::new();
    // Of one flow at a time: there can be many more waits than pauses.
    let mut found: Vec<Blamed> = Vec::new();
    for places in waits.places.chunk_by(|a, b| a.flow() == b.flow()) {
        let Some(flow) = flows.get(&places[0].flow()) else {
            continue;
        };
        let way = way(plan, flow);
        found.clear();
        for place in places {
            for (pause, wait) in waits.egresses[place.egress()].waits(place) {
                let number = waits.held_by[place.egress()][pause];
                let both = number.and_then(|it| Some((graph.root(it)?, graph.queues(it)?)));
                let is_off = |it: &Root| !has_part(plan, it, graph.cycle(), (&way, flow));
                if let Some((root, _)) = both.filter(|(a, b)| is_off(a) && is_off(b)) {
                    found.push(((root.node, root.port, root.kind), wait));
                }
            }
        }
        let key = |((node, port, _), wait): &Blamed| (*node, *port, wait.priority);
        found.sort_unstable_by_key(|it| (key(it), it.1.start, it.1.end, it.0.2, it.1));
        let of_root = found.chunk_by(|a, b| key(a) == key(b));
        victims.extend(of_root.map(|waits| summed(plan, flow, waits)));
    }
    victims
}

/// Whether the root is on the way of a flow.
fn has_part(
    plan: &Plan<'_>,
    root: &Root,
    cycle: &[(NodeId, PortId)],
    (way, flow): (&[(NodeId, PortId)], &FlowEnd),
) -> bool {
    match (root.kind, root.port) {
        (RootKind::Cycle, _) => cycle.iter().any(|egress| way.contains(egress)),
        (RootKind::Nic, None) => flow.dst == root.node,
        (RootKind::Nic, Some(nic)) => {
            // Its packets come by the port at the other end of the link.
            let transmitter = &plan.ports.transmitters_of(root.node)[usize::from(nic)];
            let end = plan.ports.local(transmitter.peer, transmitter.peer_port);
            way.contains(&(transmitter.peer, end))
        }
        (_, Some(port)) => way.contains(&(root.node, port)),
        (_, None) => way.iter().any(|(node, _)| *node == root.node),
    }
}

/// Egresses that packets of a flow leave by; all that they may, where they are sprayed.
fn way(plan: &Plan<'_>, flow: &FlowEnd) -> Vec<(NodeId, PortId)> {
    let first = Direction {
        src: flow.src,
        dst: flow.dst,
        source_port: flow.source_port,
        flow: Some(flow.id),
        is_feedback: false,
    };
    let sprays = plan.config.host.sprays() && plan.config.host.nic != NicModel::Hpcc;
    let nearest = if sprays && plan.ports.of(flow.src).len() > 1 {
        plan.routing.choices(flow.src, flow.dst).to_vec()
    } else {
        Vec::from_iter(plan.routing.nic(&first))
    };
    let mut nics: Vec<_> = nearest.into_iter().map(|nic| (flow.src, nic)).collect();
    if nics.is_empty() {
        nics.push((flow.src, 0));
    }
    let mut found = nics.clone();
    let by_groups = if plan.sprays() {
        plan.routing.groups_between(flow.src, flow.dst)
    } else {
        Vec::from_iter(plan.routing.group_between(&first))
    };
    for group in by_groups.iter().copied().map(Some) {
        follow(plan, (&first, &nics), group, &mut found);
    }
    if by_groups.is_empty() {
        follow(plan, (&first, &nics), None, &mut found);
    }
    found
}

/// Adds the egresses of switches on the ways from these NICs by a third group, or by none.
fn follow(
    plan: &Plan<'_>,
    (flow, nics): (&Direction, &[(NodeId, PortId)]),
    between: Option<u32>,
    found: &mut Vec<(NodeId, PortId)>,
) {
    let mut own = nics.to_vec();
    let mut at = 0;
    while let Some(&(node, port)) = own.get(at) {
        at += 1;
        let next = plan.ports.transmitters_of(node)[usize::from(port)].peer;
        if next == flow.dst {
            continue;
        }
        let ends = (flow.src, flow.dst);
        let choices: Vec<PortId> = if plan.sprays() {
            plan.routing.choices_by(next, ends, between).to_vec()
        } else {
            Vec::from_iter(plan.routing.port_by(next, flow, between))
        };
        for port in choices {
            if !own.contains(&(next, port)) {
                own.push((next, port));
            }
        }
    }
    for egress in own {
        if !found.contains(&egress) {
            found.push(egress);
        }
    }
}

/// The waits of one flow for one root, by start. What its host did not send counts as not sent: what waits in a switch
/// has left it, and comes as soon as the switch may go on. That is at most the whole flow, although its last packets may
/// have waited several times.
fn summed(plan: &Plan<'_>, flow: &FlowEnd, waits: &[Blamed]) -> VictimRecord {
    let ((node, port, _), first) = waits[0];
    let (mut waited, mut last, mut unsent_bytes) = (Time::ZERO, Time::ZERO, 0);
    for (_, wait) in waits {
        waited += wait.end.max(last) - wait.start.max(last).min(wait.end.max(last));
        last = last.max(wait.end);
        if plan.is_host(wait.node) {
            unsent_bytes += wait.bytes;
        }
    }
    VictimRecord {
        flow: first.flow,
        node,
        port,
        priority: first.priority,
        first: first.start,
        last,
        waited,
        unsent_bytes: unsent_bytes.min(whole(plan, flow)),
        pauses: waits.len() as u32,
    }
}

/// Bytes of a flow on the wire; as many as can be, if it has no size.
fn whole(plan: &Plan<'_>, flow: &FlowEnd) -> u64 {
    let framing = plan.ports.framing_bytes;
    match (flow.size_bytes.filter(|size| *size > 0), flow.transport) {
        (None, _) => u64::MAX,
        (Some(size), Transport::Tcp) => plan.tcp.frames(size, framing).bytes(),
        (size, _) => Layout::of(size, plan).frames(framing).bytes(),
    }
}
