//! Requirements of switches with settings of their own.

use std::collections::BTreeSet;

use unpause_protocols::congestion_point;
use unpause_protocols::units::{Rate, Time};

use crate::config::invalid::{Invalid, Subject, bytes};
use crate::config::{Config, NodeKind, QueueMarking, SwitchModel, SwitchOverride};
use crate::fabric::{NodeId, PRIORITIES, PortId};

const FIELD: &str = "switch.overrides";

/// Bit p set: at some switch, packets of a priority that is in use wait in the queue of p or count in its group.
pub(super) fn mapped(config: &Config) -> u8 {
    let used = config.data_priorities();
    let overrides = config.switch.overrides.iter();
    let maps = overrides
        .flat_map(|it| [it.to_queue, it.to_group])
        .flatten();
    let targets = maps.flat_map(|map| (0..).zip(map));
    let targets = targets.filter(|(from, _)| used >> from & 1 == 1);
    targets.fold(0, |all, (_, to)| all | 1 << to)
}

/// Overrides are of switches with a shared buffer, and of what those have.
///
/// # Errors
///
/// The field at fault, and why.
pub(super) fn check(config: &Config) -> Result<(), Invalid> {
    let switch = &config.switch;
    for own in &switch.overrides {
        places(config, own)?;
        maps(config, own)?;
        egress(config, own)?;
        let kind = |node: &NodeId| config.fabric.nodes.get(*node as usize);
        if let Some(node) = own
            .switches
            .iter()
            .find(|it| kind(it) != Some(&NodeKind::Switch))
        {
            return Err(Invalid::new(FIELD, "is no switch").of(Subject::Host(*node)));
        }
        if let Some(node) = own
            .switches
            .iter()
            .find(|it| config.has_lossless_nvlink(**it))
        {
            return Err(Invalid::new(FIELD, "is an NVSwitch")
                .label("its memory is that of NVLink's credits")
                .of(Subject::Switch(*node))
                .help("leave it out, or set switch.nvlink_drops = true"));
        }
        if switch.model != SwitchModel::SharedBuffer {
            return Err(
                Invalid::new(FIELD, "only switches with a shared buffer can differ")
                    .and("switch.model", "of every switch"),
            );
        }
        let paused = switch.lossless != 0 && switch.cbfc.is_none();
        let maps = own.pfc_to_queue;
        if maps.is_some_and(|map| map.iter().any(|to| usize::from(*to) >= PRIORITIES)) {
            return Err(Invalid::new(FIELD, "there is no such queue").label("queues are 0 to 7"));
        }
        let thresholds = own.fixed.is_some() || own.shift.is_some();
        let of_pfc = maps.is_some()
            || own.lossless.is_some()
            || own.headroom_bytes.is_some()
            || thresholds
            || own.pfc.is_some()
            || own.watchdog.is_some();
        if of_pfc && !paused {
            return Err(Invalid::new(FIELD, "no switch has PFC")
                .label("this is a setting of PFC")
                .help("set lossless = [3] in [switch], or remove it"));
        }
        if let Some(lossless) = own.lossless
            && lossless & !switch.lossless != 0
        {
            return Err(Invalid::new(FIELD, "a priority is lossless at this switch alone")
                .label("`lossless` of [switch] must have it")
                .help("add it to `lossless` of [switch], and write overrides for those without it"));
        }
        if let Some((xoff, xon)) = own.fixed
            && xon > xoff
        {
            let label = format!("XON {} is above XOFF {}", bytes(xon), bytes(xoff));
            return Err(Invalid::new(FIELD, "XON is above XOFF").label(label));
        }
        if let Some(QueueMarking::Curve(red)) = own.marking
            && red.kmin > red.kmax
        {
            return Err(Invalid::new(FIELD, "`kmin` is above `kmax`").label("of this override"));
        }
    }
    polls(config)
}

/// The watchdogs of a switch are polled at once.
fn polls(config: &Config) -> Result<(), Invalid> {
    let overrides = || config.switch.overrides.iter().rev();
    let own = overrides().filter(|it| it.watchdog.is_some());
    let switches: BTreeSet<NodeId> = own.flat_map(|it| it.switches.iter().copied()).collect();
    for node in switches {
        let places = (0..ports_of(config, node))
            .flat_map(|port| (0..PRIORITIES as u8).map(move |it| (port as PortId, it)));
        let at = |(port, priority)| {
            let own = overrides().filter(|it| it.applies(node, port, priority));
            let own = own.filter_map(|it| it.watchdog).next();
            own.or(config.switch.watchdog).map(|it| it.params.poll)
        };
        let polls: BTreeSet<Time> = places.filter_map(at).collect();
        if polls.len() > 1 {
            return Err(Invalid::new(
                FIELD,
                "watchdogs of one switch have different poll_intervals",
            )
            .label("a switch polls all its ports at once")
            .of(Subject::Switch(node))
            .help("write the same poll_interval in all of them"));
        }
    }
    Ok(())
}

