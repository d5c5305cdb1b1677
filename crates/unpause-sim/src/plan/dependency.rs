//! Which egress port's buffer waits for which: cycles are where PFC can deadlock.
//!
//! Under PFC a full egress port of one switch waits until the egress ports of the next switch that
//! its packets go on to have room. If the waiting can go round, a fabric that loses nothing can
//! stop forever.

use crate::Error;
use crate::config::{Balancing, Config, FullQueue, SwitchModel};
use crate::fabric::graph::shortest_cycle;
use crate::fabric::ports::{Ports, Transmitter};
use crate::fabric::{Fabric, NodeId, NodeKind, PortId};
use crate::plan::Plan;
use crate::routing::Routing;
use crate::routing::search::Search;

/// A cycle of the buffer dependency graph of the lossless priorities that have traffic, if there is
/// one: egress ports, each of which waits for the next and the last for the first, from the one of
/// the lowest number. They all have the same routes, so that one graph is that of each.
///
/// A port waits for another if the route of some pair of hosts goes out of the one and then, at the
/// next switch, out of the other. With multipath every next hop counts. Ports toward hosts wait for
/// nobody. Where a full queue stops the whole switch ([`FullQueue::Stop`]), a port waits for every port
/// of the next switch that has routes, and where it means a drop without a PAUSE ([`FullQueue::Drop`]),
/// for none. Where flows between groups go by a third one, a port counts on the way to each third group that a flow may go
/// by, and from where that is entered on the way to each receiver.
///
/// # Errors
///
/// [`Error::Invalid`] if the configuration cannot be run.
pub fn buffer_dependency_cycle(config: &Config) -> Result<Option<Vec<(NodeId, PortId)>>, Error> {
    let plan = Plan::without_routes(config)?;
    let full_queue = match &config.switch.model {
        SwitchModel::SharedBuffer | SwitchModel::Cioq(_) | SwitchModel::InputQueued(_) => None,
        SwitchModel::Pipeline(pipeline) => Some(pipeline.full_queue),
    };
    if plan.classes.lossless == 0 || full_queue == Some(FullQueue::Drop) {
        return Ok(None);
    }
    if full_queue != Some(FullQueue::Stop) && is_forest(&config.fabric, &plan.ports) {
        return Ok(None);
    }
    let mut by_groups = Routing::default();
    if config.switch.balancing == Balancing::Valiant {
        by_groups.go_by_groups(&config.fabric, &plan.ports, config.seed, &[]);
    }
    let (mut successors, used) = graph(&config.fabric, &plan.ports, &by_groups);
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

/// No way over links between switches leads back to where it began but the way it came: routes, which are shortest, never
/// turn round, so that waiting cannot go round either. Where two links join the same switches it says no.
fn is_forest(fabric: &Fabric, ports: &Ports) -> bool {
    let is_switch = |node: NodeId| fabric.nodes[node as usize] == NodeKind::Switch;
    let mut seen = vec![false; ports.nodes()];
    let mut left = Vec::new();
    for root in (0..ports.nodes() as NodeId).filter(|node| is_switch(*node)) {
        if !std::mem::replace(&mut seen[root as usize], true) {
            left.push((root, root));
        }
        while let Some((node, from)) = left.pop() {
            let peers = ports.transmitters_of(node).iter().map(|link| link.peer);
            for peer in peers.filter(|&peer| is_switch(peer) && peer != from) {
                if std::mem::replace(&mut seen[peer as usize], true) {
                    return false;
                }
                left.push((peer, node));
            }
        }
    }
    true
}

/// For each port of the fabric, those that it waits for, and whether a route to another switch goes
/// out of it. `by_groups` has the third groups by which flows go, if they go by any.
fn graph(fabric: &Fabric, ports: &Ports, by_groups: &Routing) -> (Vec<Vec<u32>>, Vec<bool>) {
    let mut waits = Waits::new(ports);
    let with_hosts = edges(fabric, ports);
    let detours = Detours::new(fabric, ports, by_groups, &with_hosts, &mut waits);
    let mut destinations = with_hosts.clone();
    destinations.retain(|&node| has_hosts(node, fabric, ports, 1..=1));
    let is_one =
        |node: &NodeId| fabric.nodes[*node as usize] == NodeKind::Host && ports.of(*node).len() > 1;
    destinations.extend((0..ports.nodes() as NodeId).filter(is_one));
    // Switches that packets to a destination come by.
    let mut passed = vec![false; ports.nodes()];
    let mut ways = Ways::default();
    let mut search = Search::new(fabric, ports, |_| false);
    for destination in destinations {
        search.run(destination);
        ways.find(&search, destination, ports.nodes());
        passed.fill(false);
        let to = fabric.group(destination);
        for &source in &with_hosts {
            passed[source as usize] = !detours.leave(fabric.group(source), to);
        }
        for (out, next) in detours.towards(to) {
            passed[next as usize] = true;
            waits.add(out, ways.of(next));
        }
        // From the farthest on: who sends to a switch has been looked at before it.
        for (switch, _) in search.others().rev() {
            if !passed[switch as usize] {
                continue;
            }
            let first = ports.of(switch).start;
            for &out in ways.of(switch) {
                let out = first + u32::from(out);
                let next = ports.transmitters[out as usize].peer;
                passed[next as usize] = true;
                waits.add(out, ways.of(next));
            }
        }
    }
    waits.into_graph(ports)
}

/// Ways to third groups.
struct Detours<'a> {
    by_groups: &'a Routing,
    /// Links into third groups: the port, the switch behind it, and the groups of the sender and of that switch.
    into: Vec<(u32, NodeId, [u32; 2])>,
    /// For each pair of groups: flows go by a third one.
    all: Vec<bool>,
}

