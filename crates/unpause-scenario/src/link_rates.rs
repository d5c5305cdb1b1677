//! Links whose rate changed, in sentences.

use std::collections::BTreeMap;

use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{Fabric, NodeId, PortId};
use unpause_sim::results::{LinkChange, Results};

use crate::foreseen::Foreseen;
use crate::link_failures::links;
use crate::measured::Measured;

/// The kind of these messages, which tell of what the scenario asks for.
pub(crate) const KIND: &str = "link-rate";

/// So many changes are told one by one.
const MOST: usize = 6;

/// An egress port.
type Port = (NodeId, PortId);

/// Links that came to have a rate at a time, by that and by their rate in the topology.
type Changes = BTreeMap<(Time, Rate, Rate), Vec<Port>>;

/// A message for each time at which links came to have a lower rate than the topology's.
pub(crate) fn of(measured: &Measured) -> Vec<Foreseen> {
    let Measured { run, results, .. } = measured;
    let changes = changes(&run.config.fabric, results);
    let slower = changes.iter().filter(|((_, rate, own), _)| rate < own);
    let mut found: Vec<String> = slower
        .map(|((at, rate, own), wires)| {
            let until = match ended(results, *at, wires) {
                Some(end) => format!("until {end}"),
                None => "until the end".to_owned(),
            };
            format!("{} at {rate} of {own} from {at} {until}", links(run, wires))
        })
        .collect();
    let more = found.len().saturating_sub(MOST);
    found.truncate(MOST);
    if more > 0 {
        found.push(format!("{more} more rate reductions of links"));
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
            found.entry((at, rate, own)).or_default().push((node, port));
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

/// When one of these links next had another rate.
fn ended(results: &Results, from: Time, wires: &[Port]) -> Option<Time> {
    let next = results.link_changes.iter().filter_map(|it| match *it {
        LinkChange::Rate { at, node, port, .. } if wires.contains(&(node, port)) => Some(at),
        _ => None,
    });
    next.filter(|at| *at > from).min()
}
