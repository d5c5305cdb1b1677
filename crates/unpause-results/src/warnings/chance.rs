//! Results that depend on chance: seeds that change nothing, and outcomes that depend on nanoseconds of phase.

use std::collections::BTreeSet;

use arrow_array::RecordBatch;
use unpause_sim::config::{Config, NodeKind};
use unpause_sim::traffic::{Pairs, Size, TrafficSpec, Transport};

use crate::run::Run;
use crate::run::measured::Measured;
use crate::tables::Tables;
use crate::warnings::crossings::Crossings;
use crate::warnings::foreseen::Foreseen;

/// All runs of several seeds, by number, if at no point any scheme has other flows or ports with another seed. Where
/// one has, the comparison needs its seeds.
pub fn same_seeds<'a>(parts: &[(&'a Run, &Tables)]) -> Vec<&'a Run> {
    let point = |run: &Run| -> Vec<u64> {
        let others = run.values.iter().filter(|swept| !swept.is_seed);
        others.map(|swept| swept.value.to_bits()).collect()
    };
    let is_alike =
        |one: &Run, other: &Run| one.scheme == other.scheme && point(one) == point(other);
    let mut found = Vec::new();
    let mut left: Vec<&(&'a Run, &Tables)> = parts.iter().collect();
    while let Some(first) = left.first().copied() {
        let (group, rest): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|it| is_alike(it.0, first.0));
        left = rest;
        let seeds: BTreeSet<u64> = group.iter().map(|it| it.0.config.seed).collect();
        if seeds.len() < 2 {
            continue;
        }
        if !group.iter().all(|it| has_same_results(first.1, it.1)) {
            return Vec::new();
        }
        found.extend(group.iter().map(|it| it.0));
    }
    found.sort_by_key(|run: &&Run| run.index);
    found
}

fn has_same_results(one: &Tables, other: &Tables) -> bool {
    let is_same = |one: &RecordBatch, other: &RecordBatch| {
        let columns = one.schema();
        let mut names = columns.fields().iter().map(|field| field.name());
        names.all(|name| name == "run" || one.column_by_name(name) == other.column_by_name(name))
    };
    is_same(&one.flows, &other.flows) && is_same(&one.ports, &other.ports)
}

/// RoCE flows of fixed starts and rates that nothing slows down, and of which a full queue has dropped packets: the
/// phase between them decides which of them loses.
pub fn phase(measured: &Measured) -> Vec<Foreseen> {
    let Measured { run, results, .. } = measured;
    let config = &run.config;
    let is_lossy = |priority: u8| config.switch.lossless & 1 << priority == 0;
    let mut dropping = results.ports.iter().filter(|port| {
        let at_switch = config.fabric.nodes[port.node as usize] == NodeKind::Switch;
        port.dropped_packets > 0 && at_switch && is_lossy(port.priority)
    });
    let priorities = dropping
        .clone()
        .fold(0, |all, port| all | 1 << port.priority);
    if priorities == 0 || run.mechanisms.reacts || is_random(config, priorities) {
        return Vec::new();
    }
    let is_theirs = |entry: u16| {
        let spec = &config.traffic[usize::from(entry)];
        spec.uses(Transport::Roce) && spec.priorities() & priorities != 0
    };
    let flows = results.flows.iter().filter(|flow| is_theirs(flow.group));
    let flows: BTreeSet<_> = flows
        .map(|it| (it.group, it.priority, it.src, it.dst))
        .collect();
    let mut crossings = Crossings::new(run);
    let first = dropping.find_map(|port| {
        let peer = run.names.peers[port.node as usize][usize::from(port.port)];
        let here = flows.iter().filter(|(_, priority, src, dst)| {
            *priority == port.priority && crossings.may_be((*src, *dst), (port.node, peer))
        });
        // Of one sender the phase to no other matters.
        let mut here = here.copied();
        let first = here.next()?;
        here.any(|it| it.2 != first.2).then_some(first.0)
    });
    let Some(first) = first else {
        return Vec::new();
    };
    let name = &run.names.traffic[usize::from(first)];
    vec![Foreseen {
        kind: "phase",
        message: format!(
            "a full queue dropped packets of `{name}`, whose starts and rates are fixed, without congestion control: nanoseconds of phase decide which flow loses packets, so individual shares and FCTs are one outcome of many"
        ),
        help: "compare runs with starts some 100ns apart (start in [[traffic]]), or draw them at random".to_owned(),
        key: Vec::new(),
    }]
}

/// Whether some flow of these priorities starts, or has a size, by chance.
fn is_random(config: &Config, priorities: u8) -> bool {
    let late = |entry: u16| {
        config
            .jitters
            .iter()
            .any(|(jittered, _)| *jittered == entry)
    };
    let of_entry = |spec: &TrafficSpec| match spec {
        TrafficSpec::Flows(_) => false,
        // Flows without a size count as random.
        TrafficSpec::Pattern(pattern) => {
            pattern.arrivals.is_random()
                || !matches!(pattern.pairs, Pairs::Burst { .. })
                || !matches!(pattern.size, Some(Size::Fixed(_)))
        }
    };
    let used = (0..).zip(&config.traffic);
    let mut used = used.filter(|(_, spec)| spec.priorities() & priorities != 0);
    used.any(|(entry, spec)| of_entry(spec) || late(entry))
}
