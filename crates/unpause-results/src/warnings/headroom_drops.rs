//! Lossless packets that found no room at an ingress: one sentence for all ports with the same cause.

use std::collections::{BTreeMap, BTreeSet};

use unpause_sim::config::NodeId;

use crate::run::measured::Measured;
use crate::warnings::headroom::{COUNT, Cause, PEER, Why};
use unpause_text::count::{count, counted};

/// The most ports, and neighbours, of a sentence by name.
const MOST_NAMES: usize = 4;

/// The ports with one cause.
struct Group {
    cause: Cause,
    ports: Vec<String>,
    peers: BTreeSet<NodeId>,
    priorities: BTreeSet<u8>,
    frames: u64,
    bytes: u64,
    control_frames: u64,
    control_bytes: u64,
}

/// Sentences and advice, in the order of the first port of each.
pub fn of(measured: &Measured) -> Vec<(String, String)> {
    let Measured { run, results, .. } = measured;
    let mut dropping = results.ports.iter();
    let mut dropping = dropping
        .by_ref()
        .filter(|it| it.headroom_dropped_packets > 0)
        .peekable();
    if dropping.peek().is_none() {
        return Vec::new();
    }
    let why = Why::of(measured);
    let mut groups: Vec<Group> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for port in dropping {
        let cause = why.dropped(port);
        let at = *places.entry(cause.key.clone()).or_insert(groups.len());
        let count = cause.count;
        if at == groups.len() {
            groups.push(Group {
                cause: Cause { count: 0, ..cause },
                ports: Vec::new(),
                peers: BTreeSet::new(),
                priorities: BTreeSet::new(),
                frames: 0,
                bytes: 0,
                control_frames: 0,
                control_bytes: 0,
            });
        }
        let group = &mut groups[at];
        let peer = run.names.peers[port.node as usize][usize::from(port.port)];
        let (node, to) = (run.names.name(port.node), run.names.name(peer));
        let name = format!("{node} port {} (to {to})", port.port);
        // Priorities of a port follow one another.
        if group.ports.last() != Some(&name) {
            group.ports.push(name);
        }
        group.peers.insert(peer);
        group.priorities.insert(port.priority);
        group.cause.count += count;
        group.frames += port.headroom_dropped_packets;
        group.bytes += port.headroom_dropped_bytes;
        group.control_frames += port.headroom_dropped_control_packets;
        group.control_bytes += port.headroom_dropped_control_bytes;
    }
    groups.iter().map(|it| sentence(measured, it)).collect()
}

fn sentence(measured: &Measured, it: &Group) -> (String, String) {
    let names = &measured.run.names;
    let priorities: Vec<String> = it.priorities.iter().map(u8::to_string).collect();
    let priority = match priorities.len() {
        1 => "priority",
        _ => "priorities",
    };
    let peers: Vec<&str> = it.peers.iter().map(|peer| names.name(*peer)).collect();
    let peers = first_of(&peers);
    let ports: Vec<&str> = it.ports.iter().map(String::as_str).collect();
    let message = format!(
        "{} dropped {} of lossless {priority} {}{}: {}",
        first_of(&ports),
        counted(it.frames, "packet"),
        first_of(&priorities),
        control(it),
        it.cause
            .text
            .replace(PEER, &peers)
            .replace(COUNT, &count(it.cause.count))
    );
    (message, it.cause.help.replace(PEER, &peers))
}

/// The ACKs and other control frames among the packets, with their share of the bytes.
fn control(it: &Group) -> String {
    if it.control_frames == 0 {
        return String::new();
    }
    let thousandths = it.control_bytes * 1_000 / it.bytes.max(1);
    let share = match thousandths {
        0 => "less than 0.1 %".to_owned(),
        1..100 => format!("{}.{} %", thousandths / 10, thousandths % 10),
        _ => format!("{} %", thousandths / 10),
    };
    format!(
        ", {} of them {}, with {share} of the {} lost",
        count(it.control_frames),
        match it.control_frames {
            1 => "an ACK or other control frame",
            _ => "ACKs or other control frames",
        },
        unpause_text::count::size(it.bytes)
    )
}

/// The first names of a list, and how many more there are.
fn first_of(names: &[impl AsRef<str>]) -> String {
    let text = |names: &[_]| -> String {
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        names.join(", ")
    };
    match names {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        _ if names.len() > MOST_NAMES + 1 => {
            let (first, rest) = names.split_at(MOST_NAMES);
            format!("{} and {} more", text(first), count(rest.len() as u64))
        }
        [first @ .., last] => format!("{} and {}", text(first), last.as_ref()),
    }
}
