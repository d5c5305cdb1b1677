//! Cycles of buffers that may wait for one another, with the names of their ports.

use unpause_sim::config::{Balancing, Fabric, NodeId, PortId};
use unpause_sim::dependency::buffer_dependency_cycle;

use crate::run::Run;
use unpause_import::fabric::topology::edge_switches;
use unpause_text::limits;

/// Finds cyclic buffer dependencies. The fabric of a run is mostly that of the run before.
#[derive(Default)]
pub struct Cycles<'a> {
    last: Option<(&'a Run, Option<String>)>,
}

impl<'a> Cycles<'a> {
    /// The cycle of this run, as [`ring`] writes it.
    pub fn of(&mut self, run: &'a Run) -> Option<String> {
        let known = self.last.take().filter(|(last, _)| same_routes(last, run));
        let cycle = known.map_or_else(|| cycle_of(run), |(_, cycle)| cycle);
        self.last = Some((run, cycle.clone()));
        cycle
    }
}

fn cycle_of(run: &Run) -> Option<String> {
    if cycle_steps(&run.config.fabric) > limits::CYCLE_STEPS {
        return None;
    }
    // What is wrong with a configuration is reported when it is run.
    let cycle = buffer_dependency_cycle(&run.config).ok()??;
    Some(ring(run, cycle.iter().copied()))
}

fn same_routes(a: &Run, b: &Run) -> bool {
    let lossless = |run: &Run| run.config.switch.lossless & run.config.data_priorities();
    let by_groups = |run: &Run| run.config.switch.balancing == Balancing::Valiant;
    let (of_a, of_b) = (&a.config.fabric, &b.config.fabric);
    (&of_a.nodes, &of_a.links, &of_a.groups) == (&of_b.nodes, &of_b.links, &of_b.groups)
        && by_groups(a) == by_groups(b)
        && lossless(a) == lossless(b)
}

/// `S0->S1 -> S1->S2 -> S2->S0 -> S0->S1`, with the port's number where links are parallel.
pub fn ring(run: &Run, ports: impl Iterator<Item = (NodeId, PortId)>) -> String {
    let name = |(node, port): (NodeId, PortId)| {
        let peers = &run.names.peers[node as usize];
        let peer = peers[usize::from(port)];
        let (from, to) = (run.names.name(node), run.names.name(peer));
        match peers.iter().filter(|other| **other == peer).count() {
            1 => format!("{from}->{to}"),
            _ => format!("{from}->{to} (port {port})"),
        }
    };
    let mut names: Vec<String> = ports.map(name).collect();
    names.extend(names.first().cloned());
    names.join(" -> ")
}

/// Steps of the search for cycles among the buffers of `fabric`, at most.
fn cycle_steps(fabric: &Fabric) -> u64 {
    let mut ports = vec![0; fabric.nodes.len()];
    for link in &fabric.links {
        ports[link.a as usize] += 1;
        ports[link.b as usize] += 1;
    }
    let onward = fabric.links.iter();
    let onward = onward.map(|link| ports[link.a as usize] + ports[link.b as usize]);
    edge_switches(fabric).saturating_mul(onward.sum())
}