impl<'a> Detours<'a> {
    /// Adds what waits on the ways to third groups.
    fn new(
        fabric: &Fabric,
        ports: &Ports,
        by_groups: &'a Routing,
        with_hosts: &[NodeId],
        waits: &mut Waits,
    ) -> Self {
        let groups = by_groups.groups();
        let may_join = |ends, between| by_groups.may_join(ends, between);
        let pairs = (0..groups).flat_map(|from| (0..groups).map(move |to| (from, to)));
        let any = |ends| (0..groups).any(|between| may_join(ends, between));
        let all = pairs.map(any).collect();
        let mut into = Vec::new();
        for between in 0..groups {
            let receivers = with_hosts.iter().map(|it| fabric.group(*it));
            let is_used = |from: u32| receivers.clone().any(|to| may_join((from, to), between));
            let used: Vec<bool> = (0..groups).map(is_used).collect();
            let mut passed = vec![false; ports.nodes()];
            let mut left = with_hosts.to_vec();
            left.retain(|switch| used[fabric.group(*switch) as usize]);
            while let Some(switch) = left.pop() {
                if std::mem::replace(&mut passed[switch as usize], true) {
                    continue;
                }
                let first = ports.of(switch).start;
                for &out in by_groups.towards_group(switch, between) {
                    let out = first + u32::from(out);
                    let next = ports.transmitters[out as usize].peer;
                    if fabric.group(next) == between {
                        into.push((out, next, [fabric.group(switch), between]));
                    } else {
                        waits.add(out, by_groups.towards_group(next, between));
                        left.push(next);
                    }
                }
            }
        }
        Self {
            by_groups,
            into,
            all,
        }
    }

    /// True if all flows from one group to another go by a third one.
    fn leave(&self, from: u32, to: u32) -> bool {
        let groups = self.by_groups.groups();
        let pair = from as usize * groups as usize + to as usize;
        self.all.get(pair).is_some_and(|it| *it)
    }

    /// The links into third groups that flows to a group take, each with the switch behind it.
    fn towards(&self, to: u32) -> impl Iterator<Item = (u32, NodeId)> {
        let into = self.into.iter();
        let into = into.filter(move |(_, _, [from, it])| self.by_groups.may_join((*from, to), *it));
        into.map(|(out, next, _)| (*out, *next))
    }
}

/// Switches that have hosts.
fn edges(fabric: &Fabric, ports: &Ports) -> Vec<NodeId> {
    let switches = (0..).zip(&fabric.nodes);
    let switches = switches.filter(|(_, kind)| **kind == NodeKind::Switch);
    let switches = switches.map(|(node, _)| node);
    let any = 1..=usize::MAX;
    switches
        .filter(|node| has_hosts(*node, fabric, ports, any.clone()))
        .collect()
}

