//! Priorities of a host that never sent, behind another that did: hosts serve priorities strictly, unless they share.

use unpause_protocols::units::Time;
use unpause_sim::config::{NodeId, PRIORITIES};
use unpause_sim::results::FlowRecord;

use crate::run::measured::Measured;

/// A message and what to do, for each such host and priority.
pub fn of(measured: &Measured) -> Vec<(String, &'static str)> {
    let Measured { run, results, .. } = measured;
    let stop = run.config.stop;
    // By node the priorities in which it has sent.
    let mut sent = vec![0u8; run.config.fabric.nodes.len()];
    for port in results.ports.iter().filter(|port| port.tx_packets > 0) {
        sent[port.node as usize] |= 1 << port.priority;
    }
    let control = run.config.host.control_priority;
    let shares = run
        .config
        .host
        .shares
        .map_or([0; PRIORITIES], |it| it.weights);
    let mut told: Vec<(NodeId, u8)> = Vec::new();
    let mut found = Vec::new();
    for flow in &results.flows {
        let (host, priority) = (flow.src, flow.priority);
        let waited = stop.saturating_sub(flow.start);
        let own = sent[host as usize] & 1 << priority;
        if waited < Time::from_ps(stop.as_ps() / 10)
            || flow.delivered_bytes > 0
            || own != 0
            || shares[usize::from(priority)] > 0
            || told.contains(&(host, priority))
            || !had_no_turn(measured, flow, control)
        {
            continue;
        }
        told.push((host, priority));
        let (name, entry) = (
            run.names.name(host),
            &run.names.traffic[usize::from(flow.group)],
        );
        let message = format!(
            "{name} sent nothing of priority {priority} (traffic `{entry}`) for {waited}: hosts serve priorities strictly, and a higher one always had packets"
        );
        let help = "let them share the NIC: [host] ets = { 0 = 20, 3 = 80 }; or limit the rate of the higher priority (rate_limit). [switch.scheduler] applies to switches only";
        found.push((message, help));
    }
    found
}

/// Whether higher priorities sent all the time since the flow had started: they leave no more than a tenth of a link of its host
/// unused.
fn had_no_turn(measured: &Measured, flow: &FlowRecord, control: u8) -> bool {
    let Measured { run, results, .. } = measured;
    let waited = results.totals.simulated.saturating_sub(flow.start);
    let links = run.config.fabric.links.iter();
    let links = links.filter(|link| link.a == flow.src || link.b == flow.src);
    (0..).zip(links).any(|(port, link)| {
        let higher = results.ports.iter().filter(|it| {
            let is_there = (it.node, it.port) == (flow.src, port);
            is_there && it.priority > flow.priority && it.priority != control
        });
        let sent = link.rate.time_for(higher.map(|it| it.tx_bytes).sum());
        // Before the flow started they sent as well.
        let since = sent.saturating_sub(flow.start);
        waited.saturating_sub(since) <= Time::from_ps(waited.as_ps() / 10)
    })
}
