//! Which collective operations of ranks belong together.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::call::Call;
use super::trace::Trace;
use crate::FileError;

/// Ranks that do collective operations together.
pub(super) struct Group {
    /// In the order of their places.
    pub ranks: Vec<u32>,
    /// One operation after the other: the place of its node in the trace of each of these ranks.
    pub calls: Vec<Vec<u32>>,
}

/// A name, and the ranks that have it.
type Key = (String, Vec<u32>);

/// The groups of traces. `before` says for each trace and node which others it waits for.
pub(super) fn groups(traces: &[Trace], before: &[Vec<Vec<u32>>]) -> Result<Vec<Group>, FileError> {
    let mut users: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    let mut orders = Vec::with_capacity(traces.len());
    for (rank, trace) in traces.iter().enumerate() {
        let mut names = BTreeSet::new();
        let calls = trace.nodes.iter().filter_map(|it| it.call.as_ref());
        names.extend(calls.map(|it| &*it.group));
        for name in names {
            users.entry(name).or_default().push(rank as u32);
        }
        orders.push(order(trace, &before[rank]));
    }
    let all: Vec<u32> = (0..traces.len() as u32).collect();
    let mut sequences: BTreeMap<Key, BTreeMap<u32, Vec<u32>>> = BTreeMap::new();
    for (rank, trace) in traces.iter().enumerate() {
        for node in &orders[rank] {
            let call = trace.call(*node);
            let listed = trace.groups.get(&call.group);
            let ranks = match listed.filter(|it| !it.is_empty()) {
                Some(listed) => listed.clone(),
                None if call.group.is_empty() => all.clone(),
                None => users[&*call.group].clone(),
            };
            let key = (call.group.clone(), ranks);
            let of_group = sequences.entry(key).or_default();
            of_group.entry(rank as u32).or_default().push(*node);
        }
    }
    let matched = sequences
        .into_iter()
        .map(|(key, of)| matched(traces, key, &of));
    matched.collect()
}

/// Nodes of collective operations of a trace: one after those that it waits for, else by id.
fn order(trace: &Trace, before: &[Vec<u32>]) -> Vec<u32> {
    let is_call = |at: &u32| trace.nodes[*at as usize].call.is_some();
    let count = trace.nodes.len() as u32;
    if !(0..count).any(|at| is_call(&at)) {
        return Vec::new();
    }
    let mut left: Vec<usize> = before.iter().map(Vec::len).collect();
    let mut next = vec![Vec::new(); left.len()];
    for (after, all) in before.iter().enumerate() {
        for before in all {
            next[*before as usize].push(after as u32);
        }
    }
    let free = (0..count).filter(|at| left[*at as usize] == 0);
    let mut ready: BinaryHeap<Reverse<u32>> = free.map(Reverse).collect();
    let mut order = Vec::with_capacity(left.len());
    while let Some(Reverse(at)) = ready.pop() {
        order.push(at);
        for after in &next[at as usize] {
            left[*after as usize] -= 1;
            if left[*after as usize] == 0 {
                ready.push(Reverse(*after));
            }
        }
    }
    // Those that wait for one another, which is refused later.
    order.extend((0..count).filter(|at| left[*at as usize] > 0));
    order.retain(is_call);
    order
}

/// The operations of a group, if all its ranks have the same.
fn matched(
    traces: &[Trace],
    (name, ranks): Key,
    of: &BTreeMap<u32, Vec<u32>>,
) -> Result<Group, FileError> {
    let (first, nodes) = of.iter().next().expect("a group has a rank");
    check_members(traces, (&name, &ranks), of)?;
    let none = Vec::new();
    let (mut most, mut longest) = (*first, nodes);
    for (rank, nodes) in of {
        if nodes.len() > longest.len() {
            (most, longest) = (*rank, nodes);
        }
    }
    for rank in &ranks {
        let nodes = of.get(rank).unwrap_or(&none);
        if let Some(more) = longest.get(nodes.len()) {
            let trace = &traces[most as usize];
            let found = format!(
                "{} in node {} of rank {most}",
                trace.call(*more).show(),
                trace.nodes[*more as usize].id
            );
            let count = nodes.len();
            let expected = format!(
                "as many collectives of {} at rank {rank}, which has {count}",
                group_text(&name)
            );
            return Err(trace.error(*more as usize, found, expected));
        }
        for (own, other) in nodes.iter().zip(longest) {
            let (trace, model) = (&traces[*rank as usize], &traces[most as usize]);
            let (call, asked) = (trace.call(*own), model.call(*other));
            if !same(call, asked) {
                let id = |trace: &Trace, at: u32| trace.nodes[at as usize].id;
                let found = format!("{} in node {} of rank {rank}", call.show(), id(trace, *own));
                let expected = format!(
                    "{}, which {} has next in node {} of rank {most}",
                    asked.show(),
                    group_text(&name),
                    id(model, *other)
                );
                return Err(trace.error(*own as usize, found, expected));
            }
        }
    }
    let call = |at: usize| ranks.iter().map(|rank| of[rank][at]).collect();
    Ok(Group {
        calls: (0..longest.len()).map(call).collect(),
        ranks,
    })
}

fn same(one: &Call, other: &Call) -> bool {
    (one.what, one.bytes) == (other.what, other.bytes)
}

fn group_text(name: &str) -> String {
    match name {
        "" => "the group of all ranks".into(),
        _ => format!("process group `{}`", unpause_text::limits::shorten(name)),
    }
}

/// Each is there, once, and those that use the group are in it.
fn check_members(
    traces: &[Trace],
    (name, ranks): (&str, &[u32]),
    of: &BTreeMap<u32, Vec<u32>>,
) -> Result<(), FileError> {
    let mut seen = BTreeSet::new();
    let twice = ranks.iter().find(|it| !seen.insert(**it));
    let unknown = ranks.iter().find(|it| **it as usize >= traces.len());
    let outside = of.keys().find(|it| !seen.contains(it));
    let (first, nodes) = of.iter().next().expect("a group has a rank");
    let (rank, node) = match outside {
        Some(rank) => (*rank, of[rank][0]),
        None => (*first, nodes[0]),
    };
    let (found, expected) = match (unknown, twice, outside) {
        (Some(it), _, _) => (
            format!("rank {it}"),
            format!("ranks from 0 to {}", traces.len() - 1),
        ),
        (_, Some(it), _) => (format!("rank {it} twice"), "each rank once".into()),
        (_, _, Some(it)) => (format!("no rank {it}"), format!("rank {it}, which uses it")),
        _ => return Ok(()),
    };
    let trace = &traces[rank as usize];
    let id = trace.nodes[node as usize].id;
    let found = format!(
        "{found} in {}, of node {id} of rank {rank}",
        group_text(name)
    );
    Err(trace.error(node as usize, found, expected))
}