/// True if a switch has hosts with this many links.
fn has_hosts(
    switch: NodeId,
    fabric: &Fabric,
    ports: &Ports,
    links: std::ops::RangeInclusive<usize>,
) -> bool {
    let mut peers = ports.transmitters_of(switch).iter().map(|link| link.peer);
    peers.any(|peer| {
        let is_host = fabric.nodes[peer as usize] == NodeKind::Host;
        is_host && links.contains(&ports.of(peer).len())
    })
}

/// The ports by which switches send to one destination.
#[derive(Default)]
struct Ways {
    /// Where in `ports` those of a node lie; of the destination, nowhere.
    of: Vec<(u32, u32)>,
    ports: Vec<PortId>,
    closer: Vec<PortId>,
}

impl Ways {
    fn find(&mut self, search: &Search<'_>, destination: NodeId, nodes: usize) {
        self.of.resize(nodes, (0, 0));
        self.of[destination as usize] = (0, 0);
        self.ports.clear();
        for (switch, at) in search.others() {
            search.closer(at, &mut self.closer);
            let first = self.ports.len() as u32;
            self.ports.extend(&self.closer);
            self.of[switch as usize] = (first, self.ports.len() as u32);
        }
    }

    /// Those of a switch that the search has found.
    fn of(&self, switch: NodeId) -> &[PortId] {
        let (first, end) = self.of[switch as usize];
        &self.ports[first as usize..end as usize]
    }
}

/// Which port waits for which of the next switch.
struct Waits {
    /// For each port: a route goes out of it.
    used: Vec<bool>,
    /// For each port, where those of the far end begin in `known`.
    from: Vec<usize>,
    /// For each port, and each of the far end: the one waits for the other.
    known: Vec<bool>,
}

impl Waits {
    fn new(ports: &Ports) -> Self {
        let transmitters = &ports.transmitters;
        let mut from = Vec::with_capacity(transmitters.len());
        let mut size = 0;
        for transmitter in transmitters {
            from.push(size);
            size += ports.of(transmitter.peer).len();
        }
        Self {
            used: vec![false; transmitters.len()],
            from,
            known: vec![false; size],
        }
    }

    /// Port `out` waits for these of its far end.
    fn add(&mut self, out: u32, onward: &[PortId]) {
        self.used[out as usize] = true;
        let known = &mut self.known[self.from[out as usize]..];
        for &onward in onward {
            known[usize::from(onward)] = true;
        }
    }

    fn into_graph(self, ports: &Ports) -> (Vec<Vec<u32>>, Vec<bool>) {
        let successors = |(transmitter, &from): (&Transmitter, &usize)| {
            let next = ports.of(transmitter.peer);
            let known = &self.known[from..][..next.len()];
            let waits = next.zip(known).filter(|(_, known)| **known);
            waits.map(|(port, _)| port).collect()
        };
        let all = ports.transmitters.iter().zip(&self.from);
        (all.map(successors).collect(), self.used)
    }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const SWITCHES: u32 = 8;

    /// Every way of a packet between any two hosts, step by step.
    fn walked(fabric: &Fabric, ports: &Ports, routing: &Routing) -> BTreeSet<(u32, u32)> {
        let hosts = SWITCHES..fabric.nodes.len() as NodeId;
        let mut waits = BTreeSet::new();
        let pairs = hosts
            .clone()
            .flat_map(|src| hosts.clone().map(move |dst| (src, dst)));
        for (from, to) in pairs.filter(|(from, to)| from != to) {
            let by_groups = routing.groups_between(from, to).into_iter();
            let mut all: Vec<Option<u32>> = by_groups.map(Some).collect();
            if all.is_empty() {
                all.push(None);
            }
            for between in all {
                let choices = |switch| routing.choices_by(switch, (from, to), between);
                let mut left = vec![ports.transmitters_of(from)[0].peer];
                let mut seen = BTreeSet::new();
                while let Some(switch) = left.pop() {
                    if !seen.insert(switch) {
                        continue;
                    }
                    for &out in choices(switch) {
                        let out = ports.of(switch).start + u32::from(out);
                        let next = ports.transmitters[out as usize].peer;
                        if next == to {
                            continue;
                        }
                        left.push(next);
                        let onward = choices(next).iter();
                        let onward = onward.map(|port| ports.of(next).start + u32::from(*port));
                        let waited_for =
                            onward.filter(|port| ports.transmitters[*port as usize].peer != to);
                        waits.extend(waited_for.map(|port| (out, port)));
                    }
                }
            }
        }
        waits
    }

