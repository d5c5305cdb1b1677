//! Sentences about the losses of links that failed.

use std::collections::BTreeMap;

use unpause_protocols::units::Time;
use unpause_sim::config::{NodeId, PortId};
use unpause_sim::results::{LinkChange, LossPlace, LossRecord, Results};

use crate::foreseen::Foreseen;
use crate::measured::Measured;
use crate::run::Run;
use crate::timeouts;

/// The kind of these messages, which tell of what the scenario asks for.
pub(crate) const KIND: &str = "link-down";

/// So many failures are told one by one.
const MOST: usize = 6;

/// An egress port.
type Port = (NodeId, PortId);

/// A message for each failure, and for what had no route.
pub(crate) fn of(measured: &Measured) -> Vec<Foreseen> {
    let Measured { run, results, .. } = measured;
    let failures = failures(results);
    let mut found: Vec<Foreseen> = failures
        .iter()
        .take(MOST)
        .map(|(at, wires)| told(run, failure(run, results, *at, wires)))
        .collect();
    if failures.len() > MOST {
        let rest = &failures[MOST..];
        let all = rest
            .iter()
            .map(|(at, wires)| lost(results, *at, wires, None));
        let (packets, data) = all.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        let message = format!(
            "{} more failures of links: {}",
            rest.len(),
            said(packets, data)
        );
        found.push(told(run, message));
    }
    found.extend(without_route(run, results).map(|it| told(run, it)));
    found
}

fn told(run: &Run, message: String) -> Foreseen {
    Foreseen {
        kind: KIND,
        message,
        help: format!(
            "table losses says where packets were lost; RoCE flows retransmit lost packets after {} or a NAK",
            timeouts::names(&run.config)
        ),
        key: Vec::new(),
    }
}

/// Each time at which wires failed, and the ports that send by them: those of a link together.
fn failures(results: &Results) -> Vec<(Time, Vec<Port>)> {
    let mut found: BTreeMap<Time, Vec<Port>> = BTreeMap::new();
    for change in &results.link_changes {
        if let LinkChange::Wire {
            at,
            node,
            port,
            up: false,
        } = *change
        {
            found.entry(at).or_default().push((node, port));
        }
    }
    found.into_iter().collect()
}

/// Packets, and those of them with data, as totals count them: the others are ACKs, notifications and PFC frames.
pub(crate) fn said(packets: u64, data: u64) -> String {
    match data == packets {
        true => format!("{packets} data packets lost"),
        false => format!("{packets} packets lost, {data} of them data"),
    }
}

/// Packets that these ports lost in a failure, and those of them with data.
fn lost(results: &Results, at: Time, wires: &[Port], place: Option<LossPlace>) -> (u64, u64) {
    let own = |it: &&LossRecord| {
        !matches!(it.place, LossPlace::Switch | LossPlace::Error)
            && it.since == at
            && wires.contains(&(it.node, it.port))
            && place.is_none_or(|place| it.place == place)
    };
    let own = results.losses.iter().filter(own);
    own.fold((0, 0), |(packets, data), it| {
        (packets + it.packets, data + it.data_packets)
    })
}

fn failure(run: &Run, results: &Results, at: Time, wires: &[Port]) -> String {
    let (packets, data) = lost(results, at, wires, None);
    let of = |place| lost(results, at, wires, Some(place)).0;
    let (wire, queue, port) = (
        of(LossPlace::Wire),
        of(LossPlace::Queue),
        of(LossPlace::Port),
    );
    let parts = [
        (wire, "on the wire"),
        (queue, "in queues"),
        (port, "sent to failed ports"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let detail = match parts.is_empty() {
        true => String::new(),
        false => format!(" ({})", parts.join(", ")),
    };
    format!(
        "{} down at {at}: {}{detail}, {}",
        links(run, wires),
        said(packets, data),
        what_followed(results, at, wires)
    )
}

/// When routes moved, and when the links returned.
fn what_followed(results: &Results, at: Time, wires: &[Port]) -> String {
    let returned = results
        .link_changes
        .iter()
        .find_map(|change| match *change {
            LinkChange::Wire {
                at: when,
                node,
                port,
                up: true,
            } if when > at && wires.contains(&(node, port)) => Some(when),
            _ => None,
        });
    let moved = results
        .link_changes
        .iter()
        .find_map(|change| match *change {
            LinkChange::Routes { at: when } if when >= at => Some(when),
            _ => None,
        });
    let moved = moved.filter(|moved| returned.is_none_or(|returned| *moved <= returned));
    let moved = match moved {
        Some(moved) => format!("routes changed at {moved}"),
        None => "routes did not change".to_owned(),
    };
    match returned {
        Some(returned) => format!("{moved}, up again at {returned}"),
        None => format!("{moved}, not up again"),
    }
}

/// Names of the links of these ports: `S0-S1`, or `S0->S1` if it is only that direction.
pub(crate) fn links(run: &Run, wires: &[Port]) -> String {
    let peer = |(node, port): Port| run.names.peers[node as usize][usize::from(port)];
    let mut pairs: Vec<(NodeId, NodeId)> = wires.iter().map(|wire| (wire.0, peer(*wire))).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let both = |(a, b): &(NodeId, NodeId)| pairs.contains(&(*b, *a));
    let told = pairs.iter().filter(|(a, b)| a < b || !both(&(*a, *b)));
    let told: Vec<String> = told
        .map(|pair| {
            let (a, b) = (run.names.name(pair.0), run.names.name(pair.1));
            match both(pair) {
                true => format!("{a}-{b}"),
                false => format!("{a}->{b}"),
            }
        })
        .collect();
    match told.len() {
        0..=4 => told.join(", "),
        count => format!("{} and {} more links", told[..3].join(", "), count - 3),
    }
}

/// Packets that switches without a route dropped.
fn without_route(run: &Run, results: &Results) -> Option<String> {
    let lost: Vec<&LossRecord> = results
        .losses
        .iter()
        .filter(|it| it.place == LossPlace::Switch)
        .collect();
    let packets: u64 = lost.iter().map(|it| it.packets).sum();
    let data: u64 = lost.iter().map(|it| it.data_packets).sum();
    let first = lost.iter().map(|it| it.since).min()?;
    let mut nodes: Vec<NodeId> = lost.iter().map(|it| it.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let at = match nodes[..] {
        [node] => run.names.name(node).to_owned(),
        _ => format!("{} switches", nodes.len()),
    };
    let of_data = match data == packets {
        true => String::new(),
        false => format!(", {data} of them data,"),
    };
    Some(format!(
        "{packets} packets{of_data} had no route at {at}, from {first} on"
    ))
}
