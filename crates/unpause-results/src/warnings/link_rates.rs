//! Links whose rate changed, in sentences.

use std::collections::BTreeMap;

use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{Fabric, NodeId, PortId};
use unpause_sim::results::{LinkChange, Results};

use crate::run::link_names::links;
use crate::run::measured::Measured;
use crate::warnings::changes;
use crate::warnings::foreseen::Foreseen;
use crate::warnings::lossy_links::span;
use unpause_text::count::counted;

/// The kind of these messages, which tell of what the scenario asks for.
pub const KIND: &str = "link-rate";

/// So many changes are told one by one.
const MOST: usize = 6;

/// An egress port.
type Port = (NodeId, PortId);

/// From when to when links had a rate, and theirs in the topology: those that had them together.
type Changes = BTreeMap<(Time, Time, Rate, Rate), Vec<Port>>;

/// A message for each time for which links had a lower rate than the topology's.
pub fn of(measured: &Measured) -> Vec<Foreseen> {
    let Measured { run, results, .. } = measured;
    let changes = changes(&run.config.fabric, results);
    let slower = changes.iter().filter(|((_, _, rate, own), _)| rate < own);
    let mut found: Vec<String> = slower
        .map(|((at, end, rate, own), wires)| {
            let span = span(*at, *end);
            format!("{} at {rate} of {own} from {span}", links(run, wires))
        })
        .collect();
    let more = found.len().saturating_sub(MOST);
    found.truncate(MOST);
    if more > 0 {
        found.push(format!("{} of links", counted(more, "more rate reduction")));
    }
    found.into_iter().map(told).collect()
}

fn told(message: String) -> Foreseen {
    Foreseen {
        kind: KIND,
        message,
        help: "routes do not react to rates; slowdowns assume the topology's rates; table link_changes lists all changes"
            .to_owned(),
        key: Vec::new(),
    }
}

fn changes(fabric: &Fabric, results: &Results) -> Changes {
    let own = own_rates(fabric);
    let later = changes::Changes::of(results, |it| matches!(it, LinkChange::Rate { .. }));
    let mut found = Changes::new();
    for change in &results.link_changes {
        if let LinkChange::Rate {
            at,
            node,
            port,
            rate,
        } = *change
        {
            let own = own[node as usize][usize::from(port)];
            let end = later.next((node, port), at);
            let wires = found.entry((at, end, rate, own)).or_default();
            wires.push((node, port));
        }
    }
    found
}

/// The rates of each node's ports in the topology.
fn own_rates(fabric: &Fabric) -> Vec<Vec<Rate>> {
    let mut rates = vec![Vec::new(); fabric.nodes.len()];
    for link in &fabric.links {
        for node in [link.a, link.b] {
            rates[node as usize].push(link.rate);
        }
    }
    rates
}
