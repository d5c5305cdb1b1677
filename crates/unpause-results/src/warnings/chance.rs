//! Results that depend on chance: seeds that change nothing, and outcomes that depend on nanoseconds of phase.

use std::collections::BTreeSet;

use arrow_array::RecordBatch;
use unpause_protocols::congestion_point;
use unpause_protocols::units::Fraction;
use unpause_sim::config::NodeKind;
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

/// Flows of fixed rates that nothing slows down, and of which a full queue has dropped packets: as clocks are exact, the phase between
/// them decides which of them loses. Jitter of their starts gives them another phase, but no less a fixed one.
pub fn phase(measured: &Measured) -> Vec<Foreseen> {
    let Measured { run, results, .. } = measured;
    let config = &run.config;
    let acting = acting(measured);
    // WRED drops datagrams, which are not ECN-capable, at random.
    let is_drawn = matches!(
        config.scheme.congestion_point,
        congestion_point::Config::Wred(_)
    );
    let is_theirs = |entry: u16, priority: u8| {
        let acts = acting & 1 << priority != 0;
        is_free(&config.traffic[usize::from(entry)], acts, is_drawn)
    };
    let mut dropping = results.ports.iter().filter(|port| {
        let at_switch = config.fabric.nodes[port.node as usize] == NodeKind::Switch;
        let is_lossy = config.switch.lossless & 1 << port.priority == 0;
        port.dropped_packets > 0 && at_switch && is_lossy
    });
    let entries = 0..config.traffic.len() as u16;
    let is_any = dropping
        .clone()
        .any(|port| entries.clone().any(|entry| is_theirs(entry, port.priority)));
    if config.host.clock_tolerance != Fraction::ZERO || !is_any {
        return Vec::new();
    }
    let flows = results.flows.iter();
    let flows: BTreeSet<_> = flows
        .map(|flow| (flow.group, flow.priority, flow.src, flow.dst))
        .collect();
    let mut crossings = Crossings::new(run);
    let first = dropping.find_map(|port| {
        let peer = run.names.peers[port.node as usize][usize::from(port.port)];
        let here = flows.iter().filter(|(_, priority, src, dst)| {
            *priority == port.priority && crossings.may_be((*src, *dst), (port.node, peer))
        });
        let mut first = None;
        let mut is_alone = true;
        for (entry, priority, src, _) in here {
            if is_random(&config.traffic[usize::from(*entry)]) {
                return None;
            }
            if is_theirs(*entry, *priority) {
                let (_, sender) = *first.get_or_insert((*entry, *src));
                // Of one sender the phase to no other matters.
                is_alone &= sender == *src;
            }
        }
        first.filter(|_| !is_alone).map(|(entry, _)| entry)
    });
    let Some(first) = first else {
        return Vec::new();
    };
    let name = &run.names.traffic[usize::from(first)];
    vec![Foreseen {
        kind: "phase",
        message: format!(
            "a full queue dropped packets of `{name}`, whose rates are fixed and which no congestion control slowed down: clocks are exact here, so nanoseconds of phase decide which flow loses packets, and individual shares and FCTs are one outcome of many"
        ),
        help: "set clock_tolerance = \"100ppm\" in [host]: real clocks differ by up to that (IEEE 802.3), so phases drift and equal senders lose alike".to_owned(),
        key: Vec::new(),
    }]
}

/// Priorities in which congestion control can have slowed RoCE senders down, a bit each. A law that learns of queues by marks and CNMs
/// alone does nothing where there was none.
fn acting(measured: &Measured) -> u8 {
    const BY_MARKS: [&str; 4] = ["dcqcn", "pcn", "qcn", "dctcp-rate"];
    let Measured { run, results, .. } = measured;
    if !run.mechanisms.reacts {
        return 0;
    }
    if !BY_MARKS.contains(&run.mechanisms.control) {
        return u8::MAX;
    }
    let ports = results.ports.iter();
    let marking = ports.filter(|port| port.marked_packets + port.cnm_packets > 0);
    marking.fold(0, |all, port| all | 1 << port.priority)
}

/// Whether some of its flows lose packets by the place of their packets alone: nothing slows them down, with a law for RoCE that acts or
/// does not, and nothing draws which datagrams are lost.
fn is_free(spec: &TrafficSpec, acts: bool, is_drawn: bool) -> bool {
    let is_free = |transport: Transport, controlled: bool| match transport {
        Transport::Udp => !is_drawn,
        Transport::Roce => !(controlled && acts),
        Transport::Tcp => false,
    };
    match spec {
        TrafficSpec::Flows(flows) => flows
            .iter()
            .any(|flow| is_free(flow.transport, flow.controlled)),
        TrafficSpec::Pattern(pattern) => is_free(pattern.flow.transport, pattern.flow.controlled),
    }
}

/// Whether its flows have starts other than by jitter, peers or sizes by chance.
fn is_random(spec: &TrafficSpec) -> bool {
    match spec {
        TrafficSpec::Flows(_) => false,
        TrafficSpec::Pattern(pattern) => {
            pattern.arrivals.is_random()
                || !matches!(pattern.pairs, Pairs::Burst { .. })
                || !matches!(pattern.size, None | Some(Size::Fixed(_)))
        }
    }
}