    /// The pairs of ports of a graph in which one waits for the other.
    fn waits(successors: Vec<Vec<u32>>) -> BTreeSet<(u32, u32)> {
        let of_port = (0..).zip(successors);
        of_port
            .flat_map(|(out, list): (u32, Vec<u32>)| list.into_iter().map(move |port| (out, port)))
            .collect()
    }

    #[test]
    fn lines_and_stars_are_forests_and_rings_are_not() {
        let is_forest = |switches: usize, links: &[(NodeId, NodeId, u64)]| {
            let fabric = Fabric::of(vec![NodeKind::Switch; switches], links);
            is_forest(&fabric, &Ports::new(&fabric))
        };
        assert!(is_forest(5, &[(0, 1, 1), (1, 2, 1), (3, 4, 1)]));
        assert!(is_forest(4, &[(0, 3, 1), (1, 3, 1), (2, 3, 1)]));
        assert!(!is_forest(3, &[(0, 1, 1), (1, 2, 1), (2, 0, 1)]));
        assert!(!is_forest(5, &[(0, 1, 1), (2, 3, 1), (3, 4, 1), (4, 2, 1)]));
    }

    proptest! {
        #[test]
        fn ports_wait_where_packets_go(
            between in prop::collection::vec((0..SWITCHES, 0..SWITCHES), 0..20),
            hosts in prop::collection::vec(0..SWITCHES, 0..8),
        ) {
            let mut nodes = vec![NodeKind::Switch; SWITCHES as usize];
            nodes.extend(vec![NodeKind::Host; hosts.len()]);
            let mut links: Vec<_> = between.into_iter().filter(|(a, b)| a != b).collect();
            links.extend(hosts.into_iter().zip(SWITCHES..));
            let links: Vec<_> = links.into_iter().map(|(a, b)| (a, b, 1)).collect();
            let fabric = Fabric::of(nodes, &links);
            let ports = Ports::new(&fabric);
            let (successors, _) = graph(&fabric, &ports, &Routing::default());
            prop_assert!(!is_forest(&fabric, &ports) || shortest_cycle(&successors).is_none());
            let routing = Routing::new(&fabric, &ports, 1);
            prop_assert_eq!(waits(successors), walked(&fabric, &ports, &routing));
        }

        /// The same where flows go by third groups.
        #[test]
        fn ports_wait_where_packets_go_by_groups(
            between in prop::collection::vec((0..SWITCHES, 0..SWITCHES), 0..20),
            hosts in prop::collection::vec(0..SWITCHES, 0..8),
            each in 1..4_u32,
        ) {
            let mut nodes = vec![NodeKind::Switch; SWITCHES as usize];
            nodes.extend(vec![NodeKind::Host; hosts.len()]);
            let within = (1..SWITCHES).filter(|at| at % each != 0).map(|at| (at - 1, at));
            let mut links: Vec<_> = between.into_iter().filter(|(a, b)| a != b).collect();
            links.extend(within);
            links.extend(hosts.iter().copied().zip(SWITCHES..));
            let links: Vec<_> = links.into_iter().map(|(a, b)| (a, b, 1)).collect();
            let fabric = Fabric {
                groups: (0..SWITCHES).chain(hosts).map(|switch| switch / each).collect(),
                ..Fabric::of(nodes, &links)
            };
            let ports = Ports::new(&fabric);
            let mut routing = Routing::new(&fabric, &ports, 1);
            routing.go_by_groups(&fabric, &ports, 1, &[]);
            let (successors, _) = graph(&fabric, &ports, &routing);
            prop_assert_eq!(waits(successors), walked(&fabric, &ports, &routing));
        }
    }
}
