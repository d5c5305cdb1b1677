//! Faults that make an entry impossible to generate.

use std::collections::HashSet;

use unpause_protocols::units::Time;

use super::spec::{
    Arrivals, BurstFlows, FlowSettings, FlowSpec, Interval, Pairs, Pattern, Receivers, Size,
    TrafficSpec, Transport,
};
use crate::fabric::{Fabric, NodeId, NodeKind, PRIORITIES};

const NO_BYTES: &str = "a flow over RoCE needs at least 1 byte";

impl TrafficSpec {
    /// `Err` says why this entry cannot be generated in `fabric`.
    pub fn validate(&self, fabric: &Fabric) -> Result<(), String> {
        match self {
            Self::Flows(flows) => flows.iter().try_for_each(|flow| listed(fabric, flow)),
            Self::Pattern(pattern) => pattern.validate(fabric),
        }
    }
}

impl Pattern {
    fn validate(&self, fabric: &Fabric) -> Result<(), String> {
        self.pairs.validate(fabric)?;
        if self.lifetime == Time::ZERO {
            return Err("a period of sending must be longer than zero".into());
        }
        if let Some(bytes) = &self.size {
            size(bytes, &self.flow)?;
        }
        arrivals(&self.arrivals)?;
        settings(&self.flow)
    }
}

impl Pairs {
    fn validate(&self, fabric: &Fabric) -> Result<(), String> {
        match self {
            Self::Burst { from, to, flows } => {
                senders_to(fabric, from, *to)?;
                let (BurstFlows::PerHost(flows) | BurstFlows::InAll(flows)) = flows;
                if *flows == 0 {
                    return Err("a burst needs at least 1 flow".into());
                }
                Ok(())
            }
            Self::Random { from, to, .. } => {
                hosts(fabric, from, "senders")?;
                match to {
                    Receivers::Any(to) => {
                        hosts(fabric, to, "receivers")?;
                        another(from, to)
                    }
                    Receivers::BehindOtherSwitch { to, switch_of } => {
                        hosts(fabric, to, "receivers")?;
                        behind_another(from, to, switch_of)
                    }
                    Receivers::Permutation => permutable(from),
                }
            }
            Self::Incast { from, to, senders } => {
                hosts(fabric, from, "senders")?;
                hosts(fabric, to, "receivers")?;
                enough_senders(from, to, *senders)
            }
        }
    }
}

/// A flow of a list.
fn listed(fabric: &Fabric, flow: &FlowSpec) -> Result<(), String> {
    host(fabric, flow.src)?;
    host(fabric, flow.dst)?;
    different(flow.src, flow.dst)?;
    priority(flow.priority)?;
    if flow.size_bytes == Some(0) && flow.transport != Transport::Tcp {
        return Err(NO_BYTES.into());
    }
    Ok(())
}

/// There are as many senders as an incast may ask for, whoever receives.
fn enough_senders(from: &[NodeId], to: &[NodeId], (least, most): (u32, u32)) -> Result<(), String> {
    if least == 0 || least > most {
        return Err(format!("{least} to {most} senders is no range above 0"));
    }
    let from: HashSet<_> = from.iter().collect();
    let available = from.len() - usize::from(to.iter().any(|to| from.contains(to)));
    if most as usize > available {
        return Err(format!(
            "an incast of {most} senders needs as many hosts beside the receiver, there are {available}"
        ));
    }
    Ok(())
}

fn host(fabric: &Fabric, node: NodeId) -> Result<(), String> {
    match fabric.nodes.get(node as usize) {
        Some(NodeKind::Host) => Ok(()),
        Some(NodeKind::Switch) => Err(format!("node {node} is a switch, not a host")),
        None => Err(format!("there is no node {node}")),
    }
}

fn different(src: NodeId, dst: NodeId) -> Result<(), String> {
    if src == dst {
        return Err(format!("host {src} cannot send to itself"));
    }
    Ok(())
}

fn hosts(fabric: &Fabric, nodes: &[NodeId], what: &str) -> Result<(), String> {
    if nodes.is_empty() {
        return Err(format!("no {what}"));
    }
    // A list in order, as most are, has none twice.
    let in_order = nodes.is_sorted_by(|a, b| a < b);
    let mut seen = HashSet::new();
    for &node in nodes {
        host(fabric, node)?;
        if !in_order && !seen.insert(node) {
            return Err(format!("host {node} is twice among the {what}"));
        }
    }
    Ok(())
}

fn senders_to(fabric: &Fabric, from: &[NodeId], to: NodeId) -> Result<(), String> {
    hosts(fabric, from, "senders")?;
    host(fabric, to)?;
    from.iter().try_for_each(|&src| different(src, to))
}

/// Every sender has somebody else to send to.
fn another(from: &[NodeId], to: &[NodeId]) -> Result<(), String> {
    match to {
        &[only] if from.contains(&only) => different(only, only),
        _ => Ok(()),
    }
}

/// Every sender has a receiver behind another switch to send to.
fn behind_another(from: &[NodeId], to: &[NodeId], switch_of: &[NodeId]) -> Result<(), String> {
    let of = |host: &NodeId| switch_of.get(*host as usize).copied();
    let lonely = |src: &&NodeId| to.iter().all(|dst| of(dst) == of(src));
    match from.iter().find(lonely) {
        Some(src) => Err(format!(
            "no receiver is behind a switch other than that of host {src}"
        )),
        None => Ok(()),
    }
}

fn permutable(hosts: &[NodeId]) -> Result<(), String> {
    if hosts.len() < 2 {
        return Err("a permutation needs at least 2 hosts".into());
    }
    Ok(())
}

fn priority(priority: u8) -> Result<(), String> {
    if usize::from(priority) >= PRIORITIES {
        return Err(format!("priority {priority} is not within 0 to 7"));
    }
    Ok(())
}

fn settings(flow: &FlowSettings) -> Result<(), String> {
    priority(flow.priority)?;
    flow.by_size.priorities().try_for_each(priority)
}

fn size(size: &Size, flow: &FlowSettings) -> Result<(), String> {
    if *size == Size::Fixed(0) && flow.transport != Transport::Tcp {
        return Err(NO_BYTES.into());
    }
    Ok(())
}

fn arrivals(arrivals: &Arrivals) -> Result<(), String> {
    match arrivals.interval {
        Interval::Fixed(Time::ZERO) => Err("events need an interval longer than zero".into()),
        Interval::Exponential { events_per_second }
            if !(events_per_second > 0.0 && events_per_second.is_finite()) =>
        {
            Err(format!(
                "{events_per_second} events per second is no rate above 0"
            ))
        }
        _ => Ok(()),
    }
}
