//! Priorities of a host that never sent, behind another that did: hosts serve priorities strictly, unless they share.

use std::collections::{BTreeMap, BTreeSet};

use unpause_protocols::units::Time;
use unpause_sim::config::{NicModel, NodeId, PRIORITIES, PortId};
use unpause_sim::results::FlowRecord;

use crate::run::measured::Measured;
use crate::warnings::room::Links;

/// The least share of a link, in percent, that advice gives a priority.
const LEAST: u16 = 20;

/// A message and what to do, for each such host and priority.
pub fn of(measured: &Measured) -> Vec<(String, String)> {
    let Measured { run, results, .. } = measured;
    let stop = run.config.stop;
    let nics = Nics::of(measured);
    let shares = run
        .config
        .host
        .shares
        .map_or([0; PRIORITIES], |it| it.weights);
    let mut told: BTreeSet<(NodeId, u8)> = BTreeSet::new();
    let mut found = Vec::new();
    for flow in &results.flows {
        let (host, priority) = (flow.src, flow.priority);
        let waited = stop.saturating_sub(flow.start);
        if waited < Time::from_ps(stop.as_ps() / 10)
            || flow.delivered_bytes > 0
            || nics.sent.contains_key(&(host, priority))
            || shares[usize::from(priority)] > 0
            || told.contains(&(host, priority))
            || !nics.had_no_turn(flow)
        {
            continue;
        }
        told.insert((host, priority));
        let (name, entry) = (
            run.names.name(host),
            &run.names.traffic[usize::from(flow.group)],
        );
        let message = format!(
            "{name} sent nothing of priority {priority} (traffic `{entry}`) for {waited}: hosts serve priorities strictly, and a higher one always had packets"
        );
        found.push((message, nics.help(host, priority, &shares)));
    }
    found
}

/// What NICs sent.
struct Nics<'a> {
    measured: &'a Measured,
    links: Links<'a>,
    /// By host and priority the bytes of each port.
    sent: BTreeMap<(NodeId, u8), BTreeMap<PortId, u64>>,
}

impl<'a> Nics<'a> {
    fn of(measured: &'a Measured) -> Self {
        let mut sent: BTreeMap<_, BTreeMap<PortId, u64>> = BTreeMap::new();
        for port in &measured.results.ports {
            if port.tx_packets > 0 && measured.run.names.is_host(port.node) {
                let ports = sent.entry((port.node, port.priority)).or_default();
                ports.insert(port.port, port.tx_bytes);
            }
        }
        Self {
            measured,
            links: Links::of(&measured.run.config),
            sent,
        }
    }

    /// The priorities above one that a host sent, but that of control frames.
    fn higher(
        &self,
        host: NodeId,
        priority: u8,
    ) -> impl Iterator<Item = (u8, &BTreeMap<PortId, u64>)> {
        let control = self.measured.run.config.host.control_priority;
        let all = self.sent.range((host, priority + 1)..(host + 1, 0));
        all.map(|((_, priority), ports)| (*priority, ports))
            .filter(move |(priority, _)| *priority != control)
    }

    /// Whether higher priorities sent all the time since the flow had started: they leave no more than a tenth of a link of its
    /// host unused.
    fn had_no_turn(&self, flow: &FlowRecord) -> bool {
        let waited = self.measured.results.totals.simulated;
        let waited = waited.saturating_sub(flow.start);
        self.links.ports(flow.src).any(|(port, link)| {
            let higher = self.higher(flow.src, flow.priority);
            let bytes = higher.filter_map(|(_, ports)| ports.get(&port)).sum();
            let sent = link.rate.time_for(bytes);
            // Before the flow started they sent as well.
            let since = sent.saturating_sub(flow.start);
            waited.saturating_sub(since) <= Time::from_ps(waited.as_ps() / 10)
        })
    }

    /// Shares for the priority and all above it: one that is left out would go first.
    fn help(&self, host: NodeId, priority: u8, shares: &[u16; PRIORITIES]) -> String {
        let limit = "limit the rate of the higher priority (rate_limit). [switch.scheduler] applies to switches only";
        if self.measured.run.config.host.nic == NicModel::Hpcc {
            return format!(
                "set nic = \"own\" and ets in [host], so that they share the NIC; or {limit}"
            );
        }
        let higher: Vec<u8> = self.higher(host, priority).map(|it| it.0).collect();
        let mut weights: BTreeMap<u8, u16> = (0..)
            .zip(shares)
            .filter_map(|(it, weight)| (*weight > 0).then_some((it, *weight)))
            .collect();
        let each = ((100 - LEAST) / (higher.len() as u16).max(1)).max(1);
        for it in &higher {
            weights.entry(*it).or_insert(each);
        }
        weights.entry(priority).or_insert(LEAST);
        let written = weights
            .iter()
            .map(|(it, weight)| format!("{it} = {weight}"));
        let written: Vec<String> = written.collect();
        format!(
            "let them share the NIC: [host] ets = {{ {} }}; or {limit}",
            written.join(", ")
        )
    }
}
