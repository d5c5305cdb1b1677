//! Jobs: operations lie within their iterations, and no more is put on links than ports have sent.

use std::collections::{BTreeMap, BTreeSet};

use unpause_sim::config::{Config, NodeId, NodeKind, PortId};
use unpause_sim::results::Results;
use unpause_sim::traffic::TrafficSpec;

use super::facts::Answer;

/// Each operation begins and ends with ranks, and an iteration that all ranks have ended has all of its operations.
pub fn collectives(config: &Config, results: &Results) -> Answer {
    let mut found = BTreeSet::new();
    for it in &results.collectives {
        let job = config.jobs.iter().find(|job| job.entry == it.entry);
        let group = job.and_then(|job| Some(job.operation(it)?.group));
        if group.map(|group| group.len() as u32) != Some(it.ranks) {
            return Err(format!("of no group: {it:?}"));
        }
        if it.start > it.all_began || it.start > it.end || it.end > config.stop {
            return Err(format!("out of order: {it:?}"));
        }
        if !found.insert((it.entry, it.iteration, it.phase, it.group, it.channel)) {
            return Err(format!("twice: {it:?}"));
        }
    }
    let mut ended: BTreeMap<(u16, u32), usize> = BTreeMap::new();
    for it in &results.rank_iterations {
        *ended.entry((it.entry, it.iteration)).or_default() += 1;
    }
    for job in &config.jobs {
        let own = ended.range((job.entry, 0)..=(job.entry, u32::MAX));
        for ((_, number), _) in own.filter(|it| *it.1 == job.hosts.len()) {
            for (phase, it) in (0..).zip(&job.phases) {
                let groups = it
                    .collective
                    .as_ref()
                    .map_or(0, |collective| collective.groups.len());
                let missing = (0..groups as u32)
                    .find(|group| !found.contains(&(job.entry, *number, phase, *group, None)));
                if let Some(group) = missing {
                    return Err(format!(
                        "iteration {number} without phase {phase} of group {group}"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// By port, all jobs together have sent no more than it has; where there are jobs only, their data is all that hosts have sent.
pub fn links(config: &Config, results: &Results) -> Answer {
    let mut sent: BTreeMap<(NodeId, PortId), u64> = BTreeMap::new();
    for it in &results.ports {
        *sent.entry((it.node, it.port)).or_default() += it.tx_bytes;
    }
    for it in &results.job_links {
        let left = sent.entry((it.node, it.port)).or_default();
        let more = it.data_bytes + it.control_bytes;
        let Some(less) = left.checked_sub(more) else {
            return Err(format!("{left} B are left of what the port sent: {it:?}"));
        };
        *left = less;
    }
    let is_job = |entry: usize| {
        let mut jobs = config.jobs.iter();
        jobs.any(|job| usize::from(job.entry) == entry)
    };
    let is_empty = |it: &TrafficSpec| matches!(it, TrafficSpec::Flows(flows) if flows.is_empty());
    let mut entries = config.traffic.iter().enumerate();
    let only_jobs = entries.all(|(at, it)| is_job(at) || is_empty(it));
    if !only_jobs || !config.counts_job_links() || !config.events.is_empty() {
        return Ok(());
    }
    let nodes = &config.fabric.nodes;
    let links = results.job_links.iter();
    let at_hosts = links.filter(|link| nodes[link.node as usize] == NodeKind::Host);
    let packets: u64 = at_hosts.map(|at_host| at_host.data_packets).sum();
    if packets == results.totals.data_packets {
        Ok(())
    } else {
        Err(format!(
            "{packets} data packets, of {} sent",
            results.totals.data_packets
        ))
    }
}
