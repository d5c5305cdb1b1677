//! Sentences about the losses of links that failed.

use std::collections::{BTreeMap, BTreeSet};

use unpause_protocols::units::Time;
use unpause_sim::config::NodeId;
use unpause_sim::results::{LinkChange, LossPlace, LossRecord, Results};
use unpause_sim::traffic::Transport;

use crate::run::Run;
use crate::run::link_names::{Port, links};
use crate::run::measured::Measured;
use crate::warnings::changes::Changes;
use crate::warnings::foreseen::Foreseen;
use crate::warnings::timeouts;
use unpause_text::count::counted;

/// The kind of these messages, which tell of what the scenario asks for.
pub const KIND: &str = "link-down";

/// So many failures are told one by one.
const MOST: usize = 6;

/// A message for each failure, and for what had no route.
pub fn of(measured: &Measured) -> Vec<Foreseen> {
    let Measured { run, results, .. } = measured;
    let failures = failures(results);
    let mut found: Vec<Foreseen> = failures
        .iter()
        .take(MOST)
        .map(|it| told(run, failure(run, results, it)))
        .collect();
    if failures.len() > MOST {
        let rest = &failures[MOST..];
        let all = rest.iter().map(|it| lost(results, it, None));
        let (packets, data) = all.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        let message = format!(
            "{} of links: {}",
            counted(rest.len(), "more failure"),
            said(packets, data)
        );
        found.push(told(run, message));
    }
    found.extend(without_route(run, results).map(|it| told(run, it)));
    found
}

fn told(run: &Run, message: String) -> Foreseen {
    let config = &run.config;
    let mut help = "table losses says where packets were lost".to_owned();
    if config.uses(Transport::Roce) {
        let after = timeouts::names(config);
        help += &format!("; RoCE flows retransmit lost packets after {after} or a NAK");
    }
    if config.uses(Transport::Tcp) {
        help += "; TCP flows retransmit them after their timeout or duplicate ACKs";
    }
    if config.uses(Transport::Udp) {
        help += "; UDP flows do not retransmit";
    }
    Foreseen {
        kind: KIND,
        message,
        help,
        key: Vec::new(),
    }
}

/// Wires that failed together and returned together.
struct Failure {
    at: Time,
    /// When they returned; never if they did not.
    up: Time,
    /// The ports that send by them.
    wires: BTreeSet<Port>,
}

/// Failures in order of time; both directions of a link that have the same fate are in the same one.
fn failures(results: &Results) -> Vec<Failure> {
    let returns = Changes::of(results, |it| {
        matches!(it, LinkChange::Wire { up: true, .. })
    });
    let mut found: BTreeMap<(Time, Time), BTreeSet<Port>> = BTreeMap::new();
    for change in &results.link_changes {
        if let LinkChange::Wire { at, node, port, up } = *change
            && !up
        {
            let up = returns.next((node, port), at);
            found.entry((at, up)).or_default().insert((node, port));
        }
    }
    let found = found.into_iter();
    found
        .map(|((at, up), wires)| Failure { at, up, wires })
        .collect()
}

/// Packets, and those of them with data, as totals count them: the others are ACKs, notifications and PFC frames.
pub fn said(packets: u64, data: u64) -> String {
    match data == packets {
        true => format!("{} lost", counted(packets, "data packet")),
        false => format!("{} lost, {data} of them data", counted(packets, "packet")),
    }
}

/// Packets that were lost in a failure, and those of them with data.
fn lost(results: &Results, failure: &Failure, place: Option<LossPlace>) -> (u64, u64) {
    let own = |it: &&LossRecord| {
        !matches!(it.place, LossPlace::Switch | LossPlace::Error)
            && it.since == failure.at
            && failure.wires.contains(&(it.node, it.port))
            && place.is_none_or(|place| it.place == place)
    };
    let own = results.losses.iter().filter(own);
    own.fold((0, 0), |(packets, data), it| {
        (packets + it.packets, data + it.data_packets)
    })
}

fn failure(run: &Run, results: &Results, failure: &Failure) -> String {
    let (packets, data) = lost(results, failure, None);
    let of = |place| lost(results, failure, Some(place)).0;
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
        "{} down at {}: {}{detail}, {}",
        links(run, &Vec::from_iter(failure.wires.iter().copied())),
        failure.at,
        said(packets, data),
        what_followed(run, results, failure)
    )
}

/// When routes moved because of a failure, and when its links returned.
fn what_followed(run: &Run, results: &Results, failure: &Failure) -> String {
    let events = &run.config.events;
    // At its ends, or, if nothing leads around it there, everywhere.
    let at_ends = failure.at.saturating_add(events.detection);
    let due = [at_ends, at_ends.saturating_add(events.convergence)];
    let mut moved = results.link_changes.iter().filter_map(|it| match *it {
        LinkChange::Routes { at } if due.contains(&at) && at <= failure.up => Some(at),
        _ => None,
    });
    let moved = match moved.next() {
        Some(moved) => format!("routes changed at {moved}"),
        None => "routes did not change".to_owned(),
    };
    match failure.up {
        Time::NEVER => format!("{moved}, not up again"),
        up => format!("{moved}, up again at {up}"),
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
        "{}{of_data} had no route at {at}, from {first} on",
        counted(packets, "packet")
    ))
}
