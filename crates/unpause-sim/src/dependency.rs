//! Which egress port's buffer waits for which: cycles are where PFC can deadlock.
//!
//! Under PFC a full egress port of one switch waits until the egress ports of the next switch that
//! its packets go on to have room. If the waiting can go round, a fabric that loses nothing can
//! stop for ever.

use crate::Error;
use crate::config::{Config, FullQueue, SwitchModel};
use crate::fabric::{NodeId, PortId};
use crate::graph::shortest_cycle;
use crate::plan::Plan;

/// A cycle of the buffer dependency graph of the lossless priorities that have traffic, if there is
/// one: egress ports, each of which waits for the next and the last for the first, from the one of
/// the lowest number. They all have the same routes, so that one graph is that of each.
///
/// A port waits for another if the route of some pair of hosts goes out of the one and then, at the
/// next switch, out of the other. With multipath every next hop counts. Ports toward hosts wait for
/// nobody. Where a full queue stops the whole switch ([`FullQueue::Stop`]), a port waits for every port
/// of the next switch that has routes, and where it means a drop without a PAUSE ([`FullQueue::Drop`]),
/// for none.
///
/// # Errors
///
/// [`Error::Invalid`] if the configuration cannot be run.
pub fn buffer_dependency_cycle(config: &Config) -> Result<Option<Vec<(NodeId, PortId)>>, Error> {
    let plan = Plan::new(config)?;
    let full_queue = match &config.switch.model {
        SwitchModel::SharedBuffer | SwitchModel::Cioq(_) | SwitchModel::InputQueued(_) => None,
        SwitchModel::Pipeline(pipeline) => Some(pipeline.full_queue),
    };
    if plan.classes.lossless == 0 || full_queue == Some(FullQueue::Drop) {
        return Ok(None);
    }
    let (mut successors, used) = graph(&plan);
    if full_queue == Some(FullQueue::Stop) {
        join_all(&mut successors, &used, &plan);
    }
    let cycle = shortest_cycle(&successors).map(|ports| {
        let port = |&port: &u32| {
            let far_end = plan.ports.transmitters[port as usize].peer_port;
            let node = plan.ports.transmitters[far_end as usize].peer;
            (node, plan.ports.local(node, port))
        };
        ports.iter().map(port).collect()
    });
    Ok(cycle)
}

/// For each port of the fabric, those that it waits for, and whether a route to another switch goes
/// out of it.
fn graph(plan: &Plan<'_>) -> (Vec<Vec<u32>>, Vec<bool>) {
    let ports = &plan.ports;
    let routing = &plan.routing;
    let nodes = plan.config.fabric.nodes.len();
    let mut successors: Vec<Vec<u32>> = vec![Vec::new(); ports.transmitters.len()];
    // What lies before the ports of the far end of a port in `known`.
    let mut known_from = Vec::with_capacity(ports.transmitters.len());
    let mut size = 0;
    for transmitter in &ports.transmitters {
        known_from.push(size);
        size += ports.of(transmitter.peer).len();
    }
    let mut known = vec![false; size];
    let mut used = vec![false; ports.transmitters.len()];
    let mut seen = vec![false; nodes];
    let mut reached: Vec<NodeId> = Vec::new();
    for destination in 0..routing.edges().len() {
        // Switches that packets to this destination come by.
        seen.fill(false);
        reached.clear();
        for (source, &switch) in routing.edges().iter().enumerate() {
            if source != destination {
                seen[switch as usize] = true;
                reached.push(switch);
            }
        }
        let mut at = 0;
        while let Some(&switch) = reached.get(at) {
            at += 1;
            let first = ports.of(switch).start;
            for &out in routing.next_hops(switch, destination) {
                let out = first + u32::from(out);
                used[out as usize] = true;
                let next = ports.transmitters[out as usize].peer;
                if !seen[next as usize] {
                    seen[next as usize] = true;
                    reached.push(next);
                }
                for &onward in routing.next_hops(next, destination) {
                    let fresh = &mut known[known_from[out as usize] + usize::from(onward)];
                    if !*fresh {
                        *fresh = true;
                        successors[out as usize].push(ports.of(next).start + u32::from(onward));
                    }
                }
            }
        }
    }
    for list in &mut successors {
        list.sort_unstable();
    }
    (successors, used)
}

/// Every port in use waits for all those of the next switch.
fn join_all(successors: &mut [Vec<u32>], used: &[bool], plan: &Plan<'_>) {
    let in_use = successors
        .iter_mut()
        .enumerate()
        .filter(|(port, _)| used[*port]);
    for (port, list) in in_use {
        let next = plan.ports.of(plan.ports.transmitters[port].peer);
        *list = next.filter(|&onward| used[onward as usize]).collect();
    }
}