/// How many ports a node has.
fn ports_of(config: &Config, node: NodeId) -> usize {
    let links = config.fabric.links.iter();
    links.filter(|it| it.a == node || it.b == node).count()
}

/// Ports are those of its switches, and only what ports and priorities can have is set for some of them.
fn places(config: &Config, own: &SwitchOverride) -> Result<(), Invalid> {
    let ports_of = |node| ports_of(config, node);
    let is_there = |(node, port): &(NodeId, PortId)| {
        own.switches.contains(node) && usize::from(*port) < ports_of(*node)
    };
    if let Some((node, port)) = own.ports.iter().flatten().find(|it| !is_there(it)) {
        let label = format!("its ports are 0 to {}", ports_of(*node).saturating_sub(1));
        return Err(
            Invalid::new(FIELD, format!("port {port} is none of these switches"))
                .label(label)
                .of(Subject::Switch(*node)),
        );
    }
    if own.is_of_some() && own.of_switch() {
        return Err(
            Invalid::new(FIELD, "some ports or priorities have what is the switch's")
                .label("it has ports or priorities"),
        );
    }
    Ok(())
}

/// Maps of classes go with what does not take a class, its queue and its group for one.
fn maps(config: &Config, own: &SwitchOverride) -> Result<(), Invalid> {
    let control = config.host.control_priority;
    let all: Vec<[u8; PRIORITIES]> = [own.to_queue, own.to_group].into_iter().flatten().collect();
    if all.is_empty() {
        return Ok(());
    }
    let entries = all.iter().flat_map(|map| (0..).zip(*map));
    for (from, to) in entries.filter(|(from, to): &(u8, u8)| from != to) {
        if usize::from(to) >= PRIORITIES {
            let label = "queues and groups are 0 to 7";
            return Err(
                Invalid::new(FIELD, format!("there is no queue or group {to}")).label(label),
            );
        }
        if from == control || to == control {
            return Err(
                Invalid::new(FIELD, "control frames have a queue of their own")
                    .label(format!("it maps {from} to {to}"))
                    .and("host.control_priority", "of control frames"),
            );
        }
    }
    let inputs = &config.scheme.congestion_point;
    let at_inputs = |it: &congestion_point::Config| matches!(it, congestion_point::Config::Qcn(params) if params.mode.at_input());
    let (switch, probes) = (&config.switch, &config.probes);
    for (found, field, what) in [
        (probes.causes, "probes.causes", "the causes of PAUSE"),
        (
            probes.deadlock.is_some(),
            "probes.deadlock",
            "the search for deadlocks",
        ),
        (
            switch.watchdogs().next().is_some(),
            "switch.watchdog",
            "the PFC watchdog",
        ),
        (switch.trimming.is_some(), "switch.trimming", "trimming"),
        (switch.cbfc.is_some(), "switch.cbfc", "credits"),
        (
            at_inputs(inputs),
            "scheme.congestion_point",
            "QCN at inputs",
        ),
    ] {
        if found {
            let message =
                format!("for {what} a priority, its queue and its group must be one number");
            return Err(Invalid::new(FIELD, message)
                .label("this map makes them different")
                .and(field, "is set, too")
                .help("remove one of them"));
        }
    }
    Ok(())
}

/// Limits of queues, and shapers.
fn egress(config: &Config, own: &SwitchOverride) -> Result<(), Invalid> {
    let control = config.host.control_priority;
    if own.priorities.is_some_and(|it| it >> control & 1 == 1) {
        let message = format!("priority {control} carries control frames");
        return Err(Invalid::new(FIELD, message)
            .label("their queue is as in all switches")
            .and("host.control_priority", "of control frames"));
    }
    let sets = own.shaper.is_some() || own.queue_limit.is_some();
    if sets && config.switch.cbfc.is_some() {
        let message = "queues under credits have no limits and shapers of their own";
        return Err(Invalid::new(FIELD, message)
            .label("a setting of queues")
            .and("switch.cbfc", "credits instead of PFC"));
    }
    match own.shaper {
        Some(shaper) if shaper.rate == Rate::ZERO => {
            Err(Invalid::new(FIELD, "a shaper of rate 0 sends nothing").label("expected a rate"))
        }
        _ => Ok(()),
    }
}
